//! Protocol.md section 1.

use support::stream_socket::{Answer, Heard, STREAM_PATH, STREAM_PROTOCOL, StreamSocket};
use tokio::io::AsyncWriteExt;

use crate::world::{EVERYTHING, World, development};

/// The head of a request that is willing to upgrade, with these lines in addition.
async fn asked(address: &str, lines: &[&str]) -> Answer {
    let request = format!("GET {STREAM_PATH} HTTP/1.1");
    let upgrade = [
        request.as_str(),
        "connection: upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    Answer::to(address, &[&upgrade, lines].concat()).await
}

const ANYBODY: &str = "authorization: Bearer anybody";

#[tokio::test]
async fn h1_the_name_anywhere_in_the_list_is_enough_and_it_alone_is_selected() {
    let (_world, node) = development().await;
    for lines in [
        &["sec-websocket-protocol: golem.agent-invocation.v1"][..],
        &["sec-websocket-protocol: other,\t golem.agent-invocation.v1 , more"],
        &["sec-websocket-protocol: other", "sec-websocket-protocol: golem.agent-invocation.v1"],
    ] {
        let answer = asked(node.streams_address(), &[&[ANYBODY], lines].concat()).await;
        assert_eq!(answer.status, 101, "{lines:?}");
        let selected: Vec<_> =
            answer.headers.lines().filter(|line| line.starts_with("sec-websocket-protocol")).collect();
        assert_eq!(selected, ["sec-websocket-protocol: golem.agent-invocation.v1"]);
    }
    for line in ["Golem.Agent-Invocation.v1", "golem.agent-invocation.v2", "golem.agent-invocation.v1x", "", ","] {
        let answer = asked(node.streams_address(), &[ANYBODY, &format!("sec-websocket-protocol: {line}")]).await;
        assert_eq!((answer.status, answer.code()), (400, "unsupported-subprotocol"), "{line}");
        assert!(answer.body["errors"].is_array(), "{:?}", answer.body);
    }
}

#[tokio::test]
async fn h2_no_extension_is_negotiated_and_a_reserved_bit_is_an_error() {
    let (_world, node) = development().await;
    let protocol = format!("sec-websocket-protocol: {STREAM_PROTOCOL}");
    let offered = "sec-websocket-extensions: permessage-deflate; client_max_window_bits";
    let answer = asked(node.streams_address(), &[ANYBODY, &protocol, offered]).await;
    assert_eq!(answer.status, 101);
    assert!(!answer.headers.contains("sec-websocket-extensions"), "{}", answer.headers);

    let mut socket = StreamSocket::connect(node.streams_address(), "anybody").await;
    // A masked text frame of two bytes, with the bit of a compressed one.
    socket.below().write_all(&[0xc1, 0x82, 0, 0, 0, 0, b'{', b'}']).await.unwrap();
    assert_eq!(socket.hear().await, Heard::Closed(Some(1002)));
}

#[tokio::test]
async fn h3_the_first_check_that_fails_answers() {
    let world = World::new().await;
    let node = world.guarded(&[("right", "acme")], EVERYTHING).start().await;
    let protocol = format!("sec-websocket-protocol: {STREAM_PROTOCOL}");
    let (right, wrong) = ("authorization: Bearer right", "authorization: Bearer wrong");
    for lines in [
        &[protocol.as_str()][..],
        &[&protocol, "authorization: Basic cmlnaHQ="],
        &[&protocol, "authorization: Bearer"],
        &[&protocol, "authorization: Bearer  "],
        &["sec-websocket-protocol: other"],
        &[&protocol, wrong],
    ] {
        let answer = asked(node.streams_address(), lines).await;
        assert_eq!((answer.status, answer.code()), (401, "authentication-failed"), "{lines:?}");
        assert!(answer.body["error"].is_string(), "{:?}", answer.body);
    }
    let answer = asked(node.streams_address(), &[wrong]).await;
    assert_eq!((answer.status, answer.code()), (400, "unsupported-subprotocol"), "before the credential is looked at");

    let request = format!("GET {STREAM_PATH} HTTP/1.1");
    let plain = Answer::to(node.streams_address(), &[&request, right, &protocol]).await;
    assert_eq!((plain.status, plain.code()), (426, "protocol-error"));
    assert!(plain.headers.contains("sec-websocket-version: 13"), "{}", plain.headers);
    let old = [
        &request,
        right,
        &protocol,
        "connection: upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 12",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    assert_eq!(Answer::to(node.streams_address(), &old).await.status, 426);
    assert_eq!(asked(node.streams_address(), &[right, &protocol]).await.status, 101);
}

#[tokio::test]
async fn h5_pings_are_answered_before_the_first_message() {
    let (_world, node) = development().await;
    let mut socket = StreamSocket::connect(node.streams_address(), "anybody").await;
    assert!(socket.answers().await);
}
