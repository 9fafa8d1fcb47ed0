//! May this harness run here now? (execution.md §2.3)

use wire::{HarnessDescriptor, History, Resumability};

use super::HostError;
use super::compute::{Standing, acquire};
use super::context::Bounds;
use super::routing::Route;
use crate::agents::plain;
use crate::metrics::METRICS;
use crate::ports::{DESCRIBE_TIMEOUT, DescribeError, HarnessChannel};

/// A harness that described itself as it should, over the channel that its turn will use.
pub(super) struct Admitted {
    pub(super) channel: Box<dyn HarnessChannel>,
    /// What it says of itself that a turn needs; what it offers is large, and its turn may be long.
    pub(super) version: String,
    pub(super) resumability: Resumability,
    /// It takes no turns but invocations.
    pub(super) only_invocations: bool,
    /// The compute has the memory of the session.
    remembers: bool,
}

/// Acquires the session's compute, asks the harness in it what it is, and checks the answer. Touches neither journal nor
/// fence.
pub(super) async fn admit(route: &Route, standing: &Standing, bounds: &Bounds) -> Result<Admitted, HostError> {
    let acquired = in_time(route, bounds, async {
        let mut compute = acquire(&*route.harness.runtime, standing).await?;
        let descriptor = compute.channel.describe().await?;
        Ok((compute, descriptor))
    });
    let (compute, descriptor) = acquired.await?;
    check(route, &descriptor)?;
    Ok(Admitted {
        channel: plain::translated(&descriptor, compute.channel),
        resumability: resumability(&descriptor),
        only_invocations: descriptor.only_invocations,
        version: descriptor.version,
        remembers: compute.remembers,
    })
}

/// What [`admit`] checks, of a harness that is not to run now.
pub(super) async fn describe(route: &Route, bounds: &Bounds) -> Result<HarnessDescriptor, HostError> {
    let descriptor = ask(route, bounds).await?;
    check(route, &descriptor)?;
    Ok(descriptor)
}

/// Asks a harness what it is, and takes its word for it.
pub(super) async fn ask(route: &Route, bounds: &Bounds) -> Result<HarnessDescriptor, HostError> {
    in_time(route, bounds, route.harness.describe()).await
}

impl Admitted {
    /// What the harness is told of the session: nothing if it remembers it (invariant I4).
    pub(super) fn history(&self, log: History) -> History {
        let memory = self.resumability == Resumability::RequiresMemorySnapshot;
        if memory && self.remembers { History::default() } else { log }
    }
}

async fn in_time<T>(
    route: &Route,
    bounds: &Bounds,
    describe: impl Future<Output = Result<T, DescribeError>>,
) -> Result<T, HostError> {
    bounds.check()?;
    let described = bounds.or_interrupted(tokio::time::timeout(DESCRIBE_TIMEOUT, describe)).await?;
    let name = || route.name.clone();
    if !matches!(described, Ok(Ok(_))) {
        METRICS.not_described(described.as_ref().ok().and_then(|refused| refused.as_ref().err()));
    }
    match described {
        Ok(Ok(described)) => Ok(described),
        Ok(Err(DescribeError::Unavailable(error))) => {
            Err(HostError::HarnessUnavailable { name: name(), reason: error.0 })
        }
        Ok(Err(DescribeError::Refused(reason))) => Err(HostError::DescribeRefused { name: name(), reason }),
        Ok(Err(DescribeError::Runtime(failure))) => Err(failure.into()),
        Err(_elapsed) => {
            let reason = format!("no answer to Describe within {} s", DESCRIBE_TIMEOUT.as_secs());
            Err(HostError::HarnessUnavailable { name: name(), reason })
        }
    }
}

/// The descriptor's id is checked before its capabilities.
fn check(route: &Route, descriptor: &HarnessDescriptor) -> Result<(), HostError> {
    let expected = &route.harness.descriptor_id;
    if !expected.is_empty() && *expected != descriptor.id {
        return Err(HostError::DescriptorMismatch {
            name: route.name.clone(),
            served: descriptor.id.clone(),
            expected: expected.clone(),
        });
    }
    let keeps_memory = route.harness.runtime.capabilities().memory_snapshot;
    if resumability(descriptor) == Resumability::RequiresMemorySnapshot && !keeps_memory {
        return Err(HostError::Unplaceable(route.name.clone()));
    }
    let configured = route.harness.resumability;
    if keeps_memory && configured != Resumability::Unspecified && configured != resumability(descriptor) {
        // Routing goes by what is configured and a turn by what is described: half of each set of rules would hold.
        return Err(HostError::ResumabilityMismatch(route.name.clone()));
    }
    Ok(())
}

/// What a descriptor says about resumption; unspecified reads as stateless.
pub(super) fn resumability(descriptor: &HarnessDescriptor) -> Resumability {
    match descriptor.capabilities.as_ref().map(wire::Capabilities::resumability) {
        Some(Resumability::RequiresMemorySnapshot) => Resumability::RequiresMemorySnapshot,
        _ => Resumability::StatelessReplay,
    }
}
