//! The rows of records.

use journal::{Seq, SessionUid};
use prost::Message;
use rusqlite::types::FromSql;
use rusqlite::{OptionalExtension, Row};
use wire::{Event, LogRecord};

use crate::{CheckError, RecordFault, ReferenceFile};

/// Size of events at which a page ends.
const PAGE_BYTES: usize = 1 << 20;

/// Records of a session in the order of their seqs. Holds a page of them.
pub(crate) struct Records<'a> {
    file: &'a ReferenceFile,
    session: &'a SessionUid,
    /// The seq of the row that was read last.
    after: Option<i64>,
}

impl ReferenceFile {
    pub(crate) fn records_of<'a>(&'a self, session: &'a SessionUid) -> Records<'a> {
        Records { file: self, session, after: None }
    }

    /// The hash of a record, as its row says.
    pub(crate) fn hash_at(&self, session: &SessionUid, seq: Seq) -> rusqlite::Result<Option<String>> {
        let mut statement =
            self.connection.prepare_cached("SELECT hash FROM events WHERE session = ?1 AND seq = ?2")?;
        statement.query_row((session.as_str(), seq.to_wire()), |row| row.get(0)).optional()
    }

    /// The last record and its hash, as their row says; `Seq::ZERO` if there is none.
    pub(crate) fn head_of(&self, session: &SessionUid) -> rusqlite::Result<(Seq, Option<String>)> {
        let sql = "SELECT seq, hash FROM events WHERE session = ?1 ORDER BY seq DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let last =
            statement.query_row([session.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?))).optional()?;
        Ok(last.map_or((Seq::ZERO, None), |(seq, hash)| (Seq::from_wire(seq).unwrap_or_default(), Some(hash))))
    }

    /// A record of a session that is not there.
    pub(crate) fn stray_record(&self) -> rusqlite::Result<Option<(String, i64)>> {
        let sql = "SELECT session, seq FROM events WHERE session NOT IN (SELECT session FROM sessions) \
                   ORDER BY session, seq LIMIT 1";
        self.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()
    }
}

impl Records<'_> {
    /// The next page; an empty one is the last.
    pub(crate) fn next_page(&mut self) -> Result<Vec<LogRecord>, CheckError> {
        let mut records = Vec::new();
        let read = self.read_into(&mut records);
        self.after = records.last().map(|record: &LogRecord| record.seq).or(self.after);
        match read {
            Ok(()) => Ok(records),
            // What comes before it is looked at first: it may say more about what is wrong.
            Err(_) if !records.is_empty() => Ok(records),
            Err(fault) => {
                let seq = self.after.unwrap_or(0).saturating_add(1);
                Err(CheckError::Record { session: self.session.to_string(), seq, fault })
            }
        }
    }

    fn read_into(&self, records: &mut Vec<LogRecord>) -> Result<(), RecordFault> {
        let beyond = if self.after.is_some() { ">" } else { ">=" };
        let sql = format!(
            "SELECT seq, prev_hash, hash, fence, event FROM events WHERE session = ?1 AND seq {beyond} ?2 ORDER BY seq"
        );
        let mut statement = self.file.connection.prepare_cached(&sql)?;
        let mut rows = statement.query((self.session.as_str(), self.after.unwrap_or(i64::MIN)))?;
        let mut bytes = 0;
        while bytes < PAGE_BYTES
            && let Some(row) = rows.next()?
        {
            let record = decode(row)?;
            bytes += record.event.as_ref().map_or(0, Event::encoded_len);
            records.push(record);
        }
        Ok(())
    }
}

fn decode(row: &Row<'_>) -> Result<LogRecord, RecordFault> {
    let event: Vec<u8> = column(row, 4, "event")?;
    let event = Event::decode(&event[..]).map_err(|error| bad("event", error.to_string()))?;
    Ok(LogRecord {
        seq: column(row, 0, "seq")?,
        prev_hash: column(row, 1, "prev_hash")?,
        content_hash: column(row, 2, "hash")?,
        fence: column(row, 3, "fence")?,
        event: Some(event),
    })
}

fn column<T: FromSql>(row: &Row<'_>, index: usize, name: &'static str) -> Result<T, RecordFault> {
    row.get(index).map_err(|error| bad(name, error.to_string()))
}

fn bad(column: &'static str, reason: impl Into<String>) -> RecordFault {
    RecordFault::Column { column, reason: reason.into() }
}
