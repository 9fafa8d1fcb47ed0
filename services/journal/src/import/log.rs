//! The log of another host's session on its way into rows. Pure.

use std::mem;

use prost::Message;
use store::{KeyValue, limits};
use thiserror::Error;
use wire::event::Body;
use wire::lifecycle::Kind;
use wire::verify::{BadRecord, Problem, Verifier};
use wire::{ContentHash, Event, LogRecord};

use super::{ForeignSession, ForkPoint, Inheritance};
use crate::append::Draft;
use crate::error::{TooLarge, check};
use crate::fork::marker_detail;
use crate::keys::SessionKeys;
use crate::projection::MAX_ID_BYTES;
use crate::rows::{Head, SessionRow};
use crate::{Fence, Projection, Seq, SessionUid};

/// Size at which rows are written: far below that of a transaction, and far above what a commit costs.
const STEP_BYTES: usize = 1 << 20;
/// Largest event. Its keys, and what a transaction counts for each piece of it, fit into the rest.
const MAX_EVENT_BYTES: usize = limits::TRANSACTION_BYTES - 200_000;

/// A record that cannot be carried over.
#[derive(Debug, Error)]
#[error("record {seq}: {reason}")]
pub struct UnfitRecord {
    /// Where in the log.
    pub seq: Seq,
    /// Why.
    pub reason: UnfitReason,
}

/// Why a record cannot be carried over.
#[derive(Debug, Error)]
pub enum UnfitReason {
    /// It does not verify.
    #[error(transparent)]
    Unverified(#[from] Problem),
    /// Fences count from 0.
    #[error("its fence is {0}")]
    Fence(i64),
    /// The journal has no room for it.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The session says that it is a fork, and its log does not.
    #[error("it is not the marker of the fork at {at} that the session is")]
    NoForkMarker {
        /// Where the session was forked.
        at: Seq,
    },
}

/// Checks the records of a session one after the other, and lays them out in rows. Holds about 1 MiB of rows, or one
/// record if that is larger.
pub struct ForeignLog {
    keys: SessionKeys,
    row: SessionRow,
    fork: Option<ForkPoint>,
    pending_since: Option<i64>,
    verifier: Verifier,
    /// As of before `events`, whose fence it has.
    head: Head,
    /// The highest fence of the session or of a record.
    fence: Fence,
    events: Vec<Event>,
    hashes: Vec<ContentHash>,
    rows: Vec<KeyValue>,
    /// Size of the events that are in `events` and `rows`.
    bytes: usize,
}

/// A log whose records have all been checked.
pub struct VerifiedLog {
    pub(super) row: SessionRow,
    pub(super) head: Head,
    /// What [`ForeignLog::push`] has not returned.
    pub(super) rows: Vec<KeyValue>,
}

/// Rows of a session that does not exist yet.
pub struct LaidOut(pub(super) Vec<KeyValue>);

impl ForeignLog {
    /// The log of `session`, before its first record.
    ///
    /// # Errors
    /// [`TooLarge`], if its metadata does not fit into the journal.
    pub fn new(session: &ForeignSession) -> Result<Self, TooLarge> {
        Ok(Self {
            row: session.row()?,
            fork: session.fork.clone(),
            pending_since: session.pending_since,
            ..Self::after(&session.uid, &session.inheritance, session.update_time, session.fence)
        })
    }

    /// The records that are left of a session which is no more: `inheritance` comes before them.
    #[must_use]
    pub fn remaining(uid: &SessionUid, inheritance: &Inheritance) -> Self {
        Self::after(uid, inheritance, 0, Fence::default())
    }

    fn after(uid: &SessionUid, inheritance: &Inheritance, time: i64, fence: Fence) -> Self {
        let Inheritance { last, hash, projection, .. } = inheritance.clone();
        Self {
            keys: SessionKeys::new(uid),
            row: SessionRow::default(),
            fork: None,
            pending_since: None,
            verifier: Verifier::after(last.get(), hash),
            head: Head { last_seq: last, hash, projection, ..Head::empty(time) },
            fence,
            events: Vec::new(),
            hashes: Vec::new(),
            rows: Vec::new(),
            bytes: 0,
        }
    }

