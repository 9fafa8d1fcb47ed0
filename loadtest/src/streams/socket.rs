//! A client of the example agents with one input and no memory.

use anyhow::{Context, bail};
use bytes::Bytes;
use env::Env;
use futures::{SinkExt, StreamExt};
use stream_session::binary::{BinaryItems, BinaryMessage};
use stream_session::message::{ServerMessage, Way};
use stream_session::token::Role;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::{WebSocketStream, client_async};
use uuid::Uuid;

/// An invocation that was accepted.
pub struct Socket {
    socket: WebSocketStream<TcpStream>,
    /// The channel of its input.
    input: u32,
}

/// What is heard that a measurement waits for.
pub enum Heard {
    /// So many items of the input are durable.
    Acknowledged(u64),
    /// So many bytes of the output.
    Octets(usize),
}

impl Socket {
    /// Starts a method whose one parameter is a stream of bytes, on an agent of its own.
    pub async fn start(address: &str, agent_type: &str, method: &str) -> anyhow::Result<Self> {
        let mut request = format!("ws://{address}/v1/agents/invoke-agent-session").into_client_request()?;
        request.headers_mut().insert("authorization", "Bearer loadtest".parse()?);
        request.headers_mut().insert("sec-websocket-protocol", "golem.agent-invocation.v1".parse()?);
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (mut socket, _) = client_async(request, stream).await?;
        socket.send(Message::text(start(agent_type, method))).await?;
        let accepted = socket.next().await.context("the node closes the connection")??;
        let Ok(ServerMessage::Accepted { mappings, .. }) = ServerMessage::decode(accepted.to_text()?.as_bytes()) else {
            bail!("the start is not accepted: {accepted}");
        };
        let input = mappings.iter().find(|mapping| matches!(mapping.way, Way::Input { .. }));
        Ok(Self { input: input.context("the input is not mapped")?.channel, socket })
    }

    /// Sends a batch of bytes.
    pub async fn send(&mut self, sequence: u64, bytes: &Bytes) -> anyhow::Result<()> {
        let items = BinaryItems::Packed(bytes.clone());
        let head = BinaryMessage { channel: self.input, sequence, items, cursor: None }.encode_head();
        Ok(self.socket.send(Message::binary([&head[..], bytes].concat())).await?)
    }

    /// What is heard next. Cancel safe.
    pub async fn hear(&mut self) -> anyhow::Result<Heard> {
        loop {
            match self.socket.next().await.context("the node closes the connection")?? {
                Message::Text(text) => match ServerMessage::decode(text.as_bytes()) {
                    Ok(ServerMessage::Ack { sequence, .. }) => return Ok(Heard::Acknowledged(sequence)),
                    Ok(ServerMessage::Result { .. }) => {}
                    _ => bail!("the node says {text}"),
                },
                Message::Binary(frame) => {
                    let message = BinaryMessage::decode(&frame, Role::Output)?;
                    return Ok(Heard::Octets(message.items.payload().len()));
                }
                Message::Close(close) => bail!("the node closes the connection: {close:?}"),
                _ => {}
            }
        }
    }
}

fn start(agent_type: &str, method: &str) -> String {
    let fresh = || uuid::Builder::from_random_bytes(Env::system().random_bytes()).into_uuid();
    let (attempt, reference, phantom): (Uuid, Uuid, Uuid) = (fresh(), fresh(), fresh());
    let stream = format!(r#"{{"kind":"stream","value":{{"provisionalRef":"{reference}"}}}}"#);
    let record = |fields: &str| format!(r#"{{"kind":"record","value":{{"fields":[{fields}]}}}}"#);
    let (parameters, constructor) = (record(&stream), record(""));
    format!(
        r#"{{"attemptId":"{attempt}","config":[],"idempotencyKey":"{attempt}","methodParameters":{parameters},"selector":{{"agentType":"{agent_type}","application":"loadtest","constructorParameters":{constructor},"environment":"dev","method":"{method}","phantomId":"{phantom}"}},"type":"invocationStart","version":1}}"#
    )
}
