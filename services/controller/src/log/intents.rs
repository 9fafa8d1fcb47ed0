//! Tool calls left without a result (execution.md §7.5).

use journal::Seq;
use wire::{Event, EventKind, event};

/// The tool calls of one execution that have no result.
#[derive(Clone, Debug, Default)]
pub(super) struct Intents {
    /// The call that the next result may answer.
    open: Option<(Seq, String)>,
    /// The first call that no result can answer any more.
    abandoned: Option<Seq>,
}

impl Intents {
    pub(super) fn push(&mut self, seq: Seq, event: &Event) {
        match event.kind() {
            EventKind::EventToolCall => {
                self.abandon();
                self.open = Some((seq, call_id(event)));
            }
            EventKind::EventToolResult => {
                if self.open.as_ref().is_some_and(|(_, id)| answers(event, id)) {
                    self.open = None;
                } else {
                    self.abandon();
                }
            }
            EventKind::EventModelCall | EventKind::EventOutput | EventKind::EventUsage => self.abandon(),
            _ => {}
        }
    }

    /// The first call without a result.
    pub(super) fn first_unanswered(&self) -> Option<Seq> {
        self.abandoned.or(self.open.as_ref().map(|(seq, _)| *seq))
    }

    fn abandon(&mut self) {
        if let Some((seq, _)) = self.open.take() {
            self.abandoned.get_or_insert(seq);
        }
    }
}

fn call_id(event: &Event) -> String {
    match &event.body {
        Some(event::Body::Tool(call)) => call.id.clone(),
        _ => String::new(),
    }
}

fn answers(event: &Event, call_id: &str) -> bool {
    matches!(&event.body, Some(event::Body::Result(result)) if result.id == call_id)
}
