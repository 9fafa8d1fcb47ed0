//! Accepting an invocation: one transaction makes all there is of it, and of its instance if that is new.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use prost::Message;
use store::{TransactError, Transaction};
use uuid::Uuid;

use super::attach::write_attachment;
use super::introduce::{Introduced, introduce};
use super::runs::hand_over;
use super::{
    AcceptError, Attachment, Attempt, AttemptRecord, Holder, Invocation, InvocationId, InvocationStart, Lease,
    MAX_VALUE_BYTES, NewInput, Owner,
};
use crate::error::{check, refuse};
use crate::keys::{self, SessionKeys};
use crate::pieces::divide;
use crate::registry::check_name;
use crate::rows::{
    self, AttemptOfRow, AttemptRow, Head, InstanceOfRow, InstanceRow, Kept, ProgressRow, QueueEndRow, QueuedRow,
    RunnerRow, SessionRow, decode_uuid,
};
use crate::sessions::{check_harness, check_size, exists, write_metadata};
use crate::{Corrupt, Incarnation, Journal, JournalError, NewOn, NewSession, SessionUid};

const CORRUPT: Corrupt = Corrupt { what: "instance" };
/// Longest account, which is a part of a key.
const MAX_ACCOUNT_BYTES: usize = 1_024;

/// An invocation to be accepted (14.2, steps 6 to 10).
#[derive(Clone, Debug)]
pub struct NewInvocation {
    /// What the instance is created as, if there is none.
    pub session: NewSession,
    /// Digest of what names the instance.
    pub instance: [u8; 32],
    /// Canonical text of the instance.
    pub agent_id: String,
    /// What it is started with.
    pub start: InvocationStart,
    /// The attempt that starts it.
    pub attempt: Attempt,
    /// The connection that comes to hold its attachment.
    pub holder: Holder,
    /// The inputs among its parameters, in document order.
    pub streams: Vec<NewInput>,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Accepted {
    /// It was accepted now, and its connection holds the attachment.
    New(Box<Invocation>, Lease),
    /// It was accepted before, with the same content (section 15).
    Known(AttemptRecord),
}

/// An acceptance, shared by its attempts.
struct Acceptance {
    new: NewInvocation,
    source: NewOn,
    /// What `new` is started with, as it is stored.
    start: Bytes,
    /// The instance, if that is new.
    made: Instance,
    session: SessionRow,
    attachment: Attachment,
    node: Incarnation,
}

/// An agent instance.
#[derive(Clone)]
struct Instance {
    uid: SessionUid,
    incarnation: Uuid,
}

impl Journal {
    /// Accepts an invocation: durable and in the queue of its instance when this returns. If nobody drives that queue,
    /// this node is to: [`claim_run`](Self::claim_run).
    ///
    /// # Errors
    /// [`AcceptError`].
    pub async fn accept_invocation(&self, new: NewInvocation) -> Result<Accepted, AcceptError> {
        let acceptance = Arc::new(Acceptance::prepare(self, new)?);
        let accepted = self
            .store
            .transact(|transaction, _| {
                let acceptance = Arc::clone(&acceptance);
                // An earlier attempt that was committed has recorded the attempt with the attachment drawn here.
                async move { acceptance.accept(transaction).await }.boxed()
            })
            .await?;
        if let Accepted::New(invocation, _) = &accepted {
            self.note_streams_changed(&invocation.session);
        }
        Ok(accepted)
    }

    /// What was accepted as an attempt of an account, unless it is no longer retained.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn attempt(&self, account: &str, id: Uuid) -> Result<Option<AttemptRecord>, JournalError> {
        let key = keys::attempt(account, id);
        let row = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let key = key.clone();
                async move { Ok(transaction.get_snapshot(&key).await?) }.boxed()
            })
            .await?;
        Ok(row.map(|value| read_attempt(&value)).transpose()?)
    }

    /// Draws a random UUID.
    pub(super) fn draw_uuid(&self) -> Uuid {
        uuid::Builder::from_random_bytes(self.env.random_bytes()).into_uuid()
    }
}

