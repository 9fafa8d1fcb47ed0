//! What operators see of calls.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use env::{Durations, durations, observe};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use prost::Message;
use prost_types::FileDescriptorSet;
use tonic::Code;
use wire::{harness_registry_server, sessions_server};

pub(crate) static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

/// The methods of the services that are served. A caller may ask for any other, which must not become a label.
static METHODS: LazyLock<BTreeSet<String>> = LazyLock::new(served_methods);

/// What a caller asked for that is no method.
const UNKNOWN_METHOD: &str = "unknown";

pub(crate) struct Metrics {
    calls: Family<CallLabels, Counter>,
    duration: Durations,
    /// Admitted calls that have not ended.
    pub(crate) live: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    method: &'static str,
    code: String,
}

/// Adds what this crate measures to `registry`.
pub fn register(registry: &mut Registry) {
    let metrics = &*METRICS;
    registry.register(
        "calls",
        "Calls by method and gRPC code, those that were refused included",
        metrics.calls.clone(),
    );
    registry.register_with_unit(
        "call_duration",
        "Time from a call to the end of its answer; that of Exec is a whole turn",
        Unit::Seconds,
        metrics.duration.clone(),
    );
    registry.register("calls_live", "Calls under way", metrics.live.clone());
    crate::streams::metrics::register(registry);
}

impl Metrics {
    fn new() -> Self {
        let metrics = Self { calls: Family::default(), duration: durations(), live: Gauge::default() };
        for method in METHODS.iter() {
            drop(metrics.calls.get_or_create(&CallLabels::new(method, Code::Ok)));
            drop(metrics.duration.get_or_create(&[("method", method)]));
        }
        metrics
    }

    /// Counts a call of `method`, as the caller named it.
    pub(crate) fn call_ended(&self, method: &str, code: Code, elapsed: Duration) {
        let method = METHODS.get(method).map_or(UNKNOWN_METHOD, String::as_str);
        self.calls.get_or_create(&CallLabels::new(method, code)).inc();
        observe(&self.duration, &[("method", method)], elapsed);
    }
}

impl CallLabels {
    fn new(method: &'static str, code: Code) -> Self {
        Self { method, code: format!("{code:?}") }
    }
}

fn served_methods() -> BTreeSet<String> {
    let descriptors = FileDescriptorSet::decode(wire::FILE_DESCRIPTOR_SET).unwrap_or_default();
    let services = descriptors.file.into_iter().flat_map(|file| {
        let package = file.package().to_owned();
        file.service.into_iter().map(move |service| (format!("{package}.{}", service.name()), service))
    });
    let served = [sessions_server::SERVICE_NAME, harness_registry_server::SERVICE_NAME];
    services
        .filter(|(name, _)| served.contains(&name.as_str()))
        .flat_map(|(_, service)| service.method)
        .filter_map(|method| method.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_methods_are_those_of_the_services_that_are_served() {
        for method in ["Exec", "Replay", "RegisterHarness"] {
            assert!(METHODS.contains(method), "{method} not in {METHODS:?}");
        }
        for other in ["Connect", "Describe", ""] {
            assert!(!METHODS.contains(other), "{other}");
        }
    }
}
