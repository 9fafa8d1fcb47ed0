//! A server that is connected.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

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

/// How many calls in a row may go without an answer before the server is taken for stuck.
const UNANSWERED: u32 = 3;

/// A session with a server. Dropping it ends the session, and the process if there is one.
pub(super) struct Connection {
    session: RunningService<RoleClient, ClientConfig>,
    served: AtomicBool,
    /// Calls given up since the last answer.
    unanswered: AtomicU32,
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
        Ok(Self { session, served: AtomicBool::new(false), unanswered: AtomicU32::new(0), _process: process })
    }

    /// Whether no further call can be made, or none would be answered.
    pub(super) fn has_ended(&self) -> bool {
        let stuck = self.unanswered.load(Ordering::Relaxed) >= UNANSWERED;
        stuck || self.session.is_transport_closed() || self.session.is_closed()
    }

    /// Whether it has answered a call.
    pub(super) fn has_served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    /// Makes one call. Dropping the future tells the server that nobody waits any more.
    pub(super) async fn call(&self, params: CallToolRequestParams) -> Result<ToolResult, CallError> {
        let pending = Pending { unanswered: &self.unanswered };
        let response = self.session.call_tool_once(params).await;
        if matches!(response, Ok(_) | Err(ServiceError::McpError(_))) {
            pending.answered();
            self.served.store(true, Ordering::Relaxed);
        }
        match response.map_err(|failure| error::of_call(&failure))? {
            CallToolResponse::Complete(result) => content::result(result),
            CallToolResponse::InputRequired(_) => Err(CallError::NotAResult("it asks for further input")),
            _ => Err(CallError::NotAResult("it is a task that goes on")),
        }
    }
}

/// A call under way, which counts as unanswered if it is dropped before it says otherwise.
struct Pending<'a> {
    unanswered: &'a AtomicU32,
}

impl Pending<'_> {
    fn answered(self) {
        self.unanswered.store(0, Ordering::Relaxed);
        std::mem::forget(self);
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }
}

/// A client that offers the server nothing: no files, no model, no questions to a user.
fn ourselves() -> ClientConfig {
    let name = Implementation::new("agentsessionsd", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), name)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}
