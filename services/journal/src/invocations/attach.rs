//! Who holds the attachment of an invocation.

use std::sync::Arc;

use futures::FutureExt;
use prost::Message;
use store::{TransactError, Transaction};

use super::accept::{known_attempt, record_attempt};
use super::read::read_invocation;
use super::{
    Accepted, AttachError, Attachment, Attempt, AttemptRecord, Holder, Invocation, InvocationId, Lease, LeaseError,
    StreamId,
};
use crate::error::refuse;
use crate::keys::{self, InvocationKeys, SessionKeys};
use crate::rows::{AttachmentRow, DeliveredRow, Kept, StreamStateRow};
use crate::{Corrupt, Incarnation, Journal, SessionUid};

const CORRUPT: Corrupt = Corrupt { what: "attachment" };

/// A resume or a takeover (14.3, steps 6 to 12).
#[derive(Clone, Debug)]
pub struct Reattach {
    /// The session of the invocation.
    pub session: SessionUid,
    /// The invocation.
    pub invocation: InvocationId,
    /// The attempt.
    pub attempt: Attempt,
    /// The generation of the attachment that the client knows.
    pub generation: u64,
    /// Whether it takes the attachment from a connection; otherwise nobody must have it.
    pub takeover: bool,
    /// The connection that comes to hold the attachment.
    pub holder: Holder,
    /// How much the client has of the outputs; nothing of those that are not named.
    pub cursors: Vec<Cursor>,
}

/// How much a client has of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The output.
    pub stream: StreamId,
    /// How many items it has.
    pub items: u64,
    /// Whether it knows how the stream ended.
    pub ended: bool,
}

/// An attachment to be made, shared by its attempts.
struct Attaching {
    reattach: Reattach,
    attachment: Attachment,
}

impl Journal {
    /// Attaches a connection to an invocation.
    ///
    /// # Errors
    /// [`AttachError`].
    pub async fn attach(&self, reattach: Reattach) -> Result<Accepted, AttachError> {
        let attachment = Attachment {
            id: self.draw_uuid(),
            generation: reattach.generation.saturating_add(1),
            holder: Some((self.incarnation, reattach.holder)),
        };
        let attaching = Arc::new(Attaching { reattach, attachment });
        let accepted = self
            .store
            .transact(|transaction, _| {
                let attaching = Arc::clone(&attaching);
                // An earlier attempt that was committed has recorded the attempt with the attachment drawn here.
                async move { attaching.attach(transaction).await }.boxed()
            })
            .await?;
        self.note_streams_changed(&attaching.reattach.session);
        Ok(accepted)
    }

    /// Makes another connection the holder of the attachment that an attempt made (R2); `None` if that attachment has
    /// been detached or superseded since (R3), or is no longer retained.
    ///
    /// # Errors
    /// [`LeaseError`].
    pub async fn reclaim(
        &self,
        record: &AttemptRecord,
        holder: Holder,
    ) -> Result<Option<(Invocation, Lease)>, LeaseError> {
        let node = self.incarnation;
        let reclaimed = self
            .store
            .transact::<_, LeaseError, _>(|transaction, _| {
                let record = record.clone();
                // Doing it again changes nothing.
                async move {
                    let (uid, id) = (&record.session, record.invocation);
                    let key = SessionKeys::new(uid).invocation(id).attachment();
                    let Some(row) = Kept::<AttachmentRow>::read(transaction, &key).await? else { return Ok(None) };
                    let current = Attachment::read(&row.row).map_err(refuse)?;
                    if current.id != record.attachment || current.holder.is_none() {
                        return Ok(None);
                    }
                    let attachment = Attachment { holder: Some((node, holder)), ..current };
                    write_attachment(transaction, uid, id, row, &attachment);
                    read_invocation(transaction, uid, id).await
                }
                .boxed()
            })
            .await?;
        self.note_streams_changed(&record.session);
        let lease = Lease { session: record.session.clone(), invocation: record.invocation, holder };
        Ok(reclaimed.map(|invocation| (invocation, lease)))
    }

    /// Gives up an attachment; `false` if it is somebody else's, or nobody's.
    ///
    /// # Errors
    /// [`LeaseError`], but not [`LeaseError::Lost`].
    pub async fn detach(&self, lease: &Lease) -> Result<bool, LeaseError> {
        let detached = self
            .store
            .transact::<_, LeaseError, _>(|transaction, attempt| {
                let lease = lease.clone();
                async move {
                    let Some(row) = Kept::<AttachmentRow>::read(transaction, &lease.keys().attachment()).await? else {
                        return Ok(false);
                    };
                    if !is_held(&row.row, &lease) {
                        // Nobody has attached since, so that it was this who gave it up.
                        return Ok(attempt.maybe_committed && row.row.node == 0);
                    }
                    let current = Attachment::read(&row.row).map_err(refuse)?;
                    let detached = Attachment { holder: None, ..current };
                    write_attachment(transaction, &lease.session, lease.invocation, row, &detached);
                    Ok(true)
                }
                .boxed()
            })
            .await?;
        self.note_streams_changed(&lease.session);
        Ok(detached)
    }
}

