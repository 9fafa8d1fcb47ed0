//! One node without others to talk to.

use std::sync::Arc;

use async_trait::async_trait;
use journal::{Incarnation, SessionUid};

use crate::{Coordinator, Follower, News, Newsroom, NoAnswer, Node, Peer, Question};

/// Coordination within one process. Other processes may work on the same journal: they are kept apart by fences, and learn
/// of each other's changes by polling.
pub struct Local {
    node: Node,
    newsroom: Newsroom,
}

impl Local {
    /// The coordinator of `node`.
    #[must_use]
    pub fn new(node: Node) -> Self {
        Self { node, newsroom: Newsroom::default() }
    }
}

#[async_trait]
impl Coordinator for Local {
    fn node(&self) -> &Node {
        &self.node
    }

    fn serve(&self, _peer: Arc<dyn Peer>) {}

    async fn ask(&self, _owner: Incarnation, _question: Question) -> Result<bool, NoAnswer> {
        Err(NoAnswer)
    }

    fn dispossess(&self, _owner: Incarnation, _session: &SessionUid) {}

    fn tell(&self, session: &SessionUid, news: News) {
        self.newsroom.tell(session, news);
    }

    fn follow(&self, session: &SessionUid) -> Follower {
        self.newsroom.follow(session, |_| {}).0
    }

    fn registry_changed(&self) {}

    async fn registry_change(&self) {
        std::future::pending().await
    }
}
