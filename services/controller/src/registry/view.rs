//! Harnesses as answers carry them (registry.md §3.5).

use journal::Registration;
use wire::protobuf::Timestamp;
use wire::{HarnessRegistration, HarnessSource, HarnessState, ResourceMetadata};

use super::spec::CheckedSpec;

/// A harness of this host's own configuration.
pub(super) fn configured(name: &str) -> HarnessRegistration {
    HarnessRegistration {
        metadata: Some(ResourceMetadata { name: name.to_owned(), ..ResourceMetadata::default() }),
        state: HarnessState::Active.into(),
        source: HarnessSource::Static.into(),
        ..HarnessRegistration::default()
    }
}

/// A registered harness, and why this host cannot serve it, if so.
pub(super) fn registered(registration: &Registration, unservable: Option<String>) -> HarnessRegistration {
    let spec = CheckedSpec::of_registration(&registration.spec, &registration.spec_digest).ok();
    let state = if registration.retired.is_some() { HarnessState::Retired } else { HarnessState::Active };
    let retired = registration.retired.as_ref();
    HarnessRegistration {
        metadata: Some(ResourceMetadata {
            name: registration.name.clone(),
            uid: registration.uid.clone(),
            create_time: Some(Timestamp::from_unix_nanos(registration.create_time)),
            update_time: Some(Timestamp::from_unix_nanos(registration.update_time)),
            ..ResourceMetadata::default()
        }),
        spec: spec.map(|checked| checked.spec),
        spec_digest: registration.spec_digest.clone(),
        state: state.into(),
        source: HarnessSource::Registered.into(),
        retire_time: retired.map(|retired| Timestamp::from_unix_nanos(retired.time)),
        retire_reason: retired.map(|retired| retired.reason.clone()).unwrap_or_default(),
        unservable_reason: unservable.unwrap_or_default(),
        ..HarnessRegistration::default()
    }
}
