//! The codes of requests that no handler ever saw.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use tonic::{Code, Status};

use crate::layers::call_log::CallFacts;

/// Blames the request, not the host, for a message that cannot be read. tonic answers INTERNAL for undecodable bytes
/// and OUT_OF_RANGE for a message over the limit; clients retry or report those as faults of the server.
pub(crate) async fn blame(request: Request, next: Next) -> Response {
    let facts = request.extensions().get::<CallFacts>().cloned().unwrap_or_default();
    let response = next.run(request).await;
    if facts.entered() {
        return response;
    }
    match Status::from_header_map(response.headers()).and_then(|status| reworded(&status)) {
        Some(status) => status.into_http(),
        None => response,
    }
}

fn reworded(status: &Status) -> Option<Status> {
    match status.code() {
        Code::Internal => Some(Status::invalid_argument(format!("request cannot be decoded: {}", status.message()))),
        Code::OutOfRange => Some(Status::resource_exhausted(status.message())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_codes_of_unreadable_messages_are_reworded() {
        let code = |status: Status| reworded(&status).map(|status| status.code());
        assert_eq!(code(Status::internal("bad tag")), Some(Code::InvalidArgument));
        assert_eq!(code(Status::out_of_range("too large")), Some(Code::ResourceExhausted));
        assert_eq!(code(Status::unimplemented("no such rpc")), None);
        assert_eq!(code(Status::unavailable("draining")), None);
    }
}
