//! Protocol.md sections 1, 14 and tokens.md 4: whose sessions they are.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;
use stream_session::token::{Binding, Caller, Key, KeyRing, SessionClaims, Verified};
use support::stream_session::{Invoking, StreamSession, attach};
use support::stream_socket::StreamSocket;

use crate::world::{EVERYTHING, World};

const SECRET: [u8; 32] = [9; 32];

/// The text of a ring with one key.
fn ring(issuer: &str) -> String {
    format!("issuer = \"{issuer}\"\n[active]\nid = \"k1\"\nsecret = \"{}\"\n", STANDARD.encode(SECRET))
}

/// The ring of that text.
fn keys(issuer: &str) -> KeyRing {
    KeyRing::new(issuer, Key { id: "k1".into(), secret: SECRET.to_vec() }, []).unwrap()
}

/// What a token of `acme` says.
fn said(token: &str) -> Verified<SessionClaims> {
    keys("here").verify(token, Caller { account: "acme", principal: "user:acme" }).unwrap()
}

fn invoking() -> Invoking {
    Invoking::method("lines", "count-strings").stream().by("right")
}

/// With which code an attach is refused.
async fn refused(address: &str, credential: &str, operation: &str, token: &str) -> String {
    let socket = StreamSocket::connect(address, credential).await;
    let outcome = StreamSession::begun(socket, &attach(operation, token, &[]), credential).await;
    outcome.err().expect("the attach is refused").code
}

#[tokio::test]
async fn section_14_2_what_a_policy_does_not_allow_is_refused_at_every_first_message() {
    let world = World::new().await;
    let rule = |methods: &str| EVERYTHING.replace(r#"methods = ["*"]"#, methods);
    let node = world.guarded(&[("right", "acme")], &rule(r#"methods = ["count-strings"]"#)).start().await;
    let address = node.streams_address();
    let first = Invoking::method("lines", "first").stream().by("right");
    assert_eq!(first.refused(address).await, "unauthorized");
    let elsewhere = invoking().set("/selector/application", json!("another"));
    assert_eq!(elsewhere.refused(address).await, "not-found");
    let elsewhere = invoking().set("/selector/environment", json!("another"));
    assert_eq!(elsewhere.refused(address).await, "not-found");

    let session = invoking().start(address).await;
    world.file("policy.toml", &rule(r#"methods = ["first"]"#));
    assert_eq!(
        refused(address, "right", "takeover", &session.kept.token).await,
        "unauthorized",
        "tokens never authorize"
    );
    assert_eq!(invoking().refused(address).await, "unauthorized");
    world.file("policy.toml", EVERYTHING);
    session.kept.attached(address, "takeover", &[]).await.expect("it is allowed again");
}

#[tokio::test]
async fn section_14_3_tokens_of_others_and_of_nobody_are_refused_with_their_code() {
    let world = World::new().await;
    let ring_file = world.file("ring.toml", &ring("here"));
    let tokens = [("right", "acme"), ("other", "umbrella")];
    let node = world.guarded(&tokens, EVERYTHING).flag("--streams-key-ring-file", ring_file).start().await;
    let address = node.streams_address();
    let session = invoking().start(address).await;
    let token = &session.kept.token;
    let verified = said(token);
    let signed = |ring: &KeyRing, binding: &Binding, claims: &SessionClaims| ring.sign(binding, claims);
    let (binding, claims) = (&verified.binding, &verified.claims);

    assert_eq!(refused(address, "other", "takeover", token).await, "unauthorized", "another tenant's");
    let elsewhere = signed(&keys("elsewhere"), binding, claims);
    assert_eq!(refused(address, "right", "takeover", &elsewhere).await, "token-invalid", "another deployment's");
    let key = Key { id: "k1".into(), secret: vec![8; 32] };
    let guessed = signed(&KeyRing::new("here", key, []).unwrap(), binding, claims);
    assert_eq!(refused(address, "right", "takeover", &guessed).await, "token-invalid", "another key's");
    let stream = session.mapping("input")["streamToken"].as_str().unwrap();
    assert_eq!(refused(address, "right", "takeover", stream).await, "token-invalid", "another kind");

    let mut bytes = URL_SAFE_NO_PAD.decode(token.strip_prefix("gai1_").unwrap()).unwrap();
    for at in [10, bytes.len() / 2, bytes.len() - 1] {
        bytes[at] ^= 1;
        let tampered = format!("gai1_{}", URL_SAFE_NO_PAD.encode(&bytes));
        assert_eq!(refused(address, "right", "takeover", &tampered).await, "token-invalid", "byte {at}");
        bytes[at] ^= 1;
    }
    for (text, code) in [("", "token-invalid"), ("gai1_", "token-invalid"), ("gai2_AAAA", "token-invalid")] {
        assert_eq!(refused(address, "right", "resume", text).await, code, "{text}");
    }
    assert_eq!(refused(address, "right", "resume", &"t".repeat(8193)).await, "resource-exhausted");
}

#[tokio::test]
async fn section_14_3_generations_that_are_over_or_never_were_are_refused() {
    let world = World::new().await;
    let ring_file = world.file("ring.toml", &ring("here"));
    let node = world.guarded(&[("right", "acme")], EVERYTHING).flag("--streams-key-ring-file", ring_file).start().await;
    let address = node.streams_address();
    let first = invoking().start(address).await;
    let second = first.kept.attached(address, "takeover", &[]).await.unwrap();
    for operation in ["resume", "takeover"] {
        assert_eq!(refused(address, "right", operation, &first.kept.token).await, "stale-session");
        let mut future = said(&second.kept.token);
        future.claims.generation += 1;
        let token = keys("here").sign(&future.binding, &future.claims);
        assert_eq!(refused(address, "right", operation, &token).await, "future-session");
    }
    let mut unknown = said(&second.kept.token);
    unknown.claims.invocation = uuid::Uuid::from_u128(1);
    let token = keys("here").sign(&unknown.binding, &unknown.claims);
    assert_eq!(refused(address, "right", "takeover", &token).await, "token-invalid", "not retained");
    second.kept.attached(address, "takeover", &[]).await.expect("nothing of that has touched it");
}
