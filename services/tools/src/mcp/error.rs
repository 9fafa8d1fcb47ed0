//! What went wrong, without what the server said about it.

use egress::Failure;
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::call::CallError;

/// Why a server did not start.
pub(super) fn of_start(error: &ClientInitializeError) -> CallError {
    match error {
        ClientInitializeError::TransportError { error, .. } => of_transport(error),
        ClientInitializeError::ConnectionClosed(_) => CallError::NotStarted("it ended before the handshake".into()),
        ClientInitializeError::JsonRpcError(error) => CallError::Refused(error.code.0),
        _ => CallError::NotStarted("it does not speak MCP as expected".into()),
    }
}

/// Why a call has no result.
pub(super) fn of_call(error: &ServiceError) -> CallError {
    match error {
        ServiceError::McpError(error) => CallError::Refused(error.code.0),
        ServiceError::TransportSend(error) => of_transport(error),
        ServiceError::UnexpectedResponse => CallError::NotAResult("it answers another request"),
        _ => CallError::Ended,
    }
}

fn of_transport(error: &DynamicTransportError) -> CallError {
    match error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(error)) => of_http(error),
        Some(StreamableHttpError::HttpStatus(error)) => CallError::Status(error.status),
        Some(StreamableHttpError::AuthRequired(_)) => CallError::Status(401),
        Some(StreamableHttpError::InsufficientScope(_)) => CallError::Status(403),
        Some(StreamableHttpError::SessionExpired) => CallError::Status(404),
        Some(StreamableHttpError::ResponseBodyTooLarge { max_size }) => CallError::TooLong(*max_size),
        Some(StreamableHttpError::UnexpectedServerResponse(text)) => {
            status_in(text).map_or(CallError::NotAResult("it is not JSON-RPC"), CallError::Status)
        }
        Some(StreamableHttpError::UnexpectedContentType(_)) => CallError::NotAResult("it is of another type"),
        _ => CallError::Ended,
    }
}

/// The library tells some statuses only in words, as `HTTP 403 Forbidden: ` and the body.
fn status_in(text: &str) -> Option<u16> {
    text.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
}

fn of_http(error: &reqwest::Error) -> CallError {
    match error.status() {
        Some(status) => CallError::Status(status.as_u16()),
        None => Failure::from(error).into(),
    }
}
