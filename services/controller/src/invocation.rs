//! What an invocation says to its harness and to its log, and what its harness says to it. Pure functions.

mod account;
mod digest;
mod values;

use journal::ExecutionId;
use journal::invocations::{Invocation, InvocationId};
use wire::ConfigurationEntry;

pub(crate) use account::{FinishedStream, input, result, streams};
pub(crate) use digest::StreamDigest;
pub(crate) use values::{Element, Introduced, Parameters, Results, Spoken};

/// The turn that an invocation is.
pub(crate) fn execution(id: InvocationId) -> ExecutionId {
    ExecutionId::new(&format!("{PREFIX}{id}"))
}

/// The invocation that a turn is, if it is one. No caller can choose such an id.
pub(crate) fn of_execution(execution: &ExecutionId) -> Option<InvocationId> {
    execution.as_str().strip_prefix(PREFIX)?.parse().ok().map(InvocationId::new)
}

const PREFIX: &str = "inv-";

/// What the harness is told in its first frame, with these parameters.
pub(crate) fn first_frame(invocation: &Invocation, method_parameters: String) -> wire::Invocation {
    let start = invocation.start.clone();
    let entry = |(path, value)| ConfigurationEntry { path, value };
    wire::Invocation {
        application: start.application,
        environment: start.environment,
        agent_type: start.agent_type,
        constructor_parameters: start.constructor_parameters,
        phantom_id: start.phantom_id.map(|id| id.to_string()).unwrap_or_default(),
        method: start.method,
        method_parameters,
        idempotency_key: start.idempotency_key,
        configuration: start.configuration.into_iter().map(entry).collect(),
    }
}
