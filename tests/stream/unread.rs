//! Protocol.md section 18: a client whose agent does not read waits, and nobody else.

use std::time::Duration;

use sdk::schema::{self, record, stream};
use sdk::{Agent, Agents, Bytes, Call, Failure, Input, Method};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::AgentServer;
use support::stream_session::{Invoking, StreamSession, decimal, fresh_uuid, metadata, string};
use support::stream_socket::{Heard, framed};
use tokio::time::timeout;

use crate::world::{World, development};

const BATCH: usize = 1 << 20;
/// What may wait for an agent of a stream of u8, which are charged two bytes each, and what it is handed unasked.
const ACCEPTED: u64 = (8 << 20) + (2 << 20);
/// What a node stages of an input that nobody reads, as that is charged, and what lies in the buffers of sockets.
const STAGED: usize = (32 << 20) + (12 << 20);

/// Reads nothing of `data` before there is something in `go`, and then tells what it has read.
fn patient() -> Agents {
    async fn read(mut call: Call) -> Result<String, Failure> {
        let mut go: Input<String> = call.parameter("go")?;
        let mut data: Input<Bytes> = call.parameter("data")?;
        go.next().await.transpose()?;
        let mut digest = Sha256::new();
        while let Some(some) = data.next().await {
            digest.update(some?);
        }
        Ok(hex::encode(digest.finalize()))
    }
    let parameters = record([("go", stream(schema::string())), ("data", stream(schema::u8()))]);
    let method = Method::new("read", parameters, read).returns(schema::string());
    Agents::new("agents", "1", [Agent::new("patient").method(method)]).unwrap()
}

/// A session of it, and the tokens of its two inputs.
struct Patient {
    session: StreamSession,
    tokens: [Value; 2],
}

impl Patient {
    async fn start(address: &str) -> Self {
        let session = Invoking::method("patient", "read").stream().stream().start(address).await;
        let tokens = [0, 1].map(|index| session.mappings[index]["streamToken"].clone());
        Self { session, tokens }
    }

    async fn resumed(self, address: &str) -> Self {
        let Self { session, tokens } = self;
        Self { session: session.kept.clone().resumed(address, &[]).await, tokens }
    }

    fn mapping(&self, index: usize) -> &Value {
        let mut mappings = self.session.mappings.iter();
        mappings.find(|mapping| mapping["streamToken"] == self.tokens[index]).unwrap()
    }

    fn channel(&self, index: usize) -> u64 {
        self.mapping(index)["channel"].as_u64().unwrap()
    }

    async fn says_go(&mut self) {
        self.session.send_value(self.channel(0), 0, &string("go")).await;
    }

    /// How much of the data is acknowledged, once nothing more comes.
    async fn acknowledged(&mut self) -> u64 {
        let (data, mut acknowledged) = (self.channel(1), 0);
        while let Some(heard) = self.session.socket.hear_within(Duration::from_secs(2)).await {
            match heard {
                Heard::Message(ack) if ack["type"] == "inputStreamAck" && ack["channel"] == data => {
                    acknowledged = decimal(&ack["highestContiguousSequence"]);
                }
                other => panic!("{other:?} is no acknowledgement of data"),
            }
        }
        acknowledged
    }

    /// Ends the data after so many bytes. Answers the digest of what the agent has read.
    async fn digest(mut self, bytes: usize) -> String {
        let channel = self.channel(1);
        self.session.send_end(channel, bytes as u64).await;
        let result = self.session.message("invocationResult").await;
        assert_eq!(self.session.finished().await, json!({"kind": "success"}));
        result["result"]["value"]["value"].as_str().unwrap().to_owned()
    }
}

async fn world() -> World {
    World::of(AgentServer::serving(patient()).await)
}

fn data(size: usize) -> Vec<u8> {
    (0..size).map(|index| (index ^ (index >> 8) ^ (index >> 16)) as u8).collect()
}

