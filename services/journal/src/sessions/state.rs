//! A session as of one moment.

use wire::protobuf::Timestamp;
use wire::{ApprovalRef, ContentHash, ExecState, ResourceMetadata, Session};

use crate::rows::{Head, SessionRow};
use crate::{Fence, Incarnation, Projection, Seq, SessionUid};

/// The metadata of a session and its head, read in one transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionState {
    uid: SessionUid,
    row: SessionRow,
    head: Head,
}

impl SessionState {
    pub(crate) fn new(uid: SessionUid, row: SessionRow, head: Head) -> Self {
        Self { uid, row, head }
    }

    /// The uid.
    #[must_use]
    pub fn uid(&self) -> &SessionUid {
        &self.uid
    }

    /// The project.
    #[must_use]
    pub fn project(&self) -> &str {
        &self.row.project
    }

    /// The registry name of the harness that it was created with.
    #[must_use]
    pub fn harness(&self) -> &str {
        &self.row.harness
    }

    /// The last record; [`Seq::ZERO`] for an empty log.
    #[must_use]
    pub fn last_seq(&self) -> Seq {
        self.head.last_seq
    }

    /// The content hash of the last record.
    #[must_use]
    pub fn head_hash(&self) -> Option<&ContentHash> {
        self.head.hash.as_ref()
    }

    /// The highest fence minted: whoever appends under another one is refused.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.head.fence
    }

    /// The run of a node that minted the latest fence, if any did.
    #[must_use]
    pub fn owner(&self) -> Option<Incarnation> {
        self.head.owner
    }

    /// What the log up to [`last_seq`](Self::last_seq) amounts to.
    #[must_use]
    pub fn projection(&self) -> &Projection {
        &self.head.projection
    }

    pub(crate) fn row(&self) -> &SessionRow {
        &self.row
    }

    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// The session as replies carry it.
    #[must_use]
    pub fn to_wire(&self) -> Session {
        let pending_approval = self.projection().pending_approval().map(|pending| ApprovalRef {
            execution_id: pending.execution.as_str().to_owned(),
            tool_call_id: pending.tool_call_id,
            request_seq: pending.request.to_wire(),
        });
        let exec_state = match pending_approval {
            Some(_) => ExecState::ExecAwaiting,
            None if self.last_seq() == Seq::ZERO => ExecState::ExecPending,
            None if self.projection().latest_execution_canceled() => ExecState::ExecCanceled,
            None => ExecState::ExecCompleted,
        };
        let row = self.row.clone();
        Session {
            metadata: Some(ResourceMetadata {
                project: row.project,
                name: row.name,
                uid: self.uid.as_str().to_owned(),
                version: 0,
                create_time: Some(Timestamp::from_unix_nanos(row.create_time)),
                update_time: Some(Timestamp::from_unix_nanos(self.head.update_time)),
            }),
            harness: row.harness,
            model: row.model,
            last_seq: self.last_seq().to_wire(),
            parent_uid: row.parent_uid,
            fork_seq: Seq::stored(row.fork_seq).to_wire(),
            identity: row.identity,
            compute: None,
            origin: row.origin,
            labels: row.labels,
            annotations: row.annotations,
            exec_state: exec_state.into(),
            compute_state: self.projection().compute_state().into(),
            pending_approval,
            deletion: None,
        }
    }
}
