//! START and INPUT records against each other (execution.md §7.4).

use journal::Seq;
use wire::{Event, EventKind, event};

use super::LogError;

/// The inputs of one execution.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs {
    /// Where the START is and how many inputs it announces.
    expected: Option<(Seq, u64)>,
    found: u64,
    problem: Option<LogError>,
}

impl Inputs {
    pub(super) fn push(&mut self, seq: Seq, event: &Event, first: bool) {
        let outcome = match event.kind() {
            EventKind::EventExecutionStart => self.start(seq, event, first),
            EventKind::EventInput => self.input(event),
            _ => Ok(()),
        };
        if let Err(rule) = outcome {
            self.problem.get_or_insert(LogError::Invalid { seq, rule });
        }
    }

    fn start(&mut self, seq: Seq, event: &Event, first: bool) -> Result<(), &'static str> {
        if !first {
            return Err("EXECUTION_START is not the first record of its execution");
        }
        let Some(event::Body::ExecutionStart(start)) = &event.body else {
            return Err("EXECUTION_START has no payload");
        };
        let count = start.input_count.ok_or("EXECUTION_START has no input_count")?;
        let count = u64::try_from(count).map_err(|_| "input_count is negative")?;
        self.expected = Some((seq, count));
        Ok(())
    }

    fn input(&mut self, event: &Event) -> Result<(), &'static str> {
        if !matches!(event.body, Some(event::Body::Message(_))) {
            return Err("INPUT has no message");
        }
        self.found += 1;
        match self.expected {
            Some((_, expected)) if self.found > expected => Err("there are more INPUT records than input_count"),
            _ => Ok(()),
        }
    }

    /// The first broken rule, other than too few inputs.
    pub(super) fn problem(&self) -> Option<&LogError> {
        self.problem.as_ref()
    }

    /// Checks them as those of a turn that has `ended`, or of one that was interrupted.
    pub(super) fn check(&self, ended: bool) -> Result<(), LogError> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        match self.expected {
            Some((start, expected)) if self.found < expected => Err(if ended {
                LogError::Invalid { seq: start, rule: "a completed turn has fewer INPUT records than input_count" }
            } else {
                LogError::IncompleteInvocation { start, expected, found: self.found }
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Log, ResumeStep};
    use crate::testing::events::*;
    use wire::ExecutionStart;

    /// What is said of a turn of these records: by Resume while it is interrupted; by controller replay, and by Resume,
    /// once it has ended.
    fn verdicts(records: &[Event]) -> (Result<(), LogError>, Result<(), LogError>) {
        let interrupted = Log::of(records).plan_resume().map(|plan| assert!(matches!(plan.step, ResumeStep::Run(_))));
        let end = Of("e1").end();
        let ended = Log::of(records.iter().chain([&end]));
        let completed = ended.completed_turns("", "").map(|turns| assert_eq!(turns.len(), 1));
        let resumed = ended.plan_resume().map(|plan| assert_eq!(plan.step, ResumeStep::NothingPending));
        assert_eq!(resumed, completed);
        (interrupted, completed)
    }

    #[test]
    fn malformed_inputs_are_invalid_whether_the_turn_ended_or_not() {
        let e1 = Of("e1");
        let countless = e1.start_with(ExecutionStart::default());
        let inputless = e1.event(EventKind::EventInput, None);
        let table = [
            (vec![countless], 1, "EXECUTION_START has no input_count"),
            (vec![e1.start(-1)], 1, "input_count is negative"),
            (vec![e1.event(EventKind::EventExecutionStart, None)], 1, "EXECUTION_START has no payload"),
            (vec![e1.start(1), e1.input("a"), e1.input("b")], 3, "there are more INPUT records than input_count"),
            (vec![e1.start(0), e1.input("a")], 2, "there are more INPUT records than input_count"),
            (vec![e1.start(1), inputless.clone()], 2, "INPUT has no message"),
            (vec![inputless], 1, "INPUT has no message"),
            (vec![e1.input("a"), e1.start(1)], 2, "EXECUTION_START is not the first record of its execution"),
        ];
        for (records, at, rule) in table {
            let invalid = Err(LogError::Invalid { seq: seq(at), rule });
            assert_eq!(verdicts(&records), (invalid.clone(), invalid), "{records:?}");
        }
    }

    #[test]
    fn missing_inputs_are_incomplete_while_the_turn_is_pending_and_invalid_once_it_ended() {
        let records = [Of("e1").start(2), Of("e1").input("a")];
        let incomplete = LogError::IncompleteInvocation { start: seq(1), expected: 2, found: 1 };
        let rule = "a completed turn has fewer INPUT records than input_count";
        assert_eq!(verdicts(&records), (Err(incomplete), Err(LogError::Invalid { seq: seq(1), rule })));
    }

    #[test]
    fn a_turn_without_start_has_no_count_to_meet() {
        let records = [Of("e1").input("a"), Of("e1").input("b"), Of("e1").output("x")];
        assert_eq!(verdicts(&records), (Ok(()), Ok(())));
    }

    #[test]
    fn a_complete_turn_is_accepted() {
        for (count, inputs) in [(0, vec![]), (1, vec![Of("e1").input("a")])] {
            let records = [vec![Of("e1").start(count)], inputs].concat();
            assert_eq!(verdicts(&records), (Ok(()), Ok(())));
        }
    }
}
