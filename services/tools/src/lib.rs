//! Executors of tool calls: HTTP endpoints and MCP servers that the operator configured.
//!
//! A call goes to the one executor that serves its tool, and to no other place: what is not listed is refused. It carries
//! session and idempotency key, so that an executor can tell a call that is repeated after a crash. Every wait and every
//! answer has a bound. A call is sent again only where it cannot have arrived; all else is the caller's decision.
//! Arguments, results and credentials are in no error and no log.

mod call;
mod config;
mod credentials;
mod http;
mod mcp;
mod retry;
mod router;

use std::sync::Arc;

use controller::ports::ToolExecutor;
use env::Env;

pub use config::{ExecutorConfig, Fault, InvalidTools, Kind, Problem};
pub use credentials::Variables;

use self::router::Router;

/// The executor that runs a node's tool calls; none if there is no configuration.
///
/// # Errors
/// Everything that is wrong with `configs`, unset variables included.
pub fn executor(
    configs: &[ExecutorConfig],
    variables: &Variables,
    env: &Env,
) -> Result<Option<Arc<dyn ToolExecutor>>, InvalidTools> {
    if configs.is_empty() {
        return Ok(None);
    }
    Ok(Some(Arc::new(Router::new(configs, variables, env)?)))
}

/// Everything that is wrong with `configs` whatever the environment.
#[must_use]
pub fn problems(configs: &[ExecutorConfig]) -> Vec<Problem> {
    config::check(configs).1
}
