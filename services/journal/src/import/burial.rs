//! Audit records of sessions that were deleted in another journal.

use std::sync::Arc;

use futures::FutureExt;

use super::{Import, check_latest};
use crate::backup::Buried;
use crate::deletion::is_deleted;
use crate::error::{ImportError, refuse};
use crate::sessions::exists;
use crate::{Journal, JournalError, SessionUid, keys};

impl Journal {
    /// Whether a session of this uid was deleted here.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn is_buried(&self, uid: &SessionUid) -> Result<bool, JournalError> {
        let buried = self
            .store
            .transact(|transaction, _| {
                let uid = uid.clone();
                async move { is_deleted::<JournalError>(transaction, &uid).await }.boxed()
            })
            .await?;
        Ok(buried)
    }
}

impl Import {
    /// Keeps the audit record of a deletion, if it is not here already.
    ///
    /// # Errors
    /// [`ImportError`].
    pub async fn bury(&self, buried: Buried) -> Result<(), ImportError> {
        let (buried, token) = (Arc::new(buried), self.token);
        self.journal
            .store
            .transact(|transaction, _| {
                let buried = Arc::clone(&buried);
                async move {
                    check_latest(transaction, token).await?;
                    if exists(transaction, &buried.uid).await? {
                        return Err(refuse(ImportError::OtherSession(buried.uid.clone())));
                    }
                    // If an earlier attempt was committed, there is nothing left to do.
                    if !is_deleted(transaction, &buried.uid).await? {
                        transaction.set(&keys::tombstone(&buried.uid), &buried.row);
                    }
                    Ok(())
                }
                .boxed()
            })
            .await?;
        Ok(())
    }
}
