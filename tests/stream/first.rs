//! Protocol.md sections 9, 14.2 and 15: what becomes of first messages.

use serde_json::json;
use support::stream_session::{Invoking, attach, end, fresh_uuid, metadata, string};
use support::stream_socket::{Heard, StreamSocket, framed};
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::world::development;

#[tokio::test]
async fn a_value_goes_through_the_agent_and_comes_back() {
    let (_world, node) = development().await;
    let mut session = Invoking::method("mirror", "nothing").start(node.streams_address()).await;
    assert_eq!(session.message("invocationResult").await["result"], json!({"kind": "none"}));
    assert_eq!(session.finished().await, json!({"kind": "success"}));
}

#[tokio::test]
async fn section_9_what_is_no_first_message_is_refused_and_closed_with_1002() {
    let (_world, node) = development().await;
    let said = |message: Message| async {
        let mut socket = StreamSocket::connect(node.streams_address(), "anybody").await;
        socket.send(message).await;
        match socket.hear().await {
            Heard::Message(rejected) => (Some(rejected), socket.hear().await),
            closed => (None, closed),
        }
    };
    let closed = Heard::Closed(Some(1002));
    let (rejected, close) = said(framed(&metadata("input-u8", 1, 0, 1), b"a")).await;
    assert_eq!((rejected, close), (None, closed.clone()), "binary");
    let start = Invoking::method("mirror", "nothing").message;
    let mut unknown = start.clone();
    unknown["extra"] = json!(1);
    let mut later = start.clone();
    later["version"] = json!(2);
    for (text, code, attempt) in [
        ("{".to_owned(), "malformed-message", false),
        (end(1, 0).to_string(), "protocol-error", false),
        (unknown.to_string(), "malformed-message", true),
        (later.to_string(), "unsupported-version", true),
        (start.to_string().replace("mirror", ""), "validation-error", true),
    ] {
        let (rejected, close) = said(Message::text(text.clone())).await;
        let rejected = rejected.expect("a rejection");
        assert_eq!((&rejected["code"], rejected["retryable"].as_bool()), (&json!(code), Some(false)), "{text}");
        assert_eq!(rejected.get("attemptId").is_some(), attempt, "V2: {text}");
        assert_eq!(close, closed);
    }
}

#[tokio::test]
async fn section_9_a_message_above_32_mib_closes_with_1009() {
    let (_world, node) = development().await;
    let mut socket = StreamSocket::connect(node.streams_address(), "anybody").await;
    socket.send(Message::text(" ".repeat((32 << 20) + 1))).await;
    assert!(matches!(socket.hear().await, Heard::Closed(Some(1009) | None)), "nothing is said before");
}

#[tokio::test]
async fn section_14_2_the_checks_of_a_start_have_their_codes() {
    let (_world, node) = development().await;
    let address = node.streams_address();
    let method = Invoking::method;
    let one = || method("lines", "count-strings");
    let stream = json!({"kind": "stream", "value": {"provisionalRef": fresh_uuid()}});
    for (invoking, code) in [
        (method("nobody", "count"), "not-found"),
        (method("lines", "nothing"), "not-found"),
        (one(), "validation-error"),
        (one().parameter(string("no stream")), "validation-error"),
        (one().parameter(json!({"kind": "stream", "value": {"streamToken": "gai1_"}})), "validation-error"),
        (one().parameter(json!({"kind": "stream", "value": {"x": 1}})), "malformed-message"),
        (one().stream().constructed(&[string("nothing is taken")]), "validation-error"),
        (method("fan-out", "split").stream().constructed(std::slice::from_ref(&stream)), "unsupported-value"),
    ] {
        let refused = invoking.tried(address).await.err().expect("it is refused");
        assert_eq!((refused.code.as_str(), refused.close), (code, Some(1000)), "{}", invoking.message);
        assert_eq!(refused.attempt.as_deref(), invoking.message["attemptId"].as_str());
    }
    let twice = one().parameter(stream.clone()).parameter(stream);
    let code = twice.refused(address).await;
    assert!(code == "validation-error" || code == "stream-already-consumed", "{code}");
}

