//! A harness that is dialled at an address.

mod address;
mod channel;
mod codec;
mod connection;
mod dial;
mod options;
mod pool;
mod unsent;

use std::sync::Arc;

use async_trait::async_trait;
use controller::ports::{HarnessChannel, HarnessPlacement, HarnessUnavailable};

pub(crate) use address::unix_path;
pub use address::{AddressProblem, HarnessAddress, InvalidAddress};
pub(crate) use channel::explain;
pub(crate) use dial::dial;
pub use options::RemoteOptions;

use pool::Pool;

/// Dials its harness, and lets turns share connections: each is described on the connection that it then runs on. A
/// harness that was restarted is dialed anew when a turn finds its connection dead, and one that moved within a minute.
#[derive(Clone, Debug)]
pub struct Remote {
    pool: Arc<Pool>,
}

impl Remote {
    /// A placement at `address`.
    #[must_use]
    pub fn new(address: HarnessAddress, options: RemoteOptions) -> Self {
        Self { pool: Arc::new(Pool::new(address, options)) }
    }
}

#[async_trait]
impl HarnessPlacement for Remote {
    async fn acquire(&self) -> Result<Box<dyn HarnessChannel>, HarnessUnavailable> {
        Ok(Box::new(channel::Channel::new(self.pool.place().await?)))
    }
}
