//! Harnesses on loopback, written with the SDK or by hand, and the suite that checks them.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use env::{TaskKind, Tasks};
use futures::future::BoxFuture;
use futures::{Stream, StreamExt};
use harness::conformance::{Plan, Suite, Verdict, checks};
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

/// A harness written by hand checks nothing by itself.
pub type Acting = BoxFuture<'static, ()>;

/// What a harness written by hand has in its hands.
pub struct Talk {
    pub execution: String,
    frames: Streaming<ControllerFrame>,
    events: mpsc::Sender<Result<Event, Status>>,
}

impl Talk {
    /// The next frame, whatever its envelope says.
    pub async fn hear(&mut self) -> Option<Frame> {
        self.frames.next().await?.ok()?.frame
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

    pub async fn say(&mut self, kind: EventKind, body: Body) {
        self.say_event(Event::new(kind, body).of_execution(self.execution.as_str())).await;
    }

    pub async fn say_event(&mut self, event: Event) {
        drop(self.events.send(Ok(event)).await);
    }

    pub async fn ask_model(&mut self) {
        self.say(EventKind::EventModelCall, Body::Model(ModelCall { id: "m".into(), ..ModelCall::default() })).await;
    }

    pub async fn ask_tool(&mut self, id: &str, mediation: Mediation) {
        let key = format!("{}/{id}", self.execution);
        let call = ToolCall {
            id: id.into(),
            tool: "t".into(),
            mediation: mediation.into(),
            idempotency_key: key,
            ..ToolCall::default()
        };
        self.say(EventKind::EventToolCall, Body::Tool(call)).await;
    }

    pub async fn park(&mut self, reference: ApprovalRef) {
        self.say(EventKind::EventParked, Body::Parked(reference)).await;
    }

    pub async fn end(&mut self, state: &str) {
        self.say(EventKind::EventEnd, Body::End(HarnessEnd { state: state.into(), error: None })).await;
    }
}

/// A harness that is a function of its stream.
struct Act(fn(Talk) -> Acting);

#[tonic::async_trait]
impl wire::harness_server::Harness for Act {
    type ConnectStream = Pin<Box<dyn Stream<Item = Result<Event, Status>> + Send>>;

    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<HarnessDescriptor>, Status> {
        Ok(Response::new(HarnessDescriptor { id: "flawed".into(), ..HarnessDescriptor::default() }))
    }

    async fn connect(
        &self,
        request: Request<Streaming<ControllerFrame>>,
    ) -> Result<Response<Self::ConnectStream>, Status> {
        let mut frames = request.into_inner();
        let execution = frames.message().await?.map(|frame| frame.execution_id).unwrap_or_default();
        let (events, outgoing) = mpsc::channel(8);
        background((self.0)(Talk { execution, frames, events }));
        Ok(Response::new(ReceiverStream::new(outgoing).boxed()))
    }
}

fn background(task: impl Future<Output = ()> + Send + 'static) {
    Tasks::default().spawn("test", TaskKind::Background, task);
}

async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let listener = sdk::Listener::from(listener);
    background(async move { listener.serve(router, std::future::pending()).await.expect("a server") });
    address
}

/// Makes every check on a harness written with the SDK.
pub async fn check_harness(harness: impl sdk::Harness, plan: Plan) -> BTreeMap<&'static str, Verdict> {
    check(serve(sdk::router(Arc::new(harness), sdk::MAX_MESSAGE_BYTES)).await, plan).await
}

/// Makes every check on a harness written by hand.
pub async fn check_acting(act: fn(Talk) -> Acting) -> BTreeMap<&'static str, Verdict> {
    check(serve_acting(act).await, impatient()).await
}

/// Makes one check on a harness written by hand.
pub async fn check_one(name: &str, act: fn(Talk) -> Acting) -> Verdict {
    let suite = meet(serve_acting(act).await, impatient()).await;
    suite.run(checks().find(|check| check.name == name).expect("a check of this name")).await
}

fn impatient() -> Plan {
    Plan { patience: Duration::from_millis(300), ..Plan::default() }
}

async fn serve_acting(act: fn(Talk) -> Acting) -> String {
    let service = HarnessServer::new(Act(act)).max_decoding_message_size(sdk::MAX_MESSAGE_BYTES);
    serve(Server::builder().add_service(service)).await
}

async fn meet(address: String, plan: Plan) -> Suite {
    Suite::meet(address.parse().expect("an address"), plan).await.expect("a harness")
}

async fn check(address: String, plan: Plan) -> BTreeMap<&'static str, Verdict> {
    let suite = meet(address, plan).await;
    let mut verdicts = BTreeMap::new();
    for check in checks() {
        verdicts.insert(check.name, suite.run(check).await);
    }
    verdicts
}

/// The names of the checks with such a verdict.
pub fn names(verdicts: &BTreeMap<&'static str, Verdict>, which: fn(&Verdict) -> bool) -> Vec<&'static str> {
    verdicts.iter().filter(|(_, verdict)| which(verdict)).map(|(name, _)| *name).collect()
}

pub fn failed(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Failed(_))
}

pub fn skipped(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Skipped(_))
}
