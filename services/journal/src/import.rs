//! Carrying over what another host, or another journal of this one, has written: sessions with their records, fences and times, and registrations, as they
//! are.
//!
//! Every record is verified on the way, so that what does not verify never gets in. A session comes in transactions of
//! bounded size and exists from the last of them on; before that there is nothing of it that a reader finds.

mod burial;
mod log;
mod names;
mod session;
mod stage;

use futures::FutureExt;
use prost::Message;
use store::{TransactError, Transaction};

pub use log::{ForeignLog, UnfitReason, UnfitRecord, VerifiedLog};
pub use names::ForeignName;
pub use session::{ForeignSession, ForkPoint, Inheritance};
pub use stage::SessionImport;

use crate::error::{ImportError, refuse};
use crate::rows::{self, ImportRow, WriterToken};
use crate::{Journal, keys};

/// Whether something is in the journal already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing stands in its way.
    Absent,
    /// It was carried over before.
    Present,
}

/// An import under way. Only the latest one of a journal gets anywhere.
pub struct Import {
    journal: Journal,
    token: WriterToken,
}

impl Journal {
    /// Begins an import. Another one that is under way on this journal stops before its next write.
    ///
    /// # Errors
    /// [`ImportError`].
    pub async fn begin_import(&self) -> Result<Import, ImportError> {
        let token = WriterToken::mint(&self.env);
        let row = ImportRow { token: token.get() }.encode_to_vec();
        self.store
            .transact::<_, ImportError, _>(|transaction, _| {
                // Beginning again what an earlier attempt has begun changes nothing.
                transaction.set(&keys::import(), &row);
                async { Ok(()) }.boxed()
            })
            .await?;
        Ok(Import { journal: self.clone(), token })
    }
}

/// Ends the transaction if another import has begun.
async fn check_latest(transaction: &mut Transaction, token: WriterToken) -> Result<(), TransactError<ImportError>> {
    let value = transaction.get(&keys::import()).await?.ok_or_else(|| refuse(ImportError::Superseded))?;
    let row: ImportRow = rows::decode("import", &value).map_err(refuse)?;
    if row.token == token.get() { Ok(()) } else { Err(refuse(ImportError::Superseded)) }
}
