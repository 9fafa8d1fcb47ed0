//! The caller's deadline, read once from `grpc-timeout`.

use std::time::Duration;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use tokio::time::Instant;
use tonic::Status;

/// When the caller stops waiting; none if it set no bound.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deadline(pub(crate) Option<Instant>);

/// Tells the handler the deadline. The handler keeps it, not this layer: a turn that runs out of time still has to
/// record so, and cutting its future short would prevent that.
pub(crate) async fn read(mut request: Request, next: Next) -> Response {
    let timeout = match request.headers().get("grpc-timeout").map(parse) {
        None => None,
        Some(Some(timeout)) => Some(timeout),
        Some(None) => return Status::invalid_argument("grpc-timeout is malformed").into_http(),
    };
    // A deadline beyond the clock's range is none.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    request.extensions_mut().insert(Deadline(deadline));
    next.run(request).await
}

/// `TimeoutValue TimeoutUnit` of the gRPC protocol: up to 8 digits, then one letter.
fn parse(value: &HeaderValue) -> Option<Duration> {
    let (unit, digits) = value.as_bytes().split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(count * 3600)),
        b'M' => Some(Duration::from_secs(count * 60)),
        b'S' => Some(Duration::from_secs(count)),
        b'm' => Some(Duration::from_millis(count)),
        b'u' => Some(Duration::from_micros(count)),
        b'n' => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &'static str) -> Option<Duration> {
        parse(&HeaderValue::from_static(text))
    }

    #[test]
    fn every_unit_of_the_protocol_is_understood() {
        assert_eq!(parsed("1H"), Some(Duration::from_secs(3600)));
        assert_eq!(parsed("2M"), Some(Duration::from_secs(120)));
        assert_eq!(parsed("30S"), Some(Duration::from_secs(30)));
        assert_eq!(parsed("250m"), Some(Duration::from_millis(250)));
        assert_eq!(parsed("7u"), Some(Duration::from_micros(7)));
        assert_eq!(parsed("0n"), Some(Duration::ZERO));
        assert_eq!(parsed("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
    }

    #[test]
    fn a_malformed_timeout_is_refused_rather_than_ignored() {
        for bad in ["", "S", "1", "1s", "1.5S", "-1S", "+1S", "123456789S", " 1S"] {
            assert_eq!(parsed(bad), None, "{bad:?}");
        }
    }
}
