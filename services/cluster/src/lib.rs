//! What the nodes on one journal tell each other.
//!
//! Nothing here is needed for safety: fences in the journal keep a session's log single-writer whoever asks or answers
//! what. A message may be lost, late, or come twice; then something happens later, or another node tries in vain.

mod coordinator;
mod local;
mod nats;
mod news;
mod node;

pub use coordinator::{Coordinator, NoAnswer, Peer, Question};
pub use local::Local;
pub use nats::{Nats, NatsCredentials, NatsProblem, NatsSettings, NatsStatus, NatsTls, NodeInfo};
pub use news::{Follower, News, Newsroom};
pub use node::Node;
