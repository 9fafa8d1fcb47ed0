//! What a client sends (sections 10, 12, 13 and 18).

use journal::invocations::{FrameItem, OutputChange, Role, Terminal, Volume};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Accepted, Client, Start};
use crate::world::World;

/// What an acknowledgement says: how many items, and whether that is all.
fn ack(message: &Value) -> (&str, bool) {
    (message["highestContiguousSequence"].as_str().unwrap(), message["terminal"].as_bool().unwrap())
}

#[tokio::test]
async fn i2_items_are_acknowledged_in_order_once_they_are_durable() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let start = Start::new("echo");
    let begun = client.start(&start).await;
    assert_eq!(begun.mapping("input")["provisionalRef"], start.input.as_str());
    let runner = world.runner().await;
    for (sequence, text) in ["a", "b", "c"].into_iter().enumerate() {
        client.item(begun.input(), sequence as u64, text).await;
    }
    client.end(begun.input(), 3).await;
    for expected in [("1", false), ("2", false), ("3", false), ("3", true)] {
        assert_eq!(ack(&client.expect("inputStreamAck").await), expected);
    }
    let texts = runner.frames(runner.input(&start.input), 0).await.into_iter().map(|frame| frame.item);
    let value = |text| FrameItem::Value(format!(r#"{{"kind":"string","value":"{text}"}}"#));
    assert_eq!(texts.collect::<Vec<_>>(), ["a", "b", "c"].map(value));
    client.item(begun.input(), 0, "a").await;
    assert_eq!(client.expect_rejection().await, ("protocol-error".into(), 1002), "O-19");
}

#[tokio::test]
async fn i3_repetitions_are_acknowledged_again_and_contradictions_refused() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let begun = client.start(&Start::new("echo")).await;
    for text in ["a", "b"] {
        let sequence = u64::from(text == "b");
        client.item(begun.input(), sequence, text).await;
        client.expect("inputStreamAck").await;
    }
    client.item(begun.input(), 0, "a").await;
    assert_eq!(ack(&client.expect("inputStreamAck").await), ("1", false));
    client.item(begun.input(), 1, "other").await;
    assert_eq!(client.expect_rejection().await, ("input-conflict".into(), 1002));
}

#[tokio::test]
async fn i3_input_that_skips_ahead_is_a_gap_and_what_was_acknowledged_stays() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let start = Start::new("bytes");
    let begun = client.start(&start).await;
    client.send_bytes(begun.input(), 0, b"abc").await;
    assert_eq!(ack(&client.expect("inputStreamAck").await), ("3", false));
    client.send_bytes(begun.input(), 4, b"e").await;
    assert_eq!(client.expect_rejection().await, ("input-gap".into(), 1002));
    let mut client = Client::connect(&world, "alice").await;
    client.attach("resume", &begun.token, &[]).await;
    let again = client.expect_accepted().await;
    assert_eq!(again.mapping("input")["inputHighWater"], json!({"sequence": "3", "terminal": false}));
    assert!(again.mapping("input").get("provisionalRef").is_none());
    client.send_bytes(again.input(), 1, b"bc").await;
    assert_eq!(client.expect_rejection().await, ("input-conflict".into(), 1002), "I5: other borders");
}

#[tokio::test]
async fn q1_a_cancel_is_durable_and_confirmed() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let begun = client.start(&Start::new("echo")).await;
    let runner = world.runner().await;
    client.cancel(begun.input()).await;
    assert_eq!(client.expect("streamCancel").await["reason"], "cancelled");
    let standing = runner.standing().await;
    assert_eq!(standing.streams[0].terminal, Some(Terminal::CancelledByClient("cancelled".into())));
    client.cancel(begun.input()).await;
    assert_eq!(client.expect_rejection().await, ("invalid-channel".into(), 1002), "Q2");
}

#[tokio::test]
async fn i8_a_client_is_told_of_an_input_that_the_agent_does_not_want() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let start = Start::new("echo");
    let begun = client.start(&start).await;
    let runner = world.runner().await;
    runner.drops(runner.input(&start.input)).await;
    let told = client.expect("streamCancel").await;
    assert_eq!((&told["channel"], told["reason"].as_str()), (begun.input(), Some("consumer-drop")));
    client.item(begun.input(), 0, "crossed").await;
    client.end(begun.input(), 1).await;
    runner.returns_and_finishes().await;
    client.expect_end().await;
}

