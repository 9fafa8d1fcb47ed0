//! How a session with a server begins.

use std::ffi::OsString;
use std::process::Stdio;

use reqwest::Client;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::process::Command;

use super::connection::Connection;
use crate::call::CallError;
use crate::config::{Fault, Plan, Program, Remote};
use crate::credentials::{self, Variables};
use crate::http;

/// Everything that a session needs to begin.
pub(super) enum Launch {
    Remote { client: Client, config: StreamableHttpClientTransportConfig },
    Program { command: String, args: Vec<String>, environment: Vec<(String, OsString)>, max_line: usize },
}

impl Launch {
    pub(super) fn remote(plan: &Plan, remote: &Remote, variables: &Variables) -> Result<Self, Vec<Fault>> {
        let client = http::client(&plan.name, remote, variables)?;
        let config = StreamableHttpClientTransportConfig::with_uri(remote.endpoint.url().as_str())
            .max_sse_event_size(plan.max_response)
            .max_json_response_size(plan.max_response);
        Ok(Self::Remote { client, config })
    }

    pub(super) fn program(plan: &Plan, program: &Program, variables: &Variables) -> Result<Self, Vec<Fault>> {
        let environment = credentials::environment(program, variables)?;
        let (command, args) = (program.command.clone(), program.args.clone());
        Ok(Self::Program { command, args, environment, max_line: plan.max_response })
    }

    pub(super) async fn start(&self) -> Result<Connection, CallError> {
        match self {
            Self::Remote { client, config } => {
                let transport = StreamableHttpClientTransport::with_client(client.clone(), config.clone());
                Connection::open(transport, None).await
            }
            Self::Program { command, args, environment, max_line } => {
                let mut command = Command::new(command);
                command.args(args).env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
                spawn(command, *max_line).await
            }
        }
    }
}

/// Starts a server as a child. An answer that is too long is thrown away, so its call times out: the calls of other
/// sessions that wait for the same server are left alone.
async fn spawn(mut command: Command, max_line: usize) -> Result<Connection, CallError> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // It may say anything there, arguments included.
        .stderr(Stdio::null())
        // An interrupt from the terminal is for the node, which first lets calls end.
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| CallError::NotStarted(error.to_string()))?;
    let (Some(output), Some(input)) = (child.stdout.take(), child.stdin.take()) else {
        return Err(CallError::NotStarted("it has no standard input and output".into()));
    };
    let transport = AsyncRwTransport::new_client(output, input).with_max_line_length(max_line);
    Connection::open(transport, Some(child)).await
}
