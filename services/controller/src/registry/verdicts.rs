//! What this host thinks of each registration it knows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use journal::{Registration, RegistryChanges};
use wire::Resumability;

use super::spec::CheckedSpec;
use crate::ports::{
    HarnessChannel, HarnessPlacement, HarnessSource, HarnessUnavailable, Placements, Registered, ServedHarness,
};

/// The registrations that were looked at. A verdict is final: specs do not change, and neither does this host.
#[derive(Default)]
pub(super) struct Verdicts {
    served: BTreeMap<String, ServedHarness>,
    /// Registered, and configured on this host as well.
    contested: BTreeSet<String>,
    /// The state of the registry up to which all registrations were looked at.
    pub(super) seen: Option<RegistryChanges>,
}

impl Verdicts {
    /// The registration of `name`, if it was looked at.
    pub(super) fn find(&self, name: &str) -> Option<ServedHarness> {
        self.served.get(name).cloned()
    }

    /// The names of the registrations that this host serves.
    pub(super) fn loaded(&self) -> Vec<String> {
        let loaded = |served: &ServedHarness| served.source == HarnessSource::Registered(Registered::Loaded);
        self.served.iter().filter(|(_, served)| loaded(served)).map(|(name, _)| name.clone()).collect()
    }

    /// The static harness `own` of this name, unless another host has registered the name.
    pub(super) fn contest(&self, name: &str, own: ServedHarness) -> ServedHarness {
        let source = if self.contested.contains(name) { HarnessSource::Contested } else { own.source };
        ServedHarness { source, ..own }
    }

    /// Notes that a static name is registered.
    pub(super) fn note_contested(&mut self, name: &str) {
        self.contested.insert(name.to_owned());
    }

    /// Looks at a registration, if that was not done before. Returns why it cannot be served here, if so.
    pub(super) fn look_at(&mut self, registration: &Registration, placements: &dyn Placements) -> Option<String> {
        let name = &registration.name;
        if let Some(known) = self.served.get(name) {
            return unservable(known);
        }
        let served = judge(registration, placements).unwrap_or_else(isolated);
        let reason = unservable(&served);
        match &reason {
            None => tracing::info!(harness = name, digest = registration.spec_digest, "registered harness loaded"),
            Some(reason) => tracing::warn!(harness = name, reason, "registered harness isolated"),
        }
        self.served.insert(name.clone(), served);
        reason
    }
}

fn judge(registration: &Registration, placements: &dyn Placements) -> Result<ServedHarness, String> {
    let checked = CheckedSpec::of_registration(&registration.spec, &registration.spec_digest)?;
    let runtime = placements.place(&checked.placement).map_err(|unservable| unservable.0)?;
    Ok(ServedHarness {
        source: HarnessSource::Registered(Registered::Loaded),
        descriptor_id: checked.spec.descriptor_id,
        resumability: checked.resumability,
        runtime,
    })
}

fn isolated(reason: String) -> ServedHarness {
    ServedHarness {
        source: HarnessSource::Registered(Registered::Isolated(reason.clone())),
        descriptor_id: String::new(),
        resumability: Resumability::Unspecified,
        runtime: Arc::new(Nowhere(reason)),
    }
}

fn unservable(harness: &ServedHarness) -> Option<String> {
    match &harness.source {
        HarnessSource::Registered(Registered::Isolated(reason)) => Some(reason.clone()),
        _ => None,
    }
}

/// The placement of an isolated harness: it is never dialed.
struct Nowhere(String);

#[async_trait]
impl HarnessPlacement for Nowhere {
    async fn acquire(&self) -> Result<Box<dyn HarnessChannel>, HarnessUnavailable> {
        Err(HarnessUnavailable(self.0.clone()))
    }
}
