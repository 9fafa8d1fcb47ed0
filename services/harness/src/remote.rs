//! A harness that is dialled at an address.

mod address;
mod channel;
mod connection;
mod dial;
mod options;

use async_trait::async_trait;
use controller::ports::{HarnessChannel, HarnessPlacement, HarnessUnavailable};

pub(crate) use address::unix_path;
pub use address::{AddressProblem, HarnessAddress, InvalidAddress};
pub(crate) use channel::explain;
pub(crate) use dial::dial;
pub use options::RemoteOptions;

/// Dials its harness for every turn and for every question about it. Nothing is kept between two turns, so a harness
/// may move or restart between them.
#[derive(Clone, Debug)]
pub struct Remote {
    address: HarnessAddress,
    options: RemoteOptions,
}

impl Remote {
    /// A placement at `address`.
    #[must_use]
    pub fn new(address: HarnessAddress, options: RemoteOptions) -> Self {
        Self { address, options }
    }
}

#[async_trait]
impl HarnessPlacement for Remote {
    async fn acquire(&self) -> Result<Box<dyn HarnessChannel>, HarnessUnavailable> {
        let channel = dial(&self.address, &self.options).await?;
        Ok(Box::new(channel::Channel::new(channel, &self.options)))
    }
}
