//! Names that no registration may take: those of the hosts' own configurations.

use std::sync::Arc;

use futures::FutureExt;
use prost::Message;
use store::{TransactError, Transaction};

use super::check_name;
use crate::Journal;
use crate::error::{ReserveError, refuse};
use crate::keys;
use crate::rows::ReservedRow;

impl Journal {
    /// Reserves all of `names` for ever, or none if one of them is registered.
    ///
    /// # Errors
    /// [`ReserveError`].
    pub async fn reserve_harness_names(&self, names: &[String]) -> Result<(), ReserveError> {
        for name in names {
            check_name(name)?;
        }
        let names: Arc<[String]> = names.into();
        let row = ReservedRow { reserve_time: self.env.unix_nanos() }.encode_to_vec();
        self.store
            .transact(|transaction, _| {
                let (names, row) = (Arc::clone(&names), row.clone());
                // Reserving what an earlier attempt has reserved changes nothing.
                async move { reserve(transaction, &names, &row).await }.boxed()
            })
            .await?;
        Ok(())
    }
}

async fn reserve(
    transaction: &mut Transaction,
    names: &[String],
    row: &[u8],
) -> Result<(), TransactError<ReserveError>> {
    let mut registered = Vec::new();
    for name in names {
        if transaction.get(&keys::harness(name)).await?.is_some() {
            registered.push(name.clone());
        }
        let key = keys::reserved_harness(name);
        // A host that starts again writes nothing.
        if transaction.get(&key).await?.is_none() {
            transaction.set(&key, row);
        }
    }
    if registered.is_empty() { Ok(()) } else { Err(refuse(ReserveError::Registered(registered))) }
}
