//! The harness registry: what operators register, and which of it this host can run (registry.md).
//!
//! Registrations live in the journal, are never deleted and never change their spec. This host therefore looks at each
//! of them once, at its start or when it learns of it, and keeps the verdict: it runs sessions on it, or isolates it.

mod error;
mod follow;
mod get;
mod list;
mod name;
mod register;
mod retire;
mod spec;
mod verdicts;
mod view;

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use cluster::Coordinator;
use journal::{Journal, JournalError, ReserveError};
use thiserror::Error;

pub use error::{InvalidSpec, RegistryError};

use crate::ports::{HarnessDirectory, Placements, ServedHarness, StaticHarnesses};
use verdicts::Verdicts;

/// What a registry is made of.
pub struct RegistryParts {
    /// Where registrations live.
    pub journal: Journal,
    /// The harnesses of this host's own configuration. Their names win.
    pub statics: Arc<dyn StaticHarnesses>,
    /// What this host can run.
    pub placements: Arc<dyn Placements>,
    /// What ties this host to the others on the journal.
    pub coordinator: Arc<dyn Coordinator>,
}

/// The registry as this host sees it, and the directory of all harnesses it serves. Cheap to clone; clones are the same
/// registry.
#[derive(Clone)]
pub struct Registry {
    parts: Arc<RegistryParts>,
    verdicts: Arc<RwLock<Verdicts>>,
}

/// A host may not run on this journal.
#[derive(Debug, Error)]
pub enum RegistryOpenError {
    /// A registration has a name that this host needs for itself.
    #[error("harness names of this host are registered already: {}; configure other names", .0.join(", "))]
    Collision(Vec<String>),
    /// The names of the configuration could not be reserved.
    #[error("harness names cannot be reserved: {0}")]
    Reserve(ReserveError),
    /// Registrations could not be read.
    #[error("registered harnesses cannot be read: {0}")]
    Journal(#[from] JournalError),
}

impl Registry {
    /// Reserves the names of this host's own harnesses and looks at everything that is registered.
    ///
    /// # Errors
    /// [`RegistryOpenError`].
    pub async fn open(parts: RegistryParts) -> Result<Self, RegistryOpenError> {
        let mut names = parts.statics.names();
        names.extend(parts.statics.reserved_names());
        names.sort();
        names.dedup();
        parts.journal.reserve_harness_names(&names).await.map_err(|error| match error {
            ReserveError::Registered(names) => RegistryOpenError::Collision(names),
            other => RegistryOpenError::Reserve(other),
        })?;
        let registry = Self { parts: Arc::new(parts), verdicts: Arc::default() };
        registry.refresh().await?;
        Ok(registry)
    }

    fn journal(&self) -> &Journal {
        &self.parts.journal
    }

    fn is_static(&self, name: &str) -> bool {
        self.parts.statics.find(name).is_some()
    }

    fn with_verdicts<T>(&self, read: impl FnOnce(&Verdicts) -> T) -> T {
        // A panic while writing leaves the table usable: entries are whole.
        read(&self.verdicts.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn with_verdicts_mut<T>(&self, write: impl FnOnce(&mut Verdicts) -> T) -> T {
        write(&mut self.verdicts.write().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl HarnessDirectory for Registry {
    fn default_name(&self) -> &str {
        self.parts.statics.default_name()
    }

    fn find(&self, name: &str) -> Option<ServedHarness> {
        let own = self.parts.statics.find(name);
        self.with_verdicts(|verdicts| match own {
            Some(own) => Some(verdicts.contest(name, own)),
            None => verdicts.find(name),
        })
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.parts.statics.names();
        let registered = self.with_verdicts(Verdicts::loaded);
        names.extend(registered.into_iter().filter(|name| !self.is_static(name)));
        names
    }

    async fn learn(&self, name: &str) -> Result<(), JournalError> {
        if let Some(registration) = self.journal().registration(name).await? {
            self.look_at(&registration);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
