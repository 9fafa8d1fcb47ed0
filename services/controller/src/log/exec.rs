//! May a new turn begin? (execution.md §3 step 2, §4.1)

use super::{Log, LogError};

/// What an Exec on an existing session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecPlan {
    /// A new turn.
    NewTurn,
    /// The latest turn has approvals and no END, and the request has no inputs: resume it (execution.md §3.2).
    RecoverApproval,
}

impl Log {
    /// What an Exec does here, by its approvals. The markers are checked later, by
    /// [`check_start`](Self::check_start), after the client has had its first frame.
    ///
    /// # Errors
    /// Broken evidence anywhere, or inputs while an own gate is open.
    pub fn plan_exec(&self, has_inputs: bool) -> Result<ExecPlan, LogError> {
        self.check_approvals()?;
        let Some(last) = self.executions.last().filter(|last| last.bears_approvals() && !last.ended) else {
            return Ok(ExecPlan::NewTurn);
        };
        if !has_inputs {
            return Ok(ExecPlan::RecoverApproval);
        }
        match last.last_gate() {
            Some(gate) if gate.receipt.is_none() && self.is_owned(gate.call) => {
                Err(LogError::ApprovalBlocked { call: gate.call })
            }
            _ => Ok(ExecPlan::NewTurn),
        }
    }

    /// Whether a START may be appended: whatever an interrupted turn left behind, it supersedes; broken markers it
    /// does not.
    ///
    /// # Errors
    /// The first broken marker rule (execution.md §8).
    pub fn check_start(&self) -> Result<(), LogError> {
        self.legacy.check()
    }
}
