//! May this harness run here now? (execution.md §2.3)

use wire::{HarnessDescriptor, Resumability};

use super::HostError;
use super::context::Bounds;
use super::routing::Route;
use crate::ports::{DESCRIBE_TIMEOUT, DescribeError, HarnessChannel};

/// A harness that described itself as it should, over the channel that its turn will use.
pub(super) struct Admitted {
    pub(super) channel: Box<dyn HarnessChannel>,
    pub(super) descriptor: HarnessDescriptor,
}

/// Acquires the harness's placement, describes it and checks the answer. Touches neither journal nor fence.
pub(super) async fn admit(route: &Route, bounds: &Bounds) -> Result<Admitted, HostError> {
    bounds.check()?;
    let describe = tokio::time::timeout(DESCRIBE_TIMEOUT, route.harness.describe());
    let described = bounds.or_interrupted(describe).await?;
    let name = || route.name.clone();
    let (channel, descriptor) = match described {
        Ok(Ok(described)) => described,
        Ok(Err(DescribeError::Unavailable(error))) => {
            return Err(HostError::HarnessUnavailable { name: name(), reason: error.0 });
        }
        Ok(Err(DescribeError::Refused(reason))) => return Err(HostError::DescribeRefused { name: name(), reason }),
        Err(_elapsed) => {
            let reason = format!("no answer to Describe within {} s", DESCRIBE_TIMEOUT.as_secs());
            return Err(HostError::HarnessUnavailable { name: name(), reason });
        }
    };
    check(route, &descriptor)?;
    Ok(Admitted { channel, descriptor })
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
    // Neither the in-process nor the remote placement keeps a memory snapshot.
    if resumability(descriptor) == Resumability::RequiresMemorySnapshot {
        return Err(HostError::Unplaceable(route.name.clone()));
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
