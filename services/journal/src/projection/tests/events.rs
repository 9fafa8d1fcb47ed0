//! Events, and logs that a host would write, with some that it would not.

use proptest::prelude::*;
use wire::event::Body;
use wire::lifecycle::Kind;
pub(super) use wire::tool_result::Code;
use wire::{
    ApprovalRequest, ApprovalResult, Event, EventKind, ExecutionStart, Lifecycle, Mediation, Message, ToolCall,
    ToolResult,
};

pub(crate) fn start(execution: &str, input_count: impl Into<Option<i64>>) -> Event {
    let start = ExecutionStart { input_count: input_count.into(), ..ExecutionStart::default() };
    Event::new(EventKind::EventExecutionStart, Body::ExecutionStart(start)).of_execution(execution)
}

pub(super) fn input(execution: &str) -> Event {
    Event::new(EventKind::EventInput, Body::Message(Message::text("user", "hi"))).of_execution(execution)
}

pub(super) fn output(execution: &str) -> Event {
    Event::new(EventKind::EventOutput, Body::Message(Message::text("assistant", "hi"))).of_execution(execution)
}

pub(super) fn error(execution: &str) -> Event {
    Event::new(EventKind::EventError, Body::Error(wire::Error::default())).of_execution(execution)
}

pub(super) fn call(execution: &str, id: &str, key: &str, mediation: Mediation) -> Event {
    let call = ToolCall {
        id: id.to_owned(),
        idempotency_key: key.to_owned(),
        mediation: mediation.into(),
        ..ToolCall::default()
    };
    Event::new(EventKind::EventToolCall, Body::Tool(call)).of_execution(execution)
}

pub(crate) fn gated(execution: &str, id: &str) -> Event {
    call(execution, id, "key", Mediation::RequiresApproval)
}

pub(crate) fn request(execution: &str, id: &str) -> Event {
    let request = ApprovalRequest { tool_call_id: id.to_owned(), ..ApprovalRequest::default() };
    Event::new(EventKind::EventApprovalRequest, Body::Approval(request)).of_execution(execution)
}

pub(super) fn decision(execution: &str, id: &str, request_seq: i64, approved: bool) -> Event {
    let result = ApprovalResult { tool_call_id: id.to_owned(), request_seq, approved, ..ApprovalResult::default() };
    Event::new(EventKind::EventApprovalResult, Body::ApprovalResult(result)).of_execution(execution)
}

pub(super) fn receipt(
    execution: &str,
    id: &str,
    request_seq: i64,
    decision_seq: i64,
    is_error: bool,
    code: Code,
) -> Event {
    let result = ToolResult {
        id: id.to_owned(),
        approval_request_seq: request_seq,
        approval_decision_seq: decision_seq,
        is_error,
        code: code.into(),
        ..ToolResult::default()
    };
    Event::new(EventKind::EventToolResult, Body::Result(result)).of_execution(execution)
}

pub(super) fn lifecycle(kind: Kind) -> Event {
    let lifecycle = Lifecycle { kind: kind.into(), ..Lifecycle::default() };
    Event::new(EventKind::EventLifecycle, Body::Lifecycle(lifecycle))
}

/// One thing that happens. What it refers to is, as a rule, what was recorded last.
#[derive(Clone, Copy, Debug)]
enum Step {
    Turn {
        inputs: i64,
    },
    /// Opens a gate or moves the open one to its next record.
    Gate {
        approved: bool,
    },
    Odd(Odd),
}

/// What a host does not write, or writes only at other moments.
#[derive(Clone, Copy, Debug)]
enum Odd {
    Start(Option<i64>),
    Input,
    Output,
    OrdinaryCall { of_gated: bool },
    Gated { id: u8, key: bool },
    Request { id: u8 },
    Decision { id: u8, off_by: i64 },
    Result { id: u8, request_seq: i64, decision_seq: i64, is_error: bool, code: i32 },
    WithoutBody(EventKind),
    Error,
    End,
    Lifecycle(i32),
}

pub(crate) fn log() -> impl Strategy<Value = Vec<Event>> {
    (any::<bool>(), proptest::collection::vec(step(), 0..14)).prop_map(|(legacy, steps)| {
        let mut script = Script { turn: u8::from(!legacy), ..Script::default() };
        steps.into_iter().for_each(|step| script.play(step));
        script.log
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..3_i64).prop_map(|inputs| Step::Turn { inputs }),
        10 => any::<bool>().prop_map(|approved| Step::Gate { approved }),
        4 => odd().prop_map(Step::Odd),
    ]
}

