//! A server that speaks the contract through the state machine of `stream_session::server`, with a journal in memory. Its one
//! agent echoes what it is given; its connections break when they are told to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::{SinkExt, StreamExt};
use stream_session::graph::{Graph, Shape};
use stream_session::message::{Attach, InvocationOutcome, OutputOutcome};
use stream_session::message::{ClientReason, Node, Operation, Start};
use stream_session::server::{
    Acceptance, Action, Connection, Element, Event, InputItem, InputTerminal, MethodValue, OutputItem, Stream,
    StreamWay,
};
use stream_session::value::{StreamPolicy, StreamRef, Value};
use stream_session::{ErrorCode, Refusal};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};
use uuid::Uuid;

pub const TOKEN: &str = "let-me-in";
const SUBPROTOCOL: &str = "golem.agent-invocation.v1";
const INPUT: Uuid = Uuid::from_u128(10);
const OUTPUT: Uuid = Uuid::from_u128(20);

/// What the server keeps, whatever becomes of its connections.
#[derive(Default)]
pub struct Journal {
    parameters: Option<Arc<Graph>>,
    reference: Option<Uuid>,
    attempts: Vec<Uuid>,
    key: String,
    generation: u64,
    holder: Option<u64>,
    pub input: Vec<(u64, InputItem)>,
    ended: bool,
    pub cancelled: Option<ClientReason>,
    pub output_cancelled: Option<ClientReason>,
    /// After how many messages of the client the next connections break.
    pub cuts: VecDeque<usize>,
    /// Connections that there have been.
    pub connections: u64,
}

pub struct Server {
    pub address: String,
    pub journal: Arc<Mutex<Journal>>,
    _tasks: JoinSet<()>,
}

#[derive(Clone)]
struct Shared {
    parameters: Arc<Graph>,
    journal: Arc<Mutex<Journal>>,
    changed: watch::Sender<u64>,
}

impl Server {
    /// A server whose agent takes these parameters, the first of which is a stream.
    pub async fn start(parameters: Arc<Graph>) -> Self {
        Self::start_with(parameters, None).await
    }

    pub async fn start_with(parameters: Arc<Graph>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "wss" } else { "ws" };
        let address = format!("{scheme}://localhost:{}", listener.local_addr().unwrap().port());
        let journal = Arc::new(Mutex::new(Journal::default()));
        let shared = Shared { parameters, journal: Arc::clone(&journal), changed: watch::Sender::new(0) };
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let (shared, tls) = (shared.clone(), tls.clone());
                connections.spawn(async move {
                    let Some(tls) = tls else { return shared.serve(tcp).await };
                    if let Ok(encrypted) = tls.accept(tcp).await {
                        shared.serve(encrypted).await;
                    }
                });
            }
        });
        Self { address, journal, _tasks: tasks }
    }
}

/// What is special about one connection.
struct Serving {
    id: u64,
    connection: Connection,
    /// Output items that were sent, once the session is open.
    sent: Option<usize>,
    ended: bool,
    out: Vec<Message>,
    closes: bool,
}

impl Shared {
    async fn serve(&self, transport: impl AsyncRead + AsyncWrite + Unpin) {
        let Ok(mut socket) = accept_hdr_async(transport, handshake).await else { return };
        let (id, cut) = {
            let mut journal = self.journal.lock().unwrap();
            journal.connections += 1;
            (journal.connections, journal.cuts.pop_front().unwrap_or(usize::MAX))
        };
        let first_channel = u32::try_from(id).unwrap() * 1_000;
        let connection = Connection::new(first_channel);
        let mut serving = Serving { id, connection, sent: None, ended: false, out: vec![], closes: false };
        self.converse(&mut serving, &mut socket, cut).await;
        let mut journal = self.journal.lock().unwrap();
        if journal.holder == Some(id) {
            journal.holder = None;
        }
    }

