//! Which turns controller replay runs (execution.md §7.1).

use super::execution::Execution;
use super::recorded::Span;
use super::{Log, LogError, TurnSpan};

impl Log {
    /// The completed turns, in order, checked for a controller replay on `harness` in `version`: all are checked before
    /// the first is run. Turns without END are left out, and so are those that were canceled.
    ///
    /// # Errors
    /// Broken markers, approvals or input counts, or a turn recorded on another harness or version.
    pub fn completed_turns(&self, harness: &str, version: &str) -> Result<Vec<TurnSpan>, LogError> {
        self.legacy.check()?;
        self.check_approvals()?;
        let mut turns = Vec::new();
        for execution in self.executions.iter().filter(|execution| execution.ended && !execution.canceled) {
            if !execution.id.is_legacy() {
                execution.inputs.check(true)?;
                check_harness(execution, harness, version)?;
            }
            turns.push(self.completed(execution));
        }
        Ok(turns)
    }

    fn completed(&self, execution: &Execution) -> TurnSpan {
        let span = match self.legacy.last_end {
            Some(last) if execution.id.is_legacy() => Span::LegacyPrefix { last },
            _ => Span::Modern { first: execution.first, last: execution.last },
        };
        TurnSpan { execution: execution.id.clone(), span }
    }
}

fn check_harness(execution: &Execution, harness: &str, version: &str) -> Result<(), LogError> {
    let start = execution.first;
    if !execution.harness.is_empty() && execution.harness != harness {
        return Err(LogError::HarnessMismatch { start, recorded: execution.harness.clone() });
    }
    if !execution.harness_version.is_empty() && execution.harness_version != version {
        return Err(LogError::VersionMismatch { start, recorded: execution.harness_version.clone() });
    }
    Ok(())
}
