//! Registrations of harnesses, shared by all hosts on the journal (registry.md §1, §3, §5).

mod names;
mod register;
mod retire;
mod token;

use bytes::Bytes;
use futures::FutureExt;
use prost::Message;
use store::{AtomicOp, Isolation, RangeRead, TransactError, Transaction};

pub use register::{NewRegistration, Registered};
pub use token::HarnessToken;

use crate::Journal;
use crate::error::{Corrupt, JournalError, TooLarge, check, refuse};
use crate::keys::{self, decode_harness, harness_range};
use crate::rows::{self, HarnessRow, HarnessState};

const CORRUPT: Corrupt = Corrupt { what: "harness" };

/// Longest name of a harness, which is looked up by key.
const MAX_NAME_BYTES: usize = 1_024;
/// Longest text after a name of that length which still decides an order; so many more bytes a character can have.
const MAX_UTF8_BYTES: usize = 4;

/// A registered harness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Its registry name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The spec as it was stored, as proto3-JSON. A newer version may have written what this one cannot read.
    pub spec: String,
    /// The digest of the spec.
    pub spec_digest: String,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Unix nanoseconds.
    pub update_time: i64,
    /// Set while it takes no new sessions.
    pub retired: Option<Retirement>,
}

/// When and why a harness was retired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retirement {
    /// Unix nanoseconds.
    pub time: i64,
    /// For people.
    pub reason: String,
}

/// How often registrations have changed, give or take: the same count means the same registrations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistryChanges(u64);

impl Journal {
    /// The registration of `name`, if there is one.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn registration(&self, name: &str) -> Result<Option<Registration>, JournalError> {
        if check_name(name).is_err() {
            return Ok(None);
        }
        let row = self
            .store
            .transact(|transaction, _| {
                let name = name.to_owned();
                async move { read::<JournalError>(transaction, &name).await }.boxed()
            })
            .await?;
        Ok(row.map(|row| Registration::new(name.to_owned(), row)))
    }

    /// Up to `limit` registrations in the order of their names, those after a name if one is given.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn registrations(
        &self,
        after: Option<&str>,
        limit: usize,
        include_retired: bool,
    ) -> Result<Vec<Registration>, JournalError> {
        let range = harness_range(after.map(position));
        let registrations = self
            .store
            .transact(|transaction, _| {
                let read = RangeRead::forward(range.clone());
                async move { list(transaction, read, limit, include_retired).await }.boxed()
            })
            .await?;
        Ok(registrations)
    }

    /// How often registrations have changed so far: a cheap way to learn that there is something to learn.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn registry_changes(&self) -> Result<RegistryChanges, JournalError> {
        let value = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                async move { Ok(transaction.get_snapshot(&keys::registry_changes()).await?) }.boxed()
            })
            .await?;
        let Some(value) = value else { return Ok(RegistryChanges::default()) };
        let bytes = value[..].try_into().map_err(|_| Corrupt { what: "registry change count" })?;
        Ok(RegistryChanges(u64::from_le_bytes(bytes)))
    }
}

impl Registration {
    fn new(name: String, row: HarnessRow) -> Self {
        let active = row.state() == HarnessState::Active;
        let retired = (!active).then_some(Retirement { time: row.retire_time, reason: row.retire_reason });
        Self {
            name,
            uid: row.uid,
            spec: row.spec,
            spec_digest: row.spec_digest,
            create_time: row.create_time,
            update_time: row.update_time,
            retired,
        }
    }
}

/// Whether a name fits into a key.
pub(crate) fn check_name(name: &str) -> Result<(), TooLarge> {
    check("harness name", name.len(), MAX_NAME_BYTES)
}

/// The place of a name among those that fit into keys.
fn position(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME_BYTES + MAX_UTF8_BYTES)]
}

async fn list(
    transaction: &mut Transaction,
    mut read: RangeRead,
    limit: usize,
    include_retired: bool,
) -> Result<Vec<Registration>, TransactError<JournalError>> {
    let mut found = Vec::new();
    loop {
        let page = transaction.get_range(&read, Isolation::Snapshot).await?;
        for row in &page.rows {
            let name = decode_harness(&row.key).ok_or_else(|| refuse(CORRUPT))?;
            let registration = Registration::new(name, rows::decode(CORRUPT.what, &row.value).map_err(refuse)?);
            if include_retired || registration.retired.is_none() {
                found.push(registration);
            }
            if found.len() == limit {
                return Ok(found);
            }
        }
        match read.after(&page) {
            Some(next) => read = next,
            None => return Ok(found),
        }
    }
}

/// Reads a registration so that the transaction conflicts with whoever changes it.
pub(crate) async fn read<E: From<Corrupt>>(
    transaction: &mut Transaction,
    name: &str,
) -> Result<Option<HarnessRow>, TransactError<E>> {
    let value: Option<Bytes> = transaction.get(&keys::harness(name)).await?;
    value.map(|value| rows::decode(CORRUPT.what, &value)).transpose().map_err(refuse)
}

/// Writes a registration, and that something has changed. What a later version has added to it stays.
pub(crate) async fn write<E: From<Corrupt>>(
    transaction: &mut Transaction,
    name: &str,
    row: &HarnessRow,
) -> Result<(), TransactError<E>> {
    let key = keys::harness(name);
    let mut encoded = row.encode_to_vec();
    if let Some(stored) = transaction.get(&key).await? {
        encoded.extend(HarnessRow::unknown(&stored).map_err(refuse)?);
    }
    transaction.set(&key, &encoded);
    transaction.atomic(AtomicOp::Add, &keys::registry_changes(), 1);
    Ok(())
}