fn read_attempt(value: &[u8]) -> Result<AttemptRecord, Corrupt> {
    AttemptRecord::read(&rows::decode::<AttemptRow>("attempt", value)?)
}

/// What was accepted as this attempt.
pub(super) async fn known_attempt<E: From<Corrupt>>(
    transaction: &mut Transaction,
    attempt: &Attempt,
) -> Result<Option<AttemptRecord>, TransactError<E>> {
    let row = transaction.get(&keys::attempt(&attempt.account, attempt.id)).await?;
    row.map(|value| read_attempt(&value).map_err(refuse)).transpose()
}

/// Records an attempt, so that it is found by its id and removed with its invocation.
pub(super) fn record_attempt(transaction: &mut Transaction, attempt: &Attempt, record: &AttemptRecord) {
    let of = AttemptOfRow { account: attempt.account.clone() };
    let keys = SessionKeys::new(&record.session).invocation(record.invocation);
    transaction.set(&keys::attempt(&attempt.account, attempt.id), &record.to_row().encode_to_vec());
    transaction.set(&keys.attempt(attempt.id), &of.encode_to_vec());
}

impl Acceptance {
    fn prepare(journal: &Journal, new: NewInvocation) -> Result<Self, AcceptError> {
        check("account", new.attempt.account.len(), MAX_ACCOUNT_BYTES)?;
        let start = new.start.to_row(&new.agent_id, new.attempt.id).encode_to_vec();
        check("invocation", start.len(), MAX_VALUE_BYTES)?;
        let source = new.session.harness_source;
        let session = new.session.clone().into_row(journal.env.unix_nanos());
        check_size(&session)?;
        check_name(&session.harness)?;
        let made = Instance { uid: SessionUid::mint(&journal.env), incarnation: journal.draw_uuid() };
        let holder = Some((journal.incarnation, new.holder));
        let attachment = Attachment { id: journal.draw_uuid(), generation: 1, holder };
        let start = start.into();
        Ok(Self { new, source, start, made, session, attachment, node: journal.incarnation })
    }

    async fn accept(&self, transaction: &mut Transaction) -> Result<Accepted, TransactError<AcceptError>> {
        if let Some(record) = known_attempt(transaction, &self.new.attempt).await? {
            return self.recognise(transaction, record).await;
        }
        let instance = self.instance(transaction).await?;
        let keys = SessionKeys::new(&instance.uid);
        let key = &self.new.start.idempotency_key;
        let invocation = InvocationId::derive(&self.new.agent_id, key, instance.incarnation);
        if transaction.get(&keys.used(invocation)).await?.is_some() {
            return Err(refuse(AcceptError::KeyUsed));
        }
        transaction.set(&keys.used(invocation), &[]);
        self.write_invocation(transaction, &instance, invocation).await?;
        self.queue(transaction, &keys, invocation).await?;
        Ok(self.accepted(instance, invocation))
    }

    async fn recognise(
        &self,
        transaction: &mut Transaction,
        record: AttemptRecord,
    ) -> Result<Accepted, TransactError<AcceptError>> {
        if record.digest != self.new.attempt.digest {
            return Err(refuse(AcceptError::AttemptConflict));
        }
        if record.attachment != self.attachment.id {
            return Ok(Accepted::Known(record));
        }
        let incarnation = incarnation(transaction, &SessionKeys::new(&record.session)).await?;
        Ok(self.accepted(Instance { uid: record.session, incarnation }, record.invocation))
    }

