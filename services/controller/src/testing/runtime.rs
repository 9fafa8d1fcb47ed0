//! A runtime that follows a script, and the harness in it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use futures::future::BoxFuture;
use journal::{ExecutionId, SessionUid};
use wire::event::Body;
use wire::{
    ApprovalRef, Capabilities, ComputeState, Event, EventKind, HarnessDescriptor, HarnessEnd, Message, Resumability,
    RuntimeCapabilities, SnapshotRef,
};

use super::events::gated;
use crate::ports::{
    AcquireError, Compute, DescribeError, HarnessChannel, HarnessConnection, HarnessFailure, HostFrame, Runtime,
    RuntimeFailure, SessionPoint, TurnStart,
};

/// What is done to compute. `probe` and `status` are not worth a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Create,
    Restore,
    Snapshot,
    Fork,
    Stop,
}

/// How an operation goes, if not well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Fails,
    Hangs,
}

type Meanwhile = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// Keeps the memory of each session: how many turns its harness has ended. Clones share everything.
#[derive(Clone)]
pub(crate) struct ScriptedRuntime {
    script: Arc<Mutex<Script>>,
}

pub(crate) struct Script {
    pub(crate) resumability: Resumability,
    pub(crate) memory_snapshot: bool,
    pub(crate) external_handles: bool,
    /// The harness opens a gate in every turn.
    pub(crate) gates: bool,
    /// Harnesses break in the middle of a turn.
    pub(crate) breaks: bool,
    /// The operations that go wrong from now on, after going well so many times.
    pub(crate) faults: HashMap<Op, (usize, Fault)>,
    /// Happens while the next operation of its kind is under way, and while the next harness is described.
    pub(crate) meanwhile: HashMap<Op, Meanwhile>,
    pub(crate) while_described: Option<Meanwhile>,
    /// Happens after the next harness ended its turn and before that is recorded.
    pub(crate) while_ending: Option<Meanwhile>,
    /// The memories that are live, each as of a turn.
    pub(crate) live: HashMap<String, (Option<ExecutionId>, u64)>,
    snapshots: Vec<u64>,
    /// The last snapshot of each session.
    cold: HashMap<String, usize>,
    done: Vec<(Op, String)>,
}

impl ScriptedRuntime {
    pub(crate) fn new() -> Self {
        let script = Script {
            resumability: Resumability::RequiresMemorySnapshot,
            memory_snapshot: true,
            external_handles: true,
            gates: false,
            breaks: false,
            faults: HashMap::new(),
            meanwhile: HashMap::new(),
            while_described: None,
            while_ending: None,
            live: HashMap::new(),
            snapshots: Vec::new(),
            cold: HashMap::new(),
            done: Vec::new(),
        };
        Self { script: Arc::new(Mutex::new(script)) }
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    /// What was done since this was asked last, and for which session.
    pub(crate) fn done(&self) -> Vec<(Op, String)> {
        std::mem::take(&mut self.script().done)
    }

    async fn begin(&self, op: Op, session: &SessionUid) -> Result<(), RuntimeFailure> {
        let (fault, meanwhile) = {
            let mut script = self.script();
            script.done.push((op, session.to_string()));
            (script.fault(op), script.meanwhile.remove(&op))
        };
        if let Some(meanwhile) = meanwhile {
            meanwhile().await;
        }
        match fault {
            None => Ok(()),
            Some(Fault::Fails) => Err(RuntimeFailure("scripted".into())),
            Some(Fault::Hangs) => std::future::pending().await,
        }
    }

    fn compute(&self, session: &str, memory: Option<u64>) -> Compute {
        let channel = Channel { runtime: self.clone(), session: session.to_owned(), memory: memory.unwrap_or(0) };
        Compute { channel: Box::new(channel), remembers: memory.is_some() }
    }
}

impl Script {
    fn fault(&mut self, op: Op) -> Option<Fault> {
        let (left, fault) = self.faults.get_mut(&op)?;
        if *left == 0 {
            return Some(*fault);
        }
        *left -= 1;
        None
    }

    fn live(&self, of: &SessionPoint) -> Option<u64> {
        self.live.get(of.session.as_str()).filter(|(turn, _)| *turn == of.last_turn).map(|(_, memory)| *memory)
    }

    fn held(&self, snapshot: &SnapshotRef) -> u64 {
        let number = snapshot.external_uri.strip_prefix("scripted:").expect("an own snapshot");
        self.snapshots[number.parse::<usize>().expect("a number")]
    }
}

#[async_trait]
impl Runtime for ScriptedRuntime {
    fn capabilities(&self) -> RuntimeCapabilities {
        RuntimeCapabilities { memory_snapshot: self.script().memory_snapshot, ..RuntimeCapabilities::default() }
    }

    async fn probe(&self) -> Result<Box<dyn HarnessChannel>, AcquireError> {
        Ok(self.compute("nobody", None).channel)
    }

