//! The listing of sessions that wait for an approval, kept in the transaction of the append that begins or ends the wait.

use store::{TransactError, Transaction};

use crate::error::{Corrupt, refuse};
use crate::keys::{Listed, Listing, SessionKeys};
use crate::rows::{self, SessionRow};

const CORRUPT: Corrupt = Corrupt { what: "session" };

/// A change of a session's place in the listing, by the times at which it began to wait.
#[derive(Debug)]
pub(crate) struct Relisted {
    keys: SessionKeys,
    before: Option<i64>,
    after: Option<i64>,
}

impl Relisted {
    /// `None` if nothing changes.
    pub(crate) fn of(keys: &SessionKeys, before: Option<i64>, after: Option<i64>) -> Option<Self> {
        (before != after).then(|| Self { keys: keys.clone(), before, after })
    }

    pub(crate) async fn write<E: From<Corrupt>>(&self, transaction: &mut Transaction) -> Result<(), TransactError<E>> {
        // Metadata never changes, so reading it conflicts with nothing.
        // The session was deleted: so was its head, and this append will not be committed.
        let Some(metadata) = transaction.get_snapshot(&self.keys.metadata()).await? else { return Ok(()) };
        let SessionRow { project, .. } = rows::decode(CORRUPT.what, &metadata).map_err(refuse)?;
        let key = |time| Listed { time, uid: self.keys.uid().as_str().to_owned() }.key(Listing::Pending, &project);
        if let Some(time) = self.before {
            transaction.clear(&key(time));
        }
        if let Some(time) = self.after {
            transaction.set(&key(time), &[]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
