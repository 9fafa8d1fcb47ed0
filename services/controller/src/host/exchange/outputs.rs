//! The outputs of an invocation, and what its method returns, as its harness sends them.

use std::collections::{BTreeSet, HashMap};
use std::mem;

use journal::invocations::{
    FrameItem, InvocationId, MAX_STREAMS, NewOutput, OutputChange, OutputWrite, Owner, Returned, StreamId,
    StreamProgress, Terminal,
};
use stream_session::{ErrorCode, limits};
use wire::stream_frame::Frame;
use wire::{MethodReturn, StreamCancel, StreamCredit, StreamEnd, StreamFrame, StreamItem};

use super::pace::Pace;
use super::placed::{Placed, Step};
use super::writes::{Credit, Write, Writes};
use super::{CONSUMER_DROP, frame};
use crate::invocation::{FinishedStream, Introduced, Results, Spoken};
use crate::turn::{Asked, Divergence, TurnFailure};

/// Most bytes of items whose stream no value has introduced yet.
const MOST_HELD: usize = 32 << 20;
/// Most that is durable of all outputs together and that an attached client was not sent, as it is charged (section 18).
const MOST_OWED: i64 = 32 << 20;
/// Most bytes that are kept of an error with which an agent ends an output.
const MOST_ERROR: usize = 64 << 10;
/// What a message has beside the text of an item, and again for each stream in it: tokens, mostly.
const ENVELOPE: usize = 8 << 10;
/// What a harness is told of a stream that cannot go on.
const EXHAUSTED: &str = "resource-exhausted";

/// See the module.
pub(super) struct Outputs {
    invocation: InvocationId,
    results: Results,
    /// By the names that the harness gave them.
    streams: HashMap<String, Output>,
    names: HashMap<StreamId, String>,
    /// What an earlier run recorded, as far as the harness has not introduced it again.
    recorded: HashMap<StreamId, StreamProgress>,
    /// How many inputs there were when the run began.
    inputs: usize,
    /// Bytes of items that wait for the introduction of their stream.
    held: usize,
    returned: Return,
    /// What the client was not sent, as it is charged.
    owed: i64,
    /// Outputs whose harness is to get credit, once there is room for more.
    withheld: BTreeSet<String>,
    /// A client follows the invocation.
    attached: bool,
    /// To be made durable.
    pub(super) writes: Writes,
    /// For the harness.
    frames: Vec<StreamFrame>,
}

/// What is known of the method's return.
enum Return {
    /// An earlier run may have recorded it.
    Awaited(Option<Returned>),
    /// The harness has said it, and it is not durable.
    Said(Option<String>),
    /// It is.
    Durable(Option<String>),
}

/// One output.
struct Output {
    stage: Stage,
    /// What the harness may still send.
    credit: i64,
    pace: Pace,
}

enum Stage {
    /// No value has introduced it; these frames wait for that.
    Held(Vec<Frame>),
    Placed(Box<Placed>),
}

impl Outputs {
    /// The outputs of an invocation of which this is recorded, beside so many inputs.
    pub(super) fn new(
        invocation: InvocationId,
        results: Results,
        (returned, attached): (Option<Returned>, bool),
        inputs: usize,
        recorded: impl IntoIterator<Item = StreamProgress>,
    ) -> Self {
        Self {
            invocation,
            results,
            streams: HashMap::new(),
            names: HashMap::new(),
            recorded: recorded.into_iter().map(|progress| (progress.id, progress)).collect(),
            inputs,
            held: 0,
            returned: Return::Awaited(returned),
            owed: 0,
            withheld: BTreeSet::new(),
            attached,
            writes: Writes::default(),
            frames: Vec::new(),
        }
    }

