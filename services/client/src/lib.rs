//! The client library: every rpc of `agentsessions.v1.Sessions`, and of `HarnessRegistry` for operators, as a typed
//! method.
//!
//! It promises message sizes that fit real histories, a request id on every call (also in every error), an unary call
//! that ends within a bound, and one view of a cluster: a client knows the addresses of several nodes, stays with one until
//! it fails, and then goes on at the next. Replays, watches and listings go on where they were, and calls that may be made twice are
//! made again. A call that must be made once (create, fork) is made again only where no node has begun it. A turn (exec) that
//! loses its node is finished on another, and its caller gets each record once and in order, whatever node it came from.

mod address;
mod call;
mod client;
mod driver;
mod error;
mod exec;
mod frames;
mod in_process;
mod nodes;
mod options;
mod pages;
mod registry;
mod replay;
mod retry;
pub mod stream;
mod turn;
mod watch;

pub use address::{Address, Addresses, InvalidAddress};
pub use client::Client;
pub use error::{ConnectError, Error, NoConnection, Origin, code_name};
pub use exec::{Exec, Moved, Update};
pub use in_process::{Connector, Listener, in_process};
pub use options::Options;
pub use pages::SessionPages;
pub use registry::{HarnessPages, Registry};
pub use replay::{Replay, SeqRange};
pub use retry::Retry;
pub use tonic::Code;
pub use watch::Watch;

/// Largest message sent or accepted. A harness's history or a record with inline files may be large.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