    async fn create(&self, of: &SessionPoint) -> Result<Compute, AcquireError> {
        self.begin(Op::Create, &of.session).await?;
        let memory = self.script().live(of);
        Ok(self.compute(of.session.as_str(), memory))
    }

    async fn restore(&self, of: &SessionPoint, snapshot: &SnapshotRef) -> Result<Compute, AcquireError> {
        self.begin(Op::Restore, &of.session).await?;
        let memory = self.script().held(snapshot);
        Ok(self.compute(of.session.as_str(), Some(memory)))
    }

    async fn snapshot(&self, of: &SessionPoint) -> Result<SnapshotRef, RuntimeFailure> {
        self.begin(Op::Snapshot, &of.session).await?;
        let mut script = self.script();
        let (session, number) = (of.session.to_string(), script.snapshots.len());
        let cold = script.cold.get(&session).map_or(0, |&number| script.snapshots[number]);
        let memory = script.live(of).unwrap_or(cold);
        script.snapshots.push(memory);
        script.cold.insert(session.clone(), number);
        let external_uri = if script.external_handles { format!("scripted:{number}") } else { String::new() };
        Ok(SnapshotRef { local: session, external_uri, memory: true, sealed: true })
    }

    async fn fork(&self, snapshot: &SnapshotRef, child: &SessionPoint) -> Result<(), RuntimeFailure> {
        self.begin(Op::Fork, &child.session).await?;
        let mut script = self.script();
        let memory = script.held(snapshot);
        script.live.insert(child.session.to_string(), (child.last_turn.clone(), memory));
        Ok(())
    }

    async fn stop(&self, session: &SessionUid) -> Result<(), RuntimeFailure> {
        self.begin(Op::Stop, session).await?;
        self.script().live.remove(session.as_str());
        Ok(())
    }

    async fn status(&self, of: &SessionPoint) -> Result<ComputeState, RuntimeFailure> {
        let script = self.script();
        Ok(match (script.live(of), script.cold.get(of.session.as_str())) {
            (Some(_), _) => ComputeState::ComputeLive,
            (None, Some(_)) => ComputeState::ComputeCold,
            (None, None) => ComputeState::ComputeNone,
        })
    }
}

struct Channel {
    runtime: ScriptedRuntime,
    session: String,
    memory: u64,
}

#[async_trait]
impl HarnessChannel for Channel {
    async fn describe(&mut self) -> Result<HarnessDescriptor, DescribeError> {
        let meanwhile = self.runtime.script().while_described.take();
        if let Some(meanwhile) = meanwhile {
            meanwhile().await;
        }
        let resumability = self.runtime.script().resumability.into();
        let capabilities = Some(Capabilities { resumability, ..Capabilities::default() });
        Ok(HarnessDescriptor { id: "counter".into(), capabilities, ..HarnessDescriptor::default() })
    }

    async fn connect(self: Box<Self>, turn: TurnStart) -> Result<Box<dyn HarnessConnection>, HarnessFailure> {
        let (gates, breaks) = {
            let script = self.runtime.script();
            (script.gates, script.breaks)
        };
        let event = |kind, body| Event::new(kind, body).of_execution(turn.execution.as_str());
        let said = format!("turn {}, told {}", self.memory + 1, turn.history.len());
        let output = event(EventKind::EventOutput, Body::Message(Message::text("assistant", said)));
        let rest = if gates {
            Some(event(EventKind::EventToolCall, Body::Tool(gated("gate"))))
        } else if breaks {
            None
        } else {
            Some(event(EventKind::EventEnd, Body::End(HarnessEnd { state: "COMPLETED".into(), error: None })))
        };
        let execution = turn.execution.to_string();
        Ok(Box::new(Connection { channel: *self, execution, events: [output].into_iter().chain(rest).collect() }))
    }
}

struct Connection {
    channel: Channel,
    execution: String,
    events: VecDeque<Event>,
}

impl Connection {
    fn park(&mut self, reference: ApprovalRef) {
        let parked = Event::new(EventKind::EventParked, Body::Parked(reference)).of_execution(self.execution.as_str());
        self.events.push_back(parked);
    }
}

#[async_trait]
impl HarnessConnection for Connection {
    async fn send(&mut self, frame: HostFrame) -> Result<(), HarnessFailure> {
        if let HostFrame::Park(reference) = frame {
            self.park(reference);
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Event>, HarnessFailure> {
        let Channel { runtime, session, memory } = &self.channel;
        let next = self.events.pop_front();
        match &next {
            Some(event) if event.kind() == EventKind::EventEnd => {
                let turn = Some(ExecutionId::new(&event.execution_id));
                let meanwhile = runtime.script().while_ending.take();
                if let Some(meanwhile) = meanwhile {
                    meanwhile().await;
                }
                runtime.script().live.insert(session.clone(), (turn, memory + 1));
            }
            None if runtime.script().breaks => return Err(HarnessFailure::new("it broke")),
            _ => {}
        }
        Ok(next)
    }
}
