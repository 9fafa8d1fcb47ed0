//! A server that is connected.

use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
};
use rmcp::service::{RunningService, ServiceError, serve_client};
use rmcp::transport::Transport;
use tokio::process::Child;
use wire::ToolResult;

use super::{content, error};
use crate::call::CallError;

/// A session with a server. Dropping it ends the session, and the process if there is one.
pub(super) struct Connection {
    session: RunningService<RoleClient, ClientConfig>,
    served: AtomicBool,
    /// Killed when dropped.
    _process: Option<Child>,
}

impl Connection {
    /// Shakes hands with the server at the other end of `transport`.
    pub(super) async fn open(
        transport: impl Transport<RoleClient> + 'static,
        process: Option<Child>,
    ) -> Result<Self, CallError> {
        let session = serve_client(ourselves(), transport).await.map_err(|failure| error::of_start(&failure))?;
        Ok(Self { session, served: AtomicBool::new(false), _process: process })
    }

    /// Whether no further call can be made.
    pub(super) fn has_ended(&self) -> bool {
        self.session.is_transport_closed() || self.session.is_closed()
    }

    /// Whether it has answered a call.
    pub(super) fn has_served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    /// Makes one call. Dropping the future tells the server that nobody waits any more.
    pub(super) async fn call(&self, params: CallToolRequestParams) -> Result<ToolResult, CallError> {
        let response = self.session.call_tool_once(params).await;
        if matches!(response, Ok(_) | Err(ServiceError::McpError(_))) {
            self.served.store(true, Ordering::Relaxed);
        }
        match response.map_err(|failure| error::of_call(&failure))? {
            CallToolResponse::Complete(result) => content::result(result),
            CallToolResponse::InputRequired(_) => Err(CallError::NotAResult("it asks for further input")),
            _ => Err(CallError::NotAResult("it is a task that goes on")),
        }
    }
}

/// A client that offers the server nothing: no files, no model, no questions to a user.
fn ourselves() -> ClientConfig {
    let name = Implementation::new("agentsessionsd", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), name)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}
