//! Opening connections: TCP, TLS where the address asks for it, and the handshake (protocol.md section 1).

use std::fmt;
use std::sync::Arc;

use stream_session::client::Event;
use stream_session::json::Json;
use stream_session::{ErrorCode, limits};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::client::{Request, Response};
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, InvalidHeaderValue, SEC_WEBSOCKET_PROTOCOL};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Error};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::{Endpoint, Endpoints, Options, Trust};

const PATH: &str = "/v1/agents/invoke-agent-session";
const SUBPROTOCOL: &str = "golem.agent-invocation.v1";

/// Who invokes: a bearer token. It is never shown.
#[derive(Clone)]
pub struct Credential(HeaderValue);

/// A connection.
pub(super) type Socket = WebSocketStream<Box<dyn Transport>>;

pub(super) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// Opens connections, to each address in turn.
pub(super) struct Connector {
    endpoints: Endpoints,
    credential: Credential,
    trust: Option<Trust>,
    options: Options,
    /// Which address is tried next.
    at: usize,
}

/// There is no connection.
#[derive(Debug)]
pub(super) struct Failure {
    /// What that means for the session.
    pub(super) event: Event,
    /// Why, for people.
    pub(super) cause: String,
}

impl Credential {
    /// The bearer token `token`.
    ///
    /// # Errors
    /// It has characters that a header cannot hold.
    pub fn bearer(token: &str) -> Result<Self, InvalidHeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential")
    }
}

impl Connector {
    pub(super) fn new(endpoints: Endpoints, credential: Credential, trust: Option<Trust>, options: Options) -> Self {
        Self { endpoints, credential, trust, options, at: 0 }
    }

    /// The address that is tried next, or that was connected to last.
    pub(super) fn endpoint(&self) -> &Endpoint {
        self.endpoints.at(self.at)
    }

    /// The connection was lost, or did not come about: another node may do better.
    pub(super) fn go_on(&mut self) {
        self.at += 1;
    }

    pub(super) async fn connect(&self) -> Result<Socket, Failure> {
        let opening = tokio::time::timeout(self.options.connect_timeout, self.open());
        match opening.await {
            Ok(opened) => opened,
            Err(_) => Err(Failure::unreachable("it did not answer in time")),
        }
    }

    async fn open(&self) -> Result<Socket, Failure> {
        let endpoint = self.endpoint();
        let tcp = TcpStream::connect((endpoint.host(), endpoint.port())).await.map_err(Failure::unreachable)?;
        // Small messages are answers that somebody waits for.
        tcp.set_nodelay(true).map_err(Failure::unreachable)?;
        let transport: Box<dyn Transport> = match endpoint.is_tls() {
            true => Box::new(self.encrypted(tcp).await?),
            false => Box::new(tcp),
        };
        let config = WebSocketConfig::default()
            .max_message_size(Some(limits::MESSAGE_BYTES))
            .max_frame_size(Some(limits::MESSAGE_BYTES));
        let opened = client_async_with_config(self.request()?, transport, Some(config)).await;
        opened.map(|(socket, _)| socket).map_err(|error| Failure::of_handshake(&error))
    }

    async fn encrypted(&self, tcp: TcpStream) -> Result<impl Transport + use<>, Failure> {
        let Some(trust) = &self.trust else { return Err(Failure::unreachable("no authority is trusted for wss")) };
        let name = ServerName::try_from(self.endpoint().host().to_owned()).map_err(Failure::unreachable)?;
        TlsConnector::from(Arc::clone(&trust.config())).connect(name, tcp).await.map_err(Failure::unreachable)
    }

    /// Asks for no extension (H2).
    fn request(&self) -> Result<Request, Failure> {
        let endpoint = self.endpoint();
        let url = format!("{endpoint}{PATH}");
        let mut request = url.into_client_request().map_err(Failure::unreachable)?;
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, self.credential.0.clone());
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
        Ok(request)
    }
}

impl Failure {
    fn unreachable(cause: impl fmt::Display) -> Self {
        Self { event: Event::Unreachable, cause: cause.to_string() }
    }

    fn of_handshake(error: &Error) -> Self {
        let event = match error {
            Error::Http(response) => after(response),
            Error::Protocol(ProtocolError::SecWebSocketSubProtocolError(_)) => {
                Event::Refused(ErrorCode::UnsupportedSubprotocol)
            }
            _ => Event::Unreachable,
        };
        Self { event, cause: error.to_string() }
    }
}

/// What an answer other than 101 means (20.1).
fn after(response: &Response) -> Event {
    let status = response.status();
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Event::Unreachable;
    }
    let body = response.body().as_deref().unwrap_or_default();
    let told = Json::parse(body).ok().and_then(|body| {
        let code = body.as_object()?.get("code")?.as_str()?;
        ErrorCode::parse(code)
    });
    Event::Refused(told.unwrap_or(match status {
        StatusCode::UNAUTHORIZED => ErrorCode::AuthenticationFailed,
        StatusCode::FORBIDDEN => ErrorCode::Unauthorized,
        StatusCode::NOT_FOUND => ErrorCode::NotFound,
        _ => ErrorCode::ProtocolError,
    }))
}

/// Whether an error of a connection says that a message was beyond the limit.
pub(super) fn is_too_large(error: &Error) -> bool {
    matches!(error, Error::Capacity(tungstenite::error::CapacityError::MessageTooLong { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Event {
        let response = tungstenite::http::Response::builder().status(status);
        after(&response.body(Some(body.as_bytes().to_vec())).unwrap())
    }

    #[test]
    fn section_20_1_answers_below_500_are_final_but_for_429() {
        let unauthorized = r#"{"code":"authentication-failed","error":"no"}"#;
        assert_eq!(answer(401, unauthorized), Event::Refused(ErrorCode::AuthenticationFailed));
        assert_eq!(answer(401, "no"), Event::Refused(ErrorCode::AuthenticationFailed));
        assert_eq!(
            answer(400, r#"{"code":"unsupported-subprotocol"}"#),
            Event::Refused(ErrorCode::UnsupportedSubprotocol)
        );
        assert_eq!(answer(404, ""), Event::Refused(ErrorCode::NotFound));
        assert_eq!(answer(429, ""), Event::Unreachable);
        assert_eq!(answer(503, r#"{"code":"internal-error"}"#), Event::Unreachable);
    }

    #[test]
    fn a_credential_is_not_shown() {
        let shown = format!("{:?}", Credential::bearer("secret-token").unwrap());
        assert!(!shown.contains("secret"), "{shown}");
    }
}
