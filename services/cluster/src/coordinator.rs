//! The seam between a host and whatever carries messages between nodes.

use std::sync::Arc;

use async_trait::async_trait;
use journal::{ExecutionId, Incarnation, SessionUid};
use thiserror::Error;

use crate::{Follower, News, Node};

/// Carries questions and news between the nodes on one journal.
#[async_trait]
pub trait Coordinator: Send + Sync + 'static {
    /// This node.
    fn node(&self) -> &Node;

    /// Whom to ask when another node has a question. Called once, before this node takes calls; questions that come
    /// earlier have no answer.
    fn serve(&self, peer: Arc<dyn Peer>);

    /// Asks the run of a node that owns a session.
    ///
    /// # Errors
    /// [`NoAnswer`]: it is gone, cannot be reached, or did not answer within the coordinator's bound.
    async fn ask(&self, owner: Incarnation, question: Question) -> Result<bool, NoAnswer>;

    /// Tells the run of a node that a session which it owned has a new owner. Never waits; may be lost.
    fn dispossess(&self, owner: Incarnation, session: &SessionUid);

    /// Tells whoever follows the session, on any node. Never waits; may be lost.
    fn tell(&self, session: &SessionUid, news: News);

    /// Hears, from now on, what is told of a session.
    fn follow(&self, session: &SessionUid) -> Follower;

    /// Tells every other node that the registry of harnesses has changed. Never waits; may be lost.
    fn registry_changed(&self);

    /// Resolves when another node has told that the registry has changed, since the last call. One caller at a time.
    async fn registry_change(&self);
}

/// A question that only the owner of a session can answer; yes or no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Does an operation run on the session there?
    Busy {
        /// The session.
        session: SessionUid,
    },
    /// Stop this turn for good. Yes, once it is stopped and its END recorded; no, if it does not run there.
    Cancel {
        /// The session.
        session: SessionUid,
        /// The turn; `None` for whichever runs.
        execution: Option<ExecutionId>,
        /// For the record and for the harness.
        reason: String,
    },
}

/// The part of a host that answers other nodes.
#[async_trait]
pub trait Peer: Send + Sync + 'static {
    /// Answers a question. `None` if it cannot tell.
    async fn answer(&self, question: Question) -> Option<bool>;

    /// Another node has taken the session over: a turn that still runs on it here can record nothing more.
    async fn dispossessed(&self, session: &SessionUid);
}

/// The owner did not answer. The caller may go on without: a higher fence shuts the owner out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the owner of the session does not answer")]
pub struct NoAnswer;