    async fn converse<T>(&self, serving: &mut Serving, socket: &mut WebSocketStream<T>, cut: usize)
    where
        T: AsyncRead + AsyncWrite + Unpin,
    {
        let mut changed = self.changed.subscribe();
        let mut messages = 0;
        loop {
            tokio::select! {
                message = socket.next() => match message {
                    Some(Ok(Message::Text(text))) => {
                        messages += 1;
                        let actions = serving.connection.text(text.as_bytes());
                        let events = self.perform(serving, actions);
                        self.settle(serving, events);
                    }
                    Some(Ok(Message::Binary(message))) => {
                        messages += 1;
                        let actions = serving.connection.binary(&message);
                        let events = self.perform(serving, actions);
                        self.settle(serving, events);
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return,
                },
                _ = changed.changed() => {}
            }
            // What was done is done, and nobody is told.
            if messages > cut {
                return;
            }
            self.produce(serving);
            for message in serving.out.drain(..) {
                if socket.send(message).await.is_err() {
                    return;
                }
            }
            if serving.closes {
                let _ = socket.close(None).await;
                return;
            }
        }
    }

    fn settle(&self, serving: &mut Serving, events: Vec<Event>) {
        let mut events = VecDeque::from(events);
        while let Some(event) = events.pop_front() {
            let actions = serving.connection.on(event);
            events.extend(self.perform(serving, actions));
        }
        self.changed.send_modify(|changes| *changes += 1);
    }

    fn perform(&self, serving: &mut Serving, actions: Vec<Action<'_>>) -> Vec<Event> {
        actions.into_iter().flat_map(|action| self.performed(serving, action)).collect()
    }

    fn performed(&self, serving: &mut Serving, action: Action<'_>) -> Vec<Event> {
        let mut journal = self.journal.lock().unwrap();
        match action {
            Action::Send(text) => serving.out.push(Message::text(text)),
            Action::SendBinary(head, payload) => {
                serving.out.push(Message::Binary(Bytes::from([&head, &payload[..]].concat())));
            }
            Action::Close(_) => serving.closes = true,
            Action::Start(start) => return journal.start(serving, &start, &self.parameters),
            Action::Attach(attach) => return journal.attach(serving, &attach),
            Action::Store { stream, sequence, item } => {
                let through = sequence + count(&item);
                assert_eq!(sequence, journal.high_water(), "the next one");
                journal.input.push((sequence, item));
                return vec![Event::Stored { stream, through, streams: vec![] }];
            }
            Action::Compare { stream, sequence, item } => {
                let through = sequence + count(&item);
                let same = |(at, stored): &(u64, InputItem)| *at == sequence && is_same(stored, &item);
                return match journal.input.iter().any(same) {
                    true => vec![Event::Stored { stream, through, streams: vec![] }],
                    false => vec![Event::Contradiction(Refusal::new(ErrorCode::InputConflict, "other content"))],
                };
            }
            Action::End { stream, .. } => {
                journal.ended = true;
                return vec![Event::EndStored { stream }];
            }
            Action::CancelInput { stream, reason } => {
                journal.cancelled = Some(reason);
                return vec![Event::CancelStored { stream, reason }];
            }
            Action::CancelOutput { reason, .. } => journal.output_cancelled = Some(reason),
            Action::Detach => {
                if journal.holder == Some(serving.id) {
                    journal.holder = None;
                }
                return vec![Event::Detached];
            }
        }
        vec![]
    }

    /// What the agent has echoed and this connection has not been told.
    fn produce(&self, serving: &mut Serving) {
        let Some(mut sent) = serving.sent else { return };
        let mut events = Vec::new();
        {
            let journal = self.journal.lock().unwrap();
            if journal.holder != Some(serving.id) {
                serving.sent = None;
                drop(journal);
                return self.settle_quietly(serving, vec![Event::Replaced]);
            }
            let over = journal.ended || journal.cancelled.is_some() || journal.output_cancelled.is_some();
            if journal.output_cancelled.is_none() {
                for (sequence, item) in &journal.input[sent..] {
                    sent += 1;
                    let (sequence, cursor) = (*sequence, format!("c{}", sequence + count(item)));
                    let item = match item {
                        InputItem::Value(value, _) => OutputItem::Value(value.canonical(), vec![]),
                        InputItem::Binary(items) => OutputItem::Binary(items.clone()),
                    };
                    events.push(Event::Output { stream: OUTPUT, sequence, cursor, item });
                }
                serving.sent = Some(sent);
            }
            if over && !std::mem::replace(&mut serving.ended, true) {
                let outcome = match journal.output_cancelled {
                    Some(reason) => OutputOutcome::Cancelled(reason.into()),
                    None => OutputOutcome::Ok,
                };
                let (sequence, cursor) = (journal.high_water(), Some("end".to_owned()));
                events.push(Event::OutputEnded { stream: OUTPUT, sequence, cursor, outcome });
            }
            if serving.ended && (journal.ended || journal.cancelled.is_some()) {
                events.push(Event::Finished(InvocationOutcome::Success));
            }
        }
        self.settle_quietly(serving, events);
    }

    fn settle_quietly(&self, serving: &mut Serving, events: Vec<Event>) {
        for event in events {
            let actions = serving.connection.on(event);
            self.perform(serving, actions);
        }
    }
}

impl Journal {
    pub fn high_water(&self) -> u64 {
        self.input.last().map_or(0, |(sequence, item)| sequence + count(item))
    }

    fn element(&self) -> Element {
        let graph = self.parameters.as_ref().unwrap();
        let Shape::Record(fields) = &graph.root().shape else { panic!("a record") };
        let Shape::Stream(Some(element)) = &fields[0].body.shape else { panic!("a stream") };
        Element::new(Arc::clone(graph), (**element).clone())
    }

