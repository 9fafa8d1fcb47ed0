//! When something is due on a connection, and what has taken too long.

use std::time::Duration;

use tokio::time::Instant;

use crate::streams::StreamOptions;
use crate::streams::socket::Socket;

/// How often the journal is looked at while nothing is heard: news may be lost. Longer, if nothing was found.
const SHORTEST_POLL: Duration = Duration::from_millis(500);
const LONGEST_POLL: Duration = Duration::from_secs(2);
/// Longest time without room for what the client sends, longest time that an item waits for its agent to take others, and
/// longest time without progress of what is sent to the client (L6).
const STUCK: Duration = Duration::from_secs(30);
/// Longest time that a close is held back because the session is not yet detached (W1).
const DETACH_BOUND: Duration = Duration::from_secs(10);

/// The times of one connection.
#[derive(Debug)]
pub(super) struct Times {
    ping_interval: Duration,
    idle_timeout: Duration,
    /// The journal is to be looked at now.
    look: bool,
    next_look: Instant,
    poll: Duration,
    /// Since when news wait to be looked at.
    news_since: Option<Instant>,
    /// Since when news waited that were looked at last.
    looked_since: Option<Instant>,
    heard: Mark,
    pinged: bool,
    written: Mark,
    /// Since when there is no room for what the client sends.
    full_since: Option<Instant>,
    /// Since when an item waits for its agent to take others.
    held_since: Option<Instant>,
    detach_by: Option<Instant>,
    is_detached: bool,
}

/// When something moved last.
#[derive(Clone, Copy, Debug)]
struct Mark {
    count: u64,
    at: Instant,
}

/// What the journal can be asked now, because it is not being asked already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Askable {
    /// To be looked at.
    pub(super) look: bool,
    /// To take a note, and when that is due.
    pub(super) note: Option<Instant>,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    Look,
    Note,
    Ping,
    Silent,
    Stuck,
    /// The agent takes nothing.
    Unread,
    Detach,
}

impl Times {
    pub(super) fn new(options: &StreamOptions) -> Self {
        let now = Instant::now();
        Self {
            ping_interval: options.ping_interval,
            idle_timeout: options.idle_timeout,
            look: true,
            next_look: now,
            poll: SHORTEST_POLL,
            news_since: None,
            looked_since: None,
            heard: Mark { count: 0, at: now },
            pinged: false,
            written: Mark { count: 0, at: now },
            full_since: None,
            held_since: None,
            detach_by: None,
            is_detached: false,
        }
    }

    /// When something is due next, if nothing happens before. The client is read from or not, and something that it sent may
    /// be held back.
    pub(super) fn next(
        &mut self,
        socket: &Socket,
        (reads, held_since): (bool, Option<Instant>),
        askable: Askable,
    ) -> Instant {
        let now = Instant::now();
        // Whoever is not listened to is not silent.
        if self.heard.moves_to(socket.read(), now, !reads) {
            self.pinged = false;
        }
        self.written.moves_to(socket.written(), now, !socket.is_sending());
        self.full_since = if reads { None } else { self.full_since.or(Some(now)) };
        self.held_since = held_since;
        self.dues(askable).map(|(at, _)| at).min().unwrap_or(now + STUCK)
    }

    /// What is due now, the gravest first.
    pub(super) fn overdue(&mut self, askable: Askable) -> Option<Overdue> {
        let now = Instant::now();
        let overdue = self.dues(askable).find(|(at, _)| *at <= now).map(|(_, due)| due);
        self.pinged |= overdue == Some(Overdue::Ping);
        overdue
    }

    fn dues(&self, askable: Askable) -> impl Iterator<Item = (Instant, Overdue)> {
        let open = self.detach_by.is_none();
        let after = |mark: Mark, time| Some(mark.at + time).filter(|_| open);
        [
            (self.detach_by.filter(|_| !self.is_detached), Overdue::Detach),
            (after(self.written, STUCK), Overdue::Stuck),
            (self.full_since.map(|since| since + STUCK).filter(|_| open), Overdue::Stuck),
            (self.held_since.map(|since| since + STUCK).filter(|_| open), Overdue::Unread),
            (after(self.heard, self.idle_timeout), Overdue::Silent),
            (after(self.heard, self.ping_interval).filter(|_| !self.pinged), Overdue::Ping),
            (askable.note.filter(|_| open), Overdue::Note),
            (Some(self.next_look).filter(|_| open && askable.look), Overdue::Look),
        ]
        .into_iter()
        .filter_map(|(at, due)| at.map(|at| (at, due)))
    }

    /// There may be something new in the journal.
    pub(super) fn hear_news(&mut self) {
        self.look = true;
        self.poll = SHORTEST_POLL;
        self.news_since.get_or_insert_with(Instant::now);
    }

    /// There is something in the journal that was not looked at yet.
    pub(super) fn look_again(&mut self) {
        self.look = true;
    }

    /// Whether to look at the journal now, which is then taken as done.
    pub(super) fn take_look(&mut self) -> bool {
        let now = Instant::now();
        if !std::mem::take(&mut self.look) && now < self.next_look {
            return false;
        }
        self.next_look = now + self.poll;
        // Who is held back waits for news of the agent.
        self.poll = if self.held_since.is_some() { SHORTEST_POLL } else { (self.poll * 2).min(LONGEST_POLL) };
        self.looked_since = self.news_since.take();
        true
    }

    /// How long the news waited that have led to an output.
    pub(super) fn take_delay(&mut self) -> Option<Duration> {
        self.looked_since.take().map(|since| since.elapsed())
    }

    /// Something that the client sent has become durable.
    pub(super) fn moved(&mut self) {
        self.full_since = None;
    }

    pub(super) fn detaching(&mut self) {
        self.detach_by = Some(Instant::now() + DETACH_BOUND);
    }

    pub(super) fn detached(&mut self) {
        self.is_detached = true;
    }

    pub(super) fn is_detached(&self) -> bool {
        self.is_detached
    }
}

impl Mark {
    /// Takes note of a count. Returns whether it has moved, or need not.
    fn moves_to(&mut self, count: u64, now: Instant, excused: bool) -> bool {
        let moves = excused || count != self.count;
        if moves {
            *self = Self { count, at: now };
        }
        moves
    }
}
