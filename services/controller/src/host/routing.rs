//! Which harness runs (execution.md §2.2).

use wire::Resumability;

use super::admission::{ask, resumability};
use super::context::Bounds;
use super::{Host, HostError};
use crate::ports::{HarnessDirectory, HarnessSource, Registered, ServedHarness};

/// A harness chosen to run a turn.
#[derive(Debug)]
pub(super) struct Route {
    /// Its registry name, recorded with the turn.
    pub(super) name: String,
    pub(super) harness: ServedHarness,
}

impl Host {
    /// Makes sure that a harness which was registered through another host is not unknown here.
    pub(super) async fn learn(&self, names: &[&str]) -> Result<(), HostError> {
        for name in names {
            if !name.is_empty() && self.harnesses().find(name).is_none() {
                self.harnesses().learn(name).await?;
            }
        }
        Ok(())
    }
}

impl Host {
    /// Where nobody has said whether the session's harness keeps memory, it is asked before another one runs in its place.
    /// One that does not answer keeps nobody from running elsewhere.
    pub(super) async fn refuse_unasked(&self, stored: &str, route: &Route, bounds: &Bounds) -> Result<(), HostError> {
        let Some(found) = self.harnesses().find(stored).filter(|_| !stored.is_empty() && stored != route.name) else {
            return Ok(());
        };
        if found.resumability != Resumability::Unspecified || keeps_memory(&route.harness) {
            return Ok(());
        }
        let stored = Route { name: stored.into(), harness: found };
        match ask(&stored, bounds).await {
            Ok(descriptor) if resumability(&descriptor) == Resumability::RequiresMemorySnapshot => {
                Err(HostError::HarnessStateless(route.name.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// Whether it is known to need a memory snapshot.
fn keeps_memory(harness: &ServedHarness) -> bool {
    harness.resumability == Resumability::RequiresMemorySnapshot
}

/// Chooses the harness of a session whose stored name is `stored`, for a request that may override it for one turn.
pub(super) fn route(directory: &dyn HarnessDirectory, stored: &str, override_name: &str) -> Result<Route, HostError> {
    let stored = if stored.is_empty() { directory.default_name() } else { stored };
    if override_name.is_empty() || override_name == stored {
        return resolve(directory, stored);
    }
    if let Some(harness) = directory.find(stored) {
        // Refused even for a turn that would run elsewhere.
        refuse_contested(stored, &harness)?;
    }
    refuse_pinned(directory, stored, override_name)?;
    let route = resolve(directory, override_name)?;
    refuse_stateless(directory, stored, &route)?;
    Ok(route)
}

/// The harness that an interrupted turn was recorded on.
pub(super) fn resolve_recorded(directory: &dyn HarnessDirectory, recorded: &str) -> Result<Route, HostError> {
    resolve(directory, recorded).map_err(|error| match error {
        HostError::UnknownHarness(name) => HostError::RecordedHarnessNotServed(name),
        other => other,
    })
}

/// A session whose harness lives in memory is not run by one that replays.
pub(super) fn refuse_stateless(directory: &dyn HarnessDirectory, stored: &str, route: &Route) -> Result<(), HostError> {
    if directory.find(stored).is_some_and(|found| keeps_memory(&found)) && !keeps_memory(&route.harness) {
        return Err(HostError::HarnessStateless(route.name.clone()));
    }
    Ok(())
}

/// The harness served under `name`, unless it is isolated or contested.
pub(super) fn resolve(directory: &dyn HarnessDirectory, name: &str) -> Result<Route, HostError> {
    let harness = directory.find(name).ok_or_else(|| HostError::UnknownHarness(name.into()))?;
    if let HarnessSource::Registered(Registered::Isolated(reason)) = &harness.source {
        return Err(HostError::HarnessIsolated { name: name.into(), reason: reason.clone() });
    }
    refuse_contested(name, &harness)?;
    Ok(Route { name: name.into(), harness })
}

/// Nobody can say which harness a name means that is both configured and registered.
fn refuse_contested(name: &str, harness: &ServedHarness) -> Result<(), HostError> {
    if harness.source == HarnessSource::Contested { Err(HostError::HarnessCollision(name.into())) } else { Ok(()) }
}

/// A turn may leave its session's harness only between static ones.
pub(super) fn refuse_pinned(directory: &dyn HarnessDirectory, stored: &str, requested: &str) -> Result<(), HostError> {
    let registered =
        |name: &str| directory.find(name).is_some_and(|found| matches!(found.source, HarnessSource::Registered(_)));
    if registered(stored) || registered(requested) {
        return Err(HostError::HarnessPinned { stored: stored.into(), requested: requested.into() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
