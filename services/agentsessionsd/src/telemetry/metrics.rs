//! Everything that a node measures, in the text format of Prometheus.

use std::fmt;

use controller::Host;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, prometheus_text};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tokio_util::sync::CancellationToken;

use crate::coordination::Coordination;
use crate::local_journal::LocalJournal;

/// The type of [`Metrics::render`]'s text.
pub(super) const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// What a node measures.
pub(crate) struct Metrics {
    registry: Registry,
}

impl Metrics {
    /// The metrics of a node that drains once `draining` fires.
    pub(crate) fn of(
        host: Host,
        journal: &LocalJournal,
        coordination: &Coordination,
        draining: CancellationToken,
    ) -> Self {
        let mut registry = Registry::default();
        #[cfg(target_os = "linux")]
        registry.register_collector(Box::new(super::process::ProcessCollector));
        let own = registry.sub_registry_with_prefix("agentsessions");
        own.register("build", "The program", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        own.register_collector(Box::new(NodeCollector { host, draining }));
        frontend::metrics::register(own);
        controller::metrics::register(own);
        journal::metrics::register(own);
        store::metrics::register(own);
        journal.register_metrics(own);
        coordination.register_metrics(own);
        Self { registry }
    }

    /// The values of this moment.
    pub(super) fn render(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Name, help and unit.
pub(crate) type Described<'a> = (&'a str, &'a str, Option<&'a Unit>);

/// Writes a value that was looked up just now.
pub(crate) fn write(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, unit): Described<'_>,
    value: &impl EncodeMetric,
) -> fmt::Result {
    value.encode(encoder.encode_descriptor(name, help, unit, value.metric_type())?)
}

/// What is looked up when somebody asks.
struct NodeCollector {
    host: Host,
    draining: CancellationToken,
}

impl Collector for NodeCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let draining = ConstGauge::new(u64::from(self.draining.is_cancelled()));
        let help = "1 while the node refuses new calls because it stops, else 0";
        write(&mut encoder, ("draining", help, None), &draining)?;
        let kept = ConstGauge::new(self.host.history_cache_bytes());
        let help = "Memory that logs kept between turns take, about";
        write(&mut encoder, ("history_cache", help, Some(&Unit::Bytes)), &kept)
    }
}

impl fmt::Debug for NodeCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeCollector").finish_non_exhaustive()
    }
}