#[tokio::test]
async fn a1_and_a2_attempts_and_keys_are_used_once() {
    let (_world, node) = development().await;
    let address = node.streams_address();
    let first = Invoking::method("lines", "count-strings").stream();
    let session = first.start(address).await;
    let other = first.clone().set("/idempotencyKey", json!("another key"));
    assert_eq!(other.refused(address).await, "attempt-conflict");
    let again = first.clone().set("/attemptId", json!(fresh_uuid()));
    assert_eq!(again.refused(address).await, "idempotency-conflict", "although the content is the same (O-11)");
    let phantom = again.clone().set("/selector/phantomId", json!(fresh_uuid()));
    phantom.start(address).await;
    // An attach under an id that a start has.
    let mut socket = StreamSocket::connect(address, "anybody").await;
    let mut attach = attach("takeover", &session.kept.token, &[]);
    attach["attemptId"] = first.message["attemptId"].clone();
    socket.text(&attach).await;
    let Heard::Message(rejected) = socket.hear().await else { panic!("closed without a word") };
    assert_eq!(rejected["code"], "attempt-conflict");
    // A start that was refused leaves no trace.
    let refused = Invoking::method("lines", "nothing");
    assert_eq!(refused.refused(address).await, "not-found");
    let mended = refused.set("/selector/method", json!("count-strings")).stream();
    mended.start(address).await;
}

#[tokio::test]
async fn r1_and_r2_an_exact_retry_takes_the_connection_over() {
    let (_world, node) = development().await;
    let invoking = Invoking::method("lines", "count-strings").stream();
    let mut first = invoking.start(node.streams_address()).await;
    let input = first.input();
    first.send_value(input, 0, &string("a")).await;
    first.acknowledged(1).await;
    let mut second = invoking.start(node.streams_address()).await;
    assert_eq!(first.message("attachmentRevoked").await["reason"], "replaced");
    assert_eq!(first.socket.hear().await, Heard::Closed(Some(1000)));
    let mapping = second.mapping("input");
    assert_eq!(mapping["inputHighWater"], json!({"sequence": "1", "terminal": false}));
    assert!(mapping["provisionalRef"].is_string(), "the attempt is a start");
    assert_eq!(mapping["streamToken"], first.mapping("input")["streamToken"], "M3");
    let input = second.input();
    second.send_end(input, 1).await;
    assert_eq!(second.message("invocationResult").await["result"]["value"], json!({"kind": "u64", "value": "1"}));
    assert_eq!(second.finished().await, json!({"kind": "success"}));
}

#[tokio::test]
async fn r3_a_retry_of_what_was_given_up_is_accepted_and_revoked() {
    let (_world, node) = development().await;
    let invoking = Invoking::method("lines", "count-strings").stream();
    let first = invoking.start(node.streams_address()).await;
    first.socket.close().await;
    let mut again = loop {
        let mut again = invoking.start(node.streams_address()).await;
        // The first one may not have been detached yet, and then this is its owner.
        match again.socket.hear_within(std::time::Duration::from_millis(500)).await {
            Some(Heard::Message(revoked)) if revoked["type"] == "attachmentRevoked" => break again,
            Some(other) => panic!("{other:?}"),
            None => again.socket.close().await,
        }
    };
    assert_eq!(again.socket.hear().await, Heard::Closed(Some(1000)));
    let resumed = again.kept.resumed(node.streams_address(), &[]).await;
    assert_eq!(resumed.high_water(), 0);
}

#[tokio::test]
async fn section_9_nothing_is_said_before_the_answer_to_the_first_message() {
    let (_world, node) = development().await;
    let mut socket = StreamSocket::connect(node.streams_address(), "anybody").await;
    let start = Invoking::method("lines", "count-strings").stream().message;
    let input = framed(&metadata("input-u8", 1, 0, 1), b"a");
    socket.text(&start).await;
    socket.send(input).await;
    // Whether or not the start was accepted by then, no channel is known to the client.
    loop {
        match socket.hear().await {
            Heard::Message(message) if message["type"] == "invocationAccepted" => {}
            Heard::Message(rejected) => {
                assert!(
                    ["protocol-error", "invalid-channel"].contains(&rejected["code"].as_str().unwrap()),
                    "{rejected}"
                );
            }
            closed => break assert_eq!(closed, Heard::Closed(Some(1002))),
        }
    }
}
