//! What this node has to tell the others and has not sent yet. Whoever puts something in never waits.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use journal::{Incarnation, SessionUid};
use tokio::sync::Notify;

use super::message;
use crate::News;

/// Most letters that wait, and most bytes of text in them. What does not fit is lost.
const MAX_LETTERS: usize = 4096;
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// Longest text that one letter takes; leaves room for the rest of its message.
const MAX_TEXT: usize = message::MAX_BYTES - 1024;

/// Something to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Letter {
    News(SessionUid, News),
    Dispossessed { owner: Incarnation, session: SessionUid },
    RegistryChanged,
}

/// Letters on their way, oldest first; while there is no connection, none.
#[derive(Default)]
pub(super) struct Outbox {
    queue: Mutex<Queue>,
    filled: Notify,
}

impl Outbox {
    /// Takes a letter, or loses it.
    pub(super) fn put(&self, letter: Letter) {
        if self.with(|queue| queue.put(letter)) {
            self.filled.notify_one();
        }
    }

    /// Takes letters from now on: there is a connection.
    pub(super) fn open(&self) {
        self.with(|queue| queue.open = true);
    }

    /// Takes no letters any more. What waits, or was sent just before, may be lost.
    pub(super) fn close(&self) {
        self.with(|queue| *queue = Queue { lost: queue.lost + 1, ..Queue::default() });
    }

    /// The next letter to send. One caller at a time. Cancel safe.
    pub(super) async fn next(&self) -> Letter {
        loop {
            if let Some(letter) = self.with(Queue::take) {
                return letter;
            }
            self.filled.notified().await;
        }
    }

    /// How often something was lost.
    pub(super) fn lost(&self) -> u64 {
        self.with(|queue| queue.lost)
    }

    /// A letter that was taken out could not be sent.
    pub(super) fn note_loss(&self) {
        self.with(|queue| queue.lost += 1);
    }

    fn with<T>(&self, change: impl FnOnce(&mut Queue) -> T) -> T {
        // A panic in between cannot leave the queue unusable: at worst a letter is lost.
        change(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Default)]
struct Queue {
    open: bool,
    letters: VecDeque<Letter>,
    /// How many letters have left the queue: the number of the first one in it.
    first: usize,
    /// Sessions whose last letter says that they have grown, and its number. Growing on changes that letter.
    growing: HashMap<SessionUid, usize>,
    /// Sessions of which a letter says that something has changed about their streams: one covers what comes later too.
    streamed: HashSet<SessionUid>,
    text_bytes: usize,
    lost: u64,
}

impl Queue {
    /// Returns whether there is one letter more.
    fn put(&mut self, letter: Letter) -> bool {
        if self.join_growing(&letter) || self.is_told(&letter) {
            return false;
        }
        let text_bytes = text_bytes(&letter);
        let full = self.letters.len() >= MAX_LETTERS || self.text_bytes + text_bytes > MAX_TEXT_BYTES;
        if !self.open || full || text_bytes > MAX_TEXT {
            self.lost += 1;
            return false;
        }
        match &letter {
            Letter::News(session, News::Appended { .. }) => {
                self.growing.insert(session.clone(), self.first + self.letters.len());
            }
            // What grows afterwards is told afterwards.
            Letter::News(session, News::Delta { .. }) => drop(self.growing.remove(session)),
            Letter::News(session, News::Streamed) => drop(self.streamed.insert(session.clone())),
            Letter::Dispossessed { .. } | Letter::RegistryChanged => {}
        }
        self.text_bytes += text_bytes;
        self.letters.push_back(letter);
        true
    }

    fn join_growing(&mut self, letter: &Letter) -> bool {
        let Letter::News(session, News::Appended { last_seq: grown }) = letter else { return false };
        let waiting = self.growing.get(session).and_then(|number| self.letters.get_mut(number - self.first));
        let Some(Letter::News(_, News::Appended { last_seq })) = waiting else { return false };
        *last_seq = (*last_seq).max(*grown);
        true
    }

    fn is_told(&self, letter: &Letter) -> bool {
        matches!(letter, Letter::News(session, News::Streamed) if self.streamed.contains(session))
    }

