//! First messages: sent again, made anew, and those of another process.

use super::*;
use crate::message::{ClientMessage, Mapping, MethodResult, Operation, Way};

const NOW: Duration = Duration::ZERO;

fn rejection(code: ErrorCode, retryable: bool) -> String {
    let message = "no".to_owned();
    ServerMessage::Rejected(Rejection { attempt: None, code, message, retryable }).encode()
}

fn left() -> Resumption {
    Resumption {
        attempt: uuid(1),
        operation: Operation::Resume,
        idempotency_key: "k".into(),
        session_token: "t1".into(),
        cursors: vec![("out".into(), "c2".into())],
        inputs: vec![element(BYTE)],
        in_doubt: false,
    }
}

fn attached(resumption: Resumption, terminal: bool) -> (Client, Vec<Action>) {
    let (mut client, _) = Client::attach(resumption);
    client.on(Event::Connected, NOW, uuid(2));
    let input = Way::Input { provisional: None, high_water: 7, terminal };
    let mappings = vec![
        Mapping { channel: 1, stream_token: "in".into(), way: input },
        Mapping { channel: 2, stream_token: "out".into(), way: Way::Output },
    ];
    let (attempt, idempotency_key) = (uuid(1), "k".to_owned());
    let accepted = ServerMessage::Accepted { attempt, idempotency_key, mappings, session_token: "t2".into() };
    let actions = client.text(accepted.encode().as_bytes(), NOW, uuid(3));
    (client, actions)
}

fn returned() -> String {
    let graph = r#"{"root":{"kind":"stream","value":{"inner":{"kind":"string","value":{}}}}}"#;
    let graph = Json::parse(graph.as_bytes()).unwrap();
    let value = Json::parse(br#"{"kind":"stream","value":{"streamToken":"out"}}"#).unwrap();
    let result =
        MethodResult::Value { graph: crate::message::Node::Json(graph), value: crate::message::Node::Json(value) };
    ServerMessage::Result { mappings: vec![], result }.encode()
}

#[test]
fn a_start_that_is_refused_for_now_begins_anew_under_its_key() {
    let (mut client, _) = Client::start(start());
    client.on(Event::Connected, NOW, uuid(2));
    let refused = rejection(ErrorCode::ResourceExhausted, true);
    let actions = client.text(refused.as_bytes(), NOW, uuid(7));
    assert!(matches!(actions.as_slice(), [Action::Connect(_)]), "{actions:?}");
    let pending = client.pending().unwrap();
    let Ok(ClientMessage::Start(again)) = ClientMessage::decode(pending.as_bytes()) else { panic!("{pending}") };
    assert_eq!((again.attempt, again.idempotency_key.as_str()), (uuid(7), "k"));
    assert!(!pending.contains(REFERENCE), "the old reference was refused with its attempt");
}

#[test]
fn an_attach_keeps_its_operation_and_is_final_when_it_is_refused_for_good() {
    let (mut client, _) = Client::attach(Resumption { operation: Operation::Takeover, ..left() });
    client.on(Event::Connected, NOW, uuid(2));
    client.text(rejection(ErrorCode::RoutingMiss, true).as_bytes(), NOW, uuid(7));
    assert!(client.pending().unwrap().contains("takeover"));
    client.on(Event::Connected, NOW, uuid(8));
    let actions = client.text(rejection(ErrorCode::InvalidAttachmentState, false).as_bytes(), NOW, uuid(9));
    assert!(matches!(actions.as_slice(), [Action::Deliver(Delivery::Failed(_)), Action::Disconnect]), "{actions:?}");
}

#[test]
fn a7_a_server_may_take_15_s_to_notice_that_the_process_before_this_one_is_gone() {
    let (mut client, _) = Client::attach(left());
    for (second, goes_on) in [(0, true), (14, true), (15, false)] {
        let now = Duration::from_secs(second);
        client.on(Event::Connected, now, uuid(2));
        let refused = rejection(ErrorCode::InvalidAttachmentState, false);
        client.text(refused.as_bytes(), now, uuid(3));
        assert_eq!(client.is_over(), !goes_on, "after {second} s");
    }
}

#[test]
fn what_another_process_left_goes_on_where_the_server_and_the_cursors_say() {
    let (mut client, _) = Client::attach(left());
    assert!(client.pending().unwrap().contains(r#""outputCursors":["c2"]"#));
    let input = client.input(0).unwrap();
    assert_eq!(client.write(input, bytes(1)), Err(WriteError::Full), "nobody knows yet where it goes on");
    client = attached(left(), false).0;
    let sent = client.write(input, bytes(1)).unwrap();
    let [Action::SendBinary(head, _)] = sent.as_slice() else { panic!("{sent:?}") };
    assert!(String::from_utf8_lossy(head).contains(r#""sequence":"7""#));

    assert_eq!(client.cursors(), BTreeMap::from([("out", "c2")]), "also before the output is named");
    client.text(returned().as_bytes(), NOW, uuid(4));
    let value = Value::String("third".into());
    let value = crate::message::Node::Value(&value);
    let item = ServerMessage::Item { channel: 2, sequence: 2, cursor: "c3".into(), mappings: vec![], value };
    let actions = client.text(item.encode().as_bytes(), NOW, uuid(5));
    let [Action::Deliver(Delivery::Item { output, sequence: 2, .. })] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    client.consumed(*output, 3, false);
    assert_eq!(client.cursors(), BTreeMap::from([("out", "c3")]));
}

#[test]
fn an_output_whose_end_was_taken_before_has_ended() {
    let (mut client, _) = attached(left(), true);
    client.text(returned().as_bytes(), NOW, uuid(4));
    let finished = ServerMessage::Finished(InvocationOutcome::Success).encode();
    let actions = client.text(finished.as_bytes(), NOW, uuid(5));
    assert!(matches!(actions.as_slice(), [Action::Deliver(Delivery::Finished(_)), _]), "{actions:?}");
}

#[test]
fn l3_a_message_of_another_process_that_is_revoked_is_followed_by_a_resume() {
    let (mut client, _) = attached(Resumption { in_doubt: true, ..left() }, false);
    let actions = client.text(ServerMessage::Revoked.encode().as_bytes(), NOW, uuid(6));
    assert!(matches!(actions.as_slice(), [Action::Disconnect, Action::Connect(_)]), "{actions:?}");
    let pending = client.pending().unwrap();
    assert!(pending.contains(r#""sessionToken":"t2""#) && pending.contains(&uuid(6).to_string()), "{pending}");
}

#[test]
fn close_codes_say_what_another_connection_is_good_for() {
    let awaiting = |code| {
        let (mut client, _) = Client::start(start());
        client.on(Event::Connected, NOW, uuid(2));
        client.on(Event::Closed(code), NOW, uuid(3));
        client.is_over()
    };
    let open = |code| {
        let (mut client, _) = accepted();
        client.on(Event::Closed(code), NOW, uuid(3));
        client.is_over()
    };
    for code in [1000, 1001, 1006, 1011] {
        assert!(!awaiting(code) && !open(code), "{code}");
    }
    assert!(awaiting(1002) && !open(1002), "the same bytes are not sent blindly");
    assert!(awaiting(1009) && open(1009));
}

#[test]
fn k3_a_method_returns_once_on_a_connection_and_always_the_same() {
    let (mut client, _) = attached(left(), false);
    client.text(returned().as_bytes(), NOW, uuid(4));
    let actions = client.text(returned().as_bytes(), NOW, uuid(5));
    assert!(matches!(actions.as_slice(), [Action::Deliver(Delivery::Failed(_)), _]), "{actions:?}");
}
