//! The journal that a configuration names.

use env::Env;
use journal::Journal;
use prometheus_client::registry::Registry;
use store::Store;
use store::embedded::{self, Embedded, EmbeddedOptions};

use crate::StartError;
use crate::config::Config;
use crate::node::STORE_BOUND;

/// An open journal, and the engine below it.
pub struct LocalJournal {
    engine: Embedded,
    journal: Journal,
}

impl LocalJournal {
    /// Opens the journal of `config`, or begins one where there is nothing.
    ///
    /// # Errors
    /// [`StartError`]. A file that is no journal of this version is left as it is.
    pub async fn open(config: &Config, env: &Env) -> Result<Self, StartError> {
        let path = || config.journal.clone();
        let engine = Embedded::open(&config.journal, EmbeddedOptions::default()).map_err(|source| match source {
            embedded::OpenError::ReferenceJournal { path, .. } => StartError::ReferenceJournal(path),
            source => StartError::Store { path: path(), source },
        })?;
        let journal = Journal::open(store_over(engine.clone(), env.clone())?, env.clone())
            .await
            .map_err(|source| StartError::Journal { path: path(), source })?;
        Ok(Self { engine, journal })
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Adds what the engine measures to `registry`.
    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        self.engine.register_metrics(registry);
    }

    /// Commits what waits and closes the file.
    pub async fn close(self) {
        if tokio::time::timeout(STORE_BOUND, self.engine.close()).await.is_err() {
            tracing::warn!("store did not close in time");
        }
    }
}

#[cfg(feature = "failpoints")]
fn store_over(engine: Embedded, env: Env) -> Result<Store, StartError> {
    Ok(crate::failpoint::store(engine, env)?)
}

#[cfg(not(feature = "failpoints"))]
fn store_over(engine: Embedded, env: Env) -> Result<Store, StartError> {
    Ok(Store::new(engine, env))
}
