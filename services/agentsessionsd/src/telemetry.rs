//! What a node tells those who watch it: log lines on standard error, as text or as JSON, metrics, and traces.

mod listener;
mod metrics;
#[cfg(target_os = "linux")]
mod process;
mod traces;

use std::io::IsTerminal;

use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

pub(crate) use listener::start as start_listener;
pub(crate) use metrics::{Metrics, write};

use crate::config::{Config, LogConfig, LogFormat};
use traces::Exporter;

pub use traces::InvalidExporter;

/// Log lines and traces of a process, until [`stop`](Self::stop).
pub struct Telemetry {
    exporter: Exporter,
}

impl Telemetry {
    /// Starts logging, and the export of traces if there is to be any. Must be called in a tokio runtime. A second call in
    /// one process changes nothing.
    ///
    /// # Errors
    /// [`InvalidExporter`].
    pub fn start(config: &Config) -> Result<Self, InvalidExporter> {
        let exporter = Exporter::start(&config.telemetry)?;
        // Fails only if a subscriber is already there: that of a test or of a program that embeds a node.
        let _ = tracing_subscriber::registry().with(lines(&config.log)).with(exporter.layer()).try_init();
        Ok(Self { exporter })
    }

    /// Exports the last spans. Blocks for a second at most.
    pub fn stop(self) {
        self.exporter.stop();
    }
}

/// Starts logging, and nothing else. A second call in one process changes nothing.
pub fn init(config: &LogConfig) {
    // As in `Telemetry::start`.
    let _ = tracing_subscriber::registry().with(lines(config)).try_init();
}

fn lines<S>(config: &LogConfig) -> impl Layer<S>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    let json = match config.format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !std::io::stderr().is_terminal(),
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = if json {
        lines.json().flatten_event(true).with_span_list(false).boxed()
    } else {
        lines.with_ansi(std::io::stderr().is_terminal()).boxed()
    };
    // These libraries quote whole messages in lines below this level, and payloads are never logged.
    let filter = config.filter.targets().with_target("rmcp", LevelFilter::ERROR);
    let filter = filter.with_target("tungstenite", LevelFilter::ERROR);
    // The NATS client has a line for every attempt to connect; the node says what matters of them.
    let filter = filter.with_target("async_nats", LevelFilter::OFF);
    lines.with_filter(filter)
}