    /// Takes a frame of the harness about a stream that is no input.
    pub(super) fn hear(&mut self, name: &str, frame: Frame) -> Result<(), TurnFailure> {
        if matches!(frame, Frame::Cancel(_) | Frame::Credit(_)) {
            return Err(TurnFailure::Violation("it reads a stream that is no input"));
        }
        let output = self.streams.entry(name.to_owned()).or_insert_with(Output::new);
        if !output.goes_on() {
            return Err(TurnFailure::Violation("it went on with a stream that it had ended"));
        }
        if let Frame::Item(item) = &frame {
            output.charge(item.cost())?;
        }
        match &mut output.stage {
            Stage::Placed(_) => self.placed(name, frame),
            Stage::Held(held) => {
                self.held += size(&frame);
                held.push(frame);
                let bearable = self.held <= MOST_HELD;
                bearable.then_some(()).ok_or(TurnFailure::Violation("it sent too much on streams that stand nowhere"))
            }
        }
    }

    /// Takes what the method returned.
    pub(super) fn hear_return(&mut self, said: &MethodReturn) -> Result<(), TurnFailure> {
        let Return::Awaited(recorded) = &mut self.returned else {
            return Err(TurnFailure::Violation("its method returned twice"));
        };
        let recorded = recorded.take();
        let Spoken { said, streams } = self.results.result(&said.result)?;
        let ids = ids(self.invocation, &Owner::Result, streams.len());
        let value = said.map(|value| Results::text(value, &ids));
        match recorded {
            None => {
                self.writes.push(Write::Return(value.clone(), new(&streams)), 0, None);
                self.returned = Return::Said(value);
            }
            Some(recorded) if recorded.value == value => self.returned = Return::Durable(value),
            Some(_) => return Err(TurnFailure::Diverged(Divergence::Content(Asked::Return))),
        }
        self.introduce(streams, ids)
    }

    /// What the method returned, once that is durable. The value may be none.
    pub(super) fn returned(&self) -> Option<Option<&str>> {
        match &self.returned {
            Return::Durable(value) => Some(value.as_deref()),
            Return::Awaited(_) | Return::Said(_) => None,
        }
    }

    /// What the method returned has become durable.
    pub(super) fn return_is_durable(&mut self) {
        if let Return::Said(value) = &mut self.returned {
            self.returned = Return::Durable(value.take());
        }
    }

    /// Looks at what the journal says of an output: how much of it the client was sent, and whether it wants the rest.
    pub(super) fn look(&mut self, progress: StreamProgress) {
        let Some(name) = self.names.get(&progress.id).cloned() else {
            // The harness has not come so far again.
            if let Some(recorded) = self.recorded.get_mut(&progress.id) {
                *recorded = progress;
            }
            return;
        };
        // What the client does not want waits for nobody (L2).
        let is_unwanted = progress.wish.is_some() || matches!(progress.terminal, Some(Terminal::CancelledByClient(_)));
        let delivered = if is_unwanted { u64::MAX } else { progress.delivered };
        self.pace(&name, |pace, attached| pace.delivered(delivered, attached));
        let Some(output) = self.streams.get_mut(&name) else { return };
        let wish = progress.wish.filter(|_| progress.terminal.is_none());
        if let (Stage::Placed(placed), Some(reason)) = (&mut output.stage, wish) {
            let steps = placed.unwanted(reason);
            self.perform(&name, steps, Vec::new(), None);
        }
        self.release();
    }

    /// Whether a client follows the invocation.
    pub(super) fn set_attached(&mut self, attached: bool) {
        self.attached = attached;
    }

    /// Frames for the harness.
    pub(super) fn take_frames(&mut self) -> Vec<StreamFrame> {
        mem::take(&mut self.frames)
    }

    /// Items have become durable.
    pub(super) fn durable(&mut self, credits: Vec<Credit>) {
        for Credit { stream, end, bytes, charge } in credits {
            self.pace(&stream, |pace, attached| pace.durable(end, (bytes, charge), attached));
        }
        self.release();
    }

    /// Changes the pace of an output, after which its harness may have credit to get.
    fn pace(&mut self, name: &str, change: impl FnOnce(&mut Pace, bool)) {
        let Some(Output { pace, .. }) = self.streams.get_mut(name) else { return };
        let before = pace.bytes();
        change(pace, self.attached);
        self.owed += pace.bytes() - before;
        self.withheld.insert(name.to_owned());
    }