#[tokio::test]
async fn section_18_what_an_agent_does_not_read_waits_at_its_client_until_it_does() {
    let world = world().await;
    let node = world.node().start().await;
    let address = node.streams_address();
    let mut unread = Patient::start(address).await;
    // No more than a client may have unacknowledged, beside what is accepted.
    let bytes = data(16 << 20);
    for (index, batch) in bytes.chunks(BATCH).enumerate() {
        unread.session.send_octets(unread.channel(1), (index * BATCH) as u64, batch).await;
    }
    let acknowledged = unread.acknowledged().await;
    assert!((8 << 20..=ACCEPTED).contains(&acknowledged), "{acknowledged} bytes are accepted that nobody reads");
    assert!(unread.session.socket.answers().await, "H5: a ping is answered under back-pressure");

    let mut other = Patient::start(address).await;
    other.says_go().await;
    other.session.send_octets(other.channel(1), 0, b"something").await;
    assert_eq!(other.digest(9).await, hex::encode(Sha256::digest("something")));

    // What comes on the other stream is behind what is held back, and is not held up.
    unread.says_go().await;
    assert_eq!(unread.digest(bytes.len()).await, hex::encode(Sha256::digest(&bytes)));
}

#[tokio::test]
async fn l6_a_client_that_does_not_wait_is_not_read_and_after_30_s_detached_and_can_resume() {
    let world = world().await;
    let node = world.node().start().await;
    let address = node.streams_address();
    let before = node.resident_bytes();
    let mut unread = Patient::start(address).await;
    let bytes = data(96 << 20);
    let mut sent = 0;
    for batch in bytes.chunks(BATCH) {
        let message = framed(&metadata("input-u8", unread.channel(1), sent as u64, BATCH), batch);
        if timeout(Duration::from_secs(5), unread.session.socket.send(message)).await.is_err() {
            break;
        }
        sent += BATCH;
    }
    assert!(sent <= ACCEPTED as usize + STAGED, "{sent} bytes are taken that nobody reads");
    let grown = node.resident_bytes().saturating_sub(before);
    assert!(grown < 3 * (64 << 20), "{grown} bytes are held that nobody reads");
    let kept = world.journal_bytes();
    assert!(kept < 4 * ACCEPTED, "{kept} bytes are in the journal that nobody reads");

    let closed = unread.session.until(|heard| matches!(heard, Heard::Closed(_)));
    assert_eq!(timeout(Duration::from_secs(60), closed).await.unwrap(), Heard::Closed(Some(1011)));
    let mut unread = unread.resumed(address).await;
    unread.says_go().await;
    let from = decimal(&unread.mapping(1)["inputHighWater"]["sequence"]) as usize;
    assert!(from as u64 <= ACCEPTED, "{from} bytes were accepted that nobody reads");
    let mut from = from;
    for batch in bytes[from..].chunks(BATCH) {
        unread.session.send_octets(unread.channel(1), from as u64, batch).await;
        from += batch.len();
        unread.session.message("inputStreamAck").await;
    }
    assert_eq!(unread.digest(bytes.len()).await, hex::encode(Sha256::digest(&bytes)));
}

#[tokio::test]
async fn section_18_an_invocation_that_waits_for_its_turn_accepts_what_may_wait_for_it() {
    let (_world, node) = development().await;
    let address = node.streams_address();
    let instance = json!(fresh_uuid());
    let counting = || Invoking::method("lines", "count-strings").set("/selector/phantomId", instance.clone()).stream();
    let mut first = counting().start(address).await;
    let mut second = counting().start(address).await;
    let channel = second.input();
    for sequence in 0..300 {
        second.send_value(channel, sequence, &string("a line")).await;
    }
    second.acknowledged(256).await;
    assert_eq!(second.socket.hear_within(Duration::from_secs(1)).await, None);
    let channel = first.input();
    first.send_end(channel, 0).await;
    assert_eq!(first.finished().await, json!({"kind": "success"}));
    second.acknowledged(300).await;
    let channel = second.input();
    second.send_end(channel, 300).await;
    assert_eq!(second.message("invocationResult").await["result"]["value"]["value"], "300");
    assert_eq!(second.finished().await, json!({"kind": "success"}));
}
