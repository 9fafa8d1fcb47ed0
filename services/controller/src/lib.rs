//! The turn engine of a session host and the operations built on it. No sockets, no SQL, no keys.

mod agents;
mod host;
mod invocation;
pub mod log;
pub mod metrics;
mod notes;
pub mod ports;
mod registry;
#[cfg(test)]
mod testing;
pub mod turn;

pub use agents::{Agent, AgentMethod, AgentType, Schema};
pub use host::{
    CallContext, Classified, ErrorClass, Host, HostError, HostParts, InvalidDecision, InvalidFork, Powers, TurnLimits,
};
pub use notes::Notes;
pub use registry::{InvalidSpec, Registry, RegistryError, RegistryOpenError, RegistryParts};
