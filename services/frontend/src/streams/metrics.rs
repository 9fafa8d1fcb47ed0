//! What operators see of stream sessions.

use std::sync::LazyLock;
use std::time::Duration;

use env::{Counters, begin_at_zero, short_durations};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use stream_session::ErrorCode;
use stream_session::server::Cut;

pub(super) static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

const DIRECTIONS: [&str; 2] = ["in", "out"];
const CUTS: [Cut; 3] = [Cut::TooLarge, Cut::Protocol, Cut::Failed];

pub(super) struct Metrics {
    /// Connections that are WebSockets.
    pub(super) connections: Gauge,
    /// Those with a session.
    pub(super) attached: Gauge,
    messages: Counters<1>,
    bytes: Counters<1>,
    refusals: Counters<1>,
    cuts: Counters<1>,
    /// Connections whose clients were silent for too long.
    pub(super) silent: Counter,
    /// Connections given up because an agent took nothing of what its client had sent.
    pub(super) unread: Counter,
    output_delay: Histogram,
}

/// Adds what is measured of stream sessions to `registry`.
pub fn register(registry: &mut Registry) {
    let metrics = &*METRICS;
    let registry = registry.sub_registry_with_prefix("streams");
    registry.register("connections", "Connections of clients that invoke agents", metrics.connections.clone());
    registry.register("attached", "Connections that are attached to a session", metrics.attached.clone());
    registry.register("messages", "Messages by direction", metrics.messages.clone());
    let help = "Size of messages by direction";
    registry.register_with_unit("messages", help, Unit::Bytes, metrics.bytes.clone());
    registry.register("refusals", "What was refused, by the protocol's error code", metrics.refusals.clone());
    registry.register("cuts", "Connections that could not go on, by reason", metrics.cuts.clone());
    registry.register("silent", "Connections given up because nothing was heard", metrics.silent.clone());
    let help = "Connections given up because the agent did not take its input";
    registry.register("unread", help, metrics.unread.clone());
    let help = "Time from news of an output to its being handed to the connection";
    registry.register_with_unit("output_delay", help, Unit::Seconds, metrics.output_delay.clone());
}

impl Metrics {
    fn new() -> Self {
        let metrics = Self {
            connections: Gauge::default(),
            attached: Gauge::default(),
            messages: Counters::default(),
            bytes: Counters::default(),
            refusals: Counters::default(),
            cuts: Counters::default(),
            silent: Counter::default(),
            unread: Counter::default(),
            output_delay: short_durations(),
        };
        begin_at_zero(&metrics.messages, "direction", DIRECTIONS);
        begin_at_zero(&metrics.bytes, "direction", DIRECTIONS);
        begin_at_zero(&metrics.refusals, "code", ErrorCode::ALL.iter().map(|code| code.as_str()));
        begin_at_zero(&metrics.cuts, "reason", CUTS.map(reason));
        metrics
    }

    pub(super) fn received(&self, bytes: usize) {
        self.message("in", bytes);
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.message("out", bytes);
    }

    fn message(&self, direction: &'static str, bytes: usize) {
        self.messages.get_or_create(&[("direction", direction)]).inc();
        self.bytes.get_or_create(&[("direction", direction)]).inc_by(bytes as u64);
    }

    pub(super) fn refused(&self, code: ErrorCode) {
        self.refusals.get_or_create(&[("code", code.as_str())]).inc();
    }

    pub(super) fn cut(&self, cut: Cut) {
        self.cuts.get_or_create(&[("reason", reason(cut))]).inc();
    }

    pub(super) fn output_delay(&self, delay: Duration) {
        self.output_delay.observe(delay.as_secs_f64());
    }
}

fn reason(cut: Cut) -> &'static str {
    match cut {
        Cut::TooLarge => "too-large",
        Cut::Protocol => "protocol",
        Cut::Failed => "failed",
    }
}
