//! May a new turn begin? (execution.md §3 step 2, §4.1)

use journal::ExecutionId;

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

    /// Whether there is a turn with this id, inherited ones included.
    #[must_use]
    pub fn has_turn(&self, execution: &ExecutionId) -> bool {
        self.by_id.contains_key(execution)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::events::*;
    use wire::Event;

    /// A turn at an undecided gate.
    fn gate() -> Vec<Event> {
        vec![Of("e1").start(0), Of("e1").tool_call(gated("g")), Of("e1").request("g")]
    }

    fn plan(records: &[Event], has_inputs: bool) -> Result<ExecPlan, LogError> {
        Log::of(records).plan_exec(has_inputs)
    }

    #[test]
    fn ordinary_turns_whatever_their_state_are_superseded() {
        let interrupted = [Of("e1").start(2), Of("e1").input("a")];
        for records in [&[], &interrupted[..], &[Of("e1").start(0), Of("e1").error()]] {
            for has_inputs in [true, false] {
                assert_eq!(plan(records, has_inputs), Ok(ExecPlan::NewTurn));
            }
        }
    }

    #[test]
    fn an_own_gate_blocks_inputs_until_its_receipt() {
        let blocked = Err(LogError::ApprovalBlocked { call: seq(2) });
        let decided = [gate(), vec![Of("e1").decision("g", 3, true)]].concat();
        let received = [decided.clone(), vec![Of("e1").tool_result(receipt("g", 3, 4))]].concat();
        let ended = [received.clone(), vec![Of("e1").end()]].concat();
        let inherited = [gate(), vec![fork()]].concat();
        let call_only = gate()[..2].to_vec();
        let table = [
            (call_only, blocked.clone(), ExecPlan::RecoverApproval),
            (gate(), blocked.clone(), ExecPlan::RecoverApproval),
            (decided, blocked, ExecPlan::RecoverApproval),
            (received, Ok(ExecPlan::NewTurn), ExecPlan::RecoverApproval),
            (ended, Ok(ExecPlan::NewTurn), ExecPlan::NewTurn),
            (inherited, Ok(ExecPlan::NewTurn), ExecPlan::RecoverApproval),
        ];
        for (records, with_inputs, without) in table {
            assert_eq!(plan(&records, true), with_inputs, "{records:?}");
            assert_eq!(plan(&records, false), Ok(without), "{records:?}");
        }
    }

    #[test]
    fn broken_evidence_anywhere_stops_an_exec() {
        let records = [gate(), vec![Of("e1").request("g"), Of("e2").start(0), Of("e2").end()]].concat();
        assert!(matches!(plan(&records, true), Err(LogError::Invalid { .. })));
    }
}
