//! Deleting sessions. One transaction buries a session: it is gone for every caller, and its audit record is there. Its
//! records are removed afterwards, a bounded transaction at a time, by whoever finishes the deletion.
//!
//! Forks keep what they read. Each child pins the records that it inherits from each ancestor, from the fork that makes
//! it until its own deletion, and no pinned record is removed.

mod removal;

use std::sync::Arc;

use futures::FutureExt;
use prost::Message;
use store::{TransactError, Transaction, limits};
use wire::protobuf::Timestamp;
use wire::{ContentHash, IdentityRef, ResourceMetadata, Session};

use crate::error::{DeleteError, JournalError, check, refuse};
use crate::invocations::shut_out;
use crate::keys::{self, Listed, Listing, SessionKeys};
use crate::rows::{self, Head, RemovalRow, SessionRow, TombstoneRow};
use crate::{Journal, Seq, SessionUid};

/// Who deletes a session and why, for the audit record.
#[derive(Clone, Debug, Default)]
pub struct DeletionNote {
    /// As the caller says; not stored if it names nobody.
    pub identity: Option<IdentityRef>,
    /// As the caller says.
    pub reason: String,
    /// Log correlation id of the call.
    pub request_id: String,
}

/// What is left of a deleted session.
#[derive(Clone, Debug, PartialEq)]
pub struct Deletion {
    uid: SessionUid,
    row: TombstoneRow,
}

/// A deletion, shared by its attempts.
struct Burial {
    keys: SessionKeys,
    note: DeletionNote,
    now: i64,
}

impl Journal {
    /// Buries a session: it can be neither read nor appended to any more, and writers that are at work on it are shut
    /// out. Its records are removed by [`finish_deletion`](Self::finish_deletion). A session that was deleted before
    /// stays as it is, and its audit record is returned.
    ///
    /// # Errors
    /// [`DeleteError`].
    pub async fn delete(&self, uid: &SessionUid, note: DeletionNote) -> Result<Deletion, DeleteError> {
        let burial = Arc::new(Burial { keys: SessionKeys::new(uid), note, now: self.env.unix_nanos() });
        let row = self
            .store
            .transact(|transaction, _| {
                let burial = Arc::clone(&burial);
                // An earlier attempt that was committed has left the audit record: there is nothing else to recognise.
                async move { burial.bury(transaction).await }.boxed()
            })
            .await?;
        Ok(Deletion { uid: uid.clone(), row })
    }
}

impl Burial {
    async fn bury(&self, transaction: &mut Transaction) -> Result<TombstoneRow, TransactError<DeleteError>> {
        let uid = self.keys.uid();
        if let Some(buried) = tombstone(transaction, uid).await? {
            return Ok(buried);
        }
        // Both are read so that an append or a fork at the same time conflicts with this.
        let metadata = transaction.get(&self.keys.metadata()).await?.ok_or_else(|| refuse(DeleteError::NoSession))?;
        let head = transaction.get(&self.keys.head()).await?.ok_or_else(|| refuse(DeleteError::NoSession))?;
        let session: SessionRow = rows::decode("session", &metadata).map_err(refuse)?;
        let head = Head::decode(&head).map_err(refuse)?;

        let tombstone = self.tombstone(&session, &head);
        check("audit record of a deletion", tombstone.encoded_len(), limits::VALUE_BYTES).map_err(refuse)?;
        self.unlist(transaction, &session, &head);
        shut_out(transaction, &self.keys).await?;
        transaction.clear_range(&self.keys.state());
        transaction.set(&keys::tombstone(uid), &tombstone.encode_to_vec());
        transaction.set(&keys::removal(uid), &RemovalRow { lineage: session.lineage }.encode_to_vec());
        Ok(tombstone)
    }

    fn tombstone(&self, session: &SessionRow, head: &Head) -> TombstoneRow {
        TombstoneRow {
            project: session.project.clone(),
            last_seq: head.last_seq.get(),
            hash: head.hash.map_or_else(Vec::new, |hash| hash.as_bytes().to_vec()),
            create_time: session.create_time,
            delete_time: self.now,
            identity: self.note.identity.clone().filter(|identity| !identity.is_empty()),
            reason: self.note.reason.clone(),
            request_id: self.note.request_id.clone(),
        }
    }

    fn unlist(&self, transaction: &mut Transaction, session: &SessionRow, head: &Head) {
        let place = |time| Listed { time, uid: self.keys.uid().as_str().to_owned() };
        transaction.clear(&place(session.create_time).key(Listing::All, &session.project));
        if let Some(since) = head.pending_since {
            transaction.clear(&place(since).key(Listing::Pending, &session.project));
        }
    }
}

/// Whether a session of this uid was deleted. None that was comes back.
pub(crate) async fn is_deleted<E>(transaction: &mut Transaction, uid: &SessionUid) -> Result<bool, TransactError<E>> {
    Ok(transaction.get(&keys::tombstone(uid)).await?.is_some())
}

/// The audit record of a session, if it was deleted.
async fn tombstone<E: From<crate::Corrupt>>(
    transaction: &mut Transaction,
    uid: &SessionUid,
) -> Result<Option<TombstoneRow>, TransactError<E>> {
    let row = transaction.get(&keys::tombstone(uid)).await?;
    row.map(|value| rows::decode("deletion", &value).map_err(refuse)).transpose()
}

impl Deletion {
    /// The last record that the session had.
    #[must_use]
    pub fn last_seq(&self) -> Seq {
        Seq::stored(self.row.last_seq)
    }

    /// What is left of the session, as replies carry it.
    ///
    /// # Errors
    /// An audit record that something else wrote.
    pub fn to_wire(&self) -> Result<Session, JournalError> {
        let row = &self.row;
        let head_hash = rows::decode_hash("deletion", &row.hash)?.as_ref().map_or_else(String::new, ContentHash::hex);
        let deletion = wire::Deletion {
            time: Some(Timestamp::from_unix_nanos(row.delete_time)),
            identity: row.identity.clone(),
            reason: row.reason.clone(),
            request_id: row.request_id.clone(),
            head_hash,
        };
        let metadata = ResourceMetadata {
            project: row.project.clone(),
            uid: self.uid.as_str().to_owned(),
            create_time: Some(Timestamp::from_unix_nanos(row.create_time)),
            update_time: Some(Timestamp::from_unix_nanos(row.delete_time)),
            ..ResourceMetadata::default()
        };
        Ok(Session {
            metadata: Some(metadata),
            last_seq: self.last_seq().to_wire(),
            deletion: Some(deletion),
            ..Session::default()
        })
    }
}