    /// The instance, which is made if there is none.
    async fn instance(&self, transaction: &mut Transaction) -> Result<Instance, TransactError<AcceptError>> {
        let of = keys::instance_of(&self.new.instance);
        if let Some(value) = transaction.get(&of).await? {
            let row: InstanceOfRow = rows::decode(CORRUPT.what, &value).map_err(refuse)?;
            let uid = SessionUid::parse(&row.uid).map_err(|_| refuse(CORRUPT))?;
            // The session of an instance may have been deleted: the next one is made anew.
            if exists(transaction, &uid).await? {
                let incarnation = incarnation(transaction, &SessionKeys::new(&uid)).await?;
                return Ok(Instance { uid, incarnation });
            }
        }
        check_harness(transaction, &self.session.harness, self.source).await?;
        let uid = &self.made.uid;
        let keys = SessionKeys::new(uid);
        let row = InstanceRow {
            incarnation: self.made.incarnation.into_bytes().to_vec(),
            digest: self.new.instance.to_vec(),
        };
        write_metadata(transaction, uid, &self.session);
        transaction.set(&keys.head(), &Head::empty(self.session.create_time).encode());
        transaction.set(&keys.instance(), &row.encode_to_vec());
        transaction.set(&of, &InstanceOfRow { uid: uid.as_str().to_owned() }.encode_to_vec());
        Ok(self.made.clone())
    }

    async fn write_invocation(
        &self,
        transaction: &mut Transaction,
        instance: &Instance,
        invocation: InvocationId,
    ) -> Result<(), TransactError<AcceptError>> {
        let keys = SessionKeys::new(&instance.uid).invocation(invocation);
        for (piece, part) in divide(self.start.clone()) {
            transaction.set(&keys.start(piece), &part);
        }
        let record = AttemptRecord {
            session: instance.uid.clone(),
            invocation,
            digest: self.new.attempt.digest,
            start: true,
            attachment: self.attachment.id,
        };
        record_attempt(transaction, &self.new.attempt, &record);
        write_attachment(transaction, &instance.uid, invocation, Kept::default(), &self.attachment);
        let inputs = Introduced::inputs(invocation, Owner::Start, &self.new.streams);
        match introduce(transaction, &keys, &inputs).await? {
            None => Ok(()),
            Some(rule) => Err(refuse(AcceptError::Streams(rule))),
        }
    }

    /// Puts the invocation at the end of the queue, which this node comes to drive if nobody does.
    async fn queue(
        &self,
        transaction: &mut Transaction,
        keys: &SessionKeys,
        invocation: InvocationId,
    ) -> Result<(), TransactError<AcceptError>> {
        let mut end = Kept::<QueueEndRow>::read(transaction, &keys.queue_end()).await?.unwrap_or_default();
        let order = end.row.next;
        end.row.next += 1;
        end.write(transaction, &keys.queue_end());
        let place = QueuedRow { invocation: invocation.as_uuid().into_bytes().to_vec() };
        transaction.set(&keys.queued(order), &place.encode_to_vec());
        let progress = Kept::new(ProgressRow { order, ..ProgressRow::default() });
        progress.write(transaction, &keys.invocation(invocation).progress());

        let runner = Kept::<RunnerRow>::read(transaction, &keys.runner()).await?.unwrap_or_default();
        if runner.row.node == 0 {
            hand_over(transaction, keys, runner, self.node);
        }
        Ok(())
    }

    fn accepted(&self, instance: Instance, id: InvocationId) -> Accepted {
        let lease = Lease { session: instance.uid.clone(), invocation: id, holder: self.new.holder };
        let invocation = Invocation {
            id,
            session: instance.uid,
            incarnation: instance.incarnation,
            agent_id: self.new.agent_id.clone(),
            attempt: self.new.attempt.id,
            start: self.new.start.clone(),
            attachment: self.attachment.clone(),
            returned: None,
            outcome: None,
        };
        Accepted::New(Box::new(invocation), lease)
    }
}

/// The incarnation of an instance.
pub(super) async fn incarnation<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &SessionKeys,
) -> Result<Uuid, TransactError<E>> {
    let value = transaction.get_snapshot(&keys.instance()).await?.ok_or_else(|| refuse(CORRUPT))?;
    let row: InstanceRow = rows::decode(CORRUPT.what, &value).map_err(refuse)?;
    decode_uuid(CORRUPT.what, &row.incarnation).map_err(refuse)
}
