//! Ten thousand requests that no client would send.

use bytes::Bytes;
use futures::StreamExt;
use prost::Message as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use support::{NodeBuilder, rounds};
use tonic::Code;
use wire::part::Part as Content;
use wire::protobuf::value::Kind;
use wire::protobuf::{ListValue, Struct, Value};
use wire::{
    ApproveRequest, CancelRequest, CreateSessionRequest, DataPart, DeleteSessionRequest, ExecRequest, FilePart,
    ForkRequest, GetSessionRequest, IdentityRef, ListSessionsRequest, Message, Origin, Part, ReasoningPart,
    ReplayRequest, ResourceMetadata, ResumeRequest, Session, SuspendRequest, TextPart, ToolCall, ToolResult,
};

use crate::operations::channel;
use crate::raw::send;

/// Draws the parts of requests. Every value is one that a careless host would stumble over.
struct Hostile {
    rng: StdRng,
    sessions: Vec<String>,
}

impl Hostile {
    fn text(&mut self) -> String {
        let long = "\u{10ffff}".repeat(self.rng.random_range(0..3_000));
        let texts = ["", "\0", "echo", "chat", "default", "../..", "%00", "\u{ffff}\u{10000}", "\r\nx: y", &long];
        (*texts.choose(&mut self.rng).unwrap()).to_owned()
    }

    fn session(&mut self) -> String {
        match self.rng.random_range(0..4) {
            0 => self.text(),
            _ => self.sessions.choose(&mut self.rng).unwrap().clone(),
        }
    }

    fn long(&mut self) -> i64 {
        *[0, 0, 1, -1, 3, 5, 129, i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1].choose(&mut self.rng).unwrap()
    }

    fn int(&mut self) -> i32 {
        *[0, 0, 1, 2, -1, 128, 129, i32::MAX, i32::MIN].choose(&mut self.rng).unwrap()
    }

