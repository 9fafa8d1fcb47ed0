//! Invocations of agents, each with any number of streams (stream-session protocol, sections 10 to 16).
//!
//! An agent instance is a session. What its connections and its runner tell each other goes through the journal: the
//! holder of an attachment writes inputs, the runner of the instance writes outputs, and each reads what the other
//! wrote. The rules that need durable state are decided in the transaction that writes. Whoever lost the attachment or
//! the instance to somebody else is refused at its next write; no clock is needed for that.

mod accept;
mod attach;
mod delivery;
mod error;
mod finish;
mod frame;
mod ids;
mod inputs;
mod introduce;
mod invocation;
mod nodes;
mod outputs;
mod put;
mod read;
mod runs;
mod shelf;
mod stream;
mod sweep;
mod token_key;

pub use accept::{Accepted, NewInvocation};
pub use attach::{Cursor, Reattach};
pub use error::{AcceptError, AttachError, LeaseError, OutputFault, Rule, RunError};
pub use frame::{Frame, FrameItem};
pub use ids::{Holder, InvocationId, StreamId};
pub use inputs::{Comparison, InputChange, InputOutcome, InputWrite};
pub use introduce::{NewInput, NewOutput};
pub use invocation::{
    Attachment, Attempt, AttemptRecord, Invocation, InvocationStart, Lease, Outcome, Returned, Standing,
};
pub use nodes::Beat;
pub use outputs::{OutputChange, OutputWrite};
pub use runs::Run;
pub use stream::{Owner, Role, StreamProgress, StreamState, Terminal, Volume};
pub use token_key::TokenKey;

pub(crate) use sweep::shut_out;

/// Most streams of one invocation, those that have ended included (C4).
pub const MAX_STREAMS: usize = 4096;
/// Most streams that one value may introduce (C4).
pub const MAX_NEW_STREAMS: usize = 256;
/// Most bytes of a put that is made in one transaction: of its items, and 1,500 for each change.
pub const MAX_PUT_BYTES: usize = 4 << 20;
/// Largest item, in bytes.
pub const MAX_ITEM_BYTES: usize = 32 << 20;
/// Most bytes of what an invocation is started with, and of what a method returns.
pub const MAX_VALUE_BYTES: usize = 8 << 20;
