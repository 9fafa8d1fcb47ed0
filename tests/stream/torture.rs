//! An upload through the transcoder whose client is killed, whose nodes are killed and whose connections are cut, again and
//! again: as if nothing had happened.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::stream_session::{Invoking, Kept, StreamSession, decimal};
use support::stream_socket::Heard;
use support::{BOUND, Cable, NodeProcess, rounds, seeds};
use tokio::time::Instant;
use wire::event::Body;
use wire::part::Part;

use crate::world::World;

const MIB: usize = 1 << 20;
/// How far the client sends ahead of what has come back: little, so that what happens, happens to both directions.
const AHEAD: u64 = 1 << 20;
/// What a session may admit (64 MiB), twice over for what the allocator keeps, and as much again for the pages of the journal.
const MEMORY: u64 = 256 << 20;

/// What happens to whom.
#[derive(Clone, Copy, Debug)]
enum Blow {
    /// The client loses everything that it has not written down, the cursor of the last items included.
    Client,
    /// The connection carries nothing any more, and nobody is told.
    Connection,
    /// The node that the client talks to.
    Node,
}

/// What the client has written down.
struct Client {
    kept: Kept,
    /// Up to where output was flushed, with the cursor that stands for it.
    cursor: Option<String>,
    output: Vec<u8>,
    /// The same, one batch earlier.
    earlier: (Option<String>, usize),
    /// What was acknowledged, by whatever connection.
    acknowledged: u64,
    over: bool,
}

impl Client {
    fn of(session: &StreamSession) -> Self {
        let (kept, earlier) = (session.kept.clone(), (None, 0));
        Self { kept, cursor: None, output: Vec::new(), earlier, acknowledged: 0, over: false }
    }

    /// Takes what the server says, and whether anything is left to be said.
    fn take(&mut self, heard: Heard) -> Result<(), Option<u16>> {
        match heard {
            Heard::Items(metadata, payload) => self.flush(&metadata, &payload),
            Heard::Message(message) => match message["type"].as_str().unwrap_or_default() {
                "inputStreamAck" => {
                    self.acknowledged = self.acknowledged.max(decimal(&message["highestContiguousSequence"]));
                }
                "outputStreamEnd" => {
                    assert_eq!(message["outcome"], json!({"kind": "ok"}));
                    assert_eq!(decimal(&message["sequence"]), self.output.len() as u64);
                    self.cursor = message["cursorToken"].as_str().map(str::to_owned);
                }
                "invocationFinished" => {
                    assert_eq!(message["outcome"], json!({"kind": "success"}));
                    self.over = true;
                }
                "invocationResult" => {}
                _ => panic!("{message} is not expected"),
            },
            Heard::Closed(code) => return Err(code),
        }
        Ok(())
    }

    fn flush(&mut self, metadata: &Value, payload: &Bytes) {
        assert_eq!(decimal(&metadata["sequence"]), self.output.len() as u64, "nothing is missing, nothing comes twice");
        self.earlier = (self.cursor.take(), self.output.len());
        self.output.extend_from_slice(payload);
        self.cursor = metadata["cursorToken"].as_str().map(str::to_owned);
    }

    /// The process dies between the output of a batch and the writing of its cursor.
    fn die(&mut self) {
        let (cursor, length) = self.earlier.clone();
        self.cursor = cursor;
        self.output.truncate(length);
    }

    /// Goes on at this address.
    async fn attach(&mut self, address: &str) -> StreamSession {
        let cursors: Vec<String> = self.cursor.iter().cloned().collect();
        let deadline = Instant::now() + BOUND;
        loop {
            // Whether the last connection is still attached depends on what happened to it.
            for operation in ["resume", "takeover"] {
                match self.kept.attached(address, operation, &cursors).await {
                    Ok(session) => {
                        self.kept = session.kept.clone();
                        return session;
                    }
                    Err(refused) => assert_eq!(refused.code, "invalid-attachment-state", "{operation}"),
                }
            }
            assert!(Instant::now() < deadline, "the session cannot be attached");
        }
    }