    fn number(&mut self) -> f64 {
        let numbers =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324, 1e21, f64::MAX, 9_007_199_254_740_993.0];
        *numbers.choose(&mut self.rng).unwrap()
    }

    fn value(&mut self, depth: u32) -> Value {
        let kind = match self.rng.random_range(0..if depth == 0 { 4 } else { 6 }) {
            0 => None,
            1 => Some(Kind::NullValue(self.int())),
            2 => Some(Kind::NumberValue(self.number())),
            3 => Some(Kind::StringValue(self.text())),
            4 => Some(Kind::StructValue(self.object(depth - 1))),
            _ => Some(Kind::ListValue(ListValue { values: vec![self.value(depth - 1), self.value(depth - 1)] })),
        };
        Value { kind }
    }

    fn object(&mut self, depth: u32) -> Struct {
        let fields = [(self.text(), self.value(depth)), (self.text(), self.value(depth))];
        Struct { fields: fields.into_iter().collect() }
    }

    fn part(&mut self, depth: u32) -> Part {
        let part = match self.rng.random_range(0..7) {
            0 => None,
            1 => Some(Content::Text(TextPart { text: self.text() })),
            2 => Some(Content::File(FilePart { mime: self.text(), digest: self.text(), ..FilePart::default() })),
            3 => Some(Content::Data(DataPart { data: Some(self.object(depth)) })),
            4 => {
                let summary = if depth == 0 { Vec::new() } else { vec![self.part(depth - 1)] };
                Some(Content::Reasoning(ReasoningPart { summary, ordinal: self.int(), ..ReasoningPart::default() }))
            }
            5 => {
                let args = Some(self.object(depth));
                Some(Content::ToolCall(ToolCall {
                    id: self.text(),
                    args,
                    mediation: self.int(),
                    ..ToolCall::default()
                }))
            }
            _ => {
                let approval_request_seq = self.long();
                Some(Content::ToolResult(ToolResult {
                    code: self.int(),
                    approval_request_seq,
                    ..ToolResult::default()
                }))
            }
        };
        Part { part }
    }

    fn message(&mut self) -> Message {
        let depth = self.rng.random_range(0..25);
        Message { role: self.text(), parts: vec![self.part(depth), self.part(1)] }
    }

    fn create(&mut self) -> CreateSessionRequest {
        let attributes = [(self.text(), self.text())].into_iter().collect();
        let session = Session {
            metadata: Some(ResourceMetadata { project: self.text(), name: self.text(), ..ResourceMetadata::default() }),
            harness: self.text(),
            labels: [(self.text(), self.text())].into_iter().collect(),
            origin: Some(Origin { attributes, ..Origin::default() }),
            exec_state: self.int(),
            last_seq: self.long(),
            ..Session::default()
        };
        CreateSessionRequest { session: Some(session) }
    }

    fn exec(&mut self) -> ExecRequest {
        ExecRequest {
            session: self.session(),
            inputs: vec![self.message()],
            resume_from_seq: self.long(),
            harness: if self.rng.random() { String::new() } else { self.text() },
            config: self.text().into(),
            expected_last_seq: self.rng.random::<bool>().then(|| self.long()),
            deadline_unix: self.long(),
            execution_id: if self.rng.random_bool(0.8) { String::new() } else { self.text() },
        }
    }

    fn fork(&mut self) -> ForkRequest {
        ForkRequest {
            session: self.session(),
            at_seq: self.long(),
            count: self.int(),
            identity: self.rng.random_bool(0.1).then(IdentityRef::default),
            child_names: vec![self.text()],
            ..ForkRequest::default()
        }
    }

    fn approve(&mut self) -> ApproveRequest {
        ApproveRequest {
            session: self.session(),
            execution_id: self.text(),
            tool_call_id: self.text(),
            request_seq: self.long(),
            approved: self.rng.random::<bool>().then(|| self.rng.random()),
            ..ApproveRequest::default()
        }
    }

    fn request(&mut self) -> (&'static str, Vec<u8>) {
        match self.rng.random_range(0..11) {
            0 => ("/agentsessions.v1.Sessions/CreateSession", self.create().encode_to_vec()),
            1 => ("/agentsessions.v1.Sessions/GetSession", GetSessionRequest { uid: self.session() }.encode_to_vec()),
            2 => {
                let list = ListSessionsRequest {
                    project: self.text(),
                    page_size: self.int(),
                    page_token: self.text(),
                    ..Default::default()
                };
                ("/agentsessions.v1.Sessions/ListSessions", list.encode_to_vec())
            }
            3 => {
                let delete = DeleteSessionRequest { uid: self.session(), ..DeleteSessionRequest::default() };
                ("/agentsessions.v1.Sessions/DeleteSession", delete.encode_to_vec())
            }
            4 => {
                let replay = ReplayRequest { session: self.session(), from_seq: self.long(), to_seq: self.long() };
                ("/agentsessions.v1.Sessions/Replay", replay.encode_to_vec())
            }
            5 => ("/agentsessions.v1.Sessions/Approve", self.approve().encode_to_vec()),
            6 => {
                let cancel = CancelRequest { session: self.session(), ..CancelRequest::default() };
                ("/agentsessions.v1.Sessions/Cancel", cancel.encode_to_vec())
            }
            7 => ("/agentsessions.v1.Sessions/Suspend", SuspendRequest { session: self.session() }.encode_to_vec()),
            8 => {
                let resume = ResumeRequest { session: self.session(), boot: self.rng.random() };
                ("/agentsessions.v1.Sessions/Resume", resume.encode_to_vec())
            }
            9 => ("/agentsessions.v1.Sessions/Fork", self.fork().encode_to_vec()),
            _ => ("/agentsessions.v1.Sessions/Exec", self.exec().encode_to_vec()),
        }
    }

    /// Breaks some of the requests.
    fn damaged(&mut self) -> (&'static str, Bytes) {
        let (rpc, mut bytes) = self.request();
        match self.rng.random_range(0..4) {
            0 => bytes.truncate(self.rng.random_range(0..=bytes.len())),
            1 if !bytes.is_empty() => {
                for _ in 0..self.rng.random_range(1..4) {
                    let at = self.rng.random_range(0..bytes.len());
                    bytes[at] = self.rng.random();
                }
            }
            _ => {}
        }
        (rpc, bytes.into())
    }
}

#[tokio::test]
async fn no_request_makes_the_node_panic_or_blame_itself() {
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path()).flag("--log-filter", "warn");
    let node = builder.start().await;
    let mut api = node.api().await;
    let mut sessions = Vec::new();
    for _ in 0..8 {
        sessions.push(api.create("echo").await.metadata.unwrap().uid);
    }
    let mut hostile = Hostile { rng: StdRng::seed_from_u64(8), sessions: sessions.clone() };
    let requests: Vec<_> = (0..rounds(10_000)).map(|_| hostile.damaged()).collect();

    let channel = channel(&node).await;
    let answers = futures::stream::iter(requests).map(|(rpc, bytes)| {
        let channel = channel.clone();
        async move { (rpc, bytes.clone(), send(channel, rpc, bytes).await) }
    });
    let blames: Vec<_> = answers
        .buffer_unordered(8)
        .filter_map(async |(rpc, bytes, answer)| {
            let status = answer.err()?;
            let blame = matches!(status.code(), Code::Internal | Code::Unknown | Code::DataLoss);
            blame.then(|| format!("{rpc}: {}: {bytes:?}", status.message()))
        })
        .collect()
        .await;
    assert!(blames.is_empty(), "{} of: {:#?}", blames.len(), &blames[..blames.len().min(5)]);

    for session in sessions {
        api.log(&session).await;
    }
    let log = std::fs::read_to_string(builder.log()).unwrap();
    assert!(!log.contains("panicked"), "{log}");
}