    fn streams(&self, provisional: Option<Uuid>) -> Vec<Stream> {
        let terminal = match (self.ended, self.cancelled) {
            (true, _) => Some(InputTerminal::Ended),
            (false, Some(_)) => Some(InputTerminal::CancelledByClient),
            (false, None) => None,
        };
        let (element, high_water) = (Box::new(self.element()), self.high_water());
        let way = StreamWay::Input { element, provisional, high_water, terminal };
        vec![Stream { id: INPUT, token: "in".into(), way }, self.output()]
    }

    fn output(&self) -> Stream {
        Stream { id: OUTPUT, token: "out".into(), way: StreamWay::Output }
    }

    fn start(&mut self, serving: &mut Serving, start: &Start<'_>, parameters: &Arc<Graph>) -> Vec<Event> {
        if self.attempts.is_empty() {
            let Node::Json(node) = &start.method_parameters else { panic!("as it was read") };
            let decoded = Value::read(parameters, parameters.root(), StreamPolicy::Provisional, node).unwrap();
            let StreamRef::Provisional(reference) = decoded.streams[0].0 else { panic!("a reference") };
            (self.parameters, self.reference) = (Some(Arc::clone(parameters)), Some(reference));
            self.key.clone_from(&start.idempotency_key);
            self.attempts.push(start.attempt);
            self.generation = 1;
        }
        assert_eq!(self.attempts[0], start.attempt, "a start is sent again as it was");
        let streams = self.streams(self.reference);
        self.accept(serving, start.attempt, streams, 0)
    }

    fn attach(&mut self, serving: &mut Serving, attach: &Attach) -> Vec<Event> {
        let refused = |code| vec![Event::Refused(Refusal::new(code, "no"), false)];
        if !self.attempts.contains(&attach.attempt) {
            if attach.session_token != format!("t{}", self.generation) {
                return refused(ErrorCode::StaleSession);
            }
            if self.holder.is_some() != (attach.operation == Operation::Takeover) {
                return refused(ErrorCode::InvalidAttachmentState);
            }
            self.attempts.push(attach.attempt);
            self.generation += 1;
        }
        let seen = match attach.output_cursors.first().map(String::as_str) {
            None => 0,
            Some("end") => {
                serving.ended = true;
                self.input.len()
            }
            Some(cursor) => {
                let through: u64 = cursor.strip_prefix('c').unwrap().parse().unwrap();
                self.input.iter().filter(|(sequence, item)| sequence + count(item) <= through).count()
            }
        };
        self.accept(serving, attach.attempt, self.streams(None), seen)
    }

    fn accept(&mut self, serving: &mut Serving, attempt: Uuid, streams: Vec<Stream>, seen: usize) -> Vec<Event> {
        let (session_token, idempotency_key) = (format!("t{}", self.generation), self.key.clone());
        let acceptance = Event::Accepted(Acceptance { attempt, idempotency_key, session_token, streams });
        if self.attempts.last() != Some(&attempt) {
            return vec![acceptance, Event::Replaced];
        }
        self.holder = Some(serving.id);
        serving.sent = Some(seen);
        let element = self.element();
        let of = element.of.to_json();
        let graph =
            format!(r#"{{"root":{{"kind":"stream","value":{{"inner":{}}}}}}}"#, stream_session::json::canonical(&of));
        let value = Value::Stream(StreamRef::Stable("out".into())).canonical();
        let returned = Event::Returned(Some(MethodValue { graph, value, streams: vec![self.output()] }));
        vec![acceptance, returned]
    }
}

#[allow(clippy::result_large_err, reason = "the library asks for this type")]
fn handshake(request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    let expected = format!("Bearer {TOKEN}");
    if request.headers().get("authorization").is_none_or(|given| *given != *expected) {
        let mut refused = ErrorResponse::new(Some(r#"{"code":"authentication-failed","error":"no"}"#.to_owned()));
        *refused.status_mut() = tokio_tungstenite::tungstenite::http::StatusCode::UNAUTHORIZED;
        return Err(refused);
    }
    assert!(!request.headers().contains_key("sec-websocket-extensions"), "H2");
    response.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(SUBPROTOCOL));
    Ok(response)
}

fn is_same(one: &InputItem, other: &InputItem) -> bool {
    match (one, other) {
        (InputItem::Value(one, _), InputItem::Value(other, _)) => one == other,
        (InputItem::Binary(one), InputItem::Binary(other)) => one == other,
        _ => false,
    }
}

fn count(item: &InputItem) -> u64 {
    match item {
        InputItem::Value(..) => 1,
        InputItem::Binary(items) => items.count(),
    }
}
