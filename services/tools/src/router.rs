//! Which executor runs a call.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use controller::ports::{ToolError, ToolExecutor};
use env::Env;
use journal::SessionUid;
use tokio::time::{Instant, timeout};
use wire::{ToolCall, ToolResult};

use crate::call::{CallError, Executor};
use crate::config::{ExecutorConfig, Fault, InvalidTools, Plan, Problem, Target, check};
use crate::credentials::Variables;
use crate::http::Endpoint;
use crate::mcp::Server;

/// Sends every call to the executor of its tool.
pub(crate) struct Router {
    /// By tool. What is not in it is not run.
    routes: BTreeMap<String, Arc<Route>>,
}

struct Route {
    name: String,
    timeout: Duration,
    executor: Box<dyn Executor>,
}

impl Router {
    pub(crate) fn new(configs: &[ExecutorConfig], variables: &Variables, env: &Env) -> Result<Self, InvalidTools> {
        let (plans, mut problems) = check(configs);
        let mut routes = BTreeMap::new();
        for plan in plans {
            match Route::new(&plan, variables, env) {
                Ok(route) => {
                    let route = Arc::new(route);
                    routes.extend(plan.tools.into_iter().map(|tool| (tool, route.clone())));
                }
                Err(faults) => {
                    let problem = |fault| Problem { executor: plan.name.clone(), fault };
                    problems.extend(faults.into_iter().map(problem));
                }
            }
        }
        if problems.is_empty() { Ok(Self { routes }) } else { Err(InvalidTools { problems }) }
    }
}

impl Route {
    fn new(plan: &Plan, variables: &Variables, env: &Env) -> Result<Self, Vec<Fault>> {
        let executor: Box<dyn Executor> = match &plan.target {
            Target::Http(remote) => Box::new(Endpoint::new(plan, remote, variables, env)?),
            Target::McpHttp(remote) => Box::new(Server::remote(plan, remote, variables, env)?),
            Target::McpStdio(program) => Box::new(Server::program(plan, program, variables, env)?),
        };
        Ok(Self { name: plan.name.clone(), timeout: plan.timeout, executor })
    }

    async fn run(&self, session: &SessionUid, call: &ToolCall) -> Result<ToolResult, CallError> {
        let result = timeout(self.timeout, self.executor.call(session, call)).await;
        result.unwrap_or(Err(CallError::TimedOut(self.timeout)))
    }
}

#[async_trait]
impl ToolExecutor for Router {
    async fn execute(&self, session: &SessionUid, call: &ToolCall) -> Result<ToolResult, ToolError> {
        let Some(route) = self.routes.get(&call.tool) else {
            return Err(ToolError::NotConfigured);
        };
        let start = Instant::now();
        let outcome = route.run(session, call).await;
        let (executor, tool) = (&*route.name, &*call.tool);
        match &outcome {
            Ok(result) => {
                tracing::debug!(executor, tool, elapsed = ?start.elapsed(), is_error = result.is_error, "tool ran");
            }
            Err(error) => tracing::warn!(executor, tool, elapsed = ?start.elapsed(), %error, "tool failed"),
        }
        outcome.map_err(|error| ToolError::Failed(format!("{executor}: {error}")))
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.routes.keys()).finish()
    }
}
