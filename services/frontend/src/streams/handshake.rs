//! The request that a connection begins with (protocol.md section 1).

use auth::{Authenticator, Caller};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderName, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Version};
use http_body_util::Full;
use stream_session::ErrorCode;
use stream_session::json::Writer;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// Where clients invoke agents.
const PATH: &str = "/v1/agents/invoke-agent-session";
/// The subprotocol, as it is offered and selected.
const SUBPROTOCOL: &str = "golem.agent-invocation.v1";
/// The only version of WebSocket.
const WEBSOCKET_VERSION: HeaderValue = HeaderValue::from_static("13");
/// Bytes of a WebSocket key.
const KEY_BYTES: usize = 16;

/// A request that may become a connection.
#[derive(Debug)]
pub(super) struct Welcome {
    /// Who asks.
    pub(super) caller: Caller,
    accept: String,
}

/// Why a request does not become a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwelcome {
    NoSuchPage,
    AuthenticationFailed,
    UnsupportedSubprotocol,
    NoUpgrade,
    Draining,
}

/// Looks at a request, in the order of H3. Extensions are not negotiated, whatever is offered (H2).
pub(super) async fn examine(
    request: &Parts,
    authenticator: &Authenticator,
    draining: bool,
) -> Result<Welcome, Unwelcome> {
    if request.uri.path() != PATH {
        return Err(Unwelcome::NoSuchPage);
    }
    let credential = bearer(&request.headers).ok_or(Unwelcome::AuthenticationFailed)?;
    if !list(&request.headers, &SEC_WEBSOCKET_PROTOCOL).any(|offered| offered == SUBPROTOCOL) {
        return Err(Unwelcome::UnsupportedSubprotocol);
    }
    let caller = authenticator.caller(credential).await.ok_or(Unwelcome::AuthenticationFailed)?;
    let accept = accept_key(request).ok_or(Unwelcome::NoUpgrade)?;
    if draining {
        return Err(Unwelcome::Draining);
    }
    Ok(Welcome { caller, accept })
}

impl Welcome {
    pub(super) fn answer(&self) -> Response<Full<Bytes>> {
        let mut answer = Response::new(Full::default());
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = answer.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
        if let Ok(accept) = HeaderValue::from_str(&self.accept) {
            headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
        }
        answer
    }
}

impl Unwelcome {
    /// The protocol's code.
    pub(super) fn code(self) -> ErrorCode {
        match self {
            Self::NoSuchPage => ErrorCode::NotFound,
            Self::AuthenticationFailed => ErrorCode::AuthenticationFailed,
            Self::UnsupportedSubprotocol => ErrorCode::UnsupportedSubprotocol,
            Self::NoUpgrade => ErrorCode::ProtocolError,
            Self::Draining => ErrorCode::InternalError,
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::NoSuchPage => StatusCode::NOT_FOUND,
            Self::AuthenticationFailed => StatusCode::UNAUTHORIZED,
            Self::UnsupportedSubprotocol => StatusCode::BAD_REQUEST,
            Self::NoUpgrade => StatusCode::UPGRADE_REQUIRED,
            Self::Draining => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::NoSuchPage => "agents are invoked at /v1/agents/invoke-agent-session",
            Self::AuthenticationFailed => "a valid bearer token is needed",
            Self::UnsupportedSubprotocol => "the subprotocol golem.agent-invocation.v1 must be offered",
            Self::NoUpgrade => "the request must be an upgrade to WebSocket, version 13",
            Self::Draining => "the server is about to stop, try again",
        }
    }

    pub(super) fn answer(self) -> Response<Full<Bytes>> {
        let mut answer = Response::new(Full::from(self.body()));
        *answer.status_mut() = self.status();
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self {
            Self::AuthenticationFailed => drop(headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            Self::NoUpgrade => drop(headers.insert(SEC_WEBSOCKET_VERSION, WEBSOCKET_VERSION)),
            Self::NoSuchPage | Self::UnsupportedSubprotocol | Self::Draining => {}
        }
        answer
    }

    /// The two shapes that are in use (O-3).
    fn body(self) -> String {
        let mut to = Writer::default();
        to.open('{');
        to.text_member("code", self.code().as_str());
        if self == Self::AuthenticationFailed {
            to.text_member("error", self.text());
        } else {
            to.name("errors");
            to.array([self.text()], Writer::string);
        }
        to.close('}');
        to.finish()
    }
}

/// The credential, if there is one and it is a bearer token.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, credential) = value.to_str().ok()?.split_once(' ')?;
    let credential = credential.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !credential.is_empty()).then_some(credential)
}

/// The elements of a list that may be spread over several lines (H1).
fn list<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|element| element.trim_matches([' ', '\t']))
}

/// What answers the key of a valid upgrade.
fn accept_key(Parts { method, version, headers, .. }: &Parts) -> Option<String> {
    let asks_for = |name, what: &str| list(headers, &name).any(|element| element.eq_ignore_ascii_case(what));
    let is_upgrade = *method == Method::GET
        && *version == Version::HTTP_11
        && asks_for(CONNECTION, "upgrade")
        && asks_for(UPGRADE, "websocket")
        && headers.get(SEC_WEBSOCKET_VERSION) == Some(&WEBSOCKET_VERSION);
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| is_upgrade)?.as_bytes();
    let is_sound = STANDARD.decode(key).is_ok_and(|key| key.len() == KEY_BYTES);
    is_sound.then(|| derive_accept_key(key))
}

