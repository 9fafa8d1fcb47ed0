//! RetireHarness (registry.md §3.4).

use wire::{HarnessRegistration, RetireHarnessRequest};

use super::view::registered;
use super::{Registry, RegistryError};

/// Most bytes of a reason.
const MAX_REASON_BYTES: usize = 1_024;

impl Registry {
    /// Stops new sessions on a harness, on every host. Running turns and existing sessions go on.
    ///
    /// # Errors
    /// [`RegistryError`], in the order in which registry.md §3.4 lists them.
    pub async fn retire(&self, request: &RetireHarnessRequest) -> Result<HarnessRegistration, RegistryError> {
        let name = &request.name;
        if name.is_empty() {
            return Err(RegistryError::EmptyName);
        }
        if request.reason.len() > MAX_REASON_BYTES {
            return Err(RegistryError::Reason { size: request.reason.len(), limit: MAX_REASON_BYTES });
        }
        if self.is_static(name) {
            return Err(RegistryError::Static(name.clone()));
        }
        let registration = self.journal().retire_harness(name, &request.reason).await?;
        self.parts.coordinator.registry_changed();
        Ok(registered(&registration, self.look_at(&registration)))
    }
}
