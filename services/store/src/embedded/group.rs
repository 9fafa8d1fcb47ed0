//! Commits one group of transactions with one fsync.

use rusqlite::ErrorCode;
use thiserror::Error;

use super::file::BUSY_WAIT;
use super::table::Table;
use super::turn::Turn;
use crate::limits::SYSTEM_PREFIX;
use crate::optimistic::Commit;
use crate::tree::{Tree, TreeMut};
use crate::{CommitError, StoreError, Versionstamp};

/// Where the number of the last versionstamped group is kept.
const VERSION_KEY: &[u8] = &[SYSTEM_PREFIX, b'v'];

/// What became of one transaction of a group that was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Committed(Option<Versionstamp>),
    Conflict,
}

/// Why a group was not committed.
#[derive(Debug, Error)]
pub(super) enum GroupError {
    /// Another process kept the store locked. Nothing was written.
    #[error("another process keeps the store locked")]
    Locked,
    /// Nothing was written.
    #[error("writing failed: {0}")]
    Write(rusqlite::Error),
    /// The group may be on disk or not.
    #[error("committing failed: {0}")]
    Commit(rusqlite::Error),
}

impl GroupError {
    /// What a transaction of the group is told.
    pub(super) fn answer(&self) -> CommitError {
        match self {
            Self::Locked => StoreError::Unavailable(self.to_string()).into(),
            Self::Write(_) => StoreError::Engine(self.to_string()).into(),
            Self::Commit(_) => CommitError::Unknown,
        }
    }
}

/// Applies those of `commits` whose reads hold, each on the effects of those before it, and commits them as one.
pub(super) fn commit_group<'c>(
    turn: &Turn,
    table: &mut Table,
    commits: impl Iterator<Item = &'c Commit>,
) -> Result<Vec<Outcome>, GroupError> {
    let result = write_group(turn, table, commits);
    if result.is_err()
        && let Err(error) = table.roll_back()
    {
        tracing::error!(%error, "rolling back a failed group failed");
    }
    result
}

fn write_group<'c>(
    turn: &Turn,
    table: &mut Table,
    commits: impl Iterator<Item = &'c Commit>,
) -> Result<Vec<Outcome>, GroupError> {
    begin(turn, table)?;
    let mut stamps = Stamps::default();
    let outcomes: Vec<Outcome> = commits
        .map(|commit| judge(table, commit, &mut stamps))
        .collect::<rusqlite::Result<_>>()
        .and_then(|outcomes| stamps.save(table).map(|()| outcomes))
        .map_err(GroupError::Write)?;
    if outcomes.iter().all(|outcome| *outcome == Outcome::Conflict) {
        table.roll_back().map_err(GroupError::Write)?;
        return Ok(outcomes);
    }
    match table.commit() {
        Ok(()) => Ok(outcomes),
        // The frame that makes a group valid is the last one to be written, so it was not.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => Err(GroupError::Write(error)),
        Err(error) => Err(GroupError::Commit(error)),
    }
}

/// Waits for the right to write, which ends with the transaction that this begins.
pub(super) fn begin(turn: &Turn, table: &Table) -> Result<(), GroupError> {
    let _next = turn.wait(BUSY_WAIT);
    table.begin_write().map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => GroupError::Locked,
        _ => GroupError::Write(error),
    })
}

fn judge(table: &mut Table, commit: &Commit, stamps: &mut Stamps) -> rusqlite::Result<Outcome> {
    let swap = commit.swap();
    let holds = match swap {
        Some(swap) => commit.reads.answers_hold_in(table)? && table.swap(swap)?,
        None => commit.reads.hold_in(table)?,
    };
    if !holds {
        return Ok(Outcome::Conflict);
    }
    let stamp = if commit.writes.has_versionstamps() { Some(stamps.next(table)?) } else { None };
    commit.writes.apply(table, stamp, swap.map(|swap| swap.key))?;
    Ok(Outcome::Committed(stamp))
}

/// Hands out versionstamps: the number of the group, then the place within it.
///
/// The number is a row, as several processes may share the store. It is touched only by groups that need it.
#[derive(Default)]
struct Stamps {
    group: Option<u64>,
    place: u16,
}

impl Stamps {
    fn next(&mut self, table: &Table) -> rusqlite::Result<Versionstamp> {
        let group = match self.group {
            Some(group) if self.place < u16::MAX => group,
            Some(full) => full + 1,
            None => read_version(table)? + 1,
        };
        self.place = if self.group == Some(group) { self.place + 1 } else { 0 };
        self.group = Some(group);
        Ok(Versionstamp::new(group, self.place))
    }

    fn save(&self, table: &mut Table) -> rusqlite::Result<()> {
        match self.group {
            Some(group) => table.put(VERSION_KEY, &group.to_be_bytes()),
            None => Ok(()),
        }
    }
}

fn read_version(table: &Table) -> rusqlite::Result<u64> {
    let row = table.get(VERSION_KEY)?;
    Ok(row.and_then(|value| value[..].try_into().ok()).map_or(0, u64::from_be_bytes))
}
