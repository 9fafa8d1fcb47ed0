//! What the endpoint of stream sessions needs of the operator, and of the journal.

use std::sync::Arc;
use std::time::Duration;

use auth::{Authenticator, InvalidFile, KeyRings, Policy};
use env::{Env, TaskKind, Tasks};
use frontend::StreamSecurity;
use journal::{Journal, JournalError};
use stream_session::token::{InvalidKeyRing, Key, KeyRing};
use thiserror::Error;

use crate::config::StreamsConfig;

/// Issuer of tokens that are signed with the journal's own key.
const ISSUER: &str = "agentsessions";
/// How often invocations are looked for that need not be kept any longer.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// Most invocations that are removed at a time.
const SWEEP_LIMIT: usize = 100;

/// The endpoint cannot be set up.
#[derive(Debug, Error)]
pub enum StreamsError {
    /// A file of the operator cannot be used.
    #[error("streams: {0}")]
    File(#[from] InvalidFile),
    /// The journal's own key cannot be had.
    #[error("streams: the key of the journal cannot be read: {0}")]
    Journal(#[from] JournalError),
    /// The journal's own key cannot be used.
    #[error("streams: the key of the journal cannot be used: {0}")]
    Key(#[from] InvalidKeyRing),
}

/// What the operator's files say.
pub(crate) struct Files {
    authenticator: Authenticator,
    policy: Policy,
    rings: Option<KeyRings>,
}

impl Files {
    /// Reads the files that `config` names; `None` if there is to be no endpoint.
    ///
    /// # Errors
    /// [`InvalidFile`].
    pub(crate) fn open(config: &StreamsConfig) -> Result<Option<Self>, InvalidFile> {
        if config.addr.get().is_none() {
            return Ok(None);
        }
        // Without the files the configuration has said that it is for development.
        let authenticator = config.auth_file.as_deref().map(Authenticator::open).transpose()?;
        let policy = config.policy_file.as_deref().map(Policy::open).transpose()?;
        let rings = config.key_ring_file.as_deref().map(KeyRings::open).transpose()?;
        Ok(Some(Self {
            authenticator: authenticator.unwrap_or_else(Authenticator::development),
            policy: policy.unwrap_or_else(Policy::open_to_all),
            rings,
        }))
    }

    /// The same, with the key of `journal` if the operator gives none.
    ///
    /// # Errors
    /// [`StreamsError`].
    pub(crate) async fn security(self, journal: &Journal) -> Result<StreamSecurity, StreamsError> {
        let rings = match self.rings {
            Some(rings) => rings,
            None => {
                let key = journal.token_key().await?;
                let active = Key { id: key.id, secret: key.secret.to_vec() };
                KeyRings::fixed(KeyRing::new(ISSUER, active, [])?)
            }
        };
        Ok(StreamSecurity { authenticator: self.authenticator, policy: self.policy, rings: Arc::new(rings) })
    }
}

/// Removes invocations that ended longer than `retention` ago, until background tasks are stopped.
pub(crate) fn sweep(journal: Journal, retention: Duration, env: Env, tasks: &Tasks) {
    let stop = tasks.cancelled(TaskKind::Background);
    let sweeping = async move {
        loop {
            let before = env.unix_time().saturating_sub(retention).as_secs();
            match journal.sweep(before, SWEEP_LIMIT).await {
                Ok(SWEEP_LIMIT..) => continue,
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "invocations that have ended cannot be removed"),
            }
            tokio::time::sleep(SWEEP_INTERVAL).await;
        }
    };
    tasks.spawn("sweep", TaskKind::Background, async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = sweeping => {}
        }
    });
}
