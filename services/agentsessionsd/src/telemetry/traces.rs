//! Spans on their way to a collector, over OTLP. They carry sessions, executions and nodes, and nothing of what is in sessions.

use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry::{KeyValue, global};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use thiserror::Error;
use tracing::Subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::Filter;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, filter::FilterExt};

use crate::config::TelemetryConfig;

/// The name that the spans of a node have in a trace store.
const SERVICE: &str = "agentsessionsd";
/// Where the spans come from that are exported. Libraries have some, too, which are about connections rather than sessions.
const OWN: [&str; 4] = ["agentsessions", "journal", "node", "store"];
/// What the standard environment calls the endpoint.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
/// How long what was not exported yet may take when the process ends.
const FLUSH_BOUND: Duration = Duration::from_secs(1);

/// Traces cannot be exported.
#[derive(Debug, Error)]
#[error("traces cannot be exported: {0}")]
pub struct InvalidExporter(#[from] ExporterBuildError);

/// The export of spans, if there is any.
pub(super) struct Exporter(Option<SdkTracerProvider>);

impl Exporter {
    /// Begins to export to the endpoint of `config`, or else of the environment. Must be called in a tokio runtime.
    pub(super) fn start(config: &TelemetryConfig) -> Result<Self, InvalidExporter> {
        let endpoint = config.otlp_endpoint.get();
        let of_environment = ENDPOINTS.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        if endpoint.is_none() && !of_environment {
            return Ok(Self(None));
        }
        let exporter = SpanExporter::builder().with_tonic();
        let exporter = match endpoint {
            Some(endpoint) => exporter.with_endpoint(endpoint),
            None => exporter,
        };
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter.build()?).with_resource(resource()).build();
        global::set_text_map_propagator(TraceContextPropagator::new());
        Ok(Self(Some(provider)))
    }

    /// What gives the exporter its spans.
    pub(super) fn layer<S>(&self) -> Option<impl Layer<S>>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let tracer: SdkTracer = self.0.as_ref()?.tracer(SERVICE);
        let spans = tracing_opentelemetry::layer().with_tracer(tracer);
        let spans = spans.with_location(false).with_threads(false).with_target(false).with_level(false);
        Some(spans.with_filter(own_spans()))
    }

    /// Exports what waits, and ends. Blocks for a second at most.
    pub(super) fn stop(&self) {
        if let Some(provider) = &self.0
            && let Err(error) = provider.shutdown_with_timeout(FLUSH_BOUND)
        {
            tracing::warn!(%error, "the last spans were not exported");
        }
    }
}

/// Lets the node's own spans through. Log lines are not part of traces.
fn own_spans<S>() -> impl Filter<S> {
    let own: Targets = OWN.iter().map(|target| (*target, LevelFilter::INFO)).collect();
    FilterExt::and(own, filter_fn(|metadata| metadata.is_span()))
}

/// Which node it is. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` are heeded, too.
fn resource() -> Resource {
    let mut attributes = vec![KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))];
    if let Ok(host) = rustix::system::uname().nodename().to_str() {
        attributes.push(KeyValue::new("service.instance.id", format!("{host}/{}", std::process::id())));
    }
    let builder = Resource::builder().with_attributes(attributes);
    let named = std::env::var_os("OTEL_SERVICE_NAME").is_some_and(|name| !name.is_empty());
    if named { builder.build() } else { builder.with_service_name(SERVICE).build() }
}
