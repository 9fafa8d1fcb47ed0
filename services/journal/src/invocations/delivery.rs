//! What the holder of an attachment says of outputs.

use futures::FutureExt;
use prost::Message;

use super::{Lease, LeaseError, StreamId};
use crate::Journal;
use crate::error::refuse;
use crate::rows::{DeliveredRow, Kept, StreamStateRow, WishRow};

impl Journal {
    /// Notes durably that the client has no use for an output any more (Q3). Its runner is to end it; an output that has
    /// ended stays as it is.
    ///
    /// # Errors
    /// [`LeaseError`].
    pub async fn cancel_output(&self, lease: &Lease, stream: StreamId, reason: &str) -> Result<(), LeaseError> {
        let wish = WishRow { reason: reason.to_owned() }.encode_to_vec();
        self.store
            .transact(|transaction, _| {
                let (lease, wish) = (lease.clone(), wish.clone());
                // Doing it again changes nothing.
                async move {
                    if !lease.holds(transaction).await? {
                        return Err(refuse(LeaseError::Lost));
                    }
                    let keys = lease.keys();
                    let state = Kept::<StreamStateRow>::read(transaction, &keys.stream_state(stream)).await?;
                    if state.is_some_and(|state| state.row.output && state.row.terminal.is_none()) {
                        transaction.set(&keys.reader(stream), &wish);
                    }
                    Ok(())
                }
                .boxed()
            })
            .await?;
        self.note_streams_changed(&lease.session);
        Ok(())
    }

    /// Notes how many items of outputs the client has been sent, for whoever produces them.
    ///
    /// # Errors
    /// [`LeaseError`].
    pub async fn note_delivered(&self, lease: &Lease, positions: &[(StreamId, u64)]) -> Result<(), LeaseError> {
        self.store
            .transact(|transaction, _| {
                let (lease, positions) = (lease.clone(), positions.to_vec());
                // Doing it again changes nothing.
                async move {
                    if !lease.holds(transaction).await? {
                        return Err(refuse(LeaseError::Lost));
                    }
                    let keys = lease.keys();
                    for (stream, position) in positions {
                        transaction.set(&keys.delivered(stream), &DeliveredRow { position }.encode_to_vec());
                    }
                    Ok(())
                }
                .boxed()
            })
            .await?;
        self.note_streams_changed(&lease.session);
        Ok(())
    }
}
