//! Opening a journal.

use env::Env;
use futures::FutureExt;
use prost::Message;
use store::Store;

use crate::error::{JournalError, OpenError, refuse};
use crate::keys;
use crate::rows::{self, FormatRow};

/// The layout that `docs/journal-layout.md` describes.
const FORMAT: u32 = 1;

/// All sessions of a store. Cheap to clone.
#[derive(Clone)]
pub struct Journal {
    pub(crate) store: Store,
    pub(crate) env: Env,
}

impl Journal {
    /// Opens the journal in `store`, or begins one.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(store: Store, env: Env) -> Result<Self, OpenError> {
        let found = store
            .transact(|transaction, _| {
                async move {
                    if let Some(value) = transaction.get(&keys::format()).await? {
                        let row: FormatRow = rows::decode("format", &value).map_err(refuse::<JournalError>)?;
                        return Ok(row.version);
                    }
                    transaction.set(&keys::format(), &FormatRow { version: FORMAT }.encode_to_vec());
                    Ok(FORMAT)
                }
                .boxed()
            })
            .await
            .map_err(JournalError::from)?;
        match found {
            FORMAT => Ok(Self { store, env }),
            _ => Err(OpenError::Format { found, supported: FORMAT }),
        }
    }
}
