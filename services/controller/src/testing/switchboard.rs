//! Hosts in one process that hear each other, unless they sleep.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use cluster::{Coordinator, Follower, News, Newsroom, NoAnswer, Node, Peer, Question};
use journal::{Incarnation, SessionUid};

/// Where all lines meet. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Switchboard {
    seats: Arc<Mutex<HashMap<Incarnation, Seat>>>,
    newsroom: Newsroom,
    news_lost: Arc<AtomicBool>,
}

#[derive(Default)]
struct Seat {
    peer: Option<Arc<dyn Peer>>,
    asleep: bool,
    /// Notes that came for it in its sleep, or have not been delivered.
    notes: Vec<SessionUid>,
}

/// The coordinator of one host.
pub(crate) struct Line {
    node: Node,
    board: Switchboard,
}

impl Switchboard {
    pub(crate) fn line(&self, incarnation: Incarnation) -> Line {
        Line { node: Node { name: incarnation.to_string(), incarnation }, board: self.clone() }
    }

    /// It answers nothing from now on.
    pub(crate) fn sleeps(&self, incarnation: Incarnation) {
        self.seats().entry(incarnation).or_default().asleep = true;
    }

    /// Delivers the notes that have come for a host.
    pub(crate) async fn wakes(&self, incarnation: Incarnation) {
        let (peer, notes) = {
            let mut seats = self.seats();
            let seat = seats.entry(incarnation).or_default();
            seat.asleep = false;
            (seat.peer.clone(), std::mem::take(&mut seat.notes))
        };
        for note in notes {
            peer.as_ref().expect("a host").dispossessed(&note).await;
        }
    }

    /// News reach nobody from now on.
    pub(crate) fn loses_news(&self) {
        self.news_lost.store(true, Ordering::Relaxed);
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<Incarnation, Seat>> {
        self.seats.lock().unwrap()
    }
}

#[async_trait]
impl Coordinator for Line {
    fn node(&self) -> &Node {
        &self.node
    }

    fn serve(&self, peer: Arc<dyn Peer>) {
        self.board.seats().entry(self.node.incarnation).or_default().peer = Some(peer);
    }

    async fn ask(&self, owner: Incarnation, question: Question) -> Result<bool, NoAnswer> {
        let awake = self.board.seats().get(&owner).filter(|seat| !seat.asleep).and_then(|seat| seat.peer.clone());
        awake.ok_or(NoAnswer)?.answer(question).await.ok_or(NoAnswer)
    }

    fn dispossess(&self, owner: Incarnation, session: &SessionUid) {
        self.board.seats().entry(owner).or_default().notes.push(session.clone());
    }

    fn tell(&self, session: &SessionUid, news: News) {
        if !self.board.news_lost.load(Ordering::Relaxed) {
            self.board.newsroom.tell(session, news);
        }
    }

    fn follow(&self, session: &SessionUid) -> Follower {
        self.board.newsroom.follow(session, |_| {}).0
    }

    fn registry_changed(&self) {}

    async fn registry_change(&self) {
        std::future::pending().await
    }
}