#[cfg(test)]
mod tests {
    use http::Request;
    use http_body_util::BodyExt;

    use super::*;

    fn request(headers: &[(&'static str, &str)]) -> Parts {
        let request = headers.iter().fold(Request::get(PATH), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    const AUTHORIZED: (&str, &str) = ("authorization", "Bearer x");
    const OFFERED: (&str, &str) = ("sec-websocket-protocol", SUBPROTOCOL);
    const UPGRADES: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    async fn outcome(headers: &[(&'static str, &str)]) -> Result<Welcome, Unwelcome> {
        examine(&request(headers), &Authenticator::development(), false).await
    }

    fn all() -> Vec<(&'static str, &'static str)> {
        [AUTHORIZED, OFFERED].into_iter().chain(UPGRADES).collect()
    }

    #[tokio::test]
    async fn h3_the_first_check_that_fails_answers() {
        assert_eq!(outcome(&[]).await.unwrap_err(), Unwelcome::AuthenticationFailed);
        assert_eq!(outcome(&[AUTHORIZED]).await.unwrap_err(), Unwelcome::UnsupportedSubprotocol);
        assert_eq!(outcome(&[AUTHORIZED, OFFERED]).await.unwrap_err(), Unwelcome::NoUpgrade);
        assert!(outcome(&all()).await.is_ok());
        let draining = examine(&request(&all()), &Authenticator::development(), true).await;
        assert_eq!(draining.unwrap_err(), Unwelcome::Draining);
    }

    #[tokio::test]
    async fn h3_a_credential_is_one_bearer_token() {
        for bad in ["", "Bearer", "Bearer ", "Bearer   ", "Basic x", "x"] {
            let headers: Vec<_> = [("authorization", bad), OFFERED].into_iter().chain(UPGRADES).collect();
            assert_eq!(outcome(&headers).await.unwrap_err(), Unwelcome::AuthenticationFailed, "{bad:?}");
        }
        let twice: Vec<_> = [AUTHORIZED].into_iter().chain(all()).collect();
        assert_eq!(outcome(&twice).await.unwrap_err(), Unwelcome::AuthenticationFailed);
    }

    #[tokio::test]
    async fn h1_the_subprotocol_may_be_anywhere_in_the_list() {
        let with = |offers: &[&'static str]| {
            let offers = offers.iter().map(|offer| ("sec-websocket-protocol", *offer));
            [AUTHORIZED].into_iter().chain(offers).chain(UPGRADES).collect::<Vec<_>>()
        };
        for good in [&["a,golem.agent-invocation.v1\t, b"][..], &["a", " golem.agent-invocation.v1 "]] {
            assert!(outcome(&with(good)).await.is_ok(), "{good:?}");
        }
        for bad in
            [&["Golem.Agent-Invocation.v1"][..], &["golem.agent-invocation.v1.1"], &["golem.agent-invocation"], &[""]]
        {
            assert_eq!(outcome(&with(bad)).await.unwrap_err(), Unwelcome::UnsupportedSubprotocol, "{bad:?}");
        }
    }

    #[tokio::test]
    async fn h3_whatever_is_no_upgrade_is_told_the_version() {
        for (name, bad) in [
            ("connection", "close"),
            ("upgrade", "h2c"),
            ("sec-websocket-version", "8"),
            ("sec-websocket-key", "short"),
        ] {
            let headers = all().into_iter().map(|header| if header.0 == name { (name, bad) } else { header });
            let refused = outcome(&headers.collect::<Vec<_>>()).await.unwrap_err();
            assert_eq!(refused, Unwelcome::NoUpgrade, "{name}");
            assert_eq!(refused.answer().headers()["sec-websocket-version"], "13");
        }
    }

    #[tokio::test]
    async fn h2_the_answer_selects_the_subprotocol_and_no_extension() {
        let headers: Vec<_> = [("sec-websocket-extensions", "permessage-deflate")].into_iter().chain(all()).collect();
        let answer = outcome(&headers).await.unwrap().answer();
        assert_eq!(answer.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(answer.headers()["sec-websocket-protocol"], SUBPROTOCOL);
        assert_eq!(answer.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(!answer.headers().contains_key("sec-websocket-extensions"));
    }

    #[tokio::test]
    async fn o3_refusals_have_their_status_and_code() {
        let told = async |refusal: Unwelcome| {
            let answer = refusal.answer();
            let status = answer.status().as_u16();
            (status, String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().into()).unwrap())
        };
        let (status, body) = told(Unwelcome::AuthenticationFailed).await;
        assert_eq!((status, body.contains(r#""code":"authentication-failed","error":""#)), (401, true), "{body}");
        for (refusal, expected, code) in [
            (Unwelcome::UnsupportedSubprotocol, 400, "unsupported-subprotocol"),
            (Unwelcome::NoUpgrade, 426, "protocol-error"),
            (Unwelcome::Draining, 503, "internal-error"),
        ] {
            let (status, body) = told(refusal).await;
            let begins = format!(r#"{{"code":"{code}","errors":[""#);
            assert_eq!((status, body.starts_with(&begins)), (expected, true), "{body}");
        }
    }
}
