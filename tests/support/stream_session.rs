//! A stream session as a test drives it: every message is said when the test says so.

use std::collections::VecDeque;

use bytes::Bytes;
use rand::RngExt;
use serde_json::{Value, json};

use crate::stream_socket::{Heard, StreamSocket, framed};

/// A UUID of version 4.
#[must_use]
pub fn fresh_uuid() -> String {
    let bytes: u128 = rand::rng().random();
    // The version in the 13th digit, the variant in the 17th.
    let digits = format!("{bytes:032x}");
    format!("{}-{}-4{}-8{}-{}", &digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..])
}

/// A node that holds a text.
#[must_use]
pub fn string(text: &str) -> Value {
    json!({"kind": "string", "value": text})
}

fn record(fields: &[Value]) -> Value {
    json!({"kind": "record", "value": {"fields": fields}})
}

/// An invocation that is about to be started.
#[derive(Clone, Debug)]
pub struct Invoking {
    /// `invocationStart`, as it is sent.
    pub message: Value,
    credential: String,
}

impl Invoking {
    /// Of a method, by anybody whom a development node lets in.
    #[must_use]
    pub fn method(agent_type: &str, method: &str) -> Self {
        let selector = json!({"agentType": agent_type, "application": "lab", "constructorParameters": record(&[]),
            "environment": "dev", "method": method, "phantomId": fresh_uuid()});
        let message = json!({"attemptId": fresh_uuid(), "config": [], "idempotencyKey": fresh_uuid(),
            "methodParameters": record(&[]), "selector": selector, "type": "invocationStart", "version": 1});
        Self { message, credential: "anybody".into() }
    }

    /// By somebody with this bearer token.
    #[must_use]
    pub fn by(self, credential: &str) -> Self {
        Self { credential: credential.into(), ..self }
    }

    /// With a stream as its next parameter.
    #[must_use]
    pub fn stream(self) -> Self {
        self.parameter(json!({"kind": "stream", "value": {"provisionalRef": fresh_uuid()}}))
    }

    /// With this value as its next parameter.
    #[must_use]
    pub fn parameter(mut self, node: Value) -> Self {
        let fields = self.message["methodParameters"]["value"]["fields"].as_array_mut();
        fields.expect("parameters are a record").push(node);
        self
    }

    /// Of an agent whose constructor takes these values.
    #[must_use]
    pub fn constructed(self, fields: &[Value]) -> Self {
        self.set("/selector/constructorParameters", record(fields))
    }

    /// With what a pointer points at set to a value.
    #[must_use]
    pub fn set(mut self, pointer: &str, value: Value) -> Self {
        *self.message.pointer_mut(pointer).expect("it is there") = value;
        self
    }

    /// Says so to the node at `address`, and hears whatever it answers.
    pub async fn tried(&self, address: &str) -> Result<StreamSession, Refused> {
        let socket = StreamSocket::connect(address, &self.credential).await;
        StreamSession::begun(socket, &self.message, &self.credential).await
    }

    /// Starts it.
    pub async fn start(&self, address: &str) -> StreamSession {
        self.tried(address).await.expect("the start is accepted")
    }

    /// With which code it is refused.
    pub async fn refused(&self, address: &str) -> String {
        self.tried(address).await.err().expect("the start is refused").code
    }
}

/// What a server refuses an attempt with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The code.
    pub code: String,
    /// The attempt that it names.
    pub attempt: Option<String>,
    /// How the connection was closed.
    pub close: Option<u16>,
}

/// A session that was accepted, on one connection.
pub struct StreamSession {
    /// The connection.
    pub socket: StreamSocket,
    /// What its client would keep.
    pub kept: Kept,
    /// What was said of the streams, each in its order.
    pub mappings: Vec<Value>,
    heard: VecDeque<Heard>,
}

/// What is needed to go on with a session on another connection.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The token of the last acceptance.
    pub token: String,
    credential: String,
}

impl Kept {
    /// Goes on with this session on a connection of its own to the node at `address`.
    pub async fn attached(&self, address: &str, operation: &str, cursors: &[String]) -> Result<StreamSession, Refused> {
        let socket = StreamSocket::connect(address, &self.credential).await;
        StreamSession::begun(socket, &attach(operation, &self.token, cursors), &self.credential).await
    }

