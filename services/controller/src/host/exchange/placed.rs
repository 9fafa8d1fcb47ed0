//! One output of an invocation, from when a value has introduced it: what its harness sends, held against what is recorded.

use journal::invocations::{FrameItem, Role, StreamId, StreamProgress, Terminal};
use wire::StreamItem;

use crate::invocation::{Element, FinishedStream, StreamDigest};
use crate::turn::{Divergence, TurnFailure};

/// See the module.
pub(super) struct Placed {
    pub(super) id: StreamId,
    pub(super) element: Element,
    /// How many items an earlier run recorded.
    recorded: u64,
    /// How the stream ended in an earlier run.
    terminal: Option<Terminal>,
    /// Why the client does not want it.
    unwanted: Option<String>,
    /// The sequence that comes next.
    next: u64,
    /// The harness has ended it.
    ended: bool,
    /// Nothing more is recorded of it.
    closed: bool,
    /// Nothing ever was.
    nowhere: bool,
    digest: StreamDigest,
}

/// What follows from something about a stream.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// The item must be recorded already.
    Recorded(FrameItem),
    /// The item is recorded at this sequence.
    Put(u64, FrameItem),
    /// The end is recorded.
    End(Terminal),
    /// The harness is told that nobody wants the rest.
    Cancel(String),
}

impl Placed {
    /// A stream of which this is recorded.
    pub(super) fn new(id: StreamId, element: Element, recorded: Option<StreamProgress>) -> Self {
        let (recorded, terminal, wish) =
            recorded.map_or((0, None, None), |progress| (progress.next, progress.terminal, progress.wish));
        let unwanted = match &terminal {
            Some(Terminal::CancelledByClient(reason)) => Some(reason.clone()),
            Some(_) => None,
            None => wish,
        };
        Self {
            id,
            element,
            recorded,
            terminal,
            unwanted,
            next: 0,
            ended: false,
            closed: false,
            nowhere: false,
            digest: StreamDigest::default(),
        }
    }

    /// A stream that is part of what nobody gets.
    pub(super) fn nowhere(id: StreamId, element: Element) -> Self {
        Self { closed: true, nowhere: true, ..Self::new(id, element, None) }
    }

    /// The sequence that comes next.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether the harness has ended it.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the harness may send more of it, and is heard.
    pub(super) fn is_open(&self) -> bool {
        !self.ended && !self.closed
    }

    /// Whether an item is to be looked at; one that nobody wants is not. Call it for each item, in order.
    ///
    /// # Errors
    /// It is not the next one.
    pub(super) fn expects(&mut self, item: &StreamItem) -> Result<bool, TurnFailure> {
        if u64::try_from(item.sequence) != Ok(self.next) {
            return Err(TurnFailure::Violation("it sent an item out of sequence"));
        }
        if self.closed {
            self.next += item.count().unsigned_abs();
        }
        Ok(!self.closed)
    }

    /// Takes the next item, which was [expected](Self::expects).
    ///
    /// # Errors
    /// The stream ended before it in an earlier run.
    pub(super) fn item(&mut self, item: FrameItem) -> Result<Vec<Step>, TurnFailure> {
        let (old, new) = split(item, self.recorded.saturating_sub(self.next));
        let mut steps = Vec::new();
        if let Some(item) = old {
            self.count(&item);
            steps.push(Step::Recorded(item));
        }
        steps.extend(self.close_unwanted());
        match new {
            Some(item) if self.closed => self.next += item.count(),
            Some(_) if self.terminal.is_some() => {
                return Err(TurnFailure::Diverged(Divergence::Stream(self.id)));
            }
            Some(item) => {
                let first = self.next;
                self.count(&item);
                steps.push(Step::Put(first, item));
            }
            None => {}
        }
        Ok(steps)
    }

    /// The harness says that it has ended the stream.
    pub(super) fn end(&mut self, terminal: Terminal) -> Result<Option<Step>, TurnFailure> {
        self.ended = true;
        self.terminate(terminal)
    }

    /// The stream ends like this, unless it has ended already.
    ///
    /// # Errors
    /// It did not in an earlier run.
    pub(super) fn terminate(&mut self, terminal: Terminal) -> Result<Option<Step>, TurnFailure> {
        if self.closed {
            return Ok(None);
        }
        let as_recorded = self.terminal.as_ref().is_none_or(|recorded| *recorded == terminal);
        if self.next < self.recorded || !as_recorded {
            return Err(TurnFailure::Diverged(Divergence::Stream(self.id)));
        }
        self.closed = true;
        Ok(self.terminal.is_none().then_some(Step::End(terminal)))
    }

    /// The client does not want it any more.
    pub(super) fn unwanted(&mut self, reason: String) -> Vec<Step> {
        self.unwanted.get_or_insert(reason);
        self.close_unwanted()
    }

    /// Ends a stream that the client does not want, once everything is there that is recorded of it: so a harness that runs
    /// again is told at the place where it was told first.
    pub(super) fn close_unwanted(&mut self) -> Vec<Step> {
        let Some(reason) = self.unwanted.clone().filter(|_| !self.closed && self.next >= self.recorded) else {
            return Vec::new();
        };
        self.closed = true;
        let end = self.terminal.is_none().then(|| Step::End(Terminal::CancelledByClient(reason.clone())));
        let told = (!self.ended).then_some(Step::Cancel(reason));
        end.into_iter().chain(told).collect()
    }

    /// Its account, once it has ended.
    pub(super) fn finished(&self) -> Option<FinishedStream> {
        let (count, sha256) = (self.digest.count(), self.digest.clone().finish());
        (!self.nowhere).then_some(FinishedStream { id: self.id, role: Role::Output, count, sha256 })
    }

    fn count(&mut self, item: &FrameItem) {
        self.digest.add(item);
        self.next += item.count();
    }
}

/// The part of an item that is among the next `recorded` ones, and the rest.
fn split(item: FrameItem, recorded: u64) -> (Option<FrameItem>, Option<FrameItem>) {
    match item {
        _ if recorded == 0 => (None, Some(item)),
        FrameItem::Octets(mut octets) if recorded < octets.len() as u64 => {
            let rest = octets.split_off(usize::try_from(recorded).unwrap_or(usize::MAX));
            (Some(FrameItem::Octets(octets)), Some(FrameItem::Octets(rest)))
        }
        item => (Some(item), None),
    }
}
