//! Traces that go on from a caller and to whoever is called (W3C Trace Context). Without an exporter nothing here does anything.

use std::collections::HashMap;

use opentelemetry::global;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The header, or the metadata key, that carries a trace.
pub const TRACEPARENT: &str = "traceparent";

/// What tells whoever is called now which span it belongs to; `None` if it belongs to none that is exported.
#[must_use]
pub fn traceparent() -> Option<String> {
    let mut carrier = HashMap::new();
    let context = Span::current().context();
    global::get_text_map_propagator(|propagator| propagator.inject_context(&context, &mut carrier));
    carrier.remove(TRACEPARENT)
}

/// Makes `span`, which has just been created, part of the trace of a caller. What is not a `traceparent` begins a trace of
/// its own.
pub fn continue_trace(span: &Span, traceparent: &str) {
    let carrier = HashMap::from([(TRACEPARENT.to_owned(), traceparent.to_owned())]);
    let parent = global::get_text_map_propagator(|propagator| propagator.extract(&carrier));
    // Refused only for a span that is not exported.
    let _ = span.set_parent(parent);
}
