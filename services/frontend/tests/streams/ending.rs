//! Connections that end otherwise (sections 1, 9 and 17).

use std::time::Duration;

use journal::DeletionNote;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Client, PROTOCOL, Start};
use crate::world::{Settings, World};

#[tokio::test]
async fn section_9_a_server_that_drains_detaches_and_closes_1001() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    client.start(&Start::new("echo")).await;
    let runner = world.runner().await;
    let mut silent = Client::connect(&world, "alice").await;
    world.front.drain();
    assert_eq!(client.expect_close().await, 1001);
    assert_eq!(silent.expect_close().await, 1001);
    assert!(runner.standing().await.attachment.holder.is_none());
    let refused = Client::try_connect(&world, &[("authorization", "Bearer alice"), PROTOCOL]).await.err();
    assert_eq!(refused, Some((503, "internal-error".into())));
    drop((client, silent));
    assert!(world.front.idle_within(Duration::from_secs(10)).await);
}

#[tokio::test]
async fn section_9_what_comes_with_the_first_message_comes_too_early() {
    let world = World::start().await;
    // How far the evaluation has come when it is looked at is left to chance.
    for key in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"] {
        let mut client = Client::connect(&world, "alice").await;
        let end = r#"{"channel":1,"sequence":"0","type":"inputStreamEnd","version":1}"#;
        client.start_and(&Start::new("echo").with_key(key), Message::text(end)).await;
        assert_eq!(client.expect_rejection().await, ("protocol-error".into(), 1002), "{key}");
    }
}

#[tokio::test]
async fn h6_a_client_that_is_not_there_any_more_is_found_and_detached() {
    let mut settings = Settings::default();
    settings.options.ping_interval = Duration::from_millis(100);
    settings.options.idle_timeout = Duration::from_millis(400);
    let world = World::with(settings).await;
    let mut gone = Client::connect(&world, "alice").await;
    gone.start(&Start::new("echo")).await;
    let runner = world.runner().await;
    // It neither reads nor closes, and so answers no ping.
    runner.until("the session is detached", |standing| standing.attachment.holder.is_none()).await;
}

#[tokio::test]
async fn h6_a_client_that_answers_pings_is_kept() {
    let mut settings = Settings::default();
    settings.options.ping_interval = Duration::from_millis(100);
    settings.options.idle_timeout = Duration::from_millis(400);
    let world = World::with(settings).await;
    let mut client = Client::connect(&world, "alice").await;
    client.start(&Start::new("rest")).await;
    let runner = world.runner().await;
    let listening = tokio::time::timeout(Duration::from_millis(1500), client.next()).await;
    assert!(listening.is_err(), "nothing but pings: {listening:?}");
    runner.returns().await;
    client.expect("invocationResult").await;
}

#[tokio::test]
async fn q7_streams_of_an_agent_that_is_deleted_end_with_that_reason() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let begun = client.start(&Start::new("echo")).await;
    let runner = world.runner().await;
    runner.returns_stream().await;
    client.expect("invocationResult").await;
    world.journal.delete(runner.session(), DeletionNote::default()).await.unwrap();
    world.journal.finish_deletion(runner.session()).await.unwrap();
    let ended = client.expect("outputStreamEnd").await;
    assert_eq!(ended["outcome"], json!({"kind": "cancelled", "reason": "producer-deleted"}));
    let cancelled = client.expect("streamCancel").await;
    assert_eq!((&cancelled["channel"], &cancelled["reason"]), (begun.input(), &json!("producer-deleted")));
    let finished = client.expect("invocationFinished").await;
    assert_eq!(finished["outcome"]["code"], "invocation-failed", "{finished}");
    assert_eq!(client.expect_close().await, 1000);
}

#[tokio::test]
async fn h5_pings_are_answered_also_before_the_first_message() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    client.send_raw(Message::Ping("x".into())).await;
    assert_eq!(client.next_raw().await, Some(Message::Pong("x".into())));
}
