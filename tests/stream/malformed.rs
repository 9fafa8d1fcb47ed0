//! Malformed frames of each kind at a real node: whoever sends them is refused, and nobody else notices.

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use stream_session::ErrorCode;
use support::stream_session::{Invoking, Kept, StreamSession, attach, end, item, metadata, string};
use support::stream_socket::{Heard, StreamSocket, framed};
use support::{rounds, seeds};
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::world::{World, development};

/// Stands in every frame, and must stand in no log.
const SECRET: &str = "xyzzy-plugh-frotz";

/// A session that nothing of this may touch.
struct Bystander {
    session: StreamSession,
    sent: u64,
}

impl Bystander {
    async fn new(address: &str) -> Self {
        Self { session: Invoking::method("lines", "count-strings").stream().start(address).await, sent: 0 }
    }

    async fn is_well(&mut self) {
        let input = self.session.input();
        self.session.send_value(input, self.sent, &string("all is well")).await;
        self.sent += 1;
        self.session.acknowledged(self.sent).await;
    }

    async fn ends(mut self) {
        let input = self.session.input();
        self.session.send_end(input, self.sent).await;
        let result = self.session.message("invocationResult").await;
        assert_eq!(result["result"]["value"], json!({"kind": "u64", "value": self.sent.to_string()}));
        assert_eq!(self.session.finished().await, json!({"kind": "success"}));
    }
}

/// Changes some bytes, never the secret's: a frame whose secret is broken would hide that it is logged.
fn broken(bytes: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let secret = bytes.windows(SECRET.len()).position(|window| window == SECRET.as_bytes());
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..bytes.len());
        let is_secret = secret.is_some_and(|from| (from..from + SECRET.len()).contains(&at));
        if !is_secret {
            bytes[at] = *b"\"\\{}[]:,0-9e\x00\xff\x80 nt".get(random.random_range(0..19)).unwrap_or(&b'?');
        }
    }
    bytes
}

/// As a text message if it can be one.
fn text(bytes: Vec<u8>) -> Message {
    match String::from_utf8(bytes) {
        Ok(text) => Message::text(text),
        Err(bytes) => Message::text(String::from_utf8_lossy(bytes.as_bytes()).into_owned()),
    }
}

/// Says it, and hears what is said to that: a known refusal and a close, or that it was no fault after all.
async fn said(socket: &mut StreamSocket, message: Message) -> bool {
    socket.send(message).await;
    socket.send(Message::Ping(Bytes::new())).await;
    loop {
        match socket.hear_within(std::time::Duration::from_millis(300)).await {
            Some(Heard::Message(message)) if message["type"] == "invocationRejected" => {
                let code = message["code"].as_str().unwrap_or_default();
                assert!(ErrorCode::parse(code).is_some(), "{message}");
                assert!(!message.to_string().contains(SECRET), "{message}");
            }
            Some(Heard::Closed(code)) => {
                assert!(code.is_none_or(|code| [1000, 1002, 1009].contains(&code)), "{code:?}");
                return true;
            }
            Some(_) => {}
            None => return false,
        }
    }
}

/// What every kind of frame has to answer for.
async fn unharmed(world: &World, address: &str, mut bystander: Bystander) {
    bystander.is_well().await;
    bystander.ends().await;
    Invoking::method("mirror", "nothing").start(address).await.finished().await;
    let log = world.log();
    assert!(!log.contains(SECRET), "a payload is logged");
    assert!(!log.contains("gai1_"), "a token is logged");
    assert!(!log.contains("panicked"), "something panicked");
}

fn random() -> StdRng {
    StdRng::seed_from_u64(seeds(1)[0])
}

#[tokio::test]
async fn d5_first_messages() {
    let (world, node) = development().await;
    let address = node.streams_address();
    let (mut random, mut bystander) = (random(), Bystander::new(address).await);
    for n in 0..rounds(1_000) {
        let start = Invoking::method("lines", SECRET).stream().message.to_string();
        let attach = attach("resume", &format!("gai1_{SECRET}"), &[]).to_string();
        let seed = if n % 2 == 0 { start } else { attach };
        let mut socket = StreamSocket::connect(address, "anybody").await;
        assert!(said(&mut socket, text(broken(seed.as_bytes(), &mut random))).await, "no method of this name exists");
        if n % 50 == 0 {
            bystander.is_well().await;
        }
    }
    unharmed(&world, address, bystander).await;
}

#[tokio::test]
async fn d5_messages_of_an_open_session() {
    let (world, node) = development().await;
    let address = node.streams_address();
    let (mut random, mut bystander) = (random(), Bystander::new(address).await);
    let mut session = Invoking::method("lines", "count-strings").stream().start(address).await;
    for n in 0..rounds(1_000) {
        let input = session.input();
        let high_water = session.high_water();
        let seed = if n % 3 == 0 { end(input, high_water + 7) } else { item(input, high_water, &string(SECRET)) };
        said(&mut session.socket, text(broken(seed.to_string().as_bytes(), &mut random))).await;
        session = again(session, address, "count-strings").await;
        if n % 50 == 0 {
            bystander.is_well().await;
        }
    }
    unharmed(&world, address, bystander).await;
}

#[tokio::test]
async fn d5_binary_messages_of_an_open_session() {
    let (world, node) = development().await;
    let address = node.streams_address();
    let (mut random, mut bystander) = (random(), Bystander::new(address).await);
    let mut session = Invoking::method("lines", "count").stream().start(address).await;
    for n in 0..rounds(1_000) {
        let (input, high_water) = (session.input(), session.high_water());
        let metadata: Value = metadata("input-u8", input, high_water, SECRET.len());
        let Message::Binary(frame) = framed(&metadata, SECRET.as_bytes()) else { panic!("it is binary") };
        said(&mut session.socket, Message::binary(broken(&frame, &mut random))).await;
        session = again(session, address, "count").await;
        if n % 50 == 0 {
            bystander.is_well().await;
        }
    }
    unharmed(&world, address, bystander).await;
}

/// The session on another connection, whether or not this one is closed; another session if this one is at its end.
async fn again(session: StreamSession, address: &str, method: &str) -> StreamSession {
    let kept: Kept = session.kept.clone();
    let again = match kept.attached(address, "takeover", &[]).await {
        Ok(again) => again,
        Err(_) => kept.resumed(address, &[]).await,
    };
    if again.mapping("input")["inputHighWater"]["terminal"] != true {
        return again;
    }
    Invoking::method("lines", method).stream().start(address).await
}
