//! A session: a scripted journal, a scripted outside world, and a host that drives turns on them.

use std::collections::HashMap;

use journal::{ExecutionId, Seq, SessionUid};
use wire::{Event, Message, ModelCall, Resumability, ToolCall, ToolResult};

use super::events::{Of, lifecycle};
use super::script::{Ask, Read, Script};
use crate::log::{Log, ResumeStep, TurnSpan};
use crate::ports::HostFrame;
use crate::turn::{Action, Input, Refusal, Turn, TurnEnd};

/// What an executor does with a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Executor {
    Missing,
    Fails,
    Answers(ToolResult),
}

/// The session `s`, whose turns have the id `e1` unless a test records others.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) events: Vec<Event>,
    /// Model requests made so far.
    pub(crate) model_calls: usize,
    /// The model fails from now on.
    pub(crate) model_fails: bool,
    /// Tool calls made so far, by idempotency key.
    pub(crate) tool_calls: HashMap<String, usize>,
    pub(crate) executor: Executor,
    /// The answer to the append that would write this record; nothing is written.
    pub(crate) refuse: Option<(usize, Refusal)>,
    pub(crate) resumability: Resumability,
    /// Frames that the harness of the last run received.
    pub(crate) frames: Vec<HostFrame>,
}

impl Session {
    pub(crate) fn new(events: Vec<Event>) -> Self {
        Self {
            events,
            model_calls: 0,
            model_fails: false,
            tool_calls: HashMap::new(),
            executor: Executor::Answers(ToolResult { error: "as it is".into(), ..ToolResult::default() }),
            refuse: None,
            resumability: Resumability::StatelessReplay,
            frames: Vec::new(),
        }
    }

    /// A session with one turn that has started, on the input `hello`.
    pub(crate) fn started() -> Self {
        Self::new(vec![Of("e1").start(1), Of("e1").input("hello")])
    }

    /// The same session, its journal cut to the first `len` records and the world's counters reset.
    pub(crate) fn cut(&self, len: usize) -> Self {
        Self {
            events: self.events[..len].to_vec(),
            model_calls: 0,
            tool_calls: HashMap::new(),
            refuse: None,
            ..self.clone()
        }
    }

    pub(crate) fn log(&self) -> Log {
        Log::of(&self.events)
    }

    /// Runs the turn `e1`, which has started, on a harness that does this.
    pub(crate) fn run(&mut self, asks: &[Ask]) -> TurnEnd {
        let turn = Turn::live(ExecutionId::new("e1"), self.resumability);
        self.drive(turn, Script::new("e1", &[Message::text("user", "hello")], asks))
    }

    /// What Resume would do.
    pub(crate) fn resume_step(&self) -> ResumeStep {
        self.log().plan_resume().unwrap().step
    }

    /// Resumes a turn that is pending and not at a gate.
    pub(crate) fn resume(&mut self, asks: &[Ask]) -> TurnEnd {
        match self.resume_step() {
            ResumeStep::Run(span) => self.recover(&span, asks),
            other => panic!("nothing to run: {other:?}"),
        }
    }

    /// Runs a recorded turn again.
    pub(crate) fn recover(&mut self, span: &TurnSpan, asks: &[Ask]) -> TurnEnd {
        let recorded = span.read(&uid(), &self.events).unwrap();
        let script = Script::new(recorded.execution.as_str(), &recorded.inputs, asks);
        let turn = Turn::recover(recorded.execution, recorded.recording, self.resumability);
        self.drive(turn, script)
    }

    /// Replays all completed turns on a harness that does this.
    pub(crate) fn replay(&mut self, asks: &[Ask]) -> TurnEnd {
        for span in self.log().completed_turns("", "").unwrap() {
            let recorded = span.read(&uid(), &self.events).unwrap();
            let script = Script::new(recorded.execution.as_str(), &recorded.inputs, asks);
            let end = self.drive(Turn::replay(recorded.execution, recorded.recording), script);
            if end != TurnEnd::Completed {
                return end;
            }
        }
        TurnEnd::Completed
    }

    /// Resumes until nothing is pending: repairs requests, decides gates by `approve`, parks.
    pub(crate) fn settle(&mut self, asks: &[Ask], approve: impl Fn(&str) -> bool) {
        loop {
            match self.resume_step() {
                ResumeStep::NothingPending => return,
                ResumeStep::AwaitDecision(gate) => {
                    let approved = approve(&gate.tool_call_id);
                    self.events.push(Of("e1").decision(&gate.tool_call_id, gate.request_seq, approved));
                }
                ResumeStep::RepairRequest { execution, tool_call_id } => {
                    assert_eq!(execution.as_str(), "e1");
                    self.events.push(Of("e1").request(&tool_call_id));
                }
                ResumeStep::Run(span) => match self.recover(&span, asks) {
                    TurnEnd::Completed => {}
                    TurnEnd::Parked(_) => self.events.push(lifecycle(wire::lifecycle::Kind::LifecycleSuspend)),
                    end => panic!("recovery ended with {end:?}"),
                },
                ResumeStep::Refuse(error) => panic!("{error}"),
            }
        }
    }

    /// Performs what the turn asks for until it is over.
    pub(crate) fn drive(&mut self, mut turn: Turn, mut script: Script) -> TurnEnd {
        let mut action = turn.start();
        loop {
            let outcome = match action {
                Action::Finish(end) => {
                    self.frames = script.frames;
                    return end;
                }
                Action::ReadHarness | Action::ReadParked => self.read(&mut script),
                Action::Send(frame) => {
                    script.take(frame);
                    Input::Sent
                }
                Action::Stop => Input::Stopped,
                Action::Append(events) => self.append(events),
                Action::CallModel(call) => self.complete(&call),
                Action::CallTool(call) => self.execute(&call),
            };
            action = turn.on(outcome);
        }
    }

    fn read(&self, script: &mut Script) -> Input {
        match script.read() {
            Read::Event(event) => Input::Event { event: *event, fresh_id: format!("fresh-{}", self.events.len()) },
            Read::Closed => Input::Closed,
            Read::Broken => Input::HarnessFailed("stream broke".into()),
        }
    }

    fn append(&mut self, events: Vec<Event>) -> Input {
        let first = self.events.len() + 1;
        if let Some((_, refusal)) = self.refuse.take_if(|(seq, _)| (first..first + events.len()).contains(seq)) {
            return Input::Refused(refusal);
        }
        self.events.extend(events);
        Input::Appended(Seq::ZERO.plus(first))
    }

    fn complete(&mut self, call: &ModelCall) -> Input {
        self.model_calls += 1;
        if self.model_fails {
            return Input::ModelFailed("status 500".into());
        }
        let asked: Vec<String> = call.messages.iter().map(Message::text_content).collect();
        Input::ModelAnswered(Message::text("assistant", format!("answer to {}", asked.join(", "))))
    }

    fn execute(&mut self, call: &ToolCall) -> Input {
        *self.tool_calls.entry(call.idempotency_key.clone()).or_default() += 1;
        match &self.executor {
            Executor::Missing => Input::NoToolExecutor(call.tool.clone()),
            Executor::Fails => Input::ToolFailed("unreachable".into()),
            Executor::Answers(result) => Input::ToolAnswered(result.clone()),
        }
    }
}

pub(crate) fn uid() -> SessionUid {
    SessionUid::parse("s").unwrap()
}
