//! What an endpoint is sent.

use journal::SessionUid;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use wire::ToolCall;
use wire::protobuf::Struct;

use crate::call::CallError;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const SESSION: HeaderName = HeaderName::from_static("x-session");

#[derive(Serialize)]
struct Request<'a> {
    session: &'a str,
    idempotency_key: &'a str,
    id: &'a str,
    tool: &'a str,
    args: &'a Struct,
}

pub(super) fn body(session: &SessionUid, call: &ToolCall) -> Result<Vec<u8>, CallError> {
    let none = Struct::default();
    let request = Request {
        session: session.as_str(),
        idempotency_key: &call.idempotency_key,
        id: &call.id,
        tool: &call.tool,
        args: call.args.as_ref().unwrap_or(&none),
    };
    serde_json::to_vec(&request).map_err(|_| CallError::Unsendable("its arguments have no JSON form"))
}

/// The two that tell a repeated call, for servers that look at headers only.
pub(super) fn headers(session: &SessionUid, call: &ToolCall) -> Result<HeaderMap, CallError> {
    let session = header_value(session.as_str(), "its session cannot be sent in a header")?;
    let key = header_value(&call.idempotency_key, "its idempotency key cannot be sent in a header")?;
    Ok(HeaderMap::from_iter([(IDEMPOTENCY_KEY, key), (SESSION, session)]))
}

/// A value that arrives as it is: a server trims spaces at the ends, and may read what is not ASCII in any way.
fn header_value(text: &str, problem: &'static str) -> Result<HeaderValue, CallError> {
    let value = HeaderValue::from_str(text).ok();
    value.filter(|_| text.is_ascii() && text.trim() == text).ok_or(CallError::Unsendable(problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(key: &str) -> ToolCall {
        ToolCall { id: "c".into(), tool: "t".into(), idempotency_key: key.into(), ..ToolCall::default() }
    }

    #[test]
    fn a_call_without_arguments_has_an_empty_object() {
        let body = body(&SessionUid::parse("s").unwrap(), &call("k")).unwrap();
        let expected = r#"{"session":"s","idempotency_key":"k","id":"c","tool":"t","args":{}}"#;
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }

    #[test]
    fn a_key_that_would_not_arrive_as_it_is_is_not_sent() {
        let session = SessionUid::parse("s").unwrap();
        assert_eq!(headers(&session, &call("a key/1")).unwrap()[IDEMPOTENCY_KEY], "a key/1");
        for key in ["a\nb", " k", "k\t", "ключ"] {
            assert!(matches!(headers(&session, &call(key)), Err(CallError::Unsendable(_))), "{key:?}");
        }
    }
}