    /// Goes on with it as `attached`, as soon as the server has noticed that the last connection is gone.
    pub async fn resumed(&self, address: &str, cursors: &[String]) -> StreamSession {
        let deadline = tokio::time::Instant::now() + crate::BOUND;
        loop {
            match self.attached(address, "resume", cursors).await {
                Ok(session) => return session,
                Err(refused) if refused.code == "invalid-attachment-state" => {}
                Err(refused) => panic!("the resume is refused: {refused:?}"),
            }
            assert!(tokio::time::Instant::now() < deadline, "the session stays attached");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

impl StreamSession {
    /// The session that a first message begins or goes on with.
    pub async fn begun(mut socket: StreamSocket, first: &Value, credential: &str) -> Result<Self, Refused> {
        socket.text(first).await;
        let accepted = match socket.hear().await {
            Heard::Message(message) if message["type"] == "invocationAccepted" => message,
            Heard::Message(message) if message["type"] == "invocationRejected" => {
                let text = |name: &str| message[name].as_str().map(str::to_owned);
                let Heard::Closed(close) = socket.hear().await else { panic!("something follows a rejection") };
                return Err(Refused { code: text("code").expect("a code"), attempt: text("attemptId"), close });
            }
            other => panic!("the answer to a first message is {other:?}"),
        };
        assert_eq!(accepted["attemptId"], first["attemptId"]);
        let mappings = accepted["mappings"].as_array().expect("mappings").clone();
        let token = accepted["sessionToken"].as_str().expect("a token").to_owned();
        let kept = Kept { token, credential: credential.into() };
        Ok(Self { socket, kept, mappings, heard: VecDeque::new() })
    }

    /// What was said first of the first stream that goes this way.
    #[must_use]
    pub fn mapping(&self, direction: &str) -> &Value {
        let mut streams = self.mappings.iter().filter(|mapping| mapping["direction"] == direction);
        streams.next().expect("there is such a stream")
    }

    /// The channel of the first input.
    #[must_use]
    pub fn input(&self) -> u64 {
        self.mapping("input")["channel"].as_u64().expect("a channel")
    }

    /// How many items of the first input the server has.
    #[must_use]
    pub fn high_water(&self) -> u64 {
        decimal(&self.mapping("input")["inputHighWater"]["sequence"])
    }

    /// The next thing that `wanted` accepts; what is said before it stays to be heard.
    pub async fn until(&mut self, wanted: impl Fn(&Heard) -> bool) -> Heard {
        if let Some(at) = self.heard.iter().position(&wanted) {
            return self.heard.remove(at).expect("it was found there");
        }
        loop {
            let heard = self.socket.hear().await;
            if let Heard::Message(message) = &heard {
                self.mappings.extend(message["mappings"].as_array().into_iter().flatten().cloned());
            }
            if wanted(&heard) {
                return heard;
            }
            assert!(
                !matches!(heard, Heard::Closed(_)),
                "the connection ends before: {heard:?}, after {:?}",
                self.heard
            );
            self.heard.push_back(heard);
        }
    }

    /// The next message of this type.
    pub async fn message(&mut self, kind: &str) -> Value {
        match self.until(|heard| matches!(heard, Heard::Message(message) if message["type"] == kind)).await {
            Heard::Message(message) => message,
            other => panic!("{other:?} is no message"),
        }
    }

    /// The code with which the connection is refused and closed.
    pub async fn refused(&mut self) -> String {
        let rejected = self.message("invocationRejected").await;
        assert_eq!(self.socket.hear().await, Heard::Closed(Some(1002)));
        rejected["code"].as_str().expect("a code").to_owned()
    }

    /// Waits until so many items of the first input are acknowledged.
    pub async fn acknowledged(&mut self, count: u64) -> Value {
        loop {
            let ack = self.message("inputStreamAck").await;
            if decimal(&ack["highestContiguousSequence"]) >= count {
                return ack;
            }
        }
    }

    /// Everything that an output of bytes carries until its end, and the cursor of the end.
    pub async fn octets(&mut self) -> (Vec<u8>, Value) {
        let mut bytes = Vec::new();
        loop {
            let ends = |heard: &Heard| matches!(heard, Heard::Message(message) if message["type"] == "outputStreamEnd");
            match self.until(|heard| matches!(heard, Heard::Items(..)) || ends(heard)).await {
                Heard::Items(_, payload) => bytes.extend_from_slice(&payload),
                Heard::Message(end) => return (bytes, end),
                Heard::Closed(_) => unreachable!("nobody waits for that"),
            }
        }
    }

    /// The outcome of the invocation, after which the connection is closed.
    pub async fn finished(&mut self) -> Value {
        let finished = self.message("invocationFinished").await;
        assert_eq!(self.socket.hear().await, Heard::Closed(Some(1000)));
        finished["outcome"].clone()
    }

    /// Sends an item as text.
    pub async fn send_value(&mut self, channel: u64, sequence: u64, node: &Value) {
        self.socket.text(&item(channel, sequence, node)).await;
    }

    /// Sends bytes, each an item.
    pub async fn send_octets(&mut self, channel: u64, sequence: u64, bytes: &[u8]) {
        self.socket.send(framed(&metadata("input-u8", channel, sequence, bytes.len()), bytes)).await;
    }

    /// Sends a binary item.
    pub async fn send_binary(&mut self, channel: u64, sequence: u64, data: &Bytes) {
        self.socket.send(framed(&metadata("input-binary", channel, sequence, 1), data)).await;
    }

    /// Ends an input after so many items.
    pub async fn send_end(&mut self, channel: u64, sequence: u64) {
        self.socket.text(&end(channel, sequence)).await;
    }

    /// Cancels a stream.
    pub async fn send_cancel(&mut self, channel: u64, reason: &str) {
        self.socket.text(&json!({"channel": channel, "reason": reason, "type": "streamCancel", "version": 1})).await;
    }
}

/// `resumeAttach`.
#[must_use]
pub fn attach(operation: &str, token: &str, cursors: &[String]) -> Value {
    json!({"attemptId": fresh_uuid(), "operation": operation, "outputCursors": cursors, "sessionToken": token,
        "type": "resumeAttach", "version": 1})
}

/// `inputStreamItem`.
#[must_use]
pub fn item(channel: u64, sequence: u64, node: &Value) -> Value {
    json!({"channel": channel, "sequence": sequence.to_string(), "type": "inputStreamItem", "value": node, "version": 1})
}

/// `inputStreamEnd`.
#[must_use]
pub fn end(channel: u64, sequence: u64) -> Value {
    json!({"channel": channel, "sequence": sequence.to_string(), "type": "inputStreamEnd", "version": 1})
}

/// Metadata of a binary message.
#[must_use]
pub fn metadata(kind: &str, channel: u64, sequence: u64, count: usize) -> Value {
    json!({"channel": channel, "itemCount": count.to_string(), "kind": kind, "sequence": sequence.to_string(),
        "version": 1})
}

/// The number that a decimal string stands for.
#[must_use]
pub fn decimal(text: &Value) -> u64 {
    text.as_str().and_then(|text| text.parse().ok()).expect("a decimal string")
}
