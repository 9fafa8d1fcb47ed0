//! What a node tells those who watch it: log lines on standard error, as text or as JSON, and metrics.

mod listener;
mod metrics;
#[cfg(target_os = "linux")]
mod process;

use std::io::IsTerminal;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub(crate) use listener::start as start_listener;
pub(crate) use metrics::{Metrics, write};

use crate::config::{LogConfig, LogFormat};

/// Starts logging. A second call in one process changes nothing.
pub fn init(config: &LogConfig) {
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
    // The MCP library quotes whole messages in lines below this level, and payloads are never logged.
    let filter = config.filter.targets().with_target("rmcp", LevelFilter::ERROR);
    // The NATS client has a line for every attempt to connect; the node says what matters of them.
    let filter = filter.with_target("async_nats", LevelFilter::OFF);
    // Fails only if a subscriber is already there: that of a test or of a program that embeds a node.
    let _ = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
}
