//! Streams that items name.

use super::*;
use crate::message::{ClientMessage, Mapping, MethodResult, Node, Way};

const NOW: Duration = Duration::ZERO;
const OF_STREAMS: &str = r#"{"kind":"stream","value":{"inner":{"kind":"string","value":{}}}}"#;

/// A client that was accepted, whose only input is of this type, and the mapping of it.
fn accepted_of(of: &str) -> (Client, InputId) {
    let inputs = vec![(REFERENCE.parse().unwrap(), element(of))];
    let (mut client, _) = Client::start(Start { inputs, ..start() });
    client.on(Event::Connected, NOW, uuid(2));
    let provisional = Some(REFERENCE.parse().unwrap());
    accept(&mut client, uuid(1), vec![input("in", 1, provisional, 0)]);
    let input = client.input(0).unwrap();
    (client, input)
}

fn accept(client: &mut Client, attempt: Uuid, mappings: Vec<Mapping>) -> Vec<Action> {
    let (idempotency_key, session_token) = ("k".to_owned(), "t".to_owned());
    let accepted = ServerMessage::Accepted { attempt, idempotency_key, mappings, session_token };
    client.text(accepted.encode().as_bytes(), NOW, uuid(90))
}

fn input(token: &str, channel: u32, provisional: Option<Uuid>, high_water: u64) -> Mapping {
    Mapping { channel, stream_token: token.into(), way: Way::Input { provisional, high_water, terminal: false } }
}

fn output(token: &str, channel: u32) -> Mapping {
    Mapping { channel, stream_token: token.into(), way: Way::Output }
}

fn stream(reference: Uuid) -> Item {
    Item::Value(Value::Stream(StreamRef::Provisional(reference)))
}

/// The connection is lost, and the next one is accepted with these mappings.
fn again(client: &mut Client, mappings: Vec<Mapping>) -> Vec<Action> {
    client.on(Event::Lost, NOW, uuid(50));
    client.on(Event::Connected, NOW, uuid(51));
    accept(client, uuid(50), mappings)
}

#[test]
fn i10_an_item_that_names_inputs_is_sent_again_until_their_mapping_has_come() {
    let (mut client, outer) = accepted_of(OF_STREAMS);
    let reference = uuid(30);
    let sent = client.write(outer, stream(reference)).unwrap();
    let inner = client.input_named(reference).unwrap();
    assert_eq!(client.write(inner, Item::Value(Value::String("early".into()))), Ok(vec![]), "it has no channel");

    // The item is durable and its stream exists, but the acknowledgement was lost.
    let actions = again(&mut client, vec![input("in", 1, None, 1), input("inner", 2, None, 0)]);
    assert_eq!(actions[1..], sent[..], "{actions:?}");
    let early = ServerMessage::Ack { channel: 2, sequence: 0, mappings: vec![], terminal: false };
    assert_eq!(client.text(early.encode().as_bytes(), NOW, uuid(52)), []);
    let mappings = vec![input("inner", 2, Some(reference), 0)];
    let ack = ServerMessage::Ack { channel: 1, sequence: 1, mappings, terminal: false };
    let actions = client.text(ack.encode().as_bytes(), NOW, uuid(53));
    let [Action::Send(item)] = actions.as_slice() else { panic!("{actions:?}") };
    let Ok(ClientMessage::Item { channel: 2, sequence: 0, .. }) = ClientMessage::decode(item.as_bytes()) else {
        panic!("{item}")
    };
    // Nothing is left to be sent a third time.
    let actions = again(&mut client, vec![input("in", 4, None, 1), input("inner", 5, None, 1)]);
    assert_eq!(actions.len(), 1, "{actions:?}");
}

#[test]
fn n4_a_reference_names_one_stream() {
    let (mut client, outer) = accepted_of(OF_STREAMS);
    client.write(outer, stream(uuid(30))).unwrap();
    let refused = client.write(outer, stream(uuid(30)));
    assert!(matches!(refused, Err(WriteError::Invalid(refusal)) if refusal.code == ErrorCode::StreamAlreadyConsumed));
}

