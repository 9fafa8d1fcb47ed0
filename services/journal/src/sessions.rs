//! Creating, reading and listing sessions.

mod create;
mod list;
mod pending;
mod state;

use futures::FutureExt;
use prost::Message;
use store::{Isolation, RangeRead, TransactError, Transaction, limits};

pub use create::{NewOn, NewSession};
pub use list::{InvalidPageToken, ListToken, PageRequest, PageSize, SessionPage};
pub use state::SessionState;

pub(crate) use create::check_harness;
pub(crate) use pending::Relisted;

use crate::error::{Corrupt, JournalError, TooLarge, check, refuse};
use crate::keys::{Listed, Listing, SessionKeys};
use crate::rows::{self, Head, SessionRow};
use crate::{Journal, SessionUid};

/// Most bytes of a session's metadata: 128 fork children, which inherit it, must fit into one transaction.
const MAX_METADATA_BYTES: usize = 65_536;
/// Longest project, which is a part of a key.
const MAX_PROJECT_BYTES: usize = 1_024;

impl Journal {
    /// The session as of now, if there is one.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn session(&self, uid: &SessionUid) -> Result<Option<SessionState>, JournalError> {
        let state = self
            .store
            .transact(|transaction, _| {
                let uid = uid.clone();
                async move { read_state::<JournalError>(transaction, uid).await }.boxed()
            })
            .await?;
        Ok(state)
    }
}

/// Reads both rows of a session, without conflicting with its appends.
pub(crate) async fn read_state<E: From<JournalError>>(
    transaction: &mut Transaction,
    uid: SessionUid,
) -> Result<Option<SessionState>, TransactError<E>> {
    const CORRUPT: Corrupt = Corrupt { what: "session" };
    let corrupt = |corrupt| refuse(JournalError::CorruptSession(uid.clone(), corrupt));
    let read = RangeRead::forward(SessionKeys::new(&uid).state()).limit(2);
    let page = transaction.get_range(&read, Isolation::Snapshot).await?;
    match &page.rows[..] {
        [] => Ok(None),
        [metadata, head] => {
            let row = rows::decode(CORRUPT.what, &metadata.value).map_err(corrupt)?;
            let head = Head::decode(&head.value).map_err(corrupt)?;
            Ok(Some(SessionState::new(uid, row, head)))
        }
        _ => Err(corrupt(CORRUPT)),
    }
}

/// Writes the rows that make a session exist; its head is written besides.
pub(crate) fn write_metadata(transaction: &mut Transaction, uid: &SessionUid, row: &SessionRow) {
    let listed = Listed { time: row.create_time, uid: uid.as_str().to_owned() };
    transaction.set(&SessionKeys::new(uid).metadata(), &row.encode_to_vec());
    transaction.set(&listed.key(Listing::All, &row.project), &[]);
}

/// Whether a session of this uid exists: how a creation recognises that an earlier attempt was committed.
pub(crate) async fn exists<E>(transaction: &mut Transaction, uid: &SessionUid) -> Result<bool, TransactError<E>> {
    Ok(transaction.get(&SessionKeys::new(uid).metadata()).await?.is_some())
}

/// Whether a session's metadata fits into its row.
pub(crate) fn check_size(row: &SessionRow) -> Result<(), TooLarge> {
    check("project", row.project.len(), MAX_PROJECT_BYTES)?;
    check("session metadata", row.encoded_len(), MAX_METADATA_BYTES.min(limits::VALUE_BYTES))
}
