//! How far a turn of the host's own choosing is: an invocation.

use journal::ExecutionId;

use super::Log;

/// How far a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has not begun.
    Absent,
    /// It has begun, and no other has since: it can be resumed.
    Pending,
    /// It has ended by itself.
    Ended,
    /// It was canceled.
    Canceled,
    /// Another turn began before it had ended.
    Superseded,
}

impl Log {
    /// How far the turn of this id is.
    #[must_use]
    pub fn stage(&self, execution: &ExecutionId) -> Stage {
        let Some(&position) = self.by_id.get(execution) else { return Stage::Absent };
        let execution = &self.executions[position];
        match (execution.ended, execution.canceled) {
            (true, true) => Stage::Canceled,
            (true, false) => Stage::Ended,
            (false, _) if position + 1 == self.executions.len() => Stage::Pending,
            (false, _) => Stage::Superseded,
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::Event;

    use super::*;
    use crate::testing::events::*;

    #[test]
    fn the_stage_of_a_turn_follows_from_its_records_and_those_after_it() {
        let stage = |records: &[Event]| Log::of(records).stage(&ExecutionId::new("e1"));
        let begun = vec![Of("e1").start(0)];
        let table = [
            (vec![Of("e0").start(0)], Stage::Absent),
            (begun.clone(), Stage::Pending),
            ([begun.clone(), vec![Of("e1").error()]].concat(), Stage::Pending),
            ([begun.clone(), vec![Of("e1").end(), Of("e2").start(0)]].concat(), Stage::Ended),
            ([begun.clone(), vec![Of("e2").start(0)]].concat(), Stage::Superseded),
            ([begun, vec![Of("e1").canceled(), Of("e2").start(0)]].concat(), Stage::Canceled),
        ];
        for (records, expected) in table {
            assert_eq!(stage(&records), expected, "{records:?}");
        }
    }
}