/// The method returns a stream of streams.
fn returned() -> String {
    let graph = format!(r#"{{"root":{{"kind":"stream","value":{{"inner":{OF_STREAMS}}}}}}}"#);
    let graph = Json::parse(graph.as_bytes()).unwrap();
    let value = Json::parse(br#"{"kind":"stream","value":{"streamToken":"outer"}}"#).unwrap();
    ServerMessage::Result {
        mappings: vec![],
        result: MethodResult::Value { graph: Node::Json(graph), value: Node::Json(value) },
    }
    .encode()
}

fn item(channel: u32, sequence: u64, value: &Value) -> String {
    let cursor = format!("c{}", sequence + 1);
    ServerMessage::Item { channel, sequence, cursor, mappings: vec![], value: Node::Value(value) }.encode()
}

fn end(channel: u32, sequence: u64) -> String {
    let cursor = Some("end".to_owned());
    ServerMessage::End { channel, sequence, cursor, outcome: OutputOutcome::Ok }.encode()
}

#[test]
fn items_that_come_before_their_output_is_named_wait_for_its_name() {
    let (mut client, _) = accepted_of(BYTE);
    again(&mut client, vec![input("in", 1, None, 0), output("outer", 2), output("inner", 3)]);
    let mut say = |text: String| client.text(text.as_bytes(), NOW, uuid(60));
    assert_eq!(say(item(3, 0, &Value::String("one".into()))), []);
    assert_eq!(say(end(3, 1)), []);
    say(returned());
    let actions = say(item(2, 0, &Value::Stream(StreamRef::Stable("inner".into()))));
    let told: Vec<_> = actions.iter().map(|action| matches!(action, Action::Deliver(_))).collect();
    assert_eq!(told, [true; 4], "{actions:?}");
    assert!(matches!(&actions[0], Action::Deliver(Delivery::NewOutput { token, .. }) if token == "inner"));
    assert!(matches!(&actions[2], Action::Deliver(Delivery::Item { sequence: 0, .. })), "{actions:?}");
    assert!(matches!(&actions[3], Action::Deliver(Delivery::Ended { .. })));
}

#[test]
fn the_cursor_of_an_item_that_names_outputs_waits_for_them() {
    let (mut client, _) = accepted_of(BYTE);
    again(&mut client, vec![input("in", 1, None, 0), output("outer", 2), output("inner", 3)]);
    for text in [returned(), item(2, 0, &Value::Stream(StreamRef::Stable("inner".into()))), end(2, 1)] {
        client.text(text.as_bytes(), NOW, uuid(60));
    }
    let (outer, inner) = (OutputId(0), OutputId(1));
    client.consumed(outer, 1, true);
    assert_eq!(client.cursors(), BTreeMap::new(), "whoever begins there would not learn what the inner one is");
    for text in [item(3, 0, &Value::String("one".into())), end(3, 1)] {
        client.text(text.as_bytes(), NOW, uuid(60));
    }
    client.consumed(inner, 1, true);
    assert_eq!(client.cursors(), BTreeMap::from([("outer", "end"), ("inner", "end")]));
}

#[test]
fn m2_a_mapping_may_be_repeated_and_not_contradicted() {
    let refused = |mapping: Mapping| {
        let (mut client, _) = accepted_of(BYTE);
        let before = vec![input("in", 1, None, 0), output("outer", 2), output("inner", 3)];
        again(&mut client, before);
        client.text(returned().as_bytes(), NOW, uuid(60));
        let ack = ServerMessage::Ack { channel: 1, sequence: 0, mappings: vec![mapping], terminal: false };
        match client.text(ack.encode().as_bytes(), NOW, uuid(61)).as_slice() {
            [] => None,
            [Action::Deliver(Delivery::Failed(refusal)), Action::Disconnect] => Some(refusal.code),
            other => panic!("{other:?}"),
        }
    };
    for same in [input("in", 1, None, 0), output("outer", 2), output("inner", 3)] {
        assert_eq!(refused(same), None);
    }
    for other in [
        input("in", 4, None, 0),
        output("outer", 4),
        output("inner", 4),
        output("new", 2),
        output("new", 3),
        output("in", 5),
        input("new", 1, None, 0),
    ] {
        assert_eq!(refused(other.clone()), Some(ErrorCode::StreamConflict), "{other:?}");
    }
}
