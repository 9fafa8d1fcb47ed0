//! GetHarness (registry.md §3.2).

use tokio::time::Instant;
use wire::{GetHarnessRequest, HarnessDescriptor, HarnessRegistration};

use super::view::{configured, registered};
use super::{Registry, RegistryError};
use crate::ports::{DESCRIBE_TIMEOUT, HarnessDirectory, HarnessSource, Registered, ServedHarness};

impl Registry {
    /// Returns a harness; with `observe` together with what it says about itself by `deadline`, if there is one.
    ///
    /// # Errors
    /// [`RegistryError::EmptyName`], [`RegistryError::NotFound`], or a failed journal.
    pub async fn get(
        &self,
        request: &GetHarnessRequest,
        deadline: Option<Instant>,
    ) -> Result<HarnessRegistration, RegistryError> {
        let mut view = self.look_up(&request.name).await?;
        if request.observe
            && let Some(harness) = self.find(&request.name)
        {
            match observe(&harness, deadline).await {
                Ok(descriptor) => view.observed = Some(descriptor),
                Err(reason) => view.observe_error = reason,
            }
        }
        Ok(view)
    }

    async fn look_up(&self, name: &str) -> Result<HarnessRegistration, RegistryError> {
        if name.is_empty() {
            return Err(RegistryError::EmptyName);
        }
        if self.is_static(name) {
            return Ok(configured(name));
        }
        let stored = self.journal().registration(name).await?;
        let registration = stored.ok_or_else(|| RegistryError::NotFound(name.to_owned()))?;
        Ok(registered(&registration, self.look_at(&registration)))
    }
}

/// Asks the harness itself, or says why it could not be asked.
async fn observe(harness: &ServedHarness, deadline: Option<Instant>) -> Result<HarnessDescriptor, String> {
    if let HarnessSource::Registered(Registered::Isolated(reason)) = &harness.source {
        return Err(reason.clone());
    }
    let bound = Instant::now() + DESCRIBE_TIMEOUT;
    let bound = deadline.map_or(bound, |deadline| deadline.min(bound));
    match tokio::time::timeout_at(bound, harness.describe()).await {
        Ok(Ok(descriptor)) => Ok(descriptor),
        Ok(Err(error)) => Err(format!("describe: {error}")),
        Err(_) => Err("describe: no answer in time".to_owned()),
    }
}
