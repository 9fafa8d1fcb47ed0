//! The journal that a configuration names.

use std::path::Path;

use env::Env;
use journal::Journal;
use prometheus_client::registry::Registry;
use store::embedded::{self, Embedded, EmbeddedOptions};
#[cfg(feature = "fdb")]
use store::fdb::Fdb;
use store::{Engine, Store};

use crate::StartError;
use crate::config::{Config, JournalPlace};
use crate::node::STORE_BOUND;

/// An open journal, and the engine below it.
pub struct LocalJournal {
    engine: OpenEngine,
    journal: Journal,
}

enum OpenEngine {
    Embedded(Embedded),
    #[cfg(feature = "fdb")]
    Cluster(Fdb),
}

impl LocalJournal {
    /// Opens the journal of `config`, or begins one where there is nothing.
    ///
    /// # Errors
    /// [`StartError`]. A file that is no journal of this version is left as it is.
    pub async fn open(config: &Config, env: &Env) -> Result<Self, StartError> {
        let engine = OpenEngine::open(config).await?;
        let journal = Journal::open(engine.store(env.clone())?, env.clone())
            .await
            .map_err(|source| StartError::Journal { place: config.journal.clone(), source })?;
        Ok(Self { engine, journal })
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Adds what the engine measures to `registry`.
    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        match &self.engine {
            OpenEngine::Embedded(engine) => engine.register_metrics(registry),
            #[cfg(feature = "fdb")]
            OpenEngine::Cluster(engine) => engine.register_metrics(registry),
        }
    }

    /// Commits what waits and closes what is open.
    pub async fn close(self) {
        match self.engine {
            OpenEngine::Embedded(engine) => {
                if tokio::time::timeout(STORE_BOUND, engine.close()).await.is_err() {
                    tracing::warn!("store did not close in time");
                }
            }
            // Nothing waits: a commit is answered to whoever asked for it. The client ends with the process.
            #[cfg(feature = "fdb")]
            OpenEngine::Cluster(_) => {}
        }
    }
}

impl OpenEngine {
    async fn open(config: &Config) -> Result<Self, StartError> {
        match &config.journal {
            JournalPlace::File(path) => open_file(path).map(Self::Embedded),
            #[cfg(feature = "fdb")]
            JournalPlace::Cluster(file) => match Fdb::open(&config.fdb.options(file)).await {
                Ok(engine) => Ok(Self::Cluster(engine)),
                Err(source) => Err(StartError::Cluster { file: file.clone(), source }),
            },
        }
    }

    fn store(&self, env: Env) -> Result<Store, StartError> {
        match self {
            Self::Embedded(engine) => store_over(engine.clone(), env),
            #[cfg(feature = "fdb")]
            Self::Cluster(engine) => store_over(engine.clone(), env),
        }
    }
}

fn open_file(path: &Path) -> Result<Embedded, StartError> {
    Embedded::open(path, EmbeddedOptions::default()).map_err(|source| match source {
        embedded::OpenError::ReferenceJournal { path, .. } => StartError::ReferenceJournal(path),
        source => StartError::Store { path: path.to_owned(), source },
    })
}

#[cfg(feature = "failpoints")]
fn store_over(engine: impl Engine, env: Env) -> Result<Store, StartError> {
    Ok(crate::failpoint::store(engine, env)?)
}

#[cfg(not(feature = "failpoints"))]
fn store_over(engine: impl Engine, env: Env) -> Result<Store, StartError> {
    Ok(Store::new(engine, env))
}
