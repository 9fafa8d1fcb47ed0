//! Verification of a session's records: position, link and hash of each, one after the other.

use thiserror::Error;

use crate::canonical::NotCanonical;
use crate::chain::{ContentHash, Hasher};
use crate::{Event, LogRecord};

/// Checks the records of one session in order. Holds one hash, however long the log is.
#[derive(Debug, Default)]
pub struct Verifier {
    last_seq: u64,
    head: Option<ContentHash>,
    hasher: Hasher,
}

/// The first record that does not verify.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("record {seq}: {problem}")]
pub struct BadRecord {
    /// Where in the log it stands, whatever it says itself.
    pub seq: u64,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// A record is missing, repeated or out of order.
    #[error("it has seq {found}")]
    SeqGap {
        /// The seq that it has instead of its position.
        found: i64,
    },
    /// It does not follow the record before it.
    #[error("prev_hash is not the content_hash of the record before it")]
    PrevHash,
    /// It was changed after it was written.
    #[error("content_hash is not the hash of its content")]
    ContentHash,
    /// Its event cannot be hashed at all.
    #[error("its event has no canonical form: {0}")]
    NotCanonical(#[from] NotCanonical),
    /// It holds nothing.
    #[error("it has no event")]
    NoEvent,
}

impl Verifier {
    /// Begins at the first record of a log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins after the record `last_seq`, of which `head` is the hash; 0 and `None` stand for the beginning.
    #[must_use]
    pub fn after(last_seq: u64, head: Option<ContentHash>) -> Self {
        Self { last_seq, head, ..Self::default() }
    }

    /// Checks the next record.
    ///
    /// # Errors
    /// [`BadRecord`]; the verifier then still stands before that record.
    pub fn check(&mut self, record: &LogRecord) -> Result<(), BadRecord> {
        let seq = self.last_seq + 1;
        let hash = self.hash_of(seq, record).map_err(|problem| BadRecord { seq, problem })?;
        self.last_seq = seq;
        self.head = Some(hash);
        Ok(())
    }

    /// The position of the last good record; 0 before the first.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// The hash of the last good record.
    #[must_use]
    pub fn head(&self) -> Option<&ContentHash> {
        self.head.as_ref()
    }

    fn hash_of(&mut self, seq: u64, record: &LogRecord) -> Result<ContentHash, Problem> {
        if u64::try_from(record.seq) != Ok(seq) {
            return Err(Problem::SeqGap { found: record.seq });
        }
        if ContentHash::parse_prev(&record.prev_hash) != Ok(self.head) {
            return Err(Problem::PrevHash);
        }
        let event: &Event = record.event.as_ref().ok_or(Problem::NoEvent)?;
        let hash = self.hasher.content_hash(event, seq, self.head.as_ref())?;
        if record.content_hash.parse() == Ok(hash) { Ok(hash) } else { Err(Problem::ContentHash) }
    }
}
