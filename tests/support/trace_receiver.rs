//! A collector that keeps the spans it is sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, sleep};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use crate::BOUND;

/// A running collector; stopped when dropped.
pub struct TraceReceiver {
    address: String,
    received: Received,
    server: JoinHandle<()>,
}

/// A span as it arrived.
#[derive(Clone, Debug)]
pub struct ReceivedSpan {
    /// Its name.
    pub name: String,
    /// Hexadecimal, as are the other ids.
    pub trace_id: String,
    /// Its own id.
    pub span_id: String,
    /// Empty for the first span of a trace.
    pub parent_span_id: String,
    /// Its attributes, as text.
    pub attributes: BTreeMap<String, String>,
    /// Those of the process that it comes from.
    pub resource: BTreeMap<String, String>,
}

#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

impl TraceReceiver {
    /// Receives on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address").to_string();
        let received = Received::default();
        let service = TraceServiceServer::new(received.clone());
        #[allow(clippy::disallowed_methods, reason = "a test has no task registry")]
        let server = tokio::spawn(async move {
            let served = Server::builder().add_service(service).serve_with_incoming(TcpListenerStream::new(listener));
            served.await.expect("the collector serves");
        });
        Self { address, received, server }
    }

    /// Where spans are to be sent.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was received, as text, to look for what must not be in it.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{:?}", self.received.all())
    }

    /// Waits for spans among which `enough` finds what it looks for.
    pub async fn until<T>(&self, enough: impl Fn(&[ReceivedSpan]) -> Option<T>) -> T {
        let deadline = Instant::now() + BOUND;
        loop {
            let spans = self.received.spans();
            if let Some(found) = enough(&spans) {
                return found;
            }
            assert!(Instant::now() < deadline, "not within {BOUND:?}: {spans:#?}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for TraceReceiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Received {
    fn all(&self) -> Vec<ExportTraceServiceRequest> {
        self.0.lock().expect("no test panics while it holds this").clone()
    }

    fn spans(&self) -> Vec<ReceivedSpan> {
        let of_process = |spans: opentelemetry_proto::tonic::trace::v1::ResourceSpans| {
            let resource = texts(spans.resource.unwrap_or_default().attributes);
            let spans = spans.scope_spans.into_iter().flat_map(|scope| scope.spans);
            spans.map(move |span| ReceivedSpan {
                name: span.name,
                trace_id: hex::encode(span.trace_id),
                span_id: hex::encode(span.span_id),
                parent_span_id: hex::encode(span.parent_span_id),
                attributes: texts(span.attributes),
                resource: resource.clone(),
            })
        };
        self.all().into_iter().flat_map(|request| request.resource_spans).flat_map(of_process).collect()
    }
}

#[tonic::async_trait]
impl TraceService for Received {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.lock().expect("no test panics while it holds this").push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

fn texts(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value: AnyValue| match value.value {
        Some(Value::StringValue(text)) => text,
        other => format!("{other:?}"),
    };
    attributes.into_iter().map(|pair| (pair.key, pair.value.map(text).unwrap_or_default())).collect()
}
