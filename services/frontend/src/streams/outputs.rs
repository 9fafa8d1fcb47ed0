//! How far a connection is with the outputs of its session (protocol.md section 11).

use std::collections::{HashMap, VecDeque};

use journal::invocations::{Cursor, StreamId, StreamProgress, Terminal};
use stream_session::ErrorCode;
use stream_session::message::{OutputOutcome, ServerReason};

/// The outputs that the client knows of.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    known: HashMap<StreamId, Output>,
    /// Those with something to send, in turn.
    due: VecDeque<StreamId>,
    /// How many have not ended for the client.
    open: usize,
}

#[derive(Debug, Default)]
struct Output {
    /// What is sent next.
    next: u64,
    /// How many items are durable.
    durable: u64,
    terminal: Option<Terminal>,
    /// The client has no use for it: only its end is sent.
    cancelled: bool,
    ended: bool,
    is_due: bool,
}

/// Something to send.
#[derive(Debug, PartialEq)]
pub(super) enum Due {
    /// Items of a stream, from this one on.
    Items(StreamId, u64),
    /// The end of a stream that had so many items.
    End(StreamId, u64, Terminal),
}

impl Outputs {
    /// The client comes to know of an output, of which it has as much as `cursor` says.
    pub(super) fn add(&mut self, stream: StreamId, cursor: Option<Cursor>) {
        let (next, ended) = cursor.map_or((0, false), |cursor| (cursor.items, cursor.ended));
        let entry = self.known.entry(stream);
        if let std::collections::hash_map::Entry::Vacant(entry) = entry {
            entry.insert(Output { next, durable: next, ended, ..Output::default() });
            self.open += usize::from(!ended);
        }
    }

    /// Whether the end of each was sent.
    pub(super) fn all_ended(&self) -> bool {
        self.open == 0
    }

    /// Takes note of how far a stream is.
    pub(super) fn advance(&mut self, progress: &StreamProgress) {
        let Some(output) = self.known.get_mut(&progress.id) else { return };
        output.durable = output.durable.max(progress.next);
        if output.terminal.is_none() {
            output.terminal.clone_from(&progress.terminal);
        }
        if output.has_something() && !std::mem::replace(&mut output.is_due, true) {
            self.due.push_back(progress.id);
        }
    }

    /// The client has no use for it any more.
    pub(super) fn cancel(&mut self, stream: StreamId) {
        if let Some(output) = self.known.get_mut(&stream) {
            output.cancelled = true;
        }
    }

    /// What is to be sent next; a stream after the other.
    pub(super) fn next(&mut self) -> Option<Due> {
        while let Some(stream) = self.due.pop_front() {
            let Some(output) = self.known.get_mut(&stream) else { continue };
            output.is_due = false;
            match &output.terminal {
                _ if output.ended => {}
                Some(terminal) if output.cancelled || output.next >= output.durable => {
                    let end = Due::End(stream, output.durable, terminal.clone());
                    output.ended = true;
                    self.open -= 1;
                    return Some(end);
                }
                _ if output.has_something() => return Some(Due::Items(stream, output.next)),
                _ => {}
            }
        }
        None
    }

    /// Ends all that have not ended. Answers how much of each was sent.
    pub(super) fn end_all(&mut self) -> Vec<(StreamId, u64)> {
        self.open = 0;
        let ended = |output: &mut Output| !std::mem::replace(&mut output.ended, true);
        self.known.iter_mut().filter_map(|(stream, output)| ended(output).then_some((*stream, output.next))).collect()
    }

    /// Items before `next` are on their way.
    pub(super) fn pass(&mut self, stream: StreamId, next: u64) {
        if let Some(output) = self.known.get_mut(&stream) {
            output.next = output.next.max(next);
        }
    }

    /// All that was read of it is on its way. The rest waits for its turn.
    pub(super) fn sent(&mut self, stream: StreamId) {
        let Some(output) = self.known.get_mut(&stream) else { return };
        if output.has_something() && !std::mem::replace(&mut output.is_due, true) {
            self.due.push_back(stream);
        }
    }

