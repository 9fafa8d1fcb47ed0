//! The metadata of another host's session.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use wire::{ContentHash, IdentityRef, Origin};

use super::Standing;
use crate::error::{ImportError, TooLarge};
use crate::registry::check_name;
use crate::rows::{Segment, SessionRow};
use crate::sessions::check_size;
use crate::{Corrupt, Fence, Journal, Projection, Seq, SeqRange, SessionState, SessionUid};

/// A session as another host keeps it, without its records.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignSession {
    /// The uid, which it keeps.
    pub uid: SessionUid,
    /// Tenant or namespace.
    pub project: String,
    /// Display name.
    pub name: String,
    /// The harness's registry name. It may be one that takes no new sessions.
    pub harness: String,
    /// Label only.
    pub model: String,
    /// Free.
    pub labels: BTreeMap<String, String>,
    /// Free, inherited by forks.
    pub annotations: BTreeMap<String, String>,
    /// Not stored if it says nothing.
    pub origin: Option<Origin>,
    /// Not stored if it names nobody.
    pub identity: Option<IdentityRef>,
    /// Where it was forked, if it was.
    pub fork: Option<ForkPoint>,
    /// The highest fence minted: the next one is higher.
    pub fence: Fence,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Unix nanoseconds.
    pub update_time: i64,
    /// When it began to wait for the approval that its log ends with, in Unix nanoseconds. `update_time` if not known.
    pub pending_since: Option<i64>,
    /// What it does not hold itself of its log. Nothing, where a host copies what a fork inherits.
    pub inheritance: Inheritance,
}

/// The part of a log that ancestors hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inheritance {
    /// The last record of that part.
    pub last: Seq,
    /// Its content hash.
    pub hash: Option<ContentHash>,
    /// What the log up to there amounts to.
    pub projection: Projection,
    /// Who holds it: ancestors in seq order, each with the last record that is read of it.
    pub lineage: Vec<(SessionUid, Seq)>,
}

/// Where a session was forked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    /// The session that it was forked from.
    pub parent: SessionUid,
    /// The last record that it has in common with it.
    pub at: Seq,
}

impl ForeignSession {
    /// A session of this journal, as of `state`.
    pub(crate) fn of(state: &SessionState, inherited: Inheritance) -> Result<Self, Corrupt> {
        let corrupt = || Corrupt { what: "session" };
        let (row, head) = (state.row().clone(), state.head());
        let lineage = row.lineage.iter().map(|segment| Some((segment.uid()?, segment.up_to())));
        let lineage = lineage.collect::<Option<_>>().ok_or_else(corrupt)?;
        let parent = Some(&row.parent_uid).filter(|uid| !uid.is_empty());
        let parent = parent.map(|uid| SessionUid::parse(uid).map_err(|_| corrupt())).transpose()?;
        Ok(Self {
            uid: state.uid().clone(),
            project: row.project,
            name: row.name,
            harness: row.harness,
            model: row.model,
            labels: row.labels,
            annotations: row.annotations,
            origin: row.origin,
            identity: row.identity,
            fork: parent.map(|parent| ForkPoint { parent, at: Seq::stored(row.fork_seq) }),
            fence: head.fence,
            create_time: row.create_time,
            update_time: head.update_time,
            pending_since: head.pending_since,
            inheritance: Inheritance { lineage, ..inherited },
        })
    }

    /// The row that keeps it.
    pub(super) fn row(&self) -> Result<SessionRow, TooLarge> {
        let fork = self.fork.as_ref();
        let row = SessionRow {
            project: self.project.clone(),
            name: self.name.clone(),
            harness: self.harness.clone(),
            model: self.model.clone(),
            labels: self.labels.clone(),
            annotations: self.annotations.clone(),
            origin: self.origin.clone().filter(|origin| *origin != Origin::default()),
            identity: self.identity.clone().filter(|identity| !identity.is_empty()),
            create_time: self.create_time,
            parent_uid: fork.map_or_else(String::new, |fork| fork.parent.as_str().to_owned()),
            fork_seq: fork.map_or(0, |fork| fork.at.get()),
            lineage: self.inheritance.segments(),
        };
        check_size(&row)?;
        check_name(&row.harness)?;
        Ok(row)
    }
}

impl Inheritance {
    fn segments(&self) -> Vec<Segment> {
        self.lineage.iter().map(|(holder, up_to)| Segment::new(holder, *up_to)).collect()
    }
}

impl Journal {
    /// Whether `session` is here already, with a log that begins with all of its records; `head` is the hash of the last
    /// of them, `last_seq`. The log may have gone on here since.
    ///
    /// # Errors
    /// [`ImportError::OtherSession`] if something else has its uid.
    pub async fn session_standing(
        &self,
        session: &ForeignSession,
        last_seq: Seq,
        head: Option<&ContentHash>,
    ) -> Result<Standing, ImportError> {
        let Some(state) = self.session(&session.uid).await? else { return Ok(Standing::Absent) };
        let other = || ImportError::OtherSession(session.uid.clone());
        if *state.row() != session.row()? || state.last_seq() < last_seq {
            return Err(other());
        }
        let last = SeqRange { from: last_seq, to: Some(last_seq) };
        let last = if head.is_some() { self.records(&session.uid, last).try_next().await? } else { None };
        // Equal hashes mean that everything before them is equal, too.
        if last.map(|record| record.content_hash) == head.map(ContentHash::hex) {
            Ok(Standing::Present)
        } else {
            Err(other())
        }
    }
}
