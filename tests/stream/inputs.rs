//! Protocol.md sections 10 to 13 and 16, on the three lanes.

use bytes::Bytes;
use serde_json::{Value, json};
use support::stream_session::{Invoking, decimal, fresh_uuid, string};

use crate::world::development;

#[tokio::test]
async fn all_three_lanes_go_through() {
    let (_world, node) = development().await;
    let address = node.streams_address();

    let mut octets = Invoking::method("mirror", "bytes").stream().start(address).await;
    let input = octets.input();
    octets.send_octets(input, 0, b"hello ").await;
    octets.send_octets(input, 6, b"world").await;
    octets.send_end(input, 11).await;
    let (bytes, end) = octets.octets().await;
    assert_eq!((bytes.as_slice(), decimal(&end["sequence"])), (&b"hello world"[..], 11));
    assert_eq!(octets.finished().await, json!({"kind": "success"}));

    let mut binary = Invoking::method("mirror", "binaries").stream().start(address).await;
    let input = binary.input();
    binary.send_binary(input, 0, &Bytes::from_static(b"")).await;
    binary.send_binary(input, 1, &Bytes::from_static(b"abc")).await;
    binary.send_end(input, 2).await;
    assert_eq!(binary.octets().await.0, b"abc");
    assert_eq!(binary.finished().await, json!({"kind": "success"}));

    let mut values = Invoking::method("fan-out", "split").constructed(&[string(",")]).stream().start(address).await;
    let input = values.input();
    values.send_value(input, 0, &string("a,b")).await;
    values.send_end(input, 1).await;
    let item = values.message("outputStreamItem").await;
    assert_eq!(item["value"]["value"]["fields"][0], string("a,b"));
    let announced = item["mappings"].as_array().unwrap();
    assert!(
        announced
            .iter()
            .any(|mapping| mapping["streamToken"] == item["value"]["value"]["fields"][1]["value"]["streamToken"])
    );
    assert_eq!(values.finished().await, json!({"kind": "success"}));
}

#[tokio::test]
async fn i3_to_i6_duplicates_gaps_and_conflicts() {
    let (_world, node) = development().await;
    let mut session = Invoking::method("lines", "count-strings").stream().start(node.streams_address()).await;
    let input = session.input();
    for sequence in [0, 1, 0, 1] {
        session.send_value(input, sequence, &string(&format!("line {sequence}"))).await;
        let ack = session.message("inputStreamAck").await;
        assert_eq!(decimal(&ack["highestContiguousSequence"]).max(2), 2, "{ack}");
    }
    session.send_value(input, 1, &string("another line")).await;
    assert_eq!(session.refused().await, "input-conflict");

    let mut session = session.kept.resumed(node.streams_address(), &[]).await;
    let input = session.input();
    assert_eq!(session.high_water(), 2, "what was acknowledged stays accepted (W1)");
    session.send_value(input, 3, &string("too far")).await;
    assert_eq!(session.refused().await, "input-gap");

    let mut session = session.kept.resumed(node.streams_address(), &[]).await;
    let input = session.input();
    session.send_end(input, 2).await;
    assert_eq!(session.message("inputStreamAck").await["terminal"], true);
    assert_eq!(session.message("invocationResult").await["result"]["value"], json!({"kind": "u64", "value": "2"}));
    assert_eq!(session.finished().await, json!({"kind": "success"}));
}

#[tokio::test]
async fn section_10_faults_after_acceptance_have_their_codes() {
    let (_world, node) = development().await;
    let mut session = Invoking::method("lines", "count-strings").stream().start(node.streams_address()).await;
    for (n, code) in
        ["invalid-channel", "invalid-channel", "validation-error", "protocol-error"].into_iter().enumerate()
    {
        let input = session.input();
        match n {
            0 => session.send_value(input + 1, 0, &string("a")).await,
            1 => session.send_octets(input, 0, b"a").await,
            2 => session.send_value(input, 0, &json!({"kind": "u8", "value": 1})).await,
            _ => session.socket.text(&Invoking::method("lines", "count").message).await,
        }
        assert_eq!(session.refused().await, code);
        session = session.kept.resumed(node.streams_address(), &[]).await;
        assert_eq!(session.high_water(), 0);
    }
}

#[tokio::test]
async fn q1_and_q8_a_cancelled_input_stays_cancelled() {
    let (_world, node) = development().await;
    let mut session = Invoking::method("mirror", "bytes").stream().start(node.streams_address()).await;
    let input = session.input();
    session.send_octets(input, 0, b"some").await;
    session.acknowledged(4).await;
    session.send_cancel(input, "cancelled").await;
    let confirmed = session.message("streamCancel").await;
    assert_eq!((confirmed["channel"].as_u64(), &confirmed["reason"]), (Some(input), &json!("cancelled")));
    session.send_octets(input, 4, b"more").await;
    assert_eq!(session.refused().await, "protocol-error");
    let mut resumed = session.kept.resumed(node.streams_address(), &[]).await;
    assert_eq!(resumed.mapping("input")["inputHighWater"]["terminal"], true);
    resumed.message("invocationFinished").await;
}

