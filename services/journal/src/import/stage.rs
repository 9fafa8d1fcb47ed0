//! Writing another host's session, step by step.

use std::mem;
use std::sync::Arc;

use futures::FutureExt;
use store::{Attempt, KeyValue, TransactError, Transaction};
use wire::LogRecord;

use super::log::LaidOut;
use super::{ForeignLog, ForeignSession, Import, Inheritance, VerifiedLog, check_latest};
use crate::deletion::is_deleted;
use crate::error::{ImportError, refuse};
use crate::keys::SessionKeys;
use crate::rows::{Head, SessionRow, WriterToken};
use crate::sessions::{Relisted, exists, write_metadata};
use crate::{Seq, SessionUid, lineage};

/// A session that is being carried over. It exists once [`finish`](Self::finish) has returned; given up before, it
/// leaves nothing that a reader finds, and the next import of the same session clears it away.
pub struct SessionImport<'a> {
    import: &'a Import,
    keys: SessionKeys,
    log: ForeignLog,
    begun: bool,
    /// Records that are left of a session which is no more make no session.
    remains: bool,
}

/// What one transaction writes, shared by its attempts.
struct Stage {
    token: WriterToken,
    keys: SessionKeys,
    /// Nothing has been written by this import: what an earlier one has left is cleared away.
    first: bool,
    rows: Vec<KeyValue>,
    /// What makes the session exist.
    last: Option<(SessionRow, Head)>,
}

impl Import {
    /// Begins with a session that is not in the journal.
    ///
    /// # Errors
    /// [`ImportError::TooLarge`].
    pub fn session(&self, session: &ForeignSession) -> Result<SessionImport<'_>, ImportError> {
        let keys = SessionKeys::new(&session.uid);
        Ok(SessionImport { import: self, keys, log: ForeignLog::new(session)?, begun: false, remains: false })
    }

    /// Begins with the records that are left of a session which is no more, after `inheritance`. Its audit record is
    /// [buried](Self::bury) afterwards.
    #[must_use]
    pub fn remains(&self, uid: &SessionUid, inheritance: &Inheritance) -> SessionImport<'_> {
        let (keys, log) = (SessionKeys::new(uid), ForeignLog::remaining(uid, inheritance));
        SessionImport { import: self, keys, log, begun: false, remains: true }
    }
}

impl SessionImport<'_> {
    /// Takes the next record.
    ///
    /// # Errors
    /// [`ImportError`].
    pub async fn push(&mut self, record: LogRecord) -> Result<(), ImportError> {
        let full = self.log.push(record).map_err(|unfit| ImportError::Record(self.keys.uid().clone(), unfit))?;
        let Some(LaidOut(rows)) = full else { return Ok(()) };
        let first = !mem::replace(&mut self.begun, true);
        self.import.write(Stage { token: self.import.token, keys: self.keys.clone(), first, rows, last: None }).await
    }

    /// Makes the session exist, with all records that were pushed; or keeps what is left of one that is no more.
    ///
    /// # Errors
    /// [`ImportError`].
    pub async fn finish(self) -> Result<(), ImportError> {
        let Self { import, keys, log, begun, remains } = self;
        let verified = log.finish().map_err(|unfit| ImportError::Record(keys.uid().clone(), unfit))?;
        let VerifiedLog { row, head, rows } = verified;
        let last = (!remains).then_some((row, head));
        import.write(Stage { token: import.token, keys, first: !begun, rows, last }).await
    }
}

impl Import {
    async fn write(&self, stage: Stage) -> Result<(), ImportError> {
        let stage = Arc::new(stage);
        self.journal
            .store
            .transact(|transaction, attempt| {
                let stage = Arc::clone(&stage);
                async move { stage.write(transaction, attempt).await }.boxed()
            })
            .await?;
        Ok(())
    }
}

impl Stage {
    async fn write(&self, transaction: &mut Transaction, attempt: Attempt) -> Result<(), TransactError<ImportError>> {
        if exists(transaction, self.keys.uid()).await? {
            let by_earlier_attempt = attempt.maybe_committed && self.last.is_some();
            let appeared = || refuse(ImportError::OtherSession(self.keys.uid().clone()));
            return if by_earlier_attempt { Ok(()) } else { Err(appeared()) };
        }
        if is_deleted(transaction, self.keys.uid()).await? {
            return Err(refuse(ImportError::Deleted(self.keys.uid().clone())));
        }
        check_latest(transaction, self.token).await?;
        if self.first {
            transaction.clear_range(&self.keys.batch_range(Seq::ZERO, Seq::MAX));
        }
        for row in &self.rows {
            transaction.set(&row.key, &row.value);
        }
        if let Some((row, head)) = &self.last {
            write_metadata(transaction, self.keys.uid(), row);
            lineage::pin(transaction, self.keys.uid(), row)?;
            transaction.set(&self.keys.head(), &head.encode());
            if let Some(listed) = Relisted::of(&self.keys, None, head.pending_since) {
                listed.write(transaction).await?;
            }
        }
        Ok(())
    }
}
