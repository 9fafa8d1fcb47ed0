//! The host's side of a turn, over a connection of its own.

use std::sync::atomic::{AtomicU64, Ordering};

use controller::ports::HarnessUnavailable;
use futures::stream::BoxStream;
use futures::{StreamExt, TryFutureExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Response, Status};
use wire::controller_frame::Frame;
use wire::harness_client::HarnessClient;
use wire::{ControllerFrame, DescribeRequest, Event, HarnessDescriptor, Start};

use super::Plan;
use super::asked::Asked;
use super::effect::Effect;
use super::outcome::{Ending, Outcome};
use crate::remote::{dial, explain};
use crate::{HarnessAddress, RemoteOptions};

/// Frames that can be on their way: more than any effect is answered with.
const FRAMES_AHEAD: usize = 8;
/// More events than a turn of the suite can sensibly have.
const MAX_EVENTS: usize = 10_000;

/// Whoever talks to the harness.
pub(super) struct Host {
    address: HarnessAddress,
    options: RemoteOptions,
    plan: Plan,
    turns: AtomicU64,
}

/// The names of a turn.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) session: String,
    pub(super) execution: String,
}

/// A turn under way.
pub(super) struct Conversation<'a> {
    plan: &'a Plan,
    turn: Turn,
    // Dropped before `frames`: the stream is then reset, as by a host that dies.
    incoming: BoxStream<'static, Result<Event, Status>>,
    frames: mpsc::Sender<ControllerFrame>,
    events: Vec<Event>,
    completions: usize,
}

/// How a conversation stands after a step.
pub(super) enum Step {
    Asked(Asked),
    Said,
    Ended(Ending),
}

impl Turn {
    pub(super) fn frame(&self, frame: Option<Frame>) -> ControllerFrame {
        ControllerFrame { session: self.session.clone(), execution_id: self.execution.clone(), frame }
    }
}

impl Host {
    pub(super) fn new(address: HarnessAddress, plan: Plan) -> Self {
        Self { address, options: RemoteOptions::default(), plan, turns: AtomicU64::new(0) }
    }

    pub(super) async fn describe(&self) -> Result<HarnessDescriptor, HarnessUnavailable> {
        let mut client = self.client().await?;
        match timeout(self.plan.patience, client.describe(DescribeRequest {})).await {
            Ok(Ok(descriptor)) => Ok(descriptor.into_inner()),
            Ok(Err(status)) => Err(HarnessUnavailable(explain(&status))),
            Err(_) => Err(HarnessUnavailable(format!("it did not describe itself within {:?}", self.plan.patience))),
        }
    }

    /// A turn of a session that is not used for anything else.
    pub(super) fn turn(&self) -> Turn {
        let n = self.turns.fetch_add(1, Ordering::Relaxed);
        Turn { session: format!("conformance-session-{n}"), execution: format!("conformance-execution-{n}") }
    }

    /// The first frame of `turn`, as planned.
    pub(super) fn start(&self, turn: &Turn, history: Vec<Event>) -> ControllerFrame {
        let (inputs, config) = (self.plan.inputs.clone(), self.plan.config.clone());
        turn.frame(Some(Frame::Start(Start { config, history, inputs, ..Start::default() })))
    }

    /// Opens a stream with `first`, whatever it is.
    pub(super) async fn begin(
        &self,
        turn: Turn,
        first: ControllerFrame,
    ) -> Result<Conversation<'_>, HarnessUnavailable> {
        let mut client = self.client().await?;
        let (frames, outgoing) = mpsc::channel(FRAMES_AHEAD);
        let outgoing = futures::stream::once(async { first }).chain(ReceiverStream::new(outgoing));
        // A harness may send its headers only with its first event, so opening is part of reading.
        let opening = async move { client.connect(outgoing).await };
        let incoming = opening.map_ok(Response::into_inner).try_flatten_stream().boxed();
        Ok(Conversation { plan: &self.plan, turn, incoming, frames, events: Vec::new(), completions: 0 })
    }

    /// Begins `turn` as planned.
    pub(super) async fn open(&self, turn: Turn) -> Result<Conversation<'_>, HarnessUnavailable> {
        let start = self.start(&turn, Vec::new());
        self.begin(turn, start).await
    }

    async fn client(&self) -> Result<HarnessClient<Channel>, HarnessUnavailable> {
        let channel = dial(&self.address, &self.options).await?;
        Ok(HarnessClient::new(channel)
            .max_decoding_message_size(self.options.max_message_bytes)
            .max_encoding_message_size(self.options.max_message_bytes))
    }
}

impl Conversation<'_> {
    /// The next thing that the harness says.
    pub(super) async fn step(&mut self) -> Step {
        if self.events.len() == MAX_EVENTS {
            return Step::Ended(Ending::Endless);
        }
        let event = match timeout(self.plan.patience, self.incoming.next()).await {
            Ok(Some(Ok(event))) => event,
            Ok(Some(Err(status))) => return Step::Ended(Ending::Broken(explain(&status))),
            Ok(None) => return Step::Ended(Ending::Closed),
            Err(_) => return Step::Ended(Ending::Silent(self.plan.patience)),
        };
        let effect = Effect::of(&event);
        let asked = Asked::new(&self.turn, &event, self.events.len(), self.plan.answer(self.completions));
        if effect == Some(Effect::Model) {
            self.completions += 1;
        }
        self.events.push(event);
        if effect.is_some() { Step::Asked(asked) } else { Step::Said }
    }

    /// The last thing that the harness said.
    pub(super) fn last(&self) -> Event {
        self.events.last().cloned().unwrap_or_default()
    }

    /// Sends frames. What a harness that does not read them does instead is seen in what it says.
    pub(super) async fn send(&mut self, frames: Vec<ControllerFrame>) {
        for frame in frames {
            let _ = timeout(self.plan.patience, self.frames.send(frame)).await;
        }
    }

    /// Answers as a host does that approves every call at once.
    pub(super) async fn answer(&mut self, asked: &Asked) {
        let frames = match self.events.last().and_then(Effect::of) {
            Some(Effect::Model) => vec![asked.frame(Frame::Model(asked.completed()))],
            Some(Effect::Tool) => vec![asked.frame(Frame::Tool(asked.result()))],
            _ => asked.decided(true, asked.receipt(true)),
        };
        self.send(frames).await;
    }

    /// Answers everything until the harness asks for `effect`.
    pub(super) async fn until(&mut self, effect: Effect) -> Result<Asked, String> {
        loop {
            match self.step().await {
                Step::Asked(asked) if self.events.last().is_some_and(|event| effect.is_asked_by(event)) => {
                    return Ok(asked);
                }
                Step::Asked(asked) => self.answer(&asked).await,
                Step::Said => {}
                Step::Ended(ending) => return Err(format!("this time it made no {effect}: {ending}")),
            }
        }
    }

    /// Answers everything to the end.
    pub(super) async fn finish(mut self) -> Outcome {
        loop {
            match self.step().await {
                Step::Asked(asked) => self.answer(&asked).await,
                Step::Said => {}
                Step::Ended(ending) => return self.ended(ending),
            }
        }
    }

    /// Answers nothing any more; what the harness says from here to the end.
    pub(super) async fn aftermath(mut self) -> Outcome {
        self.events.clear();
        loop {
            if let Step::Ended(ending) = self.step().await {
                return self.ended(ending);
            }
        }
    }

    pub(super) fn ended(self, ending: Ending) -> Outcome {
        Outcome { execution: self.turn.execution, events: self.events, ending }
    }
}
