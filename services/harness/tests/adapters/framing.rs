//! What goes over the wire, seen by a server that is not made with the SDK.

use std::sync::Arc;
use std::time::Duration;

use controller::ports::HostFrame;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};
use wire::controller_frame::Frame;
use wire::harness_server::{Harness, HarnessServer};
use wire::{
    Cancel, ControllerFrame, DescribeRequest, Event, EventKind, HarnessDescriptor, History, ModelResult, Start,
};

use super::actors::{said, start, turn};
use super::network;

/// A server that sends fixed events, and shows the frames it gets if somebody wants to see them; else it reads none.
#[derive(Default)]
pub struct Raw {
    pub describe_error: Option<Status>,
    /// It takes no turn.
    pub refuses: Option<Status>,
    pub events: Vec<Event>,
    /// Its stream does not end with the last event.
    pub lingers: bool,
    pub frames: Option<mpsc::Sender<(String, ControllerFrame)>>,
}

#[tonic::async_trait]
impl Harness for Raw {
    type ConnectStream = ReceiverStream<Result<Event, Status>>;

    async fn describe(&self, _: Request<DescribeRequest>) -> Result<Response<HarnessDescriptor>, Status> {
        match &self.describe_error {
            Some(error) => Err(error.clone()),
            None => Ok(Response::new(HarnessDescriptor::default())),
        }
    }

    async fn connect(
        &self,
        request: Request<Streaming<ControllerFrame>>,
    ) -> Result<Response<Self::ConnectStream>, Status> {
        if let Some(status) = &self.refuses {
            return Err(status.clone());
        }
        let request_id = request.metadata().get("x-request-id").map(|id| id.to_str().expect("ASCII").to_owned());
        let request_id = request_id.unwrap_or_default();
        let (events, stream) = mpsc::channel(1);
        let (script, shown, lingers) = (self.events.clone(), self.frames.clone(), self.lingers);
        network::background(async move {
            for event in script {
                drop(events.send(Ok(event)).await);
            }
            let _open = lingers.then_some(events);
            let mut frames = request.into_inner();
            let Some(shown) = shown else { return std::future::pending().await };
            while let Ok(Some(frame)) = frames.message().await {
                drop(shown.send((request_id.clone(), frame)).await);
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

async fn serve(raw: Raw) -> String {
    network::serve(Server::builder().add_service(HarnessServer::new(raw))).await
}

#[tokio::test]
async fn every_frame_names_session_and_execution_and_the_first_is_the_start() {
    let (frames, mut shown) = mpsc::channel(4);
    let address = serve(Raw { frames: Some(frames), events: vec![Event::default()], ..Raw::default() }).await;
    let history = vec![Event::new(EventKind::EventOutput, wire::event::Body::Message(said("before")))];
    let mut begun = turn();
    begun.history = history.clone().into();
    let mut connection = start(&network::remote(&address), begun).await;
    connection.next().await.expect("an event");
    let result = ModelResult { message: Some(said("yes")), usage: None, model_call_id: "m".into() };
    connection.send(HostFrame::Model(result.clone())).await.expect("a reader");
    connection.send(HostFrame::Cancel(Cancel::default())).await.expect("a reader");

    let first =
        Start { config: b"config".to_vec(), history, inputs: turn().inputs, resume_from_seq: 5, ..Start::default() };
    for expected in [Frame::Start(first), Frame::Model(result), Frame::Cancel(Cancel::default())] {
        let (request_id, frame) = shown.recv().await.expect("a frame");
        assert_eq!((frame.session.as_str(), frame.execution_id.as_str()), ("sess-1", "e1"));
        assert_eq!(frame.frame, Some(expected));
        assert_eq!(request_id, "request-1");
    }
}

/// What is sent and not read lies in the memory of this side.
#[tokio::test]
async fn what_a_history_holds_is_released_once_the_harness_has_read_it() {
    for reads in [false, true] {
        let (frames, mut shown) = mpsc::channel(1);
        let frames = reads.then_some(frames);
        let address = serve(Raw { frames, events: vec![Event::default()], lingers: true, ..Raw::default() }).await;
        let held = Arc::new(());
        let event = Event::new(EventKind::EventOutput, wire::event::Body::Message(said(&"x".repeat(3_000_000))));
        let mut begun = turn();
        begun.history = History::from(vec![event]).holding(Arc::clone(&held));
        let mut connection = start(&network::remote(&address), begun).await;
        connection.next().await.expect("an event");
        assert_eq!(shown.recv().await.is_some(), reads);
        let released = async {
            while Arc::strong_count(&held) > 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let bound = Duration::from_millis(if reads { 10_000 } else { 100 });
        assert_eq!(timeout(bound, released).await.is_ok(), reads);
    }
}

#[tokio::test]
async fn events_are_passed_up_as_they_are_for_the_engine_to_judge() {
    let foreign = Event::new(EventKind::EventOutput, None).of_execution("another");
    let unknown = Event { kind: 99, ..Event::default() };
    let address = serve(Raw { events: vec![foreign.clone(), unknown.clone()], ..Raw::default() }).await;
    let mut connection = start(&network::remote(&address), turn()).await;
    assert_eq!(connection.next().await.expect("an event"), Some(foreign));
    assert_eq!(connection.next().await.expect("an event"), Some(unknown));
    assert_eq!(connection.next().await.expect("a clean end"), None);
}
