//! What a session's log says: its turns, the state of the last one, its approvals. Pure functions of the events.
//!
//! [`Log`] is an index that is fed event by event and never goes back, so that a node that keeps one pays per turn only
//! for what is new. It holds no events: whoever needs those of a turn [reads](TurnSpan::read) them out of the history.
//! Feeding never fails. A broken rule is remembered with its seq and reported by the operations that it concerns, since
//! a session with malformed evidence can still be read and forked.

mod cancel;
mod decision;
mod error;
mod evidence;
mod exec;
mod execution;
mod inputs;
mod intents;
mod legacy;
mod recorded;
mod replay;
mod resume;
mod stage;
mod suspended;

use std::collections::{BTreeSet, HashMap};

use journal::{ExecutionId, Seq, SessionUid};
use wire::{Event, EventKind, SnapshotRef, event, lifecycle};

pub use cancel::{CancelPlan, Cancellation, Uncancelable};
pub use decision::{DecisionPlan, Undecidable, decision, is_same_decision};
pub use error::LogError;
pub use evidence::{Decision, Gate};
pub use exec::ExecPlan;
pub use recorded::{RecordedTurn, TurnSpan};
pub use resume::{ResumePlan, ResumeStep};
pub use stage::Stage;

use execution::Execution;
use legacy::Legacy;
use suspended::Suspended;

/// An index of one session's log, from its first event on.
#[derive(Clone, Debug, Default)]
pub struct Log {
    head: Seq,
    /// The latest LIFECYCLE FORK: what precedes it is inherited.
    fork: Option<Seq>,
    /// In the order in which their ids were first seen. Records without an id are one execution.
    executions: Vec<Execution>,
    by_id: HashMap<ExecutionId, usize>,
    /// Positions of the executions that the approval scan would stop at.
    unsound: BTreeSet<usize>,
    legacy: Legacy,
    suspended: Suspended,
}

impl Log {
    /// An index of these events.
    #[must_use]
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut log = Self::default();
        for event in events {
            log.push(event);
        }
        log
    }

    /// Adds the event of the next record.
    pub fn push(&mut self, event: &Event) {
        let seq = self.head.next();
        self.head = seq;
        if event.kind() == EventKind::EventLifecycle {
            if let Some(event::Body::Lifecycle(body)) = &event.body {
                self.suspended.push(body);
                if body.kind() == lifecycle::Kind::LifecycleFork {
                    self.fork = Some(seq);
                }
            }
            return;
        }
        self.legacy.push(seq, event);
        let position = self.position(seq, event);
        let execution = &mut self.executions[position];
        execution.push(seq, event);
        if execution.bears_approvals() {
            match execution.check_evidence() {
                Ok(()) => self.unsound.remove(&position),
                Err(_) => self.unsound.insert(position),
            };
        }
    }

    /// The seq of the last record.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.head
    }

    /// Checks all approval evidence (execution.md §9.7). Costs the same however long the log is: what an event breaks or
    /// mends is noted when it comes.
    ///
    /// # Errors
    /// A broken rule of the first execution that has one.
    pub fn check_approvals(&self) -> Result<(), LogError> {
        self.unsound.first().map_or(Ok(()), |&position| self.executions[position].check_evidence())
    }

    /// The last gated call of the last execution, whatever its state.
    #[must_use]
    pub fn selected_gate(&self) -> Option<&Gate> {
        self.executions.last()?.last_gate()
    }

    /// The recorded registry name of the harness that waits at an own gate without receipt: Suspend concerns that one
    /// (execution.md §10).
    #[must_use]
    pub fn open_gate_harness(&self) -> Option<&str> {
        let last = self.executions.last()?;
        let gate = last.last_gate()?;
        let open = gate.receipt.is_none() && self.is_owned(gate.call);
        Some(last.harness.as_str()).filter(|name| open && !name.is_empty())
    }

    /// The snapshot that the latest SUSPEND of the session itself names: what its compute is restored from
    /// (execution.md §7.2).
    #[must_use]
    pub fn snapshot_of(&self, session: &SessionUid) -> Option<&SnapshotRef> {
        self.suspended.latest(session.as_str())
    }

    /// The last turn that has ended by itself. Later ones are running, were interrupted, or were canceled, which leaves
    /// nothing of what they did in memory; records without an id are no turn of this kind.
    #[must_use]
    pub fn last_ended(&self) -> Option<&ExecutionId> {
        self.executions
            .iter()
            .rev()
            .find(|execution| execution.ended && !execution.canceled && !execution.id.is_legacy())
            .map(|ended| &ended.id)
    }

    /// Whether a record was written by this session itself, not copied by the fork that made it.
    #[must_use]
    pub fn is_owned(&self, seq: Seq) -> bool {
        self.fork.is_none_or(|fork| seq > fork)
    }

    /// Where the execution of a record is, added if this is its first record.
    fn position(&mut self, seq: Seq, event: &Event) -> usize {
        // Nearly every record belongs to the last turn; those need neither an allocation nor a look-up.
        if self.executions.last().is_some_and(|last| last.id.as_str() == event.execution_id) {
            return self.executions.len() - 1;
        }
        let id = ExecutionId::new(&event.execution_id);
        *self.by_id.entry(id).or_insert_with_key(|id| {
            self.executions.push(Execution::new(id.clone(), seq));
            self.executions.len() - 1
        })
    }
}
