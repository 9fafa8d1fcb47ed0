//! RegisterHarness (registry.md §3.1).

use journal::{NewRegistration, Registered};
use wire::strict::Received;
use wire::{RegisterHarnessResponse, RegisterOutcome};

use super::spec::CheckedSpec;
use super::view::registered;
use super::{Registry, RegistryError, name};

impl Registry {
    /// Registers a harness for all hosts on the journal, or brings a retired one back. Never dials it.
    ///
    /// # Errors
    /// [`RegistryError`], in the order in which registry.md §3.1 lists them.
    pub async fn register(&self, received: Received) -> Result<RegisterHarnessResponse, RegistryError> {
        let Received { request, unknown } = received;
        let name = request.name;
        name::check(&name)?;
        if self.is_static(&name) || self.parts.statics.reserved_names().contains(&name) {
            return Err(RegistryError::NameTaken(name));
        }
        let (checked, canonical) = CheckedSpec::of_request(request.spec, unknown)?;
        match self.journal().registration(&name).await? {
            Some(stored) if stored.spec_digest != checked.digest => return Err(RegistryError::OtherSpec(name)),
            // What is stored stays, whether this host can serve it or not.
            Some(_) => {}
            None => drop(self.parts.placements.place(&checked.placement).map_err(RegistryError::Unservable)?),
        }
        let new = NewRegistration { name, spec: canonical, spec_digest: checked.digest };
        let (registration, outcome) = self.journal().register_harness(new).await?;
        if outcome != Registered::Unchanged {
            self.parts.coordinator.registry_changed();
        }
        let unservable = self.look_at(&registration);
        Ok(RegisterHarnessResponse {
            harness: Some(registered(&registration, unservable)),
            outcome: wire_outcome(outcome).into(),
        })
    }
}

fn wire_outcome(outcome: Registered) -> RegisterOutcome {
    match outcome {
        Registered::Created => RegisterOutcome::Created,
        Registered::Unchanged => RegisterOutcome::Unchanged,
        Registered::Reactivated => RegisterOutcome::Reactivated,
    }
}