#[tokio::test]
async fn q3_a_cancelled_output_ends_with_the_reason_of_the_client() {
    let (_world, node) = development().await;
    let mut session = Invoking::method("mirror", "bytes").stream().start(node.streams_address()).await;
    let input = session.input();
    session.send_octets(input, 0, b"some").await;
    session.message("invocationResult").await;
    let output = session.mapping("output")["channel"].as_u64().unwrap();
    session.send_cancel(output, "consumer-drop").await;
    let end = session.message("outputStreamEnd").await;
    assert_eq!(end["outcome"], json!({"kind": "cancelled", "reason": "consumer-drop"}));
    session.send_cancel(output, "consumer-drop").await;
    let refused = session.until(|heard| {
        matches!(heard, support::stream_socket::Heard::Message(message)
            if message["type"] == "invocationRejected" || message["type"] == "invocationFinished")
    });
    let support::stream_socket::Heard::Message(last) = refused.await else { panic!("closed without a word") };
    assert!(last["type"] == "invocationFinished" || last["code"] == "protocol-error", "Q4: {last}");
}

#[tokio::test]
async fn i8_and_t1_what_the_agent_does_not_read_is_dropped() {
    let (_world, node) = development().await;
    let mut session = Invoking::method("lines", "first").stream().start(node.streams_address()).await;
    let input = session.input();
    session.send_value(input, 0, &string("the one")).await;
    let result = session.message("invocationResult").await;
    assert_eq!(result["result"]["value"]["value"]["inner"], string("the one"));
    let cancel = session.message("streamCancel").await;
    assert_eq!((cancel["channel"].as_u64(), &cancel["reason"]), (Some(input), &json!("consumer-drop")));
    assert_eq!(session.finished().await, json!({"kind": "success"}));
}

#[tokio::test]
async fn p6_and_t3_an_output_that_fails_and_an_invocation_that_fails() {
    let (_world, node) = development().await;
    let after = json!({"kind": "u64", "value": "1"});
    for (method, outcome) in [("break", "error"), ("fail", "cancelled")] {
        let invoking = Invoking::method("half-way", method).stream().parameter(after.clone());
        let mut session = invoking.start(node.streams_address()).await;
        let input = session.input();
        session.send_value(input, 0, &string("one")).await;
        session.send_value(input, 1, &string("two")).await;
        assert_eq!(session.message("outputStreamItem").await["value"], string("one"));
        let end = session.message("outputStreamEnd").await;
        assert_eq!((&end["outcome"]["kind"], &end["sequence"]), (&json!(outcome), &json!("1")), "{method}");
        let finished = session.finished().await;
        match method {
            "break" => {
                assert_eq!(end["outcome"]["code"], "producer-error");
                assert_eq!(finished, json!({"kind": "success"}), "T5");
            }
            _ => {
                assert_eq!(end["outcome"]["reason"], "invocation-failed");
                assert_eq!((&finished["kind"], &finished["code"]), (&json!("failure"), &json!("invocation-failed")));
                assert!(!finished["message"].as_str().unwrap().contains("half-way"), "a fixed text (V1)");
            }
        }
    }
}

#[tokio::test]
async fn n1_to_n4_inputs_that_items_introduce() {
    let (_world, node) = development().await;
    let address = node.streams_address();
    let invoking = Invoking::method("fan-out", "join").constructed(&[string("+")]).stream();
    let mut session = invoking.start(address).await;
    let outer = session.input();
    let token = session.mapping("input")["streamToken"].clone();
    let reference = fresh_uuid();
    let named = |reference: &str| json!({"kind": "stream", "value": {"provisionalRef": reference}});
    session.send_value(outer, 0, &named(&reference)).await;
    let ack = session.message("inputStreamAck").await;
    let mapping: &Value = &ack["mappings"][0];
    assert_eq!(
        (&mapping["provisionalRef"], &mapping["inputHighWater"]),
        (&json!(reference), &json!({"sequence": "0", "terminal": false}))
    );
    let inner = mapping["channel"].as_u64().unwrap();
    for (sequence, text) in ["a", "b"].into_iter().enumerate() {
        session.send_value(inner, sequence as u64, &string(text)).await;
    }
    session.send_end(inner, 2).await;
    assert_eq!(session.message("outputStreamItem").await["value"], string("a+b"));
    session.send_value(outer, 1, &named(&reference)).await;
    assert_eq!(session.refused().await, "stream-already-consumed");
    let mut session = session.kept.resumed(address, &[]).await;
    let outer = session.mappings.iter().find(|mapping| mapping["streamToken"] == token).unwrap();
    let outer = outer["channel"].as_u64().unwrap();
    session.send_end(outer, 1).await;
    assert_eq!(session.finished().await, json!({"kind": "success"}));
}
