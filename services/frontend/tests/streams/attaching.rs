//! Resumes, takeovers and attempts that come again (sections 14 and 15).

use crate::client::{Client, Start, uuid};
use crate::world::World;

#[tokio::test]
async fn section_14_3_an_attach_needs_the_latest_token_and_the_right_operation() {
    let world = World::start().await;
    let mut first = Client::connect(&world, "alice").await;
    let begun = first.start(&Start::new("echo")).await;
    let refused = async |operation: &str, token: &str| {
        let mut client = Client::connect(&world, "alice").await;
        client.attach(operation, token, &[]).await;
        client.expect_rejection().await.0
    };
    assert_eq!(refused("resume", &begun.token).await, "invalid-attachment-state", "it is attached");
    let mut second = Client::connect(&world, "alice").await;
    second.attach("takeover", &begun.token, &[]).await;
    let taken = second.expect_accepted().await;
    assert_eq!(first.expect("attachmentRevoked").await["reason"], "replaced");
    assert_eq!(first.expect_close().await, 1000);
    assert_eq!(refused("takeover", &begun.token).await, "stale-session");
    let runner = world.runner().await;
    drop(second);
    runner.until("the session is detached", |standing| standing.attachment.holder.is_none()).await;
    assert_eq!(refused("takeover", &taken.token).await, "invalid-attachment-state", "it is detached");
    let mut third = Client::connect(&world, "alice").await;
    third.attach("resume", &taken.token, &[]).await;
    third.expect_accepted().await;
}

#[tokio::test]
async fn r2_the_same_attempt_again_owns_the_session_and_r3_not_once_another_has_it() {
    let world = World::start().await;
    let start = Start::new("echo");
    let mut first = Client::connect(&world, "alice").await;
    let begun = first.start(&start).await;
    let mut again = Client::connect(&world, "alice").await;
    let replayed = again.start(&start).await;
    assert_eq!(replayed.mapping("input")["provisionalRef"], start.input.as_str());
    assert_eq!(replayed.mapping("input")["streamToken"], begun.mapping("input")["streamToken"]);
    first.expect("attachmentRevoked").await;
    assert_eq!(first.expect_close().await, 1000);
    again.item(replayed.input(), 0, "a").await;
    again.expect("inputStreamAck").await;

    let (attempt, mut other) = (uuid(), Client::connect(&world, "alice").await);
    other.attach_as(&attempt, "takeover", &replayed.token, &[]).await;
    other.expect_accepted().await;
    again.expect("attachmentRevoked").await;
    let mut late = Client::connect(&world, "alice").await;
    late.start(&start).await;
    late.expect("attachmentRevoked").await;
    assert_eq!(late.expect_close().await, 1000);
    let mut repeated = Client::connect(&world, "alice").await;
    repeated.attach_as(&attempt, "takeover", &replayed.token, &[]).await;
    repeated.expect_accepted().await;
    other.expect("attachmentRevoked").await;
}

#[tokio::test]
async fn section_14_2_attempts_and_keys_are_used_once() {
    let world = World::start().await;
    let start = Start::new("echo");
    Client::connect(&world, "alice").await.start(&start).await;
    let refused = async |start: &Start| {
        let mut client = Client::connect(&world, "alice").await;
        client.say_start(start).await;
        client.expect_rejection().await
    };
    let other_content = Start { input: uuid(), ..start.clone() };
    assert_eq!(refused(&other_content).await, ("attempt-conflict".into(), 1000));
    let other_attempt = Start { attempt: uuid(), ..start };
    assert_eq!(refused(&other_attempt).await, ("idempotency-conflict".into(), 1000), "O-11");
}

#[tokio::test]
async fn section_9_whoever_does_not_wait_for_acceptance_is_refused_and_what_was_started_is_detached() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    let start = Start::new("echo");
    client.say_start(&start).await;
    client.say_start(&start).await;
    match client.next_text().await["type"].as_str() {
        // It was fast: then the second message is a violation of an open connection.
        Some("invocationAccepted") => assert_eq!(client.expect_rejection().await, ("protocol-error".into(), 1002)),
        _ => assert_eq!(client.expect_close().await, 1002),
    }
    let runner = world.runner().await;
    runner.until("the session is detached", |standing| standing.attachment.holder.is_none()).await;
}
