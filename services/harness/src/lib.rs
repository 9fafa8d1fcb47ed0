//! The host side of `agentsessions.v1.Harness`, and the harnesses that come with a host.
//!
//! [`InProcess`] and [`Remote`] are the runtimes that keep nothing between turns: a harness written with the SDK that runs
//! inside this process, and one that is dialled at an address. [`Process`] starts a program for each turn and keeps its
//! state in a file. [`Directory`] is the table of the harnesses that a host's own configuration names;
//! [`RegisteredPlacements`] places those that are registered. [`node`] is the stand-alone process that serves one of the
//! built-in harnesses over a socket. [`conformance`] checks harnesses of others. Whether what a harness does is allowed
//! is decided by the turn engine, not here.

mod agents;
mod chat;
pub mod conformance;
mod counter;
mod describe;
mod directory;
mod echo;
mod frames;
mod in_process;
pub mod node;
mod process;
mod registered;
mod remote;

pub use agents::example_agents;
pub use chat::Chat;
pub use counter::Counter;
pub use directory::{Directory, DirectoryProblem, InvalidNamedAddress, NamedAddress, NamedProcess};
pub use echo::Echo;
pub use in_process::InProcess;
pub use process::{Process, Program};
pub use registered::RegisteredPlacements;
pub use remote::{AddressProblem, HarnessAddress, InvalidAddress, Remote, RemoteOptions};
