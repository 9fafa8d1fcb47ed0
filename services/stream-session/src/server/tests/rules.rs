//! What a connection refuses, by the name of the rule.

use super::*;
use crate::binary::{BinaryItems, BinaryMessage};

const BYTE: &str = r#"{"kind":"u8","value":{"restrictions":{"max":{"kind":"unsigned","value":121}}}}"#;
const BINARY: &str = r#"{"kind":"binary","value":{"restrictions":{"minBytes":1}}}"#;

/// A text message, or the payload of a binary one.
enum Said {
    Text(String),
    Packed(u32, u64, &'static [u8]),
    Whole(u32, u64, &'static [u8]),
}

use Said::{Packed, Text, Whole};

impl Driven {
    fn hears(&mut self, said: Said) {
        let (channel, sequence, items) = match said {
            Text(text) => return self.text(&text),
            Packed(channel, sequence, bytes) => (channel, sequence, BinaryItems::Packed(Bytes::from_static(bytes))),
            Whole(channel, sequence, bytes) => {
                let data = Bytes::from_static(bytes);
                (channel, sequence, BinaryItems::Whole { data, mime_type: None })
            }
        };
        let payload = items.payload().clone();
        let head = BinaryMessage { channel, sequence, items, cursor: None }.encode_head();
        self.binary([&head, &payload[..]].concat());
    }
}

/// An input of text on 1, of bytes on 2, of binary items on 3, and an output on 4.
fn open() -> Driven {
    Driven::open(vec![input(1, STRING), input(2, BYTE), input(3, BINARY), output(4)])
}

/// The code with which the last of these messages is refused, all others being accepted.
fn refused(said: impl IntoIterator<Item = Said>) -> Option<ErrorCode> {
    let mut driven = open();
    let mut said = said.into_iter().peekable();
    while let Some(message) = said.next() {
        driven.hears(message);
        assert!(said.peek().is_none() || driven.rejected.is_empty(), "an earlier message was refused");
    }
    assert_eq!(driven.closed, driven.rejected.first().map(|_| 1002), "refusals close, and nothing else does");
    driven.rejected.first().copied()
}

#[test]
fn section_9_first_messages() {
    let first = |text: &str| {
        let mut driven = Driven::new();
        driven.text(text);
        (driven.rejected.first().copied(), driven.closed, driven.said().concat().contains("attemptId"))
    };
    assert_eq!(first(&start()), (None, None, false), "evaluated");
    for text in [item(1, 0, "a"), end(1, 0), cancel(1)] {
        assert_eq!(first(&text), (Some(ErrorCode::ProtocolError), Some(1002), false), "{text}");
    }
    let malformed = start().replace(r#""config":[],"#, "");
    assert_eq!(first(&malformed), (Some(ErrorCode::MalformedMessage), Some(1002), true), "with its attempt (V2)");

    let mut driven = Driven::new();
    driven.binary(vec![0; 8]);
    assert_eq!((driven.said(), driven.closed), (vec![], Some(1002)), "closed without a word");
}

#[test]
fn section_9_an_open_connection_starts_nothing_again() {
    let attach = format!(
        r#"{{"attemptId":"{ATTEMPT}","operation":"resume","outputCursors":[],"sessionToken":"t","type":"resumeAttach","version":1}}"#
    );
    for first in [start(), attach] {
        assert_eq!(refused([Text(first)]), Some(ErrorCode::ProtocolError));
    }
}

#[test]
fn section_9_binary_messages_while_the_first_one_is_evaluated_are_a_violation() {
    let mut driven = Driven::new();
    driven.text(&start());
    driven.hears(Packed(1, 0, b"a"));
    driven.on(Event::Refused(Refusal::new(ErrorCode::NotFound, "no"), false));
    assert_eq!((driven.rejected.as_slice(), driven.closed), ([ErrorCode::ProtocolError].as_slice(), Some(1002)));
}

#[test]
fn section_9_a_lost_transport_detaches_and_nothing_is_said() {
    let mut driven = open();
    driven.said();
    let actions = driven.connection.on(Event::Lost);
    assert!(matches!(actions.as_slice(), [Action::Detach]), "{actions:?}");
    let mut evaluating = Driven::new();
    evaluating.text(&start());
    assert!(evaluating.connection.on(Event::Lost).is_empty(), "what was asked for may yet be accepted");
    let acceptance =
        Acceptance { attempt: uuid(ATTEMPT), idempotency_key: "k".into(), session_token: "t".into(), streams: vec![] };
    assert!(matches!(evaluating.connection.on(Event::Accepted(acceptance)).as_slice(), [Action::Detach]));
}

#[test]
fn c3_channels_that_are_unknown_or_of_the_other_direction() {
    for message in [Text(item(9, 0, "a")), Text(end(9, 0)), Text(cancel(9)), Packed(9, 0, b"a"), Whole(9, 0, b"a")] {
        assert_eq!(refused([message]), Some(ErrorCode::InvalidChannel));
    }
    for message in [Text(item(4, 0, "a")), Text(end(4, 0)), Packed(4, 0, b"a")] {
        assert_eq!(refused([message]), Some(ErrorCode::InvalidChannel));
    }
}

#[test]
fn c1_channels_are_unique_over_both_directions() {
    let mut driven = Driven::new();
    driven.connection.next_channel = 1000;
    driven.text(&start());
    let streams = vec![output(1), input(2, STRING), output(3)];
    driven.on(Event::Accepted(Acceptance {
        attempt: uuid(ATTEMPT),
        idempotency_key: "k".into(),
        session_token: "t".into(),
        streams,
    }));
    let said = driven.said();
    let Ok(ServerMessage::Accepted { mappings, .. }) = ServerMessage::decode(said[0].as_bytes()) else { panic!() };
    assert_eq!(mappings.iter().map(|mapping| mapping.channel).collect::<Vec<_>>(), [1000, 1001, 1002]);
}

#[test]
fn b6_messages_on_the_wrong_lane() {
    for message in [
        Text(item(2, 0, "a")),
        Text(item(3, 0, "a")),
        Packed(1, 0, b"a"),
        Packed(3, 0, b"a"),
        Whole(1, 0, b"a"),
        Whole(2, 0, b"a"),
    ] {
        assert_eq!(refused([message]), Some(ErrorCode::InvalidChannel));
    }
}

#[test]
fn b2_and_b4_restrictions_hold_on_the_binary_lanes() {
    assert_eq!(refused([Packed(2, 0, b"ab")]), None);
    assert_eq!(refused([Packed(2, 0, b"az")]), Some(ErrorCode::ValidationError));
    assert_eq!(refused([Whole(3, 0, b"a")]), None);
    assert_eq!(refused([Whole(3, 0, b"")]), Some(ErrorCode::ValidationError));
}

#[test]
fn i3_items_beyond_the_next_one_leave_a_gap() {
    assert_eq!(refused([Text(item(1, 1, "a"))]), Some(ErrorCode::InputGap));
    assert_eq!(refused([Packed(2, 0, b"ab"), Packed(2, 3, b"c")]), Some(ErrorCode::InputGap));
}

#[test]
fn i3_and_i5_repetitions_are_the_same_range_with_the_same_content() {
    assert_eq!(refused([Text(item(1, 0, "a")), Text(item(1, 0, "a"))]), None);
    assert_eq!(refused([Text(item(1, 0, "a")), Text(item(1, 0, "b"))]), Some(ErrorCode::InputConflict));
    let spelled = item(1, 0, "a").replace(r#""a""#, r#""\u0061""#);
    assert_eq!(refused([Text(item(1, 0, "a")), Text(spelled)]), None, "compared after decoding");
    assert_eq!(refused([Packed(2, 0, b"abcd"), Packed(2, 0, b"abcd")]), None);
    for (sequence, bytes) in [(0, &b"ab"[..]), (2, b"cd"), (0, b"abcx"), (2, b"cde"), (0, b"abcde")] {
        let conflict = refused([Packed(2, 0, b"abcd"), Packed(2, sequence, bytes)]);
        assert_eq!(conflict, Some(ErrorCode::InputConflict), "{sequence} {bytes:?}");
    }
    assert_eq!(refused([Whole(3, 0, b"a"), Whole(3, 0, b"b")]), Some(ErrorCode::InputConflict));
}

#[test]
fn i3_and_o19_nothing_follows_an_end_or_an_own_cancel() {
    assert_eq!(refused([Text(end(1, 0)), Text(item(1, 0, "a"))]), Some(ErrorCode::ProtocolError));
    assert_eq!(refused([Text(cancel(1)), Text(item(1, 0, "a"))]), Some(ErrorCode::ProtocolError));
}

#[test]
fn i6_ends() {
    assert_eq!(refused([Text(end(1, 1))]), Some(ErrorCode::InputGap));
    assert_eq!(refused([Text(item(1, 0, "a")), Text(end(1, 0))]), Some(ErrorCode::InputConflict));
    assert_eq!(refused([Text(end(1, 0)), Text(end(1, 0))]), None, "acknowledged again");
    assert_eq!(refused([Text(end(1, 0)), Text(end(1, 1))]), Some(ErrorCode::InputConflict));
    assert_eq!(refused([Text(cancel(1)), Text(end(1, 0))]), Some(ErrorCode::ProtocolError));
}

#[test]
fn i7_an_item_that_its_type_does_not_admit_is_a_violation_and_nothing_of_it_is_stored() {
    let number = item(1, 0, "a").replace(r#"{"kind":"string","value":"a"}"#, r#"{"kind":"u8","value":1}"#);
    let mut driven = open();
    driven.text(&number);
    assert_eq!((driven.rejected.as_slice(), driven.closed), ([ErrorCode::ValidationError].as_slice(), Some(1002)));
    assert!(driven.stored.is_empty());
    let malformed = item(1, 0, "a").replace(r#""kind":"string""#, r#""kind":"ref""#);
    assert_eq!(refused([Text(malformed)]), Some(ErrorCode::MalformedMessage));
}

#[test]
fn i9_the_high_water_of_an_acceptance_is_where_the_client_goes_on() {
    let resumed = || Driven::open(vec![input_at(1, BYTE, 3, None)]);
    let code = |sequence, bytes| {
        let mut driven = resumed();
        driven.hears(Packed(1, sequence, bytes));
        driven.rejected.first().copied()
    };
    assert_eq!(code(3, b"d"), None);
    assert_eq!(code(4, b"e"), Some(ErrorCode::InputGap));
    assert_eq!(code(2, b"cd"), Some(ErrorCode::InputConflict), "what crosses it is trimmed by the client");
    for (terminal, said) in
        [(InputTerminal::Ended, ErrorCode::ProtocolError), (InputTerminal::CancelledByClient, ErrorCode::ProtocolError)]
    {
        let mut driven = Driven::open(vec![input_at(1, BYTE, 3, Some(terminal))]);
        driven.hears(Packed(1, 3, b"d"));
        assert_eq!(driven.rejected, [said], "{terminal:?}");
    }
}

#[test]
fn q2_and_o20_an_input_that_has_ended_is_not_cancelled() {
    assert_eq!(refused([Text(end(1, 0)), Text(cancel(1))]), Some(ErrorCode::InvalidChannel));
    assert_eq!(refused([Text(cancel(1)), Text(cancel(1))]), Some(ErrorCode::InvalidChannel));
}

#[test]
fn q4_a_second_cancel_of_an_output_is_a_violation() {
    assert_eq!(refused([Text(cancel(4))]), None);
    assert_eq!(refused([Text(cancel(4)), Text(cancel(4))]), Some(ErrorCode::ProtocolError));
    let mut ended = open();
    let outcome = OutputOutcome::Ok;
    ended.on(Event::OutputEnded { stream: Uuid::from_u128(4), sequence: 0, cursor: Some("c".into()), outcome });
    assert!(ended.connection.text(cancel(4).as_bytes()).is_empty(), "accepted once, without effect");
    ended.text(&cancel(4));
    assert_eq!(ended.rejected, [ErrorCode::ProtocolError]);
}

#[test]
fn q5_a_cancel_of_an_unknown_channel_is_refused() {
    assert_eq!(refused([Text(cancel(77))]), Some(ErrorCode::InvalidChannel));
}

#[test]
fn q6_a_server_cancels_inputs_and_ends_outputs() {
    let mut driven = open();
    driven.said();
    let reason = ServerReason::InvocationFailed;
    driven.on(Event::InputDropped { stream: Uuid::from_u128(1), reason });
    let outcome = OutputOutcome::Cancelled(reason);
    driven.on(Event::OutputEnded { stream: Uuid::from_u128(4), sequence: 0, cursor: None, outcome: outcome.clone() });
    let ended = ServerMessage::End { channel: 4, sequence: 0, cursor: None, outcome };
    assert_eq!(driven.said(), [ServerMessage::Cancel { channel: 1, reason }.encode(), ended.encode()]);
}

#[test]
fn n5_a_stable_token_is_no_input() {
    let of = r#"{"kind":"stream","value":{"inner":{"kind":"string","value":{}}}}"#;
    let token = r#"{"kind":"stream","value":{"streamToken":"out2"}}"#;
    let mut driven = Driven::open(vec![input(1, of)]);
    driven.text(&item(1, 0, "a").replace(r#"{"kind":"string","value":"a"}"#, token));
    assert_eq!(driven.rejected, [ErrorCode::ValidationError]);
}

#[test]
fn n2_streams_of_an_item_are_mapped_in_its_acknowledgement() {
    let of = r#"{"kind":"stream","value":{"inner":{"kind":"string","value":{}}}}"#;
    let reference = uuid("0dff1c71-f12f-4bb1-996c-23d693bdc825");
    let named = format!(r#"{{"kind":"stream","value":{{"provisionalRef":"{reference}"}}}}"#);
    let mut connection = Driven::open(vec![input(1, of)]).connection;
    let text = item(1, 0, "a").replace(r#"{"kind":"string","value":"a"}"#, &named);
    let actions = connection.text(text.as_bytes());
    let [Action::Store { item: InputItem::Value(_, streams), .. }] = actions.as_slice() else { panic!("{actions:?}") };
    assert_eq!(streams.iter().map(|nested| nested.provisional).collect::<Vec<_>>(), [reference]);
    let element = Box::new(element(STRING));
    let way = StreamWay::Input { element, provisional: Some(reference), high_water: 0, terminal: None };
    let streams = vec![Stream { way, ..input(2, STRING) }];
    let actions = connection.on(Event::Stored { stream: Uuid::from_u128(1), through: 1, streams });
    let [Action::Send(text)] = actions.as_slice() else { panic!("{actions:?}") };
    let Ok(ServerMessage::Ack { mappings, .. }) = ServerMessage::decode(text.as_bytes()) else { panic!("{text}") };
    let expected = crate::message::Way::Input { provisional: Some(reference), high_water: 0, terminal: false };
    assert_eq!((mappings[0].channel, &mappings[0].way), (2, &expected));
    assert!(matches!(connection.text(item(2, 0, "a").as_bytes()).as_slice(), [Action::Store { .. }]));
}

#[test]
fn v6_nothing_follows_the_last_message() {
    for last in [Event::Replaced, Event::Finished(InvocationOutcome::Success)] {
        let mut driven = open();
        driven.on(last);
        assert_eq!(driven.closed, Some(1000));
        driven.said();
        driven.on(Event::EndStored { stream: Uuid::from_u128(1) });
        driven.text(&item(1, 0, "a"));
        assert_eq!(driven.said(), Vec::<String>::new());
    }
}
