//! What a client is sent (sections 11, 13 and 16).

use journal::invocations::FrameItem;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Client, Start};
use crate::world::{BOUND, World};

fn said(item: &Value) -> (&str, &str) {
    (item["sequence"].as_str().unwrap(), item["value"]["value"].as_str().unwrap())
}

#[tokio::test]
async fn an_invocation_goes_from_start_to_finish() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let begun = client.start(&Start::new("echo")).await;
    let runner = world.runner().await;
    let output = runner.returns_stream().await;
    let result = client.expect("invocationResult").await;
    let mapping = &result["mappings"][0];
    assert_eq!(mapping["direction"], "output");
    assert_eq!(result["result"]["value"]["value"]["streamToken"], mapping["streamToken"]);
    assert_eq!(result["result"]["graph"]["root"]["kind"], "stream");
    for (sequence, text) in ["one", "two"].into_iter().enumerate() {
        runner.says(output, sequence as u64, text).await;
        let item = client.expect("outputStreamItem").await;
        assert_eq!(said(&item), (sequence.to_string().as_str(), text));
        assert_eq!(item["channel"], mapping["channel"]);
    }
    client.end(begun.input(), 0).await;
    client.expect("inputStreamAck").await;
    runner.ends(output).await;
    let end = client.expect("outputStreamEnd").await;
    assert_eq!((&end["sequence"], &end["outcome"]), (&json!("2"), &json!({"kind": "ok"})));
    runner.finishes().await;
    assert_eq!(client.expect("invocationFinished").await["outcome"], json!({"kind": "success"}));
    assert_eq!(client.expect_close().await, 1000);
}

#[tokio::test]
async fn t1_a_method_without_result_says_so() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    client.start(&Start::new("rest")).await;
    let runner = world.runner().await;
    runner.returns().await;
    assert_eq!(client.expect("invocationResult").await["result"], json!({"kind": "none"}));
    runner.finishes().await;
    client.expect_end().await;
}

#[tokio::test]
async fn p3_a_resumed_client_gets_what_comes_after_its_cursor_and_a8_also_of_what_has_finished() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let start = Start::new("echo");
    let begun = client.start(&start).await;
    let runner = world.runner().await;
    let output = runner.returns_stream().await;
    client.expect("invocationResult").await;
    for (sequence, text) in ["one", "two", "three"].into_iter().enumerate() {
        runner.says(output, sequence as u64, text).await;
    }
    let cursor = client.expect("outputStreamItem").await["cursorToken"].as_str().unwrap().to_owned();
    drop(client);
    runner.until("the session is detached", |standing| standing.attachment.holder.is_none()).await;
    runner.drops(runner.input(&start.input)).await;
    runner.ends(output).await;
    runner.finishes().await;

    let mut client = Client::connect(&world, "alice").await;
    client.attach("resume", &begun.token, &[&cursor]).await;
    let again = client.expect_accepted().await;
    assert_eq!(again.mapping("input")["inputHighWater"]["terminal"], true);
    client.expect("invocationResult").await;
    for expected in [("1", "two"), ("2", "three")] {
        assert_eq!(said(&client.expect("outputStreamItem").await), expected);
    }
    let end = client.expect("outputStreamEnd").await;
    client.expect_end().await;

    let mut client = Client::connect(&world, "alice").await;
    client.attach("resume", &again.token, &[end["cursorToken"].as_str().unwrap()]).await;
    client.expect_accepted().await;
    client.expect("invocationResult").await;
    client.expect_end().await;
}

#[tokio::test]
async fn p4_bytes_go_on_after_the_last_one_the_client_has() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    client.start(&Start::new("bytes")).await;
    let runner = world.runner().await;
    let output = runner.returns_stream().await;
    client.expect("invocationResult").await;
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|byte| byte as u8).collect();
    for (index, batch) in bytes.chunks(700_000).enumerate() {
        runner.puts(output, index as u64 * 700_000, FrameItem::Octets(batch.to_vec().into())).await;
    }
    let mut got = Vec::new();
    while got.len() < bytes.len() {
        let Some(Message::Binary(message)) = client.next().await else { panic!("no bytes") };
        let (length, rest) = message.split_first_chunk::<4>().unwrap();
        let (head, payload) = rest.split_at(u32::from_be_bytes(*length) as usize);
        let head: Value = serde_json::from_slice(head).unwrap();
        assert_eq!((&head["kind"], &head["sequence"]), (&json!("output-u8"), &json!(got.len().to_string())));
        assert!(payload.len() <= 1 << 20);
        got.extend_from_slice(payload);
    }
    assert!(got == bytes);
}

#[tokio::test]
async fn q3_a_cancelled_output_is_wished_to_end_and_only_its_end_is_sent() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    client.start(&Start::new("echo")).await;
    let runner = world.runner().await;
    let output = runner.returns_stream().await;
    let channel = client.expect("invocationResult").await["mappings"][0]["channel"].clone();
    client.cancel(&channel).await;
    runner.until("the runner is told", |standing| standing.streams.iter().any(|stream| stream.wish.is_some())).await;
    runner.says(output, 0, "late").await;
    runner.cancels(output).await;
    let end = client.expect("outputStreamEnd").await;
    assert_eq!(end["outcome"], json!({"kind": "cancelled", "reason": "cancelled"}));
}

#[tokio::test]
async fn d4_a_reader_that_stops_holds_up_its_producer_and_nobody_else() {
    let world = World::start().await;
    let mut slow = Client::connect(&world, "alice").await;
    slow.start(&Start::new("bytes")).await;
    let runner = world.runner().await;
    let output = runner.returns_stream().await;
    slow.expect("invocationResult").await;
    let batch: bytes::Bytes = vec![7; 1 << 20].into();
    for index in 0..24 {
        runner.puts(output, index << 20, FrameItem::Octets(batch.clone())).await;
    }
    let delivered = async || {
        let standing = runner.standing().await;
        standing.streams.iter().find(|stream| stream.id == output).map_or(0, |stream| stream.delivered)
    };
    runner.until("something is sent", |standing| standing.streams.iter().any(|stream| stream.delivered > 0)).await;
    let mut last = delivered().await;
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(700)).await;
        match delivered().await {
            now if now == last => break,
            now => last = now,
        }
    }
    assert!(last < 16 << 20, "{last} bytes were sent to a client that reads nothing");

    // It holds up nobody else, and goes on where it was.
    let mut other = Client::connect(&world, "mallory").await;
    other.start(&Start::new("rest").with_key("other")).await;
    let mut got = 0;
    while got < 24 << 20 {
        let Some(Message::Binary(message)) = slow.next().await else { panic!("no bytes") };
        let length = u32::from_be_bytes(message[..4].try_into().unwrap()) as usize;
        got += message.len() - 4 - length;
    }
    let noted = tokio::time::timeout(
        BOUND,
        runner.until("all is noted", |standing| standing.streams.iter().any(|stream| stream.delivered == 24 << 20)),
    );
    noted.await.unwrap();
}