    /// Gives credit for what there is room for.
    fn release(&mut self) {
        if self.owed > MOST_OWED {
            return;
        }
        for name in mem::take(&mut self.withheld) {
            match self.streams.get_mut(&name).and_then(|output| output.pace.release()) {
                Some(bytes) => self.grant(name, bytes),
                None => drop(self.withheld.insert(name)),
            }
        }
    }

    /// The harness may send so much more.
    fn grant(&mut self, name: String, bytes: i64) {
        if let Some(output) = self.streams.get_mut(&name).filter(|output| bytes > 0 && output.is_open()) {
            output.credit += bytes;
            self.frames.push(frame(name, Frame::Credit(StreamCredit { bytes })));
        }
    }

    /// Whether the harness may end its run as completed.
    pub(super) fn check_complete(&self) -> Result<(), TurnFailure> {
        if self.returned().is_none() {
            return Err(TurnFailure::Violation("it ended before its method had returned"));
        }
        if !self.recorded.is_empty() {
            return Err(TurnFailure::Diverged(Divergence::LeftOver));
        }
        if self.streams.values().filter_map(Output::as_placed).any(Placed::is_open) {
            return Err(TurnFailure::Violation("it ended before its outputs had"));
        }
        Ok(())
    }

    /// The account of every output, once they have ended.
    pub(super) fn finished(&self) -> impl Iterator<Item = FinishedStream> {
        self.streams.values().filter_map(Output::as_placed).filter_map(Placed::finished)
    }

    /// Takes a frame about a stream that has been introduced.
    fn placed(&mut self, name: &str, frame: Frame) -> Result<(), TurnFailure> {
        match frame {
            Frame::Item(item) => self.item(name, item),
            Frame::End(StreamEnd { error }) => {
                let Some(placed) = self.streams.get_mut(name).and_then(Output::as_placed_mut) else { return Ok(()) };
                let step = placed.end(ended(error))?;
                self.perform(name, step, Vec::new(), None);
                Ok(())
            }
            // Refused where they are heard.
            Frame::Cancel(_) | Frame::Credit(_) => Ok(()),
        }
    }

