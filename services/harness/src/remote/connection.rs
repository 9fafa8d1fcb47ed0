//! A running execution on a remote harness.

use std::future::pending;
use std::pin::Pin;

use async_trait::async_trait;
use controller::ports::{HarnessConnection, HarnessFailure, HostFrame, TurnStart};
use futures::stream::{self, BoxStream, Peekable};
use futures::{Stream, StreamExt, TryFutureExt};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codegen::http::{self, uri::PathAndQuery};
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status, Streaming};
use tower::util::MapRequest;
use wire::{Event, Held};

use super::channel::explain;
use super::codec::{ConnectCodec, FirstFrame, Outgoing};
use super::pool::Place;
use super::unsent::hold;
use crate::frames::Envelope;

const CONNECT: &str = "/agentsessions.v1.Harness/Connect";
const REQUEST_ID: &str = "x-request-id";

/// Frames on their way: a decision and its receipt.
const FRAMES_AHEAD: usize = 2;

/// Largest message in bytes.
#[derive(Clone, Copy)]
pub(super) struct MessageLimit(pub(super) usize);

pub(super) struct Connection {
    // Dropped before `frames`: the stream is then reset, and not half-closed as if all had been said.
    events: Peekable<BoxStream<'static, Result<Event, Status>>>,
    /// Boxed, as a channel keeps room for 32 of them.
    frames: mpsc::Sender<Box<Outgoing>>,
    envelope: Envelope,
    limit: MessageLimit,
    _place: Place,
}

impl Connection {
    /// Prepares the stream of `turn`, which is opened as the first event is waited for: a harness may send its headers
    /// only with that event, so opening must not be a wait of its own.
    pub(super) fn open(
        channel: Channel,
        place: Place,
        limit: MessageLimit,
        turn: TurnStart,
    ) -> Result<Self, HarnessFailure> {
        let envelope = Envelope::of(&turn);
        let request_id = turn.request_id.parse::<MetadataValue<_>>().ok();
        let held = turn.history.held();
        let start = limit.check(Outgoing::Start(FirstFrame::new(envelope.empty(), turn)))?;
        let (frames, outgoing) = mpsc::channel::<Box<Outgoing>>(FRAMES_AHEAD);
        let first = stream::once(async { start });
        let mut request = Request::new(first.chain(ReceiverStream::new(outgoing).map(|frame| *frame)));
        if let Some(request_id) = request_id {
            request.metadata_mut().insert(REQUEST_ID, request_id);
        }
        if let Some(trace) = env::traceparent().and_then(|trace| trace.parse().ok()) {
            request.metadata_mut().insert(env::TRACEPARENT, trace);
        }
        let opening = connect(channel, limit, request, held);
        let events = opening.map_ok(Response::into_inner).try_flatten_stream().boxed().peekable();
        Ok(Self { events, frames, envelope, limit, _place: place })
    }
}

/// `HarnessClient::connect` with a codec of our own. The first frame holds something until it was sent.
async fn connect(
    channel: Channel,
    limit: MessageLimit,
    request: Request<impl Stream<Item = Outgoing> + Send + 'static>,
    mut held: Option<Held>,
) -> Result<Response<Streaming<Event>>, Status> {
    let channel = MapRequest::new(channel, move |request: http::Request<Body>| {
        let held = held.take();
        request.map(|body| hold(body, held))
    });
    let mut client = Grpc::new(channel).max_decoding_message_size(limit.0).max_encoding_message_size(limit.0);
    client.ready().await.map_err(|error| Status::from_error(error.into()))?;
    client.streaming(request, PathAndQuery::from_static(CONNECT), ConnectCodec).await
}

#[async_trait]
impl HarnessConnection for Connection {
    async fn send(&mut self, frame: HostFrame) -> Result<(), HarnessFailure> {
        let is_answer = !matches!(frame, HostFrame::Stream(_));
        let frame = Box::new(self.limit.check(Outgoing::Frame(self.envelope.frame(frame)))?);
        // It is opened by being read: a frame for it must not wait for somebody to do that.
        let opening = async {
            Pin::new(&mut self.events).peek().await;
            pending().await
        };
        let sent = tokio::select! {
            biased;
            sent = self.frames.send(frame) => sent,
            never = opening => never,
        };
        match sent {
            Err(_) if is_answer => Err(HarnessFailure::new("the harness closed its stream before it had its answer")),
            // What is said about streams may cross the end of the run, of which the events tell.
            _ => Ok(()),
        }
    }

    async fn next(&mut self) -> Result<Option<Event>, HarnessFailure> {
        match self.events.next().await.transpose() {
            Ok(event) => Ok(event),
            Err(status) => Err(broken(&status)),
        }
    }
}

/// What the end of the stream with this status comes to.
fn broken(status: &Status) -> HarnessFailure {
    let text = format!("the stream of the harness broke: {}", explain(status));
    if is_violation(status) { HarnessFailure::lasting(text) } else { HarnessFailure::new(text) }
}

/// Whether the harness sent what cannot be read or is too large, or says that it cannot read what it is sent: unlike a connection
/// that broke, and a harness that was stopped, this does not heal.
fn is_violation(status: &Status) -> bool {
    // Made on this side, where nothing but the text tells it from what a harness says.
    let unreadable = ["protocol error: ", "failed to decode Protobuf message"];
    match status.code() {
        Code::OutOfRange | Code::InvalidArgument | Code::Unimplemented => true,
        Code::Internal => unreadable.iter().any(|text| status.message().starts_with(text)),
        _ => false,
    }
}

impl MessageLimit {
    fn check(self, frame: Outgoing) -> Result<Outgoing, HarnessFailure> {
        let size = frame.encoded_len();
        let Self(limit) = self;
        if size > limit {
            return Err(HarnessFailure::lasting(format!(
                "a message of {size} bytes to the harness exceeds the limit of {limit}"
            )));
        }
        Ok(frame)
    }
}