/// Sends items of which 256 may wait for the agent, and hears them acknowledged.
async fn fill(client: &mut Client, begun: &Accepted, count: u64) {
    for sequence in 0..count {
        client.item(begun.input(), sequence, "x").await;
    }
    for _ in 0..256 {
        client.expect("inputStreamAck").await;
    }
}

/// A ping is answered, and nothing is said before.
async fn hears_nothing_but_a_pong(client: &mut Client) {
    client.send_raw(Message::Ping("still there?".into())).await;
    assert_eq!(client.next_raw().await, Some(Message::Pong("still there?".into())));
}

#[tokio::test]
async fn section_18_what_the_agent_does_not_take_is_held_back_on_every_connection() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let start = Start::new("echo");
    let begun = client.start(&start).await;
    let runner = world.runner().await;
    let input = runner.input(&start.input);
    fill(&mut client, &begun, 300).await;
    hears_nothing_but_a_pong(&mut client).await;
    assert_eq!(runner.frames(input, 0).await.len(), 256);
    let charge = runner.standing().await.streams[0].volume.charge;
    assert_eq!(charge, 256 * 2, "a node and the length of its text (schema.md 6)");

    let hand =
        async |entries| runner.writes(input, OutputChange::Handed(Volume { entries, charge: 2 * entries })).await;
    hand(44).await;
    for expected in 257..=300 {
        assert_eq!(ack(&client.expect("inputStreamAck").await).0, expected.to_string());
    }
    drop(client);
    runner.until("it is detached", |standing| standing.attachment.holder.is_none()).await;
    let mut client = Client::connect(&world, "alice").await;
    client.attach("resume", &begun.token, &[]).await;
    let again = client.expect_accepted().await;
    client.item(again.input(), 300, "x").await;
    hears_nothing_but_a_pong(&mut client).await;
    hand(45).await;
    assert_eq!(ack(&client.expect("inputStreamAck").await), ("301", false));
}

#[tokio::test]
async fn q1_what_is_held_back_of_a_cancelled_input_is_dropped() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let begun = client.start(&Start::new("echo")).await;
    let runner = world.runner().await;
    fill(&mut client, &begun, 300).await;
    client.cancel(begun.input()).await;
    assert_eq!(client.expect("streamCancel").await["reason"], "cancelled");
    let input = &runner.standing().await.streams[0];
    assert_eq!((input.next, &input.terminal), (256, &Some(Terminal::CancelledByClient("cancelled".into()))));
}

#[tokio::test]
async fn i8_a_client_whose_end_is_held_back_is_told_that_the_agent_wants_no_more() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let start = Start::new("echo");
    let begun = client.start(&start).await;
    let runner = world.runner().await;
    fill(&mut client, &begun, 300).await;
    client.end(begun.input(), 300).await;
    runner.drops(runner.input(&start.input)).await;
    assert_eq!(client.expect("streamCancel").await["reason"], "consumer-drop");
    runner.returns_and_finishes().await;
    client.expect_end().await;
}

#[tokio::test]
async fn section_18_a_message_above_the_limit_closes_1009_and_the_session_can_be_resumed() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let begun = client.start(&Start::new("bytes")).await;
    // The server does not wait for all of it.
    let _ = client.try_send_raw(Message::binary(vec![0; (32 << 20) + 1])).await;
    assert_eq!(client.expect_close().await, 1009);
    let mut client = Client::connect(&world, "alice").await;
    client.attach("resume", &begun.token, &[]).await;
    client.expect_accepted().await;
}

#[tokio::test]
async fn input_arrives_as_it_was_sent() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let start = Start::new("bytes");
    let begun = client.start(&start).await;
    let runner = world.runner().await;
    for sequence in 0..50 {
        client.send_bytes(begun.input(), sequence * 3, b"abc").await;
    }
    for _ in 0..50 {
        client.expect("inputStreamAck").await;
    }
    let frames = runner.frames(runner.input(&start.input), 0).await;
    assert_eq!(frames.len(), 50, "B7, I5: the borders are kept");
    assert!(frames.iter().all(|frame| frame.item == FrameItem::Octets("abc".into())));
    assert_eq!(runner.standing().await.streams[0].role, Role::Input);
}
