//! A model server that answers by script, and remembers what it was asked.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use env::{TaskKind, Tasks};
use model::ModelConfig;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// How the server answers one request.
#[derive(Clone, Debug)]
pub struct Reply {
    head: String,
    pieces: Vec<Vec<u8>>,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// As the protocol wants it; the connection stays open.
    Proper,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing more comes until the client hangs up.
    Silence,
}

/// What the server was asked.
#[derive(Clone, Debug)]
pub struct Request {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

/// The server; it stops with the test's runtime.
pub struct Server {
    addr: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Request>>,
    connections: Mutex<usize>,
    hung_up: Notify,
}

impl Reply {
    pub fn status(status: u16) -> Self {
        Self { head: format!("HTTP/1.1 {status} Status\r\n"), pieces: Vec::new(), end: End::Proper }
    }

    /// A stream of events, each with the given data and in a piece of its own.
    pub fn events<'a>(data: impl IntoIterator<Item = &'a str>) -> Self {
        Self::stream(data.into_iter().map(|data| format!("data: {data}\n\n")))
    }

    /// A stream that arrives in these pieces.
    pub fn stream(pieces: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        Self::status(200).header("content-type", "text/event-stream; charset=utf-8").pieces(pieces)
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::status(status).header("content-type", "application/json").pieces([body.to_string()])
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.head += &format!("{name}: {value}\r\n");
        self
    }

    pub fn pieces(mut self, pieces: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        self.pieces.extend(pieces.into_iter().map(Into::into));
        self
    }

    /// Not a byte of an answer.
    pub fn nothing() -> Self {
        Self { head: String::new(), pieces: Vec::new(), end: End::Close }
    }

    pub fn then_close(self) -> Self {
        Self { end: End::Close, ..self }
    }

    pub fn then_reset(self) -> Self {
        Self { end: End::Reset, ..self }
    }

    pub fn then_silence(self) -> Self {
        Self { end: End::Silence, ..self }
    }

    /// Every piece is a chunk of its own on the wire, so the client reads it by itself. The last one is sent together
    /// with the end.
    async fn write(&self, stream: &mut BufStream<TcpStream>) -> std::io::Result<()> {
        if !self.head.is_empty() {
            stream.write_all(format!("{}transfer-encoding: chunked\r\n\r\n", self.head).as_bytes()).await?;
        }
        for piece in &self.pieces {
            stream.flush().await?;
            stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
            stream.write_all(piece).await?;
            stream.write_all(b"\r\n").await?;
        }
        if self.end == End::Proper {
            stream.write_all(b"0\r\n\r\n").await?;
        }
        stream.flush().await
    }
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

impl Server {
    /// Gives the replies in turn, then closes connections.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { replies: Mutex::new(replies.into_iter().collect()), ..Shared::default() });
        let tasks = Tasks::default();
        let accept = accept(listener, shared.clone(), tasks.clone());
        tasks.spawn("model server", TaskKind::Background, accept);
        Self { addr, shared }
    }

    pub fn config(&self) -> ModelConfig {
        ModelConfig { model: "m".into(), base_url: format!("http://{}/v1", self.addr), ..ModelConfig::default() }
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        *self.shared.connections.lock().unwrap()
    }

    /// Waits until the client has closed a connection before the server had ended its answer.
    pub async fn hung_up(&self) {
        self.shared.hung_up.notified().await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, tasks: Tasks) {
    while let Ok((stream, _)) = listener.accept().await {
        *shared.connections.lock().unwrap() += 1;
        // Every piece is to arrive when it is written.
        stream.set_nodelay(true).unwrap();
        let shared = shared.clone();
        tasks.spawn("model server connection", TaskKind::Background, async move {
            if serve(BufStream::new(stream), &shared).await.is_err() {
                shared.hung_up.notify_one();
            }
        });
    }
}

async fn serve(mut stream: BufStream<TcpStream>, shared: &Shared) -> std::io::Result<()> {
    while let Some(request) = read_request(&mut stream).await? {
        shared.requests.lock().unwrap().push(request);
        let Some(reply) = shared.replies.lock().unwrap().pop_front() else { return Ok(()) };
        reply.write(&mut stream).await?;
        match reply.end {
            End::Proper => {}
            End::Close => return Ok(()),
            End::Reset => return stream.get_ref().set_zero_linger(),
            End::Silence => {
                stream.read_u8().await?;
            }
        }
    }
    Ok(())
}

async fn read_request(stream: &mut BufStream<TcpStream>) -> std::io::Result<Option<Request>> {
    let line = read_line(stream).await?;
    if line.is_empty() {
        return Ok(None);
    }
    let mut headers = Vec::new();
    while let Some((name, value)) = read_line(stream).await?.split_once(": ") {
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let mut request = Request { line, headers, body: Value::Null };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    request.body = serde_json::from_slice(&body).unwrap();
    Ok(Some(request))
}

async fn read_line(stream: &mut BufStream<TcpStream>) -> std::io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    Ok(line.trim_end().to_owned())
}