    /// What is sent next of a stream.
    pub(super) fn position(&self, stream: StreamId) -> u64 {
        self.known.get(&stream).map_or(0, |output| output.next)
    }
}

impl Output {
    fn has_something(&self) -> bool {
        let items = !self.cancelled && self.next < self.durable;
        !self.ended && (items || self.terminal.is_some())
    }
}

/// How an output ended, as the client is told.
pub(super) fn outcome(terminal: Terminal) -> OutputOutcome {
    match terminal {
        Terminal::Ended => OutputOutcome::Ok,
        Terminal::Error { code, message } => {
            OutputOutcome::Error { code: ErrorCode::parse(&code).unwrap_or(ErrorCode::ProducerError), message }
        }
        Terminal::CancelledByClient(reason) | Terminal::CancelledByServer(reason) => {
            OutputOutcome::Cancelled(ServerReason::parse(&reason).unwrap_or(ServerReason::Cancelled))
        }
    }
}

#[cfg(test)]
mod tests {
    use journal::invocations::{Role, Volume};
    use uuid::Uuid;

    use super::*;

    fn stream(number: u128) -> StreamId {
        StreamId::new(Uuid::from_u128(number))
    }

    fn progress(number: u128, next: u64, terminal: Option<Terminal>) -> StreamProgress {
        let (volume, handed) = (Volume { entries: next, charge: 0 }, Volume::default());
        StreamProgress {
            id: stream(number),
            role: Role::Output,
            next,
            volume,
            handed,
            terminal,
            wish: None,
            delivered: 0,
        }
    }

    #[test]
    fn p3_a_stream_goes_on_after_its_cursor_and_ends_once() {
        let mut outputs = Outputs::default();
        outputs.add(stream(1), Some(Cursor { stream: stream(1), items: 3, ended: false }));
        outputs.advance(&progress(1, 3, None));
        assert_eq!(outputs.next(), None);
        outputs.advance(&progress(1, 5, Some(Terminal::Ended)));
        assert_eq!(outputs.next(), Some(Due::Items(stream(1), 3)));
        assert_eq!(outputs.next(), None, "not before those are on their way");
        outputs.pass(stream(1), 5);
        outputs.sent(stream(1));
        assert!(!outputs.all_ended());
        assert_eq!(outputs.next(), Some(Due::End(stream(1), 5, Terminal::Ended)));
        assert!(outputs.all_ended());
        outputs.advance(&progress(1, 5, Some(Terminal::Ended)));
        assert_eq!(outputs.next(), None);
    }

    #[test]
    fn p3_nothing_is_replayed_of_a_stream_whose_end_the_client_has_seen() {
        let mut outputs = Outputs::default();
        outputs.add(stream(1), Some(Cursor { stream: stream(1), items: 2, ended: true }));
        outputs.advance(&progress(1, 2, Some(Terminal::Ended)));
        assert_eq!((outputs.next(), outputs.all_ended()), (None, true));
    }

    #[test]
    fn q3_of_a_cancelled_stream_only_the_end_is_sent() {
        let mut outputs = Outputs::default();
        outputs.add(stream(1), None);
        outputs.cancel(stream(1));
        outputs.advance(&progress(1, 4, None));
        assert_eq!(outputs.next(), None);
        let terminal = Terminal::CancelledByClient("cancelled".into());
        outputs.advance(&progress(1, 4, Some(terminal.clone())));
        assert_eq!(outputs.next(), Some(Due::End(stream(1), 4, terminal)));
    }

    #[test]
    fn streams_take_turns() {
        let mut outputs = Outputs::default();
        for number in 1..3 {
            outputs.add(stream(number), None);
            outputs.advance(&progress(number, 9, None));
        }
        assert_eq!(outputs.next(), Some(Due::Items(stream(1), 0)));
        outputs.pass(stream(1), 4);
        outputs.sent(stream(1));
        assert_eq!(outputs.next(), Some(Due::Items(stream(2), 0)));
        outputs.pass(stream(2), 4);
        outputs.sent(stream(2));
        assert_eq!(outputs.next(), Some(Due::Items(stream(1), 4)));
    }
}
