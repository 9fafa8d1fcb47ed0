//! A harness written by hand, which can do everything wrong.

use std::pin::Pin;
use std::sync::Arc;

use env::{TaskKind, Tasks};
use futures::future::BoxFuture;
use futures::{Stream, StreamExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;
use tonic::transport::server::Router;
use tonic::{Request, Response, Status, Streaming};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::harness_server::HarnessServer;
use wire::{
    ApprovalRef, ControllerFrame, DescribeRequest, Event, EventKind, HarnessDescriptor, HarnessEnd, Mediation,
    ModelCall, ToolCall,
};

use crate::TOOL;

/// What a harness does with one stream.
pub type Acting = BoxFuture<'static, ()>;

/// One stream, from the harness's side. Nothing is checked and nothing is done by itself. Dropping it ends the stream
/// well.
pub struct Talk {
    /// The first frame.
    pub first: ControllerFrame,
    /// The execution id that goes on every event: that of the first frame.
    pub execution: String,
    frames: Streaming<ControllerFrame>,
    events: mpsc::Sender<Result<Event, Status>>,
}

impl Talk {
    /// The next frame, whatever its envelope says.
    pub async fn hear(&mut self) -> Option<Frame> {
        self.hear_frame().await?.frame
    }

    /// The next frame with its envelope.
    pub async fn hear_frame(&mut self) -> Option<ControllerFrame> {
        self.frames.next().await?.ok()
    }

    /// Waits for the answer, if `kind` has one.
    pub async fn hear_if_asked(&mut self, kind: EventKind) {
        if kind == EventKind::EventToolCall {
            self.hear().await;
        }
    }

    /// Whether the host still listens.
    pub fn is_heard(&self) -> bool {
        !self.events.is_closed()
    }

    /// Waits until the host has cancelled the stream.
    pub async fn cancelled(&self) {
        self.events.closed().await;
    }

    /// Sends an event of this execution.
    pub async fn say(&mut self, kind: EventKind, body: Body) {
        self.say_event(Event::new(kind, body).of_execution(self.execution.as_str())).await;
    }

    /// Sends an event as it is.
    pub async fn say_event(&mut self, event: Event) {
        drop(self.events.send(Ok(event)).await);
    }

    /// Asks for a completion.
    pub async fn ask_model(&mut self) {
        self.say(EventKind::EventModelCall, Body::Model(ModelCall { id: "m".into(), ..ModelCall::default() })).await;
    }

    /// Asks for a tool call with a key of its own.
    pub async fn ask_tool(&mut self, id: &str, mediation: Mediation) {
        let key = format!("{}/{id}", self.execution);
        let call = ToolCall {
            id: id.into(),
            tool: TOOL.into(),
            mediation: mediation.into(),
            idempotency_key: key,
            ..ToolCall::default()
        };
        self.say(EventKind::EventToolCall, Body::Tool(call)).await;
    }

    /// Breaks the stream.
    pub async fn break_off(&mut self, status: Status) {
        drop(self.events.send(Err(status)).await);
    }

    /// Acknowledges a park.
    pub async fn park(&mut self, reference: ApprovalRef) {
        self.say(EventKind::EventParked, Body::Parked(reference)).await;
    }

    /// Sends END without a reason.
    pub async fn end(&mut self, state: &str) {
        self.say(EventKind::EventEnd, Body::End(HarnessEnd { state: state.into(), error: None })).await;
    }
}

/// What a harness answers to Describe.
pub type Describing = BoxFuture<'static, Result<HarnessDescriptor, Status>>;

/// A harness that is a function of its calls.
struct Act {
    describe: Box<dyn Fn() -> Describing + Send + Sync>,
    connect: Box<dyn Fn(Talk) -> Acting + Send + Sync>,
}

#[tonic::async_trait]
impl wire::harness_server::Harness for Act {
    type ConnectStream = Pin<Box<dyn Stream<Item = Result<Event, Status>> + Send>>;

    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<HarnessDescriptor>, Status> {
        (self.describe)().await.map(Response::new)
    }

    async fn connect(
        &self,
        request: Request<Streaming<ControllerFrame>>,
    ) -> Result<Response<Self::ConnectStream>, Status> {
        let mut frames = request.into_inner();
        let first = frames.message().await?.unwrap_or_default();
        let execution = first.execution_id.clone();
        let (events, outgoing) = mpsc::channel(8);
        background((self.connect)(Talk { first, execution, frames, events }));
        Ok(Response::new(ReceiverStream::new(outgoing).boxed()))
    }
}

/// Serves a harness that does `act` with each stream; returns its address.
pub async fn serve_raw(act: impl Fn(Talk) -> Acting + Send + Sync + 'static) -> String {
    let descriptor = HarnessDescriptor { id: "raw".into(), ..HarnessDescriptor::default() };
    serve_described(move || Box::pin(std::future::ready(Ok(descriptor.clone()))), act).await
}

/// Serves a harness that describes itself with `describe` and does `act` with each stream; returns its address.
pub async fn serve_described(
    describe: impl Fn() -> Describing + Send + Sync + 'static,
    act: impl Fn(Talk) -> Acting + Send + Sync + 'static,
) -> String {
    let service = HarnessServer::new(Act { describe: Box::new(describe), connect: Box::new(act) })
        .max_decoding_message_size(usize::MAX)
        .max_encoding_message_size(usize::MAX);
    // Small, so that a host soon has to wait for a harness that does not read.
    serve_router(Server::builder().initial_stream_window_size(64 * 1024).add_service(service)).await
}

/// Serves a harness written with the SDK; returns its address.
pub async fn serve_harness(harness: impl sdk::Harness) -> String {
    serve_router(sdk::router(Arc::new(harness), sdk::MAX_MESSAGE_BYTES)).await
}

async fn serve_router(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let listener = sdk::Listener::from(listener);
    background(async move { listener.serve(router, std::future::pending()).await.expect("a server") });
    address
}

/// Runs `task` until the test's runtime ends.
fn background(task: impl Future<Output = ()> + Send + 'static) {
    Tasks::default().spawn("harness", TaskKind::Background, task);
}
