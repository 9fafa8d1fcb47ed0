//! Reading records: in windows, each in a transaction of its own, so that a slow reader keeps nothing open.

mod reader;

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec::IntoIter;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt};
use wire::LogRecord;

pub(crate) use reader::batch_of;

use crate::error::JournalError;
use crate::{Journal, Seq, SessionUid};
use reader::Reader;

/// Records by seq, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeqRange {
    /// The first.
    pub from: Seq,
    /// The last; `None` stands for the head as of the beginning of the read.
    pub to: Option<Seq>,
}

impl SeqRange {
    /// The whole log.
    pub const ALL: Self = Self { from: Seq::FIRST, to: None };

    /// Everything from `from` on.
    #[must_use]
    pub fn from(from: Seq) -> Self {
        Self { from, to: None }
    }

    /// Reads a request's `from_seq` and `to_seq` (journal.md §11): 0 and less stand for the first record, and a
    /// `to_seq` of 0 for the head.
    #[must_use]
    pub fn from_wire(from: i64, to: i64) -> Self {
        let from = Seq::from_wire(from).unwrap_or_default().max(Seq::FIRST);
        let to = if to == 0 { None } else { Some(Seq::from_wire(to).unwrap_or_default()) };
        Self { from, to }
    }
}

impl Journal {
    /// The records of a session in seq order, none if there is no such session. Holds a bounded window in memory.
    pub fn records(&self, uid: &SessionUid, range: SeqRange) -> BoxStream<'static, Result<LogRecord, JournalError>> {
        let (store, uid) = (self.store.clone(), uid.clone());
        let first = async move { next_window(Reader::open(store, uid, range).await?).await };
        Records { window: IntoIter::default(), next: Some(first.boxed()) }.boxed()
    }
}

/// A window of records, and the reader that stands after it.
type Window = (Vec<LogRecord>, Reader);

async fn next_window(mut reader: Reader) -> Result<Option<Window>, JournalError> {
    match reader.next_window().await {
        Ok(records) => Ok(records.map(|records| (records, reader))),
        // What is missing of a session that is no more has been removed.
        Err(JournalError::Corrupt(_)) if reader.is_deleted().await? => Err(JournalError::Deleted),
        Err(error) => Err(error.of_session(reader.uid())),
    }
}

/// Written by hand because combinators would move every record several times more, which is most of what is left to save.
struct Records {
    window: IntoIter<LogRecord>,
    /// Not polled before the window is used up, so that a slow reader keeps no transaction open.
    next: Option<BoxFuture<'static, Result<Option<Window>, JournalError>>>,
}

impl Stream for Records {
    type Item = Result<LogRecord, JournalError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(record) = self.window.next() {
                return Poll::Ready(Some(Ok(record)));
            }
            let Some(next) = &mut self.next else { return Poll::Ready(None) };
            let window = ready!(next.poll_unpin(context));
            self.next = None;
            if let Some((records, reader)) = window? {
                self.window = records.into_iter();
                self.next = Some(next_window(reader).boxed());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_replay_requests_mean_them() {
        let range = |from, to| {
            let range = SeqRange::from_wire(from, to);
            (range.from.get(), range.to.map(Seq::get))
        };
        assert_eq!(range(0, 0), (1, None));
        assert_eq!(range(-5, 7), (1, Some(7)));
        assert_eq!(range(i64::MIN, i64::MIN), (1, Some(0)));
        assert_eq!(range(3, -1), (3, Some(0)));
        assert_eq!(range(i64::MAX, i64::MAX), (i64::MAX as u64, Some(i64::MAX as u64)));
    }
}
