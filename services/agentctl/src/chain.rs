//! The check of a session's records, from a host or from an export.

pub mod lines;

use std::fmt;
use std::io::BufRead;
use std::ops::RangeInclusive;

use thiserror::Error;
use wire::verify::{BadRecord, Verifier};
use wire::{ContentHash, LogRecord};

use lines::{Line, LineError, Lines};

/// A log in which every record verifies.
#[derive(Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many records it has.
    pub records: u64,
    /// The hash of the last one.
    pub head: Option<ContentHash>,
}

/// The first thing that is wrong with a log.
#[derive(Debug, Error)]
#[error("bad record seq={seq}: {fault}")]
pub struct Finding {
    /// Where in the log.
    pub seq: u64,
    /// What.
    pub fault: Fault,
}

/// What is wrong with a log.
#[derive(Debug, Error)]
pub enum Fault {
    /// The record was changed, moved or removed.
    #[error("{0}")]
    Tampered(wire::verify::Problem),
    /// There is something, but it is no record.
    #[error("line {line} cannot be decoded: {reason}")]
    Undecodable {
        /// Its number, from 1.
        line: u64,
        /// Why.
        reason: String,
    },
    /// There is no record at all, so it is no export of a log.
    #[error("it is missing; the export has no record")]
    NoRecord,
    /// The log ends here, and the session says that it is longer.
    #[error("it is missing; the session has last_seq={last_seq}")]
    Missing {
        /// What the session says.
        last_seq: i64,
    },
    /// The log goes on here, and the session says that it is shorter.
    #[error("the session ends before it, with last_seq={last_seq}")]
    Surplus {
        /// What the session says.
        last_seq: i64,
    },
}

/// Why a log could not be found good.
#[derive(Debug, Error)]
pub enum CheckError {
    /// It is not.
    #[error(transparent)]
    Finding(#[from] Finding),
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
}

impl From<BadRecord> for Finding {
    fn from(BadRecord { seq, problem }: BadRecord) -> Self {
        Self { seq, fault: Fault::Tampered(problem) }
    }
}

impl From<&Verifier> for Verified {
    fn from(verifier: &Verifier) -> Self {
        Self { records: verifier.last_seq(), head: verifier.head().copied() }
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "records={} head=", self.records)?;
        self.head.map_or(Ok(()), |head| head.fmt(f))
    }
}

/// Checks an export: one record in JSON per line, and at least one. `after_each` is called after each good record.
pub fn check_export(export: impl BufRead, mut after_each: impl FnMut()) -> Result<Verified, CheckError> {
    let mut verifier = Verifier::new();
    let mut lines = Lines::new(export);
    loop {
        let next = lines.next();
        let undecodable =
            |line, reason| Finding { seq: verifier.last_seq() + 1, fault: Fault::Undecodable { line, reason } };
        let Line { number, text } = match next {
            Ok(Some(line)) => line,
            Ok(None) if verifier.last_seq() == 0 => return Err(Finding { seq: 1, fault: Fault::NoRecord }.into()),
            Ok(None) => return Ok((&verifier).into()),
            Err(LineError::TooLong { number, limit }) => {
                return Err(undecodable(number, format!("it is longer than {limit} bytes")).into());
            }
            Err(LineError::Io(error)) => return Err(error.into()),
        };
        let record: LogRecord = serde_json::from_slice(text).map_err(|error| undecodable(number, reason(&error)))?;
        verifier.check(&record).map_err(Finding::from)?;
        after_each();
    }
}

/// Compares the number of records with the seq of the last one, which lies in `last_seq`.
pub fn check_length(records: u64, last_seq: RangeInclusive<i64>) -> Result<(), Finding> {
    let (least, most) = last_seq.into_inner();
    if records < u64::try_from(least).unwrap_or(0) {
        return Err(Finding { seq: records + 1, fault: Fault::Missing { last_seq: least } });
    }
    match u64::try_from(most) {
        Ok(last) if records <= last => Ok(()),
        last => Err(Finding { seq: last.unwrap_or(0) + 1, fault: Fault::Surplus { last_seq: most } }),
    }
}

/// What serde_json says, without the line number, which counts within the line here.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) => format!("{what}, column {}", error.column()),
        None => text,
    }
}

#[cfg(test)]
mod tests;
