//! Stream sessions: invocations of typed agents whose inputs and outputs are streams, over one WebSocket that may break as
//! often as it likes.
//!
//! A [`Session`] outlives its connections: when one is lost, the next is opened, at the next address if there are several,
//! and both sides go on where they were. What is written arrives once; what is read comes once, in order, in this process.
//! With a [`CheckpointFile`] a later process goes on with it, and reads again at most what was not confirmed.
//!
//! Memory is bounded: [`Input::write`] waits while 16 MiB are not acknowledged, and nothing is read from the connection while
//! 32 MiB, or 256 items of one output, wait for the application.

mod address;
mod call;
mod checkpoint;
mod connect;
mod driver;
mod error;
mod input;
mod method;
mod options;
mod output;
pub mod plain;
mod resume;
mod session;
mod shared;
mod tls;

pub use address::{Endpoint, Endpoints, InvalidEndpoint};
pub use call::Call;
pub use checkpoint::CheckpointFile;
pub use connect::Credential;
pub use error::{BadMethod, Error, ResumeError, WriteError};
pub use input::Input;
pub use method::Method;
pub use options::Options;
pub use output::Output;
pub use session::{Invoker, Session, Update};
pub use stream_session::binary::BinaryItems;
pub use stream_session::checkpoint::Checkpoint;
pub use stream_session::client::{Item, Returned};
pub use stream_session::graph::{Graph, Lane, Type};
pub use stream_session::message::{ClientReason, InvocationOutcome, Operation, OutputOutcome, ServerReason};
pub use stream_session::value::{StreamRef, Value};
pub use stream_session::{ErrorCode, Refusal};
pub use tls::{BadCertificates, Trust};