impl Lease {
    pub(super) fn keys(&self) -> InvocationKeys {
        SessionKeys::new(&self.session).invocation(self.invocation)
    }

    /// Whether its holder has the attachment, read so that a change of that conflicts.
    pub(super) async fn holds<E: From<Corrupt>>(
        &self,
        transaction: &mut Transaction,
    ) -> Result<bool, TransactError<E>> {
        let row = Kept::<AttachmentRow>::read(transaction, &self.keys().attachment()).await?;
        Ok(row.is_some_and(|row| is_held(&row.row, self)))
    }
}

fn is_held(row: &AttachmentRow, lease: &Lease) -> bool {
    row.node != 0 && row.holder == lease.holder.number()
}

/// Writes the attachment of an invocation over what is stored, and lists it under its node.
pub(super) fn write_attachment(
    transaction: &mut Transaction,
    uid: &SessionUid,
    invocation: InvocationId,
    mut stored: Kept<AttachmentRow>,
    attachment: &Attachment,
) {
    if let Some(node) = Incarnation::from_number(stored.row.node) {
        transaction.clear(&keys::held(node, uid, invocation));
    }
    if let Some((node, _)) = attachment.holder {
        transaction.set(&keys::held(node, uid, invocation), &[]);
    }
    attachment.put_into(&mut stored.row);
    stored.write(transaction, &SessionKeys::new(uid).invocation(invocation).attachment());
}

impl Attaching {
    async fn attach(&self, transaction: &mut Transaction) -> Result<Accepted, TransactError<AttachError>> {
        let Reattach { session, invocation, attempt, holder, .. } = &self.reattach;
        let keys = SessionKeys::new(session).invocation(*invocation);
        let row = Kept::<AttachmentRow>::read(transaction, &keys.attachment()).await?;
        let row = row.ok_or_else(|| refuse(AttachError::NotRetained))?;
        if let Some(record) = known_attempt(transaction, attempt).await? {
            return self.recognise(transaction, record).await;
        }
        self.check_generation(&row.row)?;
        self.check_cursors(transaction, &keys).await?;

        let record = AttemptRecord {
            session: session.clone(),
            invocation: *invocation,
            digest: attempt.digest,
            start: false,
            attachment: self.attachment.id,
        };
        record_attempt(transaction, attempt, &record);
        write_attachment(transaction, session, *invocation, row, &self.attachment);
        transaction.clear_range(&keys.all_delivered());
        for cursor in &self.reattach.cursors {
            let row = DeliveredRow { position: cursor.items };
            transaction.set(&keys.delivered(cursor.stream), &row.encode_to_vec());
        }
        self.accepted(transaction, *holder).await
    }

    async fn recognise(
        &self,
        transaction: &mut Transaction,
        record: AttemptRecord,
    ) -> Result<Accepted, TransactError<AttachError>> {
        if record.digest != self.reattach.attempt.digest {
            return Err(refuse(AttachError::AttemptConflict));
        }
        if record.attachment != self.attachment.id {
            return Ok(Accepted::Known(record));
        }
        self.accepted(transaction, self.reattach.holder).await
    }

    fn check_generation(&self, row: &AttachmentRow) -> Result<(), TransactError<AttachError>> {
        let Reattach { generation, takeover, .. } = self.reattach;
        let error = match row.generation {
            current if generation < current => AttachError::Stale,
            current if generation > current => AttachError::Future,
            _ if takeover == (row.node == 0) => AttachError::State,
            _ => return Ok(()),
        };
        Err(refuse(error))
    }

    async fn check_cursors(
        &self,
        transaction: &mut Transaction,
        keys: &InvocationKeys,
    ) -> Result<(), TransactError<AttachError>> {
        for cursor in &self.reattach.cursors {
            // What lies in the history of a stream stays there: nothing that changes needs to conflict.
            let value = transaction.get_snapshot(&keys.stream_state(cursor.stream)).await?;
            let state = value.map(|value| Kept::<StreamStateRow>::decode(&value)).transpose().map_err(refuse)?;
            let fits = |state: &StreamStateRow| {
                let at_end = state.terminal.is_some() && cursor.items == state.next;
                state.output && if cursor.ended { at_end } else { cursor.items <= state.next }
            };
            if !state.is_some_and(|state| fits(&state.row)) {
                return Err(refuse(AttachError::Cursor(cursor.stream)));
            }
        }
        Ok(())
    }

    async fn accepted(
        &self,
        transaction: &mut Transaction,
        holder: Holder,
    ) -> Result<Accepted, TransactError<AttachError>> {
        let Reattach { session, invocation, .. } = &self.reattach;
        let read = read_invocation(transaction, session, *invocation).await?.ok_or_else(|| refuse(CORRUPT))?;
        let lease = Lease { session: session.clone(), invocation: *invocation, holder };
        Ok(Accepted::New(Box::new(read), lease))
    }
}
