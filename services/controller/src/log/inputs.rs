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
