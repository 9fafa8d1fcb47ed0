//! The host that a command talks to.

use client::Client;

use crate::cli::Common;

/// What keeps the host reachable.
pub enum Connection {
    /// A host of its own.
    Remote,
}

impl Connection {
    /// Connects to the host of `common.server`, or starts one in this process.
    pub async fn open(common: &Common) -> anyhow::Result<(Self, Client)> {
        Ok((Self::Remote, Client::connect(&common.server).await?))
    }

    /// Stops the host if it runs in this process.
    pub async fn close(self) {}
}
