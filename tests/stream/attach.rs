//! Protocol.md section 14.3, on two nodes over one journal.

use serde_json::json;
use support::stream_session::{Invoking, string};
use support::stream_socket::Heard;

use crate::world::World;

#[tokio::test]
async fn section_14_3_a_session_goes_on_where_it_was_on_another_node() {
    let world = World::new().await;
    let (one, other) = (world.node().start().await, world.node().start().await);
    let mut session = Invoking::method("mirror", "bytes").stream().start(one.streams_address()).await;
    let input = session.input();
    session.send_octets(input, 0, b"first ").await;
    let Heard::Items(metadata, payload) = session.until(|heard| matches!(heard, Heard::Items(..))).await else {
        panic!()
    };
    assert_eq!(&payload[..], b"first ");
    let cursor = metadata["cursorToken"].as_str().unwrap().to_owned();
    session.acknowledged(6).await;
    let mappings = session.mappings.clone();
    let left = session.kept.clone();
    drop(session);

    let mut session = left.resumed(other.streams_address(), &[cursor]).await;
    assert_eq!(session.high_water(), 6);
    for mapping in &session.mappings {
        assert!(mappings.iter().any(|old| old["streamToken"] == mapping["streamToken"]), "M3: {mapping}");
        assert!(mapping.get("provisionalRef").is_none());
    }
    let input = session.input();
    session.send_octets(input, 6, b"second").await;
    session.send_end(input, 12).await;
    assert_eq!(session.octets().await.0, b"second", "what the cursor covers does not come again");
    assert_eq!(session.finished().await, json!({"kind": "success"}));
    drop(one);
}

#[tokio::test]
async fn a5_and_a6_a_takeover_revokes_and_makes_older_tokens_stale() {
    let world = World::new().await;
    let (one, other) = (world.node().start().await, world.node().start().await);
    let mut first = Invoking::method("lines", "count-strings").stream().start(one.streams_address()).await;
    let refused = first.kept.attached(other.streams_address(), "resume", &[]).await.err().unwrap();
    assert_eq!((refused.code.as_str(), refused.close), ("invalid-attachment-state", Some(1000)), "it is attached");

    let mut second = first.kept.attached(other.streams_address(), "takeover", &[]).await.unwrap();
    assert_eq!(first.message("attachmentRevoked").await["reason"], "replaced");
    assert_eq!(first.socket.hear().await, Heard::Closed(Some(1000)));
    for operation in ["resume", "takeover"] {
        let refused = first.kept.attached(one.streams_address(), operation, &[]).await.err().unwrap();
        assert_eq!(refused.code, "stale-session", "{operation}");
    }
    let input = second.input();
    second.send_value(input, 0, &string("still here")).await;
    second.acknowledged(1).await;
    second.socket.close().await;
    let mut third = second.kept.resumed(one.streams_address(), &[]).await;
    let mut fourth = third.kept.attached(one.streams_address(), "takeover", &[]).await.expect("it is attached");
    assert_eq!(third.message("attachmentRevoked").await["reason"], "replaced");
    assert_eq!(fourth.high_water(), 1);
    let input = fourth.input();
    fourth.send_end(input, 1).await;
    assert_eq!(fourth.finished().await, json!({"kind": "success"}));
}

#[tokio::test]
async fn section_14_3_cursors_are_those_of_outputs_of_the_session_each_once() {
    let world = World::new().await;
    let node = world.node().start().await;
    let address = node.streams_address();
    let mut cursors = Vec::new();
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let mut session = Invoking::method("mirror", "bytes").stream().start(address).await;
        let input = session.input();
        for sequence in 0..2 {
            session.send_octets(input, sequence, b"x").await;
            let Heard::Items(metadata, _) = session.until(|heard| matches!(heard, Heard::Items(..))).await else {
                panic!()
            };
            cursors.push(metadata["cursorToken"].as_str().unwrap().to_owned());
        }
        sessions.push(session);
    }
    let session = &sessions[0];
    for (cursors, code) in [
        (vec![cursors[0].clone(), cursors[1].clone()], "invalid-cursor"),
        (vec![cursors[2].clone()], "invalid-cursor"),
        (vec![session.kept.token.clone()], "token-invalid"),
        (vec![format!("{}A", cursors[0])], "token-invalid"),
    ] {
        let refused = session.kept.attached(address, "takeover", &cursors).await.err().unwrap();
        assert_eq!((refused.code.as_str(), refused.close), (code, Some(1000)));
    }
    session.kept.attached(address, "takeover", &cursors[..1]).await.unwrap();
}

#[tokio::test]
async fn a8_a_finished_session_tells_its_end_again() {
    let world = World::new().await;
    let (one, other) = (world.node().start().await, world.node().start().await);
    let mut session = Invoking::method("mirror", "bytes").stream().start(one.streams_address()).await;
    let input = session.input();
    session.send_octets(input, 0, b"all of it").await;
    session.send_end(input, 9).await;
    let (_, end) = session.octets().await;
    let finished = session.finished().await;
    let end_cursor = end["cursorToken"].as_str().unwrap().to_owned();

    let mut whole = session.kept.resumed(other.streams_address(), &[]).await;
    whole.message("invocationResult").await;
    let (bytes, again) = whole.octets().await;
    assert_eq!((bytes.as_slice(), &again["outcome"]), (&b"all of it"[..], &end["outcome"]));
    assert_eq!(whole.finished().await, finished);

    let mut nothing = whole.kept.resumed(one.streams_address(), &[end_cursor]).await;
    nothing.message("invocationResult").await;
    let Heard::Message(last) = nothing.socket.hear().await else { panic!("closed without a word") };
    assert_eq!(last["type"], "invocationFinished", "a cursor of the end replays nothing (P3)");
}

#[tokio::test]
async fn a7_the_sessions_of_a_node_that_died_are_detached_and_go_on() {
    let world = World::new().await;
    let (mut one, other) = (world.node().start().await, world.node().start().await);
    let mut session = Invoking::method("mirror", "bytes").stream().start(one.streams_address()).await;
    let input = session.input();
    session.send_octets(input, 0, b"before ").await;
    session.acknowledged(7).await;
    one.kill();
    let mut session = session.kept.resumed(other.streams_address(), &[]).await;
    assert_eq!(session.high_water(), 7);
    let input = session.input();
    session.send_octets(input, 7, b"after").await;
    session.send_end(input, 12).await;
    assert_eq!(session.octets().await.0, b"before after");
    assert_eq!(session.finished().await, json!({"kind": "success"}));
}

#[tokio::test]
async fn section_17_a_node_that_drains_closes_with_1001_and_its_sessions_go_on() {
    let world = World::new().await;
    let (mut one, other) = (world.node().start().await, world.node().start().await);
    let mut session = Invoking::method("lines", "count-strings").stream().start(one.streams_address()).await;
    let input = session.input();
    session.send_value(input, 0, &string("a")).await;
    session.acknowledged(1).await;
    one.terminate();
    assert_eq!(session.socket.hear().await, Heard::Closed(Some(1001)));
    let mut session =
        session.kept.attached(other.streams_address(), "resume", &[]).await.expect("it is detached already");
    let input = session.input();
    session.send_end(input, 1).await;
    assert_eq!(session.message("invocationResult").await["result"]["value"], json!({"kind": "u64", "value": "1"}));
    assert_eq!(session.finished().await, json!({"kind": "success"}));
    one.wait(support::BOUND).await;
}
