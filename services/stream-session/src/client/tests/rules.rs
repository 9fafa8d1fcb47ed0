//! What a client refuses of a server, by the name of the rule.

use super::*;
use crate::message::{Mapping, Way};

/// With which code the session ends here, if it does, once the server has answered the start so.
fn refused(answer: &ServerMessage<'_>) -> Option<ErrorCode> {
    let (mut client, _) = Client::start(start());
    client.on(Event::Connected, Duration::ZERO, uuid(2));
    match client.text(answer.encode().as_bytes(), Duration::ZERO, uuid(3)).as_slice() {
        [Action::Deliver(Delivery::Failed(refusal)), Action::Disconnect] => Some(refusal.code),
        _ => None,
    }
}

fn input(channel: u32, token: &str, provisional: Option<Uuid>) -> Mapping {
    Mapping { channel, stream_token: token.into(), way: Way::Input { provisional, high_water: 0, terminal: false } }
}

fn accepted(attempt: Uuid, key: &str, mappings: Vec<Mapping>) -> ServerMessage<'static> {
    ServerMessage::Accepted { attempt, idempotency_key: key.into(), mappings, session_token: "t1".into() }
}

#[test]
fn k2_an_acceptance_is_that_of_the_attempt_and_maps_each_of_its_streams_once() {
    let mapped = || input(1, "in", Some(REFERENCE.parse().unwrap()));
    assert_eq!(refused(&accepted(uuid(1), "k", vec![mapped()])), None);
    for answer in [
        accepted(uuid(9), "k", vec![mapped()]),
        accepted(uuid(1), "another", vec![mapped()]),
        accepted(uuid(1), "k", vec![]),
        accepted(uuid(1), "k", vec![input(1, "in", None)]),
        accepted(uuid(1), "k", vec![input(1, "in", Some(uuid(7)))]),
        accepted(uuid(1), "k", vec![mapped(), input(2, "in2", Some(uuid(7)))]),
    ] {
        assert_eq!(refused(&answer), Some(ErrorCode::ProtocolError), "{answer:?}");
    }
}

#[test]
fn k3_nothing_is_said_before_the_acceptance() {
    let ack = ServerMessage::Ack { channel: 1, sequence: 0, mappings: vec![], terminal: false };
    for early in [ack, ServerMessage::Revoked, ServerMessage::Finished(InvocationOutcome::Success)] {
        assert_eq!(refused(&early), Some(ErrorCode::ProtocolError), "{early:?}");
    }
}