    /// Sends from high-water on and takes what comes, until `output` bytes have come or everything is over.
    async fn upload(&mut self, session: &mut StreamSession, data: &[u8], output: usize, random: &mut StdRng) {
        let (input, high_water) = (session.input(), session.high_water());
        assert!(high_water >= self.acknowledged, "{high_water}: what was acknowledged would have to be sent again");
        let ended = session.mapping("input")["inputHighWater"]["terminal"] == true;
        let (mut sent, mut ended, whole) = (high_water, ended, data.len() as u64);
        self.acknowledged = high_water;
        while !self.over && self.output.len() < output {
            // Four bytes come back for three.
            let back = self.output.len() as u64 / 4 * 3;
            if sent < whole && sent < back + AHEAD {
                let length = random.random_range(1..256 << 10).min(whole - sent);
                let (from, to) = (usize::try_from(sent).unwrap(), usize::try_from(sent + length).unwrap());
                session.send_octets(input, sent, &data[from..to]).await;
                sent += length;
                continue;
            }
            if sent == whole && !ended {
                session.send_end(input, whole).await;
                ended = true;
            }
            let heard = session.socket.hear().await;
            self.take(heard).expect("the connection holds");
        }
    }
}

/// The nodes of a journal, of which one may be dead.
struct Nodes<'w> {
    world: &'w World,
    nodes: Vec<NodeProcess>,
    idle: u64,
}

impl<'w> Nodes<'w> {
    async fn of(world: &'w World) -> Self {
        let nodes = vec![world.node().start().await, world.node().start().await];
        let idle = nodes.iter().map(NodeProcess::resident_bytes).max().unwrap_or_default();
        Self { world, nodes, idle }
    }

    /// A connection's way to the n-th.
    async fn cable(&self, n: usize) -> Cable {
        Cable::to(self.nodes[n].streams_address()).await
    }

    async fn replace(&mut self, n: usize) {
        self.nodes[n].kill();
        self.nodes[n] = self.world.node().start().await;
    }

    fn check_memory(&self) {
        for node in &self.nodes {
            let grown = node.resident_bytes().saturating_sub(self.idle);
            assert!(grown < MEMORY, "a node has grown by {grown} bytes");
        }
    }
}

#[tokio::test]
async fn d3_an_upload_survives_everything_that_may_happen_to_both_ends() {
    let seed = seeds(1)[0];
    let mut random = StdRng::seed_from_u64(seed);
    let mut data = vec![0; rounds(64) * MIB];
    random.fill(&mut data[..]);
    let expected = STANDARD.encode(&data);

    let world = World::new().await;
    let mut nodes = Nodes::of(&world).await;
    let mut cable = nodes.cable(0).await;
    let mut session = Invoking::method("transcoder", "encode").stream().start(cable.address()).await;
    let mut client = Client::of(&session);
    let (blows, mut at) = (rounds(50), 0);
    for n in 0..blows {
        let next = client.output.len() + random.random_range(0..2 * expected.len() / blows);
        client.upload(&mut session, &data, next.min(expected.len() - 1), &mut random).await;
        nodes.check_memory();
        let blow = [Blow::Client, Blow::Connection, Blow::Node][n % 3];
        println!(
            "seed {seed}: {blow:?} at {} bytes of output, {} acknowledged",
            client.output.len(),
            client.acknowledged
        );
        match blow {
            Blow::Client => client.die(),
            Blow::Connection => cable.cut(),
            Blow::Node => nodes.replace(at).await,
        }
        at = random.random_range(0..nodes.nodes.len());
        let mended = nodes.cable(at).await;
        if let Blow::Client = blow {
            drop(session);
        }
        // Any other end that the client had stays open until it has a new one.
        session = client.attach(mended.address()).await;
        cable = mended;
    }
    client.upload(&mut session, &data, usize::MAX, &mut random).await;
    assert!(client.output == expected.as_bytes(), "the output is not that of an uninterrupted run");
    let digests = digests(&nodes.nodes[at]).await;
    for content in [data.as_slice(), expected.as_bytes()] {
        let digest = format!("sha256:{}", hex::encode(Sha256::digest(content)));
        assert!(digests.contains(&digest), "{digest} is not among {digests:?}");
    }
}

/// The digests of the streams of the only session, as its log has them.
async fn digests(node: &NodeProcess) -> Vec<String> {
    let records = node.api().await.only_log("lab").await;
    let bodies = records.into_iter().filter_map(|record| record.event?.body);
    let messages = bodies.filter_map(|body| if let Body::Message(message) = body { Some(message) } else { None });
    let parts = messages.flat_map(|message| message.parts).filter_map(|part| part.part);
    parts.filter_map(|part| if let Part::File(file) = part { Some(file.digest) } else { None }).collect()
}
