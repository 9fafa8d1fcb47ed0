//! A client that says what the test wants, right or wrong.

use futures::{SinkExt, StreamExt};
use http::Request;
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::world::{BOUND, World};

/// A client's end of a connection.
pub(crate) struct Client {
    socket: WebSocketStream<TcpStream>,
}

/// What a client said first, and what it may say again.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) attempt: String,
    /// What it calls its input.
    pub(crate) input: String,
    pub(crate) key: &'static str,
    pub(crate) method: &'static str,
    pub(crate) application: &'static str,
}

/// A session as its client knows it.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    pub(crate) token: String,
    pub(crate) mappings: Vec<Value>,
}

impl Start {
    pub(crate) fn new(method: &'static str) -> Self {
        Self { attempt: uuid(), input: uuid(), key: "k", method, application: "lab" }
    }

    pub(crate) fn with_key(self, key: &'static str) -> Self {
        Self { key, ..self }
    }

    fn message(&self) -> Value {
        let record = |fields: Value| json!({"kind": "record", "value": {"fields": fields}});
        let input = json!({"kind": "stream", "value": {"provisionalRef": self.input}});
        let parameters = if self.method == "rest" { json!([]) } else { json!([input]) };
        json!({
            "type": "invocationStart", "version": 1, "attemptId": self.attempt, "config": [], "idempotencyKey": self.key,
            "methodParameters": record(parameters),
            "selector": {"agentType": "probe", "application": self.application, "environment": "dev",
                "method": self.method, "constructorParameters": record(json!([]))},
        })
    }
}

impl Client {
    /// Connects as `caller`.
    pub(crate) async fn connect(world: &World, caller: &str) -> Self {
        Self::try_connect(world, &[("authorization", &format!("Bearer {caller}")), PROTOCOL]).await.unwrap()
    }

