//! Registering a harness: a name gets one spec, for ever.

use std::sync::Arc;

use futures::FutureExt;
use prost::Message;
use store::{Attempt, TransactError, Transaction, limits};

use super::{Registration, check_name, read, write};
use crate::Journal;
use crate::error::{RegisterError, check, refuse};
use crate::keys;
use crate::rows::{HarnessRow, HarnessState, WriterToken};

/// A harness to be registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRegistration {
    /// Its registry name.
    pub name: String,
    /// Its spec as proto3-JSON, stored as it is.
    pub spec: String,
    /// The digest that tells the spec from others.
    pub spec_digest: String,
}

/// What a registration found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// No registration of the name: there is one now.
    Created,
    /// The same one, active.
    Unchanged,
    /// The same one, retired: it is active again.
    Reactivated,
}

/// A registration in the making, shared by the attempts to write it.
struct Draft {
    name: String,
    row: HarnessRow,
}

impl Journal {
    /// Registers a harness, unless its name has another spec or is reserved. Of identical registrations that race, one
    /// creates the row.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub async fn register_harness(&self, new: NewRegistration) -> Result<(Registration, Registered), RegisterError> {
        let now = self.env.unix_nanos();
        let row = HarnessRow {
            state: HarnessState::Active.into(),
            uid: env::harness_uid(&self.env),
            spec: new.spec,
            spec_digest: new.spec_digest,
            create_time: now,
            update_time: now,
            changer: WriterToken::mint(&self.env).get(),
            ..HarnessRow::default()
        };
        check_name(&new.name)?;
        check("harness registration", row.encoded_len(), limits::VALUE_BYTES)?;
        let draft = Arc::new(Draft { name: new.name, row });
        let (row, outcome) = self
            .store
            .transact(|transaction, attempt| {
                let draft = Arc::clone(&draft);
                async move { draft.register(transaction, attempt).await }.boxed()
            })
            .await?;
        Ok((Registration::new(draft.name.clone(), row), outcome))
    }
}

impl Draft {
    async fn register(
        &self,
        transaction: &mut Transaction,
        attempt: Attempt,
    ) -> Result<(HarnessRow, Registered), TransactError<RegisterError>> {
        let stored: Option<HarnessRow> = read(transaction, &self.name).await?;
        if attempt.maybe_committed
            && let Some(done) = stored.as_ref().and_then(|row| self.recognise(row))
        {
            return Ok(done);
        }
        if transaction.get(&keys::reserved_harness(&self.name)).await?.is_some() {
            return Err(refuse(RegisterError::Reserved(self.name.clone())));
        }
        let Some(stored) = stored else {
            write(transaction, &self.name, &self.row).await?;
            return Ok((self.row.clone(), Registered::Created));
        };
        if stored.spec_digest != self.row.spec_digest {
            return Err(refuse(RegisterError::OtherSpec(self.name.clone())));
        }
        if stored.state() == HarnessState::Active {
            return Ok((stored, Registered::Unchanged));
        }
        let reactivated = self.reactivate(stored);
        write(transaction, &self.name, &reactivated).await?;
        Ok((reactivated, Registered::Reactivated))
    }

    /// What an earlier attempt of this registration did, if it was committed and nobody has undone it since.
    fn recognise(&self, stored: &HarnessRow) -> Option<(HarnessRow, Registered)> {
        if stored.uid == self.row.uid {
            return Some((stored.clone(), Registered::Created));
        }
        (stored.changer == self.row.changer).then(|| (stored.clone(), Registered::Reactivated))
    }

    fn reactivate(&self, stored: HarnessRow) -> HarnessRow {
        HarnessRow {
            state: HarnessState::Active.into(),
            update_time: self.row.update_time,
            retire_time: 0,
            retire_reason: String::new(),
            changer: self.row.changer,
            ..stored
        }
    }
}
