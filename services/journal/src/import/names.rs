//! Registrations and reserved names of another host.

use std::sync::Arc;

use futures::FutureExt;
use prost::Message;
use store::{TransactError, Transaction, limits};

use super::{Import, Standing, check_latest};
use crate::error::{ImportError, TooLarge, check, refuse};
use crate::registry::{self, Registration, check_name};
use crate::rows::{HarnessRow, HarnessState, ReservedRow, WriterToken};
use crate::{Journal, keys};

/// A harness name that another host keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignName {
    /// It is registered.
    Registered(Registration),
    /// It belongs to the configuration of a host and cannot be registered.
    Reserved {
        /// The name.
        name: String,
        /// Unix nanoseconds.
        time: i64,
    },
}

impl ForeignName {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Registered(registration) => &registration.name,
            Self::Reserved { name, .. } => name,
        }
    }

    /// Whether it fits into the journal.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn check_size(&self) -> Result<(), TooLarge> {
        check_name(self.name())?;
        match self {
            Self::Registered(registration) => {
                check("harness registration", row(registration).encoded_len(), limits::VALUE_BYTES)
            }
            Self::Reserved { .. } => Ok(()),
        }
    }

    /// Whether it is in the journal, if nothing contradicts it there.
    async fn standing(&self, transaction: &mut Transaction) -> Result<Standing, TransactError<ImportError>> {
        let name = self.name();
        let registered: Option<HarnessRow> = registry::read(transaction, name).await?;
        let reserved = transaction.get(&keys::reserved_harness(name)).await?.is_some();
        match (self, registered) {
            (Self::Registered(registration), Some(row)) if is_same(registration, &row) => Ok(Standing::Present),
            (_, Some(_)) => Err(refuse(ImportError::NameRegistered(name.to_owned()))),
            (Self::Registered(_), None) if reserved => Err(refuse(ImportError::NameReserved(name.to_owned()))),
            (Self::Reserved { .. }, None) if reserved => Ok(Standing::Present),
            (_, None) => Ok(Standing::Absent),
        }
    }

    async fn write(&self, transaction: &mut Transaction) -> Result<(), TransactError<ImportError>> {
        match self {
            Self::Registered(registration) => registry::write(transaction, self.name(), &row(registration)).await,
            Self::Reserved { name, time } => {
                transaction.set(&keys::reserved_harness(name), &ReservedRow { reserve_time: *time }.encode_to_vec());
                Ok(())
            }
        }
    }
}

impl Journal {
    /// Whether `name` is in the journal already.
    ///
    /// # Errors
    /// [`ImportError::NameRegistered`] or [`ImportError::NameReserved`] if it stands for something else here.
    pub async fn name_standing(&self, name: &ForeignName) -> Result<Standing, ImportError> {
        let name = Arc::new(name.clone());
        let standing = self
            .store
            .transact(|transaction, _| {
                let name = Arc::clone(&name);
                async move { name.standing(transaction).await }.boxed()
            })
            .await?;
        Ok(standing)
    }
}

impl Import {
    /// Takes a name over, if it is not here already.
    ///
    /// # Errors
    /// [`ImportError`].
    pub async fn name(&self, name: ForeignName) -> Result<(), ImportError> {
        name.check_size()?;
        let (name, token) = (Arc::new(name), self.token);
        self.journal
            .store
            .transact(|transaction, _| {
                let name = Arc::clone(&name);
                async move {
                    check_latest(transaction, token).await?;
                    // If an earlier attempt was committed, there is nothing left to do.
                    if name.standing(transaction).await? == Standing::Absent {
                        name.write(transaction).await?;
                    }
                    Ok(())
                }
                .boxed()
            })
            .await?;
        Ok(())
    }
}

/// Whether a row is this registration. It may have been retired or reactivated here since it was taken over.
fn is_same(registration: &Registration, row: &HarnessRow) -> bool {
    registration.uid == row.uid && registration.spec_digest == row.spec_digest
}

fn row(registration: &Registration) -> HarnessRow {
    let retired = registration.retired.as_ref();
    let state = if retired.is_some() { HarnessState::Retired } else { HarnessState::Active };
    HarnessRow {
        state: state.into(),
        uid: registration.uid.clone(),
        spec: registration.spec.clone(),
        spec_digest: registration.spec_digest.clone(),
        create_time: registration.create_time,
        update_time: registration.update_time,
        retire_time: retired.map_or(0, |retirement| retirement.time),
        retire_reason: retired.map_or_else(String::new, |retirement| retirement.reason.clone()),
        changer: WriterToken::NOBODY.get(),
    }
}
