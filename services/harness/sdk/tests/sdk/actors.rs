//! A harness made of a function, and the host that talks to it.

use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use sdk::{Failure, Harness, Run, Sink, Turn};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::{
    ApprovalRef, ApprovalResult, ControllerFrame, Event, EventKind, HarnessDescriptor, Message, ModelCall, ModelResult,
    ToolCall, ToolResult,
};

pub const SESSION: &str = "sess-1";
pub const EXECUTION: &str = "e1";

pub type Acting<'a> = BoxFuture<'a, Result<(), Failure>>;

/// A harness that does what its function says.
pub struct Acts<F>(pub F);

#[sdk::async_trait]
impl<F> Harness for Acts<F>
where
    F: for<'a> Fn(Turn, &'a mut Sink) -> Acting<'a> + Send + Sync + 'static,
{
    fn describe(&self) -> HarnessDescriptor {
        HarnessDescriptor::default()
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        (self.0)(turn, sink).await
    }
}

/// The host's end of a run.
pub struct Host {
    pub run: Run,
}

impl Host {
    pub fn running<F>(act: F) -> Self
    where
        F: for<'a> Fn(Turn, &'a mut Sink) -> Acting<'a> + Send + Sync + 'static,
    {
        Self { run: Run::new(Arc::new(Acts(act)), Turn::new(SESSION, EXECUTION).expect("a turn")) }
    }

    pub async fn event(&mut self) -> Option<Event> {
        self.run.next().await
    }

    /// The next event, which must be of this kind.
    pub async fn expect(&mut self, kind: EventKind) -> Body {
        let event = self.event().await.expect("an event");
        assert_eq!((event.kind(), event.execution_id.as_str()), (kind, EXECUTION));
        event.body.expect("a body")
    }

    pub async fn expect_completed(&mut self) {
        let Body::End(end) = self.expect(EventKind::EventEnd).await else { panic!("no end") };
        assert_eq!((end.state.as_str(), end.error), ("COMPLETED", None));
        assert_eq!(self.event().await, None);
    }

    pub async fn expect_failed(&mut self) -> String {
        let Body::End(end) = self.expect(EventKind::EventEnd).await else { panic!("no end") };
        assert_eq!(end.state, "FAILED");
        assert_eq!(self.event().await, None);
        end.error.expect("an error").description
    }

    pub fn send(&mut self, frame: Frame) {
        self.run.deliver(envelope(frame));
    }
}

pub fn envelope(frame: Frame) -> ControllerFrame {
    ControllerFrame { session: SESSION.into(), execution_id: EXECUTION.into(), frame: Some(frame) }
}

pub fn text(text: &str) -> Message {
    Message::text("assistant", text)
}

pub fn question() -> ModelCall {
    ModelCall { id: "m1".into(), ..ModelCall::default() }
}

pub fn answer(id: &str) -> Frame {
    Frame::Model(ModelResult { message: Some(text("yes")), usage: None, model_call_id: id.into() })
}

pub fn call() -> ToolCall {
    ToolCall { id: "c1".into(), tool: "t".into(), idempotency_key: "k".into(), ..ToolCall::default() }
}

pub fn result(id: &str) -> ToolResult {
    ToolResult { id: id.into(), ..ToolResult::default() }
}

pub fn park() -> ApprovalRef {
    ApprovalRef { execution_id: EXECUTION.into(), tool_call_id: "c1".into(), request_seq: 4 }
}

pub fn decision(approved: bool) -> ApprovalResult {
    ApprovalResult { tool_call_id: "c1".into(), approved, reason: "so".into(), request_seq: 4 }
}

pub fn receipt() -> ToolResult {
    ToolResult { approval_request_seq: 4, approval_decision_seq: 5, ..result("c1") }
}

/// Says whether it was dropped.
#[derive(Default)]
pub struct DropFlag(Arc<()>);

impl DropFlag {
    pub fn guard(&self) -> Arc<()> {
        Arc::clone(&self.0)
    }

    pub fn is_dropped(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}