    fn item(&mut self, name: &str, item: StreamItem) -> Result<(), TurnFailure> {
        let (bytes, count) = (item.cost(), item.count().unsigned_abs());
        let Some(placed) = self.streams.get_mut(name).and_then(Output::as_placed_mut) else { return Ok(()) };
        if !placed.expects(&item)? {
            return self.disown(name, item);
        }
        let Spoken { said, streams } = match self.results.item(&placed.element, item.item) {
            Ok(spoken) => spoken,
            Err(refusal) if refusal.code == ErrorCode::ResourceExhausted => {
                return self.exhausted(name, &refusal.text);
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let ids = ids(self.invocation, &Owner::Item(placed.id, placed.next()), streams.len());
        let item = said.recorded(&ids);
        if let Some(obstacle) = obstacle(&item, streams.len(), self.inputs + self.names.len()) {
            self.exhausted(name, obstacle)?;
            return self.lose(streams, ids);
        }
        let charge = charge(&item, bytes);
        let credit = Credit { stream: name.to_owned(), end: placed.next() + count, bytes, charge };
        let steps = placed.item(item)?;
        self.perform(name, steps, new(&streams), Some(credit));
        self.introduce(streams, ids)
    }

    /// An item cannot be put on the wire: its stream ends, and nothing else (P7).
    fn exhausted(&mut self, name: &str, message: &str) -> Result<(), TurnFailure> {
        let Some(placed) = self.streams.get_mut(name).and_then(Output::as_placed_mut) else { return Ok(()) };
        let terminal = Terminal::Error { code: EXHAUSTED.to_owned(), message: message.to_owned() };
        let steps = placed.terminate(terminal)?.into_iter().chain([Step::Cancel(EXHAUSTED.to_owned())]);
        self.perform(name, steps, Vec::new(), None);
        Ok(())
    }

    /// Performs steps of a stream: an item of theirs introduces `streams`, and is worth `credit`.
    fn perform(
        &mut self,
        name: &str,
        steps: impl IntoIterator<Item = Step>,
        streams: Vec<NewOutput>,
        mut credit: Option<Credit>,
    ) {
        let Some(id) = self.streams.get(name).and_then(Output::as_placed).map(|placed| placed.id) else { return };
        let put = |change| Write::Put(OutputWrite { stream: id, change });
        let mut streams = Some(streams);
        for step in steps {
            match step {
                Step::Recorded(item) => {
                    let size = item.size();
                    self.writes.push(Write::Recorded(id, item), size, credit.take());
                }
                Step::Put(first, item) => {
                    let (size, streams) = (item.size(), streams.take().unwrap_or_default());
                    self.writes.push(put(OutputChange::Put { first, item, streams }), size, credit.take());
                }
                Step::End(terminal) => self.writes.push(put(OutputChange::End(terminal)), 0, None),
                Step::Cancel(reason) => {
                    self.frames.push(frame(name.to_owned(), Frame::Cancel(StreamCancel { reason })));
                }
            }
        }
    }

    /// The streams in what nobody gets reach nobody either.
    fn disown(&mut self, name: &str, item: StreamItem) -> Result<(), TurnFailure> {
        let Some(placed) = self.streams.get(name).and_then(Output::as_placed) else { return Ok(()) };
        let (id, sequence) = (placed.id, placed.next());
        let streams =
            self.results.item(&placed.element, item.item).map_or_else(|_| Vec::new(), |spoken| spoken.streams);
        let ids = ids(self.invocation, &Owner::Item(id, sequence), streams.len());
        self.lose(streams, ids)
    }

    /// Nobody learns of these streams.
    fn lose(&mut self, streams: Vec<Introduced>, ids: Vec<StreamId>) -> Result<(), TurnFailure> {
        for (Introduced { name, element, .. }, id) in streams.into_iter().zip(ids) {
            self.place(&name, Placed::nowhere(id, element), [Step::Cancel(CONSUMER_DROP.to_owned())])?;
        }
        Ok(())
    }

    /// Gives streams their places.
    fn introduce(&mut self, streams: Vec<Introduced>, ids: Vec<StreamId>) -> Result<(), TurnFailure> {
        for (Introduced { name, element, .. }, id) in streams.into_iter().zip(ids) {
            let recorded = self.recorded.remove(&id);
            let delivered = recorded.as_ref().map_or(0, |recorded| recorded.delivered);
            let mut placed = Placed::new(id, element, recorded);
            let steps = placed.close_unwanted();
            self.names.insert(id, name.clone());
            self.streams.entry(name.clone()).or_insert_with(Output::new);
            self.pace(&name, |pace, attached| pace.delivered(delivered, attached));
            self.place(&name, placed, steps)?;
        }
        Ok(())
    }

    /// Places a stream, begins with these steps, and takes what was held for it.
    fn place(&mut self, name: &str, placed: Placed, steps: impl IntoIterator<Item = Step>) -> Result<(), TurnFailure> {
        let output = self.streams.entry(name.to_owned()).or_insert_with(Output::new);
        let Stage::Held(held) = mem::replace(&mut output.stage, Stage::Placed(Box::new(placed))) else {
            return Err(TurnFailure::Violation("it introduced a stream twice"));
        };
        self.perform(name, steps, Vec::new(), None);
        for frame in held {
            self.held -= size(&frame);
            self.placed(name, frame)?;
        }
        Ok(())
    }
}

impl Output {
    fn new() -> Self {
        Self { stage: Stage::Held(Vec::new()), credit: StreamCredit::INITIAL, pace: Pace::default() }
    }

    fn as_placed(&self) -> Option<&Placed> {
        match &self.stage {
            Stage::Placed(placed) => Some(placed),
            Stage::Held(_) => None,
        }
    }

    fn as_placed_mut(&mut self) -> Option<&mut Placed> {
        match &mut self.stage {
            Stage::Placed(placed) => Some(placed),
            Stage::Held(_) => None,
        }
    }

    /// Whether the harness has not ended it.
    fn goes_on(&self) -> bool {
        match &self.stage {
            Stage::Held(frames) => !matches!(frames.last(), Some(Frame::End(_))),
            Stage::Placed(placed) => !placed.has_ended(),
        }
    }

    /// Whether more of it is of any use.
    fn is_open(&self) -> bool {
        self.goes_on() && self.as_placed().is_none_or(Placed::is_open)
    }

    fn charge(&mut self, cost: i64) -> Result<(), TurnFailure> {
        if self.credit <= 0 {
            return Err(TurnFailure::Violation("it sent more than it had credit for"));
        }
        self.credit -= cost;
        Ok(())
    }
}

/// The streams at the first places of a value.
fn ids(invocation: InvocationId, owner: &Owner, count: usize) -> Vec<StreamId> {
    (0..count).map(|index| StreamId::output(invocation, owner, index)).collect()
}

/// Why an item that introduces so many streams beside those `known` cannot be put on the wire, if it cannot (P7, C4).
fn obstacle(item: &FrameItem, introduces: usize, known: usize) -> Option<&'static str> {
    let most_text = limits::MESSAGE_BYTES.saturating_sub(ENVELOPE * (1 + introduces));
    let is_too_long = matches!(item, FrameItem::Value(text) if text.len() > most_text);
    match () {
        () if is_too_long => Some("an item is too long for a message"),
        () if known + introduces > MAX_STREAMS => Some("the invocation has too many streams"),
        () => None,
    }
}

/// What an item is charged that uses up so much credit: a byte of u8 twice (B5), a value no less than by the schema.
fn charge(item: &FrameItem, cost: i64) -> i64 {
    match item {
        FrameItem::Octets(octets) => 2 * i64::try_from(octets.len()).unwrap_or(i64::MAX / 2),
        FrameItem::Value(_) | FrameItem::Binary { .. } => cost,
    }
}

/// How a stream ends that its producer ended.
fn ended(error: Option<String>) -> Terminal {
    let failed = |mut message: String| {
        message.truncate(message.floor_char_boundary(MOST_ERROR));
        Terminal::Error { code: ErrorCode::ProducerError.as_str().to_owned(), message }
    };
    error.map_or(Terminal::Ended, failed)
}

fn new(streams: &[Introduced]) -> Vec<NewOutput> {
    streams.iter().map(|stream| stream.new.clone()).collect()
}

fn size(frame: &Frame) -> usize {
    match frame {
        Frame::Item(item) => usize::try_from(item.cost()).unwrap_or(usize::MAX),
        Frame::End(_) | Frame::Cancel(_) | Frame::Credit(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn p7_and_c4_an_item_that_is_too_long_or_has_too_many_streams_is_not_sent() {
        let text = |length| FrameItem::Value("a".repeat(length));
        let longest = limits::MESSAGE_BYTES - ENVELOPE;
        assert_eq!(obstacle(&text(longest), 0, MAX_STREAMS), None);
        assert!(obstacle(&text(longest + 1), 0, 0).is_some());
        assert!(obstacle(&text(longest), 1, 0).is_some(), "a token takes room");
        assert_eq!(obstacle(&text(1), 256, MAX_STREAMS - 256), None);
        assert!(obstacle(&text(1), 256, MAX_STREAMS - 255).is_some());
    }

    #[test]
    fn section_18_outputs_that_owe_too_much_together_wait_for_the_client() {
        let (id, results) = (InvocationId::new(Uuid::from_u128(1)), Results::new("").expect("no graph"));
        let mut outputs = Outputs::new(id, results, (None, true), 0, []);
        let names = ["a", "b", "c"];
        outputs.streams.extend(names.map(|name| (name.to_owned(), Output::new())));
        let granted =
            |outputs: &mut Outputs| -> Vec<_> { outputs.take_frames().into_iter().map(|frame| frame.stream).collect() };
        let durable = |name: &str| Credit { stream: name.to_owned(), end: 1, bytes: 12 << 20, charge: 12 << 20 };
        outputs.durable(vec![durable("a"), durable("b")]);
        assert_eq!(granted(&mut outputs), ["a", "b"]);
        outputs.durable(vec![durable("c")]);
        assert_eq!(granted(&mut outputs), [""; 0]);
        outputs.pace("a", |pace, attached| pace.delivered(1, attached));
        outputs.release();
        assert_eq!(granted(&mut outputs), ["c"]);
    }
}
