//! Who is let in, and what is refused with which code (D7).

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Client, PROTOCOL, Start};
use crate::world::{Settings, World};

#[tokio::test]
async fn h3_whoever_does_not_say_who_they_are_is_not_let_in() {
    let world = World::start().await;
    let refused = async |headers: &[(&str, &str)]| Client::try_connect(&world, headers).await.err();
    let unauthenticated = Some((401, "authentication-failed".to_owned()));
    assert_eq!(refused(&[PROTOCOL]).await, unauthenticated);
    assert_eq!(refused(&[("authorization", "Basic alice"), PROTOCOL]).await, unauthenticated);
    assert_eq!(refused(&[("authorization", "Bearer nobody"), PROTOCOL]).await, unauthenticated);
    let alice = ("authorization", "Bearer alice");
    let unsupported = Some((400, "unsupported-subprotocol".to_owned()));
    assert_eq!(refused(&[alice, ("sec-websocket-protocol", "other")]).await, unsupported);
    assert_eq!(refused(&[alice, ("sec-websocket-protocol", "other, golem.agent-invocation.v1")]).await, None);
}

#[tokio::test]
async fn section_14_2_unknown_agents_are_not_found_and_callers_need_a_rule() {
    let world = World::start().await;
    let refused = async |caller: &str, start: Start| {
        let mut client = Client::connect(&world, caller).await;
        client.say_start(&start).await;
        client.expect_rejection().await
    };
    let echo = || Start::new("echo");
    assert_eq!(refused("alice", Start { application: "other", ..echo() }).await, ("not-found".into(), 1000));
    assert_eq!(refused("alice", Start::new("nothing")).await, ("not-found".into(), 1000));
    assert_eq!(refused("bob", echo()).await, ("unauthorized".into(), 1000));
    let long: &'static str = Box::leak("a".repeat(257).into_boxed_str());
    assert_eq!(refused("alice", Start { application: long, ..echo() }).await, ("not-found".into(), 1000));
}

#[tokio::test]
async fn d7_tokens_are_good_for_their_caller_and_their_deployment_alone() {
    let world = World::start().await;
    let mut first = Client::connect(&world, "alice").await;
    let token = first.start(&Start::new("echo")).await.token;
    let refused = async |world: &World, caller: &str, token: &str, cursors: &[&str]| {
        let mut client = Client::connect(world, caller).await;
        client.attach("takeover", token, cursors).await;
        client.expect_rejection().await
    };
    assert_eq!(refused(&world, "mallory", &token, &[]).await, ("unauthorized".into(), 1000));
    assert_eq!(refused(&world, "bob", &token, &[]).await, ("unauthorized".into(), 1000));
    let tampered = format!("{}A", &token[..token.len() - 1]);
    for bad in [tampered.as_str(), "gai1_x", "nothing"] {
        assert_eq!(refused(&world, "alice", bad, &[]).await, ("token-invalid".into(), 1000), "{bad}");
    }
    assert_eq!(refused(&world, "alice", &token, &[&token]).await, ("token-invalid".into(), 1000), "no cursor");
    let other = World::with(Settings { keys: ("other", None), ..Settings::default() }).await;
    assert_eq!(refused(&other, "alice", &token, &[]).await, ("token-invalid".into(), 1000));
    let unknown = World::start().await;
    assert_eq!(refused(&unknown, "alice", &token, &[]).await, ("token-invalid".into(), 1000), "not retained there");
}

#[tokio::test]
async fn d7_an_attempt_is_no_way_into_the_session_of_another_principal_of_the_account() {
    let world = World::start().await;
    let start = Start::new("echo");
    let mut first = Client::connect(&world, "alice").await;
    let begun = first.start(&start).await;
    let mut other = Client::connect(&world, "carol").await;
    other.say_start(&start).await;
    assert_eq!(other.expect_rejection().await, ("unauthorized".into(), 1000));
    first.item(begun.input(), 0, "a").await;
    first.expect("inputStreamAck").await;
}

#[tokio::test]
async fn d6_keys_rotate_without_a_restart_and_a_key_that_is_gone_is_no_longer_good() {
    let world = World::with(Settings { keys: ("a", Some("b")), ..Settings::default() }).await;
    let mut first = Client::connect(&world, "alice").await;
    let begun = first.start(&Start::new("echo")).await;
    world.rotate(("b", Some("a")));
    let mut client = Client::connect(&world, "alice").await;
    client.attach("takeover", &begun.token, &[]).await;
    let again = client.expect_accepted().await;
    let stream = |accepted: &crate::client::Accepted| accepted.mapping("input")["streamToken"].clone();
    assert_eq!(stream(&again), stream(&begun), "T2");
    world.rotate(("b", None));
    let mut client = Client::connect(&world, "alice").await;
    client.attach("takeover", &again.token, &[]).await;
    assert_eq!(client.expect_rejection().await, ("token-invalid".into(), 1000), "K3: its streams were signed with a");
}

#[tokio::test]
async fn section_9_first_messages_that_are_none_are_refused_and_closed_1002() {
    let world = World::start().await;
    let mut client = Client::connect(&world, "alice").await;
    client.send(&json!({"version": 1, "type": "nothing"})).await;
    assert_eq!(client.expect_rejection().await, ("malformed-message".into(), 1002));
    let mut client = Client::connect(&world, "alice").await;
    client.end(&json!(1), 0).await;
    assert_eq!(client.expect_rejection().await, ("protocol-error".into(), 1002));
    let mut client = Client::connect(&world, "alice").await;
    client.send_raw(Message::binary(vec![0, 0, 0, 0])).await;
    assert_eq!(client.expect_close().await, 1002, "without a word");
}

#[tokio::test]
async fn h7_whoever_says_nothing_is_not_kept() {
    let mut settings = Settings::default();
    settings.options.first_message_timeout = std::time::Duration::from_millis(50);
    let world = World::with(settings).await;
    assert_eq!(Client::connect(&world, "alice").await.expect_close().await, 1002);
}
