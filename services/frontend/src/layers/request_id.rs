//! The id that correlates the logs of client, host and harness (wire.md, `x-request-id`).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use env::Env;
use http::{HeaderName, HeaderValue};

/// The metadata key, in requests and in responses.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

const MAX_LENGTH: usize = 128;

/// The id of one call: the caller's if it is well formed, else a random one. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestId(Arc<str>);

impl RequestId {
    fn accept(value: &HeaderValue) -> Option<Self> {
        let text = value.to_str().ok()?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let fits = (1..=MAX_LENGTH).contains(&text.len());
        (fits && text.bytes().all(allowed)).then(|| Self(text.into()))
    }

    fn mint(env: &Env) -> Self {
        Self(env::request_id(env).into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Gives the call its id and the caller the id back.
pub(crate) async fn keep_or_mint(State(env): State<Env>, mut request: Request, next: Next) -> Response {
    let sent = request.headers().get(HEADER).and_then(RequestId::accept);
    let id = sent.unwrap_or_else(|| RequestId::mint(&env));
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(value: &[u8]) -> bool {
        RequestId::accept(&HeaderValue::from_bytes(value).unwrap()).is_some()
    }

    #[test]
    fn a_value_of_1_to_128_allowed_characters_is_kept() {
        assert!(accepts(b"a"));
        assert!(accepts(b"Az09-_."));
        assert!(accepts(&[b'x'; 128]));
    }

    #[test]
    fn anything_else_is_replaced() {
        for bad in [&b""[..], &[b'x'; 129], b"a b", b"a/b", b"a,b", b"\xc3\xa9", b"a\tb"] {
            assert!(!accepts(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_minted_id_has_24_lowercase_hex_digits_and_would_be_kept() {
        let id = RequestId::mint(&Env::system());
        assert_eq!(id.as_str().len(), 24);
        assert!(id.as_str().bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
        assert!(accepts(id.as_str().as_bytes()));
    }
}
