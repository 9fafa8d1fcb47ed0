//! Retiring a harness: it takes no new sessions from then on, on any host.

use std::sync::Arc;

use futures::FutureExt;
use prost::Message;
use store::{TransactError, Transaction, limits};

use super::{Registration, check_name, read, write};
use crate::Journal;
use crate::error::{RetireError, check, refuse};
use crate::rows::{HarnessRow, HarnessState};

impl Journal {
    /// Retires a harness. One that is retired already stays as it is.
    ///
    /// # Errors
    /// [`RetireError`].
    pub async fn retire_harness(&self, name: &str, reason: &str) -> Result<Registration, RetireError> {
        if check_name(name).is_err() {
            return Err(RetireError::NotRegistered(name.to_owned()));
        }
        let now = self.env.unix_nanos();
        let asked: Arc<(String, String)> = Arc::new((name.to_owned(), reason.to_owned()));
        let row = self
            .store
            .transact(|transaction, _| {
                let asked = Arc::clone(&asked);
                // An earlier attempt that was committed has left the row retired: there is nothing to recognise.
                async move { retire(transaction, &asked.0, &asked.1, now).await }.boxed()
            })
            .await?;
        Ok(Registration::new(name.to_owned(), row))
    }
}

async fn retire(
    transaction: &mut Transaction,
    name: &str,
    reason: &str,
    now: i64,
) -> Result<HarnessRow, TransactError<RetireError>> {
    let stored: Option<HarnessRow> = read(transaction, name).await?;
    let stored = stored.ok_or_else(|| refuse(RetireError::NotRegistered(name.to_owned())))?;
    if stored.state() != HarnessState::Active {
        return Ok(stored);
    }
    let retired = HarnessRow {
        state: HarnessState::Retired.into(),
        update_time: now,
        retire_time: now,
        retire_reason: reason.to_owned(),
        changer: 0,
        ..stored
    };
    check("harness registration", retired.encoded_len(), limits::VALUE_BYTES).map_err(refuse)?;
    write(transaction, name, &retired).await?;
    Ok(retired)
}