    fn take(&mut self) -> Option<Letter> {
        let letter = self.letters.pop_front()?;
        if let Letter::News(session, News::Streamed) = &letter {
            self.streamed.remove(session);
        }
        if let Letter::News(session, _) = &letter
            && self.growing.get(session) == Some(&self.first)
        {
            self.growing.remove(session);
        }
        self.first += 1;
        self.text_bytes -= text_bytes(&letter);
        Some(letter)
    }
}

fn text_bytes(letter: &Letter) -> usize {
    match letter {
        Letter::News(_, News::Delta { text, .. }) => text.len(),
        Letter::News(..) | Letter::Dispossessed { .. } | Letter::RegistryChanged => 0,
    }
}

#[cfg(test)]
mod tests {
    use journal::{ExecutionId, Seq};

    use super::*;

    fn uid(text: &str) -> SessionUid {
        SessionUid::parse(text).unwrap()
    }

    fn appended(session: &str, seq: i64) -> Letter {
        Letter::News(uid(session), News::Appended { last_seq: Seq::from_wire(seq).unwrap() })
    }

    fn delta(session: &str, text: &str) -> Letter {
        let news = News::Delta { execution: ExecutionId::new("e"), text: text.into(), last: false };
        Letter::News(uid(session), news)
    }

    fn open() -> Queue {
        Queue { open: true, ..Queue::default() }
    }

    fn drained(mut queue: Queue) -> Vec<Letter> {
        std::iter::from_fn(|| queue.take()).collect()
    }

    #[test]
    fn a_session_that_grows_has_one_letter_which_says_how_far() {
        let mut queue = open();
        for seq in 1..=1000 {
            queue.put(appended("a", seq));
            queue.put(appended("b", seq * 2));
        }
        assert_eq!(queue.take(), Some(appended("a", 1000)));
        queue.put(appended("a", 1001));
        assert_eq!((queue.lost, queue.growing.len()), (0, 2));
        assert_eq!(drained(queue), [appended("b", 2000), appended("a", 1001)]);
    }

    #[test]
    fn text_and_growth_of_a_session_keep_their_order() {
        let letters = [appended("a", 1), delta("a", "x"), delta("a", "y"), appended("a", 2), Letter::RegistryChanged];
        let mut queue = open();
        for letter in letters {
            queue.put(letter);
        }
        queue.put(appended("a", 3));
        assert_eq!(
            drained(queue),
            [appended("a", 1), delta("a", "x"), delta("a", "y"), appended("a", 3), Letter::RegistryChanged]
        );
    }

    #[test]
    fn a_session_whose_streams_change_has_one_letter_until_it_is_sent() {
        let streamed = |session: &str| Letter::News(uid(session), News::Streamed);
        let mut queue = open();
        for _ in 0..1000 {
            queue.put(streamed("a"));
            queue.put(streamed("b"));
        }
        assert_eq!(queue.take(), Some(streamed("a")));
        queue.put(streamed("a"));
        assert_eq!((queue.lost, queue.streamed.len()), (0, 2));
        assert_eq!(drained(queue), [streamed("b"), streamed("a")]);
    }

    #[test]
    fn what_does_not_fit_is_counted_and_not_kept() {
        let mut queue = open();
        queue.put(delta("a", &"x".repeat(MAX_TEXT + 1)));
        assert_eq!((queue.letters.len(), queue.lost), (0, 1));
        let text = "x".repeat(MAX_TEXT);
        for _ in 0..100 {
            queue.put(delta("a", &text));
        }
        assert!(queue.text_bytes <= MAX_TEXT_BYTES && queue.lost > 1);
        for number in 0..2 * MAX_LETTERS {
            queue.put(appended(&number.to_string(), 1));
        }
        assert_eq!(queue.letters.len(), MAX_LETTERS);
        assert!(queue.growing.len() <= MAX_LETTERS);
        while queue.take().is_some() {}
        assert_eq!((queue.text_bytes, queue.growing.len()), (0, 0));
    }

    #[tokio::test]
    async fn without_a_connection_nothing_waits() {
        let outbox = Outbox::default();
        outbox.put(Letter::RegistryChanged);
        assert_eq!(outbox.lost(), 1);
        outbox.open();
        outbox.put(Letter::RegistryChanged);
        assert_eq!(outbox.next().await, Letter::RegistryChanged);
        outbox.put(Letter::RegistryChanged);
        outbox.close();
        outbox.open();
        outbox.put(appended("a", 1));
        assert_eq!(outbox.next().await, appended("a", 1));
        assert_eq!(outbox.lost(), 2);
    }
}
