//! A harness that does what the script of a test says, right or wrong.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use tokio::sync::Semaphore;
use tonic::{Code, Status};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::{ApprovalRef, ControllerFrame, Event, EventKind, HarnessDescriptor, Message, ModelCall, ToolCall};

use crate::{BOUND, Talk, records, serve_described};

/// One thing that the harness does. It ends with `COMPLETED` when it has done all.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends an event of its turn and reads the answer. Told to park, it parks and is done.
    Ask(EventKind, Body),
    /// Sends an event of its turn.
    Say(EventKind, Option<Body>),
    /// Reads an answer.
    Hear,
    /// Sends an event as it is.
    Raw(Box<Event>),
    /// From here on, told to park, it sends these events and is done.
    ParkWith(fn(ApprovalRef) -> Vec<Event>),
    /// From here on, told to park, it waits until [`ScriptedHarness::release`] before it answers.
    ParkAfterRelease,
    /// Waits until [`ScriptedHarness::release`].
    Wait,
    /// Ends with this state and is done.
    End(&'static str),
    /// Closes its stream and is done.
    Close,
    /// Breaks its stream and is done.
    Break,
}

impl Step {
    /// Asks for a completion.
    #[must_use]
    pub fn model(request: ModelCall) -> Self {
        Self::Ask(EventKind::EventModelCall, Body::Model(request))
    }

    /// Asks for a tool call.
    #[must_use]
    pub fn call(call: ToolCall) -> Self {
        Self::Ask(EventKind::EventToolCall, Body::Tool(call))
    }

    /// Asks for the gated call with this id.
    #[must_use]
    pub fn gate(id: &str) -> Self {
        Self::call(records::gated(id))
    }

    /// Says something.
    #[must_use]
    pub fn output(text: &str) -> Self {
        Self::Say(EventKind::EventOutput, Some(Body::Message(Message::text("assistant", text))))
    }

    /// Reports the result of a tool that it ran itself.
    #[must_use]
    pub fn report(result: wire::ToolResult) -> Self {
        Self::Say(EventKind::EventToolResult, Some(Body::Result(result)))
    }

    /// Reports usage.
    #[must_use]
    pub fn usage(input_tokens: i64) -> Self {
        Self::Say(EventKind::EventUsage, Some(Body::Usage(records::usage(input_tokens))))
    }
}

/// What the harness answers to Describe.
#[derive(Clone, Debug)]
pub enum Described {
    /// A descriptor.
    As(HarnessDescriptor),
    /// An error.
    Refused(Code),
    /// Nothing, ever.
    Never,
}

/// The harness. Stops when the test's runtime ends.
#[derive(Clone)]
pub struct ScriptedHarness {
    address: String,
    script: Arc<Script>,
}

struct Script {
    now: Mutex<Now>,
    waiting: Semaphore,
    released: Semaphore,
}

struct Now {
    described: Described,
    steps: Vec<Step>,
    runs: Vec<Vec<ControllerFrame>>,
}

impl ScriptedHarness {
    /// Starts one on a free port, with an empty script. It describes itself as `scripted`, version `1`.
    pub async fn start() -> Self {
        let described = Described::As(descriptor());
        let now = Mutex::new(Now { described, steps: Vec::new(), runs: Vec::new() });
        let script = Arc::new(Script { now, waiting: Semaphore::new(0), released: Semaphore::new(0) });
        let (describing, acting) = (Arc::clone(&script), Arc::clone(&script));
        let describe = move || describe(describing.lock().described.clone()).boxed();
        let act = move |talk| Arc::clone(&acting).act(talk).boxed();
        Self { address: serve_described(describe, act).await, script }
    }

    /// `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it does in each run from now on.
    pub fn does(&self, steps: impl Into<Vec<Step>>) {
        self.script.lock().steps = steps.into();
    }

    /// What it answers to Describe from now on.
    pub fn describes(&self, described: Described) {
        self.script.lock().described = described;
    }

    /// The frames of every run so far, the first one included.
    #[must_use]
    pub fn runs(&self) -> Vec<Vec<ControllerFrame>> {
        self.script.lock().runs.clone()
    }

    /// Waits until one more run waits.
    pub async fn waiting(&self) {
        bounded(&self.script.waiting).await;
    }

    /// Lets a run go on that waits.
    pub fn release(&self) {
        self.script.released.add_permits(1);
    }
}

/// How the harness describes itself unless a test says otherwise.
#[must_use]
pub fn descriptor() -> HarnessDescriptor {
    HarnessDescriptor { id: "scripted".into(), version: "1".into(), ..HarnessDescriptor::default() }
}

async fn describe(described: Described) -> Result<HarnessDescriptor, Status> {
    match described {
        Described::As(descriptor) => Ok(descriptor),
        Described::Refused(code) => Err(Status::new(code, "told to refuse")),
        Described::Never => std::future::pending().await,
    }
}

async fn bounded(semaphore: &Semaphore) {
    let permit = tokio::time::timeout(BOUND, semaphore.acquire()).await.expect("it happens in time");
    permit.expect("nobody closes it").forget();
}

fn park(reference: ApprovalRef) -> Vec<Event> {
    let execution = reference.execution_id.clone();
    vec![Event::new(EventKind::EventParked, Body::Parked(reference)).of_execution(execution)]
}

impl Script {
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn act(self: Arc<Self>, mut talk: Talk) {
        let (run, steps) = {
            let mut now = self.lock();
            now.runs.push(vec![talk.first.clone()]);
            (now.runs.len() - 1, now.steps.clone())
        };
        let mut parking = Parking { at_once: true, with: park };
        for step in steps {
            match step {
                Step::Ask(kind, body) => {
                    talk.say(kind, body).await;
                    if !self.hear(run, &mut talk, &parking).await {
                        return;
                    }
                }
                Step::Hear => {
                    if !self.hear(run, &mut talk, &parking).await {
                        return;
                    }
                }
                Step::Say(kind, body) => {
                    let event = Event::new(kind, body).of_execution(talk.execution.as_str());
                    talk.say_event(event).await;
                }
                Step::Raw(event) => talk.say_event(*event).await,
                Step::ParkWith(events) => parking.with = events,
                Step::ParkAfterRelease => parking.at_once = false,
                Step::Wait => self.wait().await,
                Step::End(state) => return talk.end(state).await,
                Step::Close => return,
                Step::Break => return talk.break_off(Status::internal("told to break")).await,
            }
        }
        talk.end("COMPLETED").await;
    }

    async fn wait(&self) {
        self.waiting.add_permits(1);
        bounded(&self.released).await;
    }

    /// Reads frames up to one that answers a request; whether the run goes on after it.
    async fn hear(&self, run: usize, talk: &mut Talk, parking: &Parking) -> bool {
        while let Some(heard) = talk.hear_frame().await {
            self.lock().runs[run].push(heard.clone());
            match heard.frame {
                Some(Frame::Approval(_)) => {}
                Some(Frame::Park(reference)) => {
                    self.park(talk, reference, parking).await;
                    return false;
                }
                _ => return true,
            }
        }
        false
    }

    async fn park(&self, talk: &mut Talk, reference: ApprovalRef, parking: &Parking) {
        if !parking.at_once {
            self.wait().await;
        }
        for event in (parking.with)(reference) {
            talk.say_event(event).await;
        }
    }
}

/// What a run does when it is told to park.
struct Parking {
    at_once: bool,
    with: fn(ApprovalRef) -> Vec<Event>,
}
