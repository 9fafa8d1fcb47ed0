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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Log, LogError, ResumeStep};
    use crate::testing::events::*;

    /// The inherited call for which a turn of these records, cut by a fork at its end, is not run again.
    fn inherited(records: &[Event], after: &[Event]) -> Option<Seq> {
        let turn = [&[Of("e1").start(0)], records, &[fork()], after].concat();
        match Log::of(&turn).plan_resume().unwrap().step {
            ResumeStep::Run(_) => None,
            ResumeStep::Refuse(LogError::InheritedToolIntent { call }) => Some(call),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_inherited_call_needs_the_result_next_to_it() {
        let e1 = Of("e1");
        let call = || e1.tool_call(mediated("t"));
        let answer = || e1.tool_result(result("t"));
        let other = || e1.tool_result(result("u"));
        let marker = || lifecycle(wire::lifecycle::Kind::LifecycleResume);
        let table = [
            (vec![], vec![], None),
            (vec![call(), answer()], vec![], None),
            (vec![call()], vec![], Some(2)),
            // The result may lie after the fork.
            (vec![call()], vec![answer()], None),
            // Errors and markers may lie between.
            (vec![call(), e1.error(), marker(), answer()], vec![], None),
            // Effects may not.
            (vec![call(), e1.model_call("h"), answer()], vec![], Some(2)),
            (vec![call(), e1.output("x"), answer()], vec![], Some(2)),
            (vec![call(), e1.usage(1), answer()], vec![], Some(2)),
            (vec![call(), other(), answer()], vec![], Some(2)),
            (vec![call(), call(), answer()], vec![], Some(2)),
            (vec![call(), answer(), call()], vec![], Some(4)),
            // A call of the child's own is the child's to run.
            (vec![call(), answer()], vec![call()], None),
            (vec![call(), e1.output("x")], vec![call(), e1.output("x")], Some(2)),
            // A copied MODEL_CALL is run again.
            (vec![e1.model_call("h")], vec![], None),
        ];
        for (records, after, call) in table {
            assert_eq!(inherited(&records, &after), call.map(seq), "{records:?} {after:?}");
        }
    }

    #[test]
    fn a_fork_after_the_turn_ended_leaves_nothing_pending() {
        let turn = [Of("e1").start(0), Of("e1").tool_call(mediated("t")), Of("e1").end(), fork()];
        assert_eq!(Log::of(&turn).plan_resume().unwrap().step, ResumeStep::NothingPending);
    }

    #[test]
    fn an_own_call_without_result_is_run_again() {
        let turn = [fork(), Of("e1").start(0), Of("e1").tool_call(mediated("t"))];
        assert!(matches!(Log::of(&turn).plan_resume().unwrap().step, ResumeStep::Run(_)));
    }

    #[test]
    fn calls_of_earlier_legacy_turns_do_not_count() {
        let of = Of("");
        let first = [of.input("a"), of.tool_call(mediated("t")), of.end()];
        let log = [&first[..], &[of.input("b"), fork()]].concat();
        assert!(matches!(Log::of(&log).plan_resume().unwrap().step, ResumeStep::Run(_)));
    }
}
