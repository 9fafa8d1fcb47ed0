//! Descriptors of the built-in harnesses.

use wire::{Capabilities, HarnessDescriptor, Resumability};

/// Version 1 of a harness that calls `model` and is resumed by replaying its turn.
pub(crate) fn stateless(id: &str, model: &str) -> HarnessDescriptor {
    HarnessDescriptor {
        models: vec![model.to_owned()],
        capabilities: Some(Capabilities { fork_safe: true, ..resumed_by(Resumability::StatelessReplay) }),
        ..version_one(id)
    }
}

/// Version 1 of a harness whose state is its memory.
pub(crate) fn memory(id: &str) -> HarnessDescriptor {
    HarnessDescriptor { capabilities: Some(resumed_by(Resumability::RequiresMemorySnapshot)), ..version_one(id) }
}

fn version_one(id: &str) -> HarnessDescriptor {
    HarnessDescriptor { id: id.to_owned(), version: "1".to_owned(), ..HarnessDescriptor::default() }
}

fn resumed_by(resumability: Resumability) -> Capabilities {
    Capabilities { resumability: resumability.into(), ..Capabilities::default() }
}
