//! What operators see of the client. What becomes of transactions is counted for all engines alike.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;

use super::Shared;
use crate::watches::MAX_WATCHES;

/// Asks the client when somebody asks for the metrics of the process.
pub(super) struct ClientCollector(pub(super) Arc<Shared>);

impl Collector for ClientCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // The client knows at once.
        let busyness = self.0.database.get_main_thread_busyness().now_or_never().and_then(Result::ok);
        let watches = MAX_WATCHES - self.0.watches.available_permits();
        let gauges = [
            (
                "store_client_busyness",
                "How busy the client's thread is: 0 idle, 1 saturated",
                busyness.unwrap_or_default(),
            ),
            ("store_watches", "Watches that have not fired", watches as f64),
        ];
        for (name, help, value) in gauges {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

impl fmt::Debug for ClientCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCollector").finish_non_exhaustive()
    }
}
