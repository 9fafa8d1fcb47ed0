//! The inputs of an invocation on their way from the journal to its harness.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use journal::invocations::{
    Frame, FrameItem, OutputChange, OutputWrite, StreamId, StreamProgress, StreamState, Terminal, Volume,
};
use stream_session::Refusal;
use stream_session::message::ServerReason;
use tokio::time::Instant;
use wire::stream_frame::Frame as Told;
use wire::stream_item::Item;
use wire::{BinaryItem, StreamCancel, StreamCredit, StreamEnd, StreamFrame, StreamItem};

use super::frame;
use crate::Notes;
use crate::invocation::{Element, Parameters, StreamDigest};
use crate::turn::TurnFailure;

/// Bytes of items that the harness is handed before that is noted: a part of what may wait for it (section 18).
const UNNOTED_BYTES: usize = 2 << 20;

/// See the module.
pub(super) struct Inputs {
    parameters: Parameters,
    /// Boxed, as a node of the map has room for eleven, and there is mostly one.
    streams: BTreeMap<StreamId, Box<Input>>,
    /// The input that was read last.
    turn: Option<StreamId>,
    /// How much of them the harness was handed, for whoever lets the client send more.
    notes: Notes<Volume>,
}

/// One input.
struct Input {
    /// Unknown until it has been looked up.
    element: Option<Element>,
    /// How many items there are, as far as is known.
    known: u64,
    terminal: Option<Terminal>,
    /// How many items have been read.
    read: u64,
    /// Read, and not sent.
    ahead: VecDeque<Frame>,
    /// How much the harness was handed in this run, and in any run, as that was noted last.
    handed: Volume,
    noted: Volume,
    /// What may still be sent.
    credit: i64,
    /// The harness will not read on, or has been told the end.
    over: bool,
    /// The harness has said that it does not want it.
    dropped: bool,
    digest: StreamDigest,
}

impl Default for Input {
    fn default() -> Self {
        Self {
            element: None,
            known: 0,
            terminal: None,
            read: 0,
            ahead: VecDeque::new(),
            handed: Volume::default(),
            noted: Volume::default(),
            credit: StreamCredit::INITIAL,
            over: false,
            dropped: false,
            digest: StreamDigest::default(),
        }
    }
}

impl Inputs {
    pub(super) fn new(parameters: Parameters) -> Self {
        Self { parameters, streams: BTreeMap::new(), turn: None, notes: Notes::every(UNNOTED_BYTES) }
    }

    /// The input that the harness calls by this name.
    pub(super) fn find(&self, name: &str) -> Option<StreamId> {
        let id = StreamId::new(name.parse().ok()?);
        self.streams.contains_key(&id).then_some(id)
    }

    /// Takes what an input is made of.
    pub(super) fn learn(&mut self, state: StreamState) -> Result<(), Refusal> {
        let input = self.streams.entry(state.progress.id).or_default();
        if input.element.is_none() {
            input.element = Some(self.parameters.element(&state.element)?);
        }
        self.look(state.progress);
        Ok(())
    }

    /// Looks how far an input is.
    pub(super) fn look(&mut self, progress: StreamProgress) {
        let input = self.streams.entry(progress.id).or_default();
        input.known = progress.next;
        input.noted = progress.handed;
        input.terminal = progress.terminal;
    }

    /// Takes what the harness says of an input. It may lead to a change.
    pub(super) fn hear(&mut self, id: StreamId, frame: Told) -> Result<Option<OutputWrite>, TurnFailure> {
        let input = self.streams.entry(id).or_default();
        match frame {
            Told::Credit(StreamCredit { bytes }) if bytes > 0 => {
                input.credit = input.credit.saturating_add(bytes);
                Ok(None)
            }
            Told::Credit(_) => Err(TurnFailure::Violation("it gave no credit")),
            Told::Cancel(StreamCancel { reason }) => {
                input.over = true;
                input.ahead.clear();
                let news = !std::mem::replace(&mut input.dropped, true) && input.terminal.is_none();
                let reason = ServerReason::parse(&reason).unwrap_or(ServerReason::ConsumerDrop);
                Ok(news.then(|| drop_input(id, reason.as_str().to_owned())))
            }
            Told::Item(_) | Told::End(_) => Err(TurnFailure::Violation("it writes to an input")),
        }
    }

    /// The next input that can be read on, and from where.
    pub(super) fn hungry(&mut self) -> Option<(StreamId, u64)> {
        let after = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let found =
            self.streams.range((after, Bound::Unbounded)).chain(&self.streams).find(|(_, input)| input.is_hungry());
        let (id, from) = found.map(|(id, input)| (*id, input.read))?;
        self.turn = Some(id);
        Some((id, from))
    }