    /// Takes the next record. Returns the rows of earlier ones when there are enough of them to be written.
    ///
    /// # Errors
    /// [`UnfitRecord`].
    pub fn push(&mut self, mut record: LogRecord) -> Result<Option<LaidOut>, UnfitRecord> {
        if let Some(event) = &mut record.event {
            wire::normalise(event);
        }
        let seq = self.next_seq();
        self.verifier.check(&record).map_err(|BadRecord { problem, .. }| unfit(seq, problem))?;
        let fence = Fence::from_wire(record.fence).ok_or_else(|| unfit(seq, UnfitReason::Fence(record.fence)))?;
        let event = record.event.unwrap_or_default();
        self.check_marker(seq, &event).and_then(|()| check_size(&event)).map_err(|reason| unfit(seq, reason))?;
        let full = (self.bytes > 0 && self.bytes + event.encoded_len() > STEP_BYTES).then(|| self.take_rows());
        self.add(event, fence);
        Ok(full)
    }

    /// Takes it that there are no more records.
    ///
    /// # Errors
    /// [`UnfitRecord`], if the log ends before the fork that the session says it is.
    pub fn finish(mut self) -> Result<VerifiedLog, UnfitRecord> {
        let next = self.next_seq();
        if let Some(fork) = self.fork.as_ref().filter(|fork| next <= fork.at.next()) {
            return Err(unfit(next, UnfitReason::NoForkMarker { at: fork.at }));
        }
        let LaidOut(rows) = self.take_rows();
        let pending_since = self.head.pending_since.map(|derived| self.pending_since.unwrap_or(derived));
        let head = Head { fence: self.fence, pending_since, ..self.head };
        Ok(VerifiedLog { row: self.row, head, rows })
    }

    fn next_seq(&self) -> Seq {
        Seq::stored(self.verifier.last_seq()).next()
    }

    fn check_marker(&self, seq: Seq, event: &Event) -> Result<(), UnfitReason> {
        match &self.fork {
            Some(fork) if fork.at.next() == seq && !is_marker(event, fork.at) => {
                Err(UnfitReason::NoForkMarker { at: fork.at })
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, event: Event, fence: Fence) {
        if fence != self.head.fence {
            // A batch has one fence.
            self.lay_out();
            self.head.fence = fence;
            self.fence = self.fence.max(fence);
        }
        self.bytes += event.encoded_len();
        self.events.push(event);
        self.hashes.extend(self.verifier.head());
    }

    fn take_rows(&mut self) -> LaidOut {
        self.lay_out();
        self.bytes = 0;
        LaidOut(mem::take(&mut self.rows))
    }

    fn lay_out(&mut self) {
        let (events, hashes) = (mem::take(&mut self.events), mem::take(&mut self.hashes));
        let (rows, head) = Draft::lay_out(&self.keys, &self.head, &events, hashes).into_parts();
        self.rows.extend(rows);
        self.head = head;
    }
}

impl VerifiedLog {
    /// The last record.
    #[must_use]
    pub fn last_seq(&self) -> Seq {
        self.head.last_seq
    }

    /// The hash of the last record.
    #[must_use]
    pub fn head_hash(&self) -> Option<&ContentHash> {
        self.head.hash.as_ref()
    }

    /// What the log amounts to.
    #[must_use]
    pub fn projection(&self) -> &Projection {
        &self.head.projection
    }
}

fn unfit(seq: Seq, reason: impl Into<UnfitReason>) -> UnfitRecord {
    UnfitRecord { seq, reason: reason.into() }
}

fn is_marker(event: &Event, at: Seq) -> bool {
    match &event.body {
        Some(Body::Lifecycle(found)) => found.kind() == Kind::LifecycleFork && found.detail == marker_detail(at),
        _ => false,
    }
}

fn check_size(event: &Event) -> Result<(), UnfitReason> {
    if let Some(size) = Projection::oversized_id(event) {
        return Err(TooLarge { what: "id", size, limit: MAX_ID_BYTES }.into());
    }
    Ok(check("event", event.encoded_len(), MAX_EVENT_BYTES)?)
}

#[cfg(test)]
mod tests;
