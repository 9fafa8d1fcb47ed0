//! What is told of sessions, and those who listen on this node.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use journal::{ExecutionId, Seq, SessionUid};
use tokio::sync::broadcast::{self, error::RecvError};

/// News that a follower can be behind by. What does not fit is lost, oldest first. Few, because the room for them is taken
/// for every session that is followed.
const BACKLOG: usize = 16;

/// Something that happened to a session. A hint: whoever needs to be sure reads the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Its log has grown.
    Appended {
        /// The last record.
        last_seq: Seq,
    },
    /// Text that a turn streams, which is recorded only once it is whole.
    Delta {
        /// The turn.
        execution: ExecutionId,
        /// What was added; empty at the end.
        text: String,
        /// Whether the text is whole.
        last: bool,
    },
    /// Something about its invocations or their streams has changed.
    Streamed,
}

/// The followers on this node. Cheap to clone; clones are the same.
#[derive(Clone, Default)]
pub struct Newsroom {
    channels: Arc<Mutex<Channels>>,
}

/// `None` says that some news were lost.
type Channels = HashMap<SessionUid, broadcast::Sender<Option<News>>>;

/// Hears what is told of one session until dropped.
pub struct Follower {
    news: broadcast::Receiver<Option<News>>,
    _desk: Desk,
}

/// Takes the session's channel away with its last follower.
struct Desk {
    session: SessionUid,
    channels: Weak<Mutex<Channels>>,
    closed: Box<dyn Fn(&SessionUid) + Send + Sync>,
}

impl Newsroom {
    /// Tells the followers on this node, if there are any.
    pub fn tell(&self, session: &SessionUid, news: News) {
        if let Some(channel) = self.with(|channels| channels.get(session).cloned()) {
            // Followers that have just left need not hear it.
            let _ = channel.send(Some(news));
        }
    }

    /// Tells every follower on this node that it may have missed something.
    pub(crate) fn missed(&self) {
        self.with(|channels| {
            for channel in channels.values() {
                let _ = channel.send(None);
            }
        });
    }

    /// The sessions that are followed on this node.
    pub(crate) fn followed(&self) -> Vec<SessionUid> {
        self.with(|channels| channels.keys().cloned().collect())
    }

    /// Begins to follow a session. Returns whether this is its first follower here; `closed` is called when the last one
    /// leaves.
    pub fn follow(
        &self,
        session: &SessionUid,
        closed: impl Fn(&SessionUid) + Send + Sync + 'static,
    ) -> (Follower, bool) {
        let (news, first) = self.with(|channels| match channels.get(session) {
            Some(channel) => (channel.subscribe(), false),
            None => {
                let (channel, news) = broadcast::channel(BACKLOG);
                channels.insert(session.clone(), channel);
                (news, true)
            }
        });
        let desk =
            Desk { session: session.clone(), channels: Arc::downgrade(&self.channels), closed: Box::new(closed) };
        (Follower { news, _desk: desk }, first)
    }

    fn with<T>(&self, change: impl FnOnce(&mut Channels) -> T) -> T {
        // Inserting and removing cannot leave the map half changed, so a poisoned lock is still good.
        change(&mut self.channels.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Follower {
    /// The next news. `None` if some were lost: the follower reads the journal to know. Cancel safe.
    pub async fn next(&mut self) -> Option<News> {
        match self.news.recv().await {
            Ok(news) => news,
            Err(RecvError::Lagged(_)) => None,
            // The channel lives as long as its desks do.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let Some(channels) = self.channels.upgrade() else { return };
        let mut channels = channels.lock().unwrap_or_else(PoisonError::into_inner);
        // The receiver beside this desk is dropped before it: none left means that it was the last.
        if channels.get(&self.session).is_some_and(|channel| channel.receiver_count() == 0) {
            channels.remove(&self.session);
            (self.closed)(&self.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn appended(seq: i64) -> News {
        News::Appended { last_seq: Seq::from_wire(seq).unwrap() }
    }

    #[tokio::test]
    async fn followers_hear_what_is_told_of_their_session_until_they_leave() {
        let room = Newsroom::default();
        let (session, other) = (SessionUid::parse("sess-1").unwrap(), SessionUid::parse("sess-2").unwrap());
        let closed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&closed);
        let (mut one, first) = room.follow(&session, move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert!(first);
        let count = Arc::clone(&closed);
        let (mut two, first) = room.follow(&session, move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert!(!first);

        room.tell(&other, appended(1));
        room.tell(&session, appended(2));
        assert_eq!(one.next().await, Some(appended(2)));
        assert_eq!(two.next().await, Some(appended(2)));

        drop(one);
        assert_eq!(closed.load(Ordering::Relaxed), 0);
        drop(two);
        assert_eq!(closed.load(Ordering::Relaxed), 1);
        assert!(room.follow(&session, |_| {}).1, "the next follower is the first again");
    }

    #[tokio::test]
    async fn a_slow_follower_is_told_that_it_has_missed_something() {
        let room = Newsroom::default();
        let session = SessionUid::parse("sess-1").unwrap();
        let (mut follower, _) = room.follow(&session, |_| {});
        for seq in 1..=BACKLOG as i64 + 1 {
            room.tell(&session, appended(seq));
        }
        assert_eq!(follower.next().await, None);
        assert_eq!(follower.next().await, Some(appended(2)));
    }

    #[tokio::test]
    async fn every_follower_is_told_when_something_may_have_been_missed() {
        let room = Newsroom::default();
        let (session, other) = (SessionUid::parse("sess-1").unwrap(), SessionUid::parse("sess-2").unwrap());
        let ((mut one, _), (mut two, _)) = (room.follow(&session, |_| {}), room.follow(&other, |_| {}));
        room.missed();
        assert_eq!((one.next().await, two.next().await), (None, None));
    }
}