    /// Takes frames that were read.
    pub(super) fn fill(&mut self, id: StreamId, frames: Vec<Frame>) {
        let Some(input) = self.streams.get_mut(&id).filter(|input| !input.over) else { return };
        if let Some(last) = frames.last() {
            input.read = last.end();
            input.known = input.known.max(input.read);
        }
        input.ahead.extend(frames);
    }

    /// What can be sent to the harness now.
    pub(super) fn feed(&mut self) -> Result<Vec<StreamFrame>, Refusal> {
        let (mut frames, mut nested) = (Vec::new(), Vec::new());
        for (id, input) in &mut self.streams {
            let Some(element) = input.element.as_ref().filter(|_| !input.over) else { continue };
            while input.credit > 0
                && let Some(read) = input.ahead.pop_front()
            {
                input.digest.add(&read.item);
                input.handed += Volume::entry(read.charge);
                // What an earlier run was handed stays noted until this one has come beyond it.
                if input.handed.entries > input.noted.entries && input.terminal.is_none() {
                    self.notes.add(*id, input.handed, read.item.size());
                }
                nested.extend(read.streams);
                let item = stream_item(&self.parameters, element, read.first, read.item)?;
                input.credit -= item.cost();
                frames.push(frame(id.to_string(), Told::Item(item)));
            }
            if input.ahead.is_empty()
                && input.read == input.known
                && let Some(terminal) = &input.terminal
            {
                input.over = true;
                frames.push(frame(id.to_string(), told(terminal)));
            }
        }
        for id in nested {
            self.streams.entry(id).or_default();
        }
        Ok(frames)
    }

    /// When it is to be noted what the harness was handed.
    pub(super) fn note_due(&self) -> Option<Instant> {
        self.notes.due()
    }

    /// What is to be noted of that now.
    pub(super) fn take_notes(&mut self) -> impl Iterator<Item = OutputWrite> + use<> {
        let due = self.notes.take_due().into_iter().flatten();
        due.map(|(stream, handed)| OutputWrite { stream, change: OutputChange::Handed(handed) })
    }

    /// Whether there is one of which only that is known.
    pub(super) fn has_unknown(&self) -> bool {
        self.streams.values().any(|input| input.element.is_none())
    }

    /// Whether the harness may be waiting for what the client has not sent.
    pub(super) fn wait_for_client(&self) -> bool {
        self.streams.values().any(|input| !input.over && input.ahead.is_empty() && input.read == input.known)
    }

    /// Those that have not ended.
    pub(super) fn open(&self) -> Vec<StreamId> {
        self.streams.iter().filter(|(_, input)| input.terminal.is_none()).map(|(id, _)| *id).collect()
    }

    /// How far each has been digested, and how many items it has.
    pub(super) fn digests(&self) -> Vec<(StreamId, StreamDigest, u64)> {
        self.streams.iter().map(|(id, input)| (*id, input.digest.clone(), input.known)).collect()
    }
}

impl Input {
    fn is_hungry(&self) -> bool {
        !self.over && self.element.is_some() && self.credit > 0 && self.ahead.is_empty() && self.read < self.known
    }
}

/// Nobody reads an input any more.
pub(super) fn drop_input(stream: StreamId, reason: String) -> OutputWrite {
    OutputWrite { stream, change: OutputChange::Drop(reason) }
}

fn told(terminal: &Terminal) -> Told {
    match terminal {
        Terminal::Ended => Told::End(StreamEnd::default()),
        Terminal::CancelledByClient(reason) | Terminal::CancelledByServer(reason) => {
            Told::Cancel(StreamCancel { reason: reason.clone() })
        }
        Terminal::Error { code, .. } => Told::Cancel(StreamCancel { reason: code.clone() }),
    }
}

fn stream_item(parameters: &Parameters, element: &Element, first: u64, item: FrameItem) -> Result<StreamItem, Refusal> {
    let item = match item {
        FrameItem::Value(text) => Item::Value(parameters.item(element, text)?),
        FrameItem::Octets(octets) => Item::Octets(octets.into()),
        FrameItem::Binary { data, mime } => {
            Item::Binary(BinaryItem { data: data.into(), mime_type: mime.unwrap_or_default() })
        }
    };
    Ok(StreamItem { sequence: i64::try_from(first).unwrap_or(i64::MAX), item: Some(item) })
}