    /// Connects with these headers; the status of the answer and its code, if it is refused.
    pub(crate) async fn try_connect(world: &World, headers: &[(&str, &str)]) -> Result<Self, (u16, String)> {
        let transport = TcpSocket::new_v4().unwrap();
        // Small, so that a client that does not read is soon noticed.
        transport.set_recv_buffer_size(16 << 10).unwrap();
        let transport = transport.connect(world.address).await.unwrap();
        let uri = format!("ws://{}/v1/agents/invoke-agent-session", world.address);
        let request = Request::get(uri)
            .header("host", world.address.to_string())
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        match client_async_with_config(request.body(()).unwrap(), transport, Some(config)).await {
            Ok((socket, answer)) => {
                assert_eq!(answer.headers()["sec-websocket-protocol"], PROTOCOL.1);
                Ok(Self { socket })
            }
            Err(Error::Http(answer)) => {
                let body: Value = serde_json::from_slice(answer.body().as_deref().unwrap_or_default()).unwrap();
                Err((answer.status().as_u16(), body["code"].as_str().unwrap().to_owned()))
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    /// Sends bytes of an input.
    pub(crate) async fn send_bytes(&mut self, channel: &Value, sequence: u64, bytes: &[u8]) {
        let count = bytes.len().to_string();
        let head = json!({"channel": channel, "itemCount": count, "kind": "input-u8", "sequence": sequence.to_string(),
            "version": 1})
        .to_string();
        let length = u32::try_from(head.len()).unwrap().to_be_bytes();
        let message = [&length, head.as_bytes(), bytes].concat();
        self.socket.send(Message::binary(message)).await.unwrap();
    }

    pub(crate) async fn send_raw(&mut self, message: Message) {
        self.socket.send(message).await.unwrap();
    }

    /// Sends a start, and something else in the same breath.
    pub(crate) async fn start_and(&mut self, start: &Start, message: Message) {
        self.socket.feed(Message::text(start.message().to_string())).await.unwrap();
        self.socket.feed(message).await.unwrap();
        self.socket.flush().await.unwrap();
    }

    /// Sends a frame, if the server takes it.
    pub(crate) async fn try_send_raw(&mut self, message: Message) -> Result<(), Error> {
        self.socket.send(message).await
    }

    /// The next frame, whatever it is.
    pub(crate) async fn next_raw(&mut self) -> Option<Message> {
        timeout(BOUND, self.socket.next()).await.expect("the server says something")?.ok()
    }

    /// The next text.
    pub(crate) async fn next_text(&mut self) -> Value {
        match self.next().await {
            Some(Message::Text(text)) => serde_json::from_str(text.as_str()).unwrap(),
            other => panic!("{other:?} instead of a text"),
        }
    }

    /// The end of the invocation and of the connection, after whatever else is told.
    pub(crate) async fn expect_end(&mut self) {
        while self.next_text().await["type"] != "invocationFinished" {}
        assert_eq!(self.expect_close().await, 1000);
    }

    /// The next frame that is neither ping nor pong.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            let next = timeout(BOUND, self.socket.next()).await.expect("the server says something");
            match next {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(message)) => return Some(message),
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// The next message, which must be a text of this type.
    pub(crate) async fn expect(&mut self, kind: &str) -> Value {
        let message = self.next_text().await;
        assert_eq!(message["type"], kind, "{message}");
        message
    }

    /// The code that the server closes with; it says nothing before.
    pub(crate) async fn expect_close(&mut self) -> u16 {
        match self.next().await {
            Some(Message::Close(Some(frame))) => frame.code.into(),
            other => panic!("{other:?} instead of a close"),
        }
    }

    /// The code of a rejection, and that of the close which follows.
    pub(crate) async fn expect_rejection(&mut self) -> (String, u16) {
        let rejection = self.expect("invocationRejected").await;
        (rejection["code"].as_str().unwrap().to_owned(), self.expect_close().await)
    }

    pub(crate) async fn expect_accepted(&mut self) -> Accepted {
        let accepted = self.expect("invocationAccepted").await;
        Accepted {
            token: accepted["sessionToken"].as_str().unwrap().to_owned(),
            mappings: accepted["mappings"].as_array().unwrap().clone(),
        }
    }

    /// Starts, and is accepted.
    pub(crate) async fn start(&mut self, start: &Start) -> Accepted {
        self.say_start(start).await;
        self.expect_accepted().await
    }

    pub(crate) async fn say_start(&mut self, start: &Start) {
        self.send(&start.message()).await;
    }

    pub(crate) async fn attach(&mut self, operation: &str, token: &str, cursors: &[&str]) {
        self.attach_as(&uuid(), operation, token, cursors).await;
    }

    pub(crate) async fn attach_as(&mut self, attempt: &str, operation: &str, token: &str, cursors: &[&str]) {
        let attach = json!({"type": "resumeAttach", "version": 1, "attemptId": attempt, "operation": operation,
            "sessionToken": token, "outputCursors": cursors});
        self.send(&attach).await;
    }

    pub(crate) async fn item(&mut self, channel: &Value, sequence: u64, text: &str) {
        let value = json!({"kind": "string", "value": text});
        let item = json!({"type": "inputStreamItem", "version": 1, "channel": channel,
            "sequence": sequence.to_string(), "value": value});
        self.send(&item).await;
    }

    pub(crate) async fn end(&mut self, channel: &Value, sequence: u64) {
        let end = json!({"type": "inputStreamEnd", "version": 1, "channel": channel, "sequence": sequence.to_string()});
        self.send(&end).await;
    }

    pub(crate) async fn cancel(&mut self, channel: &Value) {
        self.send(&json!({"type": "streamCancel", "version": 1, "channel": channel, "reason": "cancelled"})).await;
    }
}

impl Accepted {
    /// The channel of the input.
    pub(crate) fn input(&self) -> &Value {
        &self.mapping("input")["channel"]
    }

    pub(crate) fn mapping(&self, direction: &str) -> &Value {
        self.mappings.iter().find(|mapping| mapping["direction"] == direction).expect("there is such a stream")
    }
}

pub(crate) const PROTOCOL: (&str, &str) = ("sec-websocket-protocol", "golem.agent-invocation.v1");

pub(crate) fn uuid() -> String {
    let bytes: [u8; 16] = env::Env::system().random_bytes();
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}
