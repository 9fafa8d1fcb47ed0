//! A connection to a stream endpoint, message by message and without a memory.

use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::BOUND;

/// Where agents are invoked.
pub const STREAM_PATH: &str = "/v1/agents/invoke-agent-session";
/// The subprotocol of stream sessions.
pub const STREAM_PROTOCOL: &str = "golem.agent-invocation.v1";

/// A connection. Dropped without a word, as if its process were killed.
pub struct StreamSocket {
    socket: WebSocketStream<TcpStream>,
}

/// What a server says.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// A text message.
    Message(Value),
    /// A binary message: metadata and payload.
    Items(Value, Bytes),
    /// The connection is closed, with a code if there was one.
    Closed(Option<u16>),
}

impl StreamSocket {
    /// Connects as somebody with this bearer token.
    pub async fn connect(address: &str, credential: &str) -> Self {
        let mut request = format!("ws://{address}{STREAM_PATH}").into_client_request().expect("a request");
        let header = |text: String| text.parse().expect("the text of a header");
        request.headers_mut().insert("authorization", header(format!("Bearer {credential}")));
        request.headers_mut().insert("sec-websocket-protocol", header(STREAM_PROTOCOL.into()));
        let stream = TcpStream::connect(address).await.expect("the node accepts connections");
        stream.set_nodelay(true).expect("a socket");
        let config = WebSocketConfig::default().max_message_size(Some(64 << 20)).max_frame_size(Some(64 << 20));
        let connecting = client_async_with_config(request, stream, Some(config));
        let (socket, _) = timeout(BOUND, connecting).await.expect("an answer in time").expect("the node is willing");
        Self { socket }
    }

    /// Sends a message. One that cannot be sent any more is lost.
    pub async fn send(&mut self, message: Message) {
        let _ = timeout(BOUND, self.socket.send(message)).await.expect("the node reads on");
    }

    /// Sends a text message.
    pub async fn text(&mut self, message: &Value) {
        self.send(Message::text(message.to_string())).await;
    }

    /// What the server says next.
    pub async fn hear(&mut self) -> Heard {
        self.hear_within(BOUND).await.expect("the server says something")
    }

    /// What the server says within a time, if anything.
    pub async fn hear_within(&mut self, time: Duration) -> Option<Heard> {
        timeout(time, self.next()).await.ok()
    }

    async fn next(&mut self) -> Heard {
        loop {
            return match self.socket.next().await {
                Some(Ok(Message::Text(text))) => Heard::Message(serde_json::from_str(&text).expect("JSON")),
                Some(Ok(Message::Binary(frame))) => items(&frame),
                Some(Ok(Message::Close(close))) => Heard::Closed(close.map(|close| close.code.into())),
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => Heard::Closed(None),
            };
        }
    }

    /// Whether a ping is answered, in whatever is said before.
    pub async fn answers(&mut self) -> bool {
        self.send(Message::Ping(Bytes::from_static(b"there?"))).await;
        let answer = async {
            loop {
                match self.socket.next().await {
                    Some(Ok(Message::Pong(_))) => return true,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return false,
                    Some(Ok(_)) => {}
                }
            }
        };
        timeout(BOUND, answer).await.expect("an answer or an end")
    }

    /// Closes as clients do that have no more to say for now.
    pub async fn close(mut self) {
        let _ = self.socket.close(None).await;
        while !matches!(self.hear().await, Heard::Closed(_)) {}
    }

    /// The connection below, for bytes that are no WebSocket.
    pub fn below(&mut self) -> &mut TcpStream {
        self.socket.get_mut()
    }
}

/// Metadata and payload of a binary message.
fn items(frame: &Bytes) -> Heard {
    let (length, rest) = frame.split_first_chunk::<4>().expect("four bytes");
    let length = usize::try_from(u32::from_be_bytes(*length)).expect("a length");
    Heard::Items(serde_json::from_slice(&rest[..length]).expect("JSON"), frame.slice(4 + length..))
}

/// A binary message.
#[must_use]
pub fn framed(metadata: &Value, payload: &[u8]) -> Message {
    let metadata = metadata.to_string();
    let length = u32::try_from(metadata.len()).expect("metadata is short").to_be_bytes();
    Message::binary([&length[..], metadata.as_bytes(), payload].concat())
}

/// What a server answers to a request that it does not upgrade, or its head.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// All header lines, in lower case.
    pub headers: String,
    /// The body; null without one.
    pub body: Value,
}

impl Answer {
    /// Sends the lines of a request head and reads the answer.
    pub async fn to(address: &str, lines: &[&str]) -> Self {
        let mut stream = TcpStream::connect(address).await.expect("the node accepts connections");
        let head = format!("{}\r\nhost: {address}\r\n\r\n", lines.join("\r\n"));
        stream.write_all(head.as_bytes()).await.expect("the node reads");
        timeout(BOUND, read_answer(&mut stream)).await.expect("an answer in time")
    }

    /// The `code` of the body.
    #[must_use]
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

async fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut read = Vec::new();
    loop {
        let head_end = read.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = head_end {
            let head = String::from_utf8_lossy(&read[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            let body = &read[end + 4..];
            if body.len() >= length.unwrap_or(0_usize) {
                let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
                return Answer { status, headers: head, body: serde_json::from_slice(body).unwrap_or_default() };
            }
        }
        let count = stream.read_buf(&mut read).await.expect("the answer");
        assert!(count > 0, "the answer is cut off: {}", String::from_utf8_lossy(&read));
    }
}