fn odd() -> impl Strategy<Value = Odd> {
    let kind = (0..14_i32).prop_map(|kind| EventKind::try_from(kind).unwrap_or_default());
    prop_oneof![
        proptest::option::of(-1..3_i64).prop_map(Odd::Start),
        Just(Odd::Input),
        Just(Odd::Output),
        any::<bool>().prop_map(|of_gated| Odd::OrdinaryCall { of_gated }),
        (0..4_u8, proptest::bool::weighted(0.8)).prop_map(|(id, key)| Odd::Gated { id, key }),
        (0..4_u8).prop_map(|id| Odd::Request { id }),
        (0..4_u8, -1..2_i64).prop_map(|(id, off_by)| Odd::Decision { id, off_by }),
        (0..4_u8, 0..9_i64, 0..9_i64, any::<bool>(), 0..4_i32).prop_map(
            |(id, request_seq, decision_seq, is_error, code)| Odd::Result {
                id,
                request_seq,
                decision_seq,
                is_error,
                code
            }
        ),
        kind.prop_map(Odd::WithoutBody),
        Just(Odd::Error),
        Just(Odd::End),
        (0..6_i32).prop_map(Odd::Lifecycle),
    ]
}

/// Writes a log step by step. Turn 0 is the one without id.
#[derive(Default)]
struct Script {
    turn: u8,
    gate: u8,
    stage: u8,
    request_seq: i64,
    decision_seq: i64,
    approved: bool,
    gated: Vec<String>,
    log: Vec<Event>,
}

impl Script {
    fn play(&mut self, step: Step) {
        let event = match step {
            Step::Turn { inputs } => return self.begin_turn(inputs),
            Step::Gate { approved } => self.move_gate(approved),
            Step::Odd(odd) => self.odd(odd),
        };
        self.push(event);
    }

    fn push(&mut self, event: Event) {
        if let Some(Body::Tool(call)) = &event.body
            && call.mediation() == Mediation::RequiresApproval
        {
            self.gated.push(call.id.clone());
        }
        self.log.push(event);
    }

    fn next_seq(&self) -> i64 {
        self.log.len() as i64 + 1
    }

    fn id(&self) -> String {
        if self.turn == 0 { String::new() } else { format!("e{}", self.turn) }
    }

    fn begin_turn(&mut self, inputs: i64) {
        (self.turn, self.stage) = (self.turn + 1, 0);
        self.gated.clear();
        let id = self.id();
        self.push(start(&id, inputs));
        (0..inputs).for_each(|_| self.push(input(&id)));
    }

    fn move_gate(&mut self, approved: bool) -> Event {
        let execution = self.id();
        let call = format!("next{}", self.gate);
        self.stage += 1;
        match self.stage {
            1 => gated(&execution, &call),
            2 => {
                self.request_seq = self.next_seq();
                request(&execution, &call)
            }
            3 => {
                (self.decision_seq, self.approved) = (self.next_seq(), approved);
                decision(&execution, &call, self.request_seq, approved)
            }
            _ => {
                (self.gate, self.stage) = (self.gate + 1, 0);
                let (is_error, code) = match (self.approved, approved) {
                    (false, _) => (true, Code::ApprovalDenied),
                    (true, false) => (true, Code::ExecutorError),
                    (true, true) => (false, Code::Unspecified),
                };
                receipt(&execution, &call, self.request_seq, self.decision_seq, is_error, code)
            }
        }
    }

    fn odd(&self, odd: Odd) -> Event {
        let execution = self.id();
        match odd {
            Odd::Start(count) => start(&execution, count),
            Odd::Input => input(&execution),
            Odd::Output => output(&execution),
            Odd::OrdinaryCall { of_gated } => {
                let id = self.gated.last().filter(|_| of_gated).map_or("ordinary", String::as_str);
                call(&execution, id, "key", Mediation::ControllerMediated)
            }
            Odd::Gated { id, key } => {
                call(&execution, &self.call_id(id), if key { "key" } else { "" }, Mediation::RequiresApproval)
            }
            Odd::Request { id } => request(&execution, &self.call_id(id)),
            Odd::Decision { id, off_by } => decision(&execution, &self.call_id(id), self.request_seq + off_by, true),
            Odd::Result { id, request_seq, decision_seq, is_error, code } => receipt(
                &execution,
                &self.call_id(id),
                request_seq,
                decision_seq,
                is_error,
                Code::try_from(code).unwrap_or_default(),
            ),
            Odd::WithoutBody(kind) => Event::new(kind, None).of_execution(execution),
            Odd::Error => error(&execution),
            Odd::End => Event::new(EventKind::EventEnd, None).of_execution(execution),
            Odd::Lifecycle(kind) => lifecycle(Kind::try_from(kind).unwrap_or_default()),
        }
    }

    /// No id, that of the current gate, or others.
    fn call_id(&self, id: u8) -> String {
        match id {
            0 => String::new(),
            1 | 2 => format!("next{}", self.gate),
            _ => "odd".to_owned(),
        }
    }
}
