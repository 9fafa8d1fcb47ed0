//! What waits to be made durable, in order.

use std::collections::VecDeque;

use journal::Journal;
use journal::invocations::{FrameItem, InvocationId, MAX_PUT_BYTES, NewOutput, OutputWrite, Run, StreamId};

use super::broken::Broken;
use super::recall::Recall;
use crate::turn::{Divergence, TurnFailure};

/// Most changes that are made at once.
const MOST: usize = 1000;

/// What a harness gets back for an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Credit {
    /// The harness's name of the stream.
    pub(super) stream: String,
    /// The sequence that follows the item.
    pub(super) end: u64,
    pub(super) bytes: i64,
    /// What the item is charged while the client was not sent it (L3).
    pub(super) charge: i64,
}

/// Something to be made durable, or found to be so.
#[derive(Debug)]
pub(super) enum Write {
    /// What the method returned, and the streams in it.
    Return(Option<String>, Vec<NewOutput>),
    /// The next item of a stream, which an earlier run recorded, or the harness does something else.
    Recorded(StreamId, FrameItem),
    /// A change of a stream.
    Put(OutputWrite),
}

/// Writes of one kind, which are made together.
#[derive(Debug)]
pub(super) enum Batch {
    Return(Option<String>, Vec<NewOutput>),
    Recorded(Vec<(StreamId, FrameItem)>),
    Put(Vec<OutputWrite>),
}

impl Batch {
    /// Makes it durable, or finds that it is.
    pub(super) async fn store(
        self,
        journal: Journal,
        run: Run,
        invocation: InvocationId,
        mut recall: Recall,
    ) -> Result<Recall, Broken> {
        match self {
            Self::Return(value, streams) => journal.set_returned(&run, invocation, value.as_deref(), streams).await?,
            Self::Put(writes) => journal.put_outputs(&run, invocation, writes).await?,
            Self::Recorded(items) => {
                for (stream, item) in items {
                    if !recall.agrees(stream, &item).await? {
                        return Err(Broken::Failed(TurnFailure::Diverged(Divergence::Stream(stream))));
                    }
                }
            }
        }
        Ok(recall)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Writes {
    waiting: VecDeque<(Write, usize, Option<Credit>)>,
    bytes: usize,
}

impl Writes {
    /// Adds a write of this many bytes, after which the harness gets this back.
    pub(super) fn push(&mut self, write: Write, bytes: usize, credit: Option<Credit>) {
        self.bytes += bytes;
        self.waiting.push_back((write, bytes, credit));
    }

    /// How many bytes wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// As many as can be made at once, and what the harness gets back after them.
    pub(super) fn take(&mut self) -> Option<(Batch, Vec<Credit>)> {
        let (first, mut size, credit) = self.waiting.pop_front()?;
        let (mut batch, mut credits) = (Batch::from(first), Vec::from_iter(credit));
        while let Some((write, bytes, credit)) =
            self.waiting.pop_front_if(|(write, bytes, _)| size + *bytes <= MAX_PUT_BYTES && batch.takes(write))
        {
            size += bytes;
            credits.extend(credit);
            batch.add(write);
        }
        self.bytes -= size;
        Some((batch, credits))
    }
}

impl From<Write> for Batch {
    fn from(write: Write) -> Self {
        match write {
            Write::Return(value, streams) => Self::Return(value, streams),
            Write::Recorded(stream, item) => Self::Recorded(vec![(stream, item)]),
            Write::Put(write) => Self::Put(vec![write]),
        }
    }
}

impl Batch {
    fn takes(&self, write: &Write) -> bool {
        match (self, write) {
            (Self::Recorded(items), Write::Recorded(..)) => items.len() < MOST,
            (Self::Put(writes), Write::Put(_)) => writes.len() < MOST,
            _ => false,
        }
    }

    fn add(&mut self, write: Write) {
        match (self, write) {
            (Self::Recorded(items), Write::Recorded(stream, item)) => items.push((stream, item)),
            (Self::Put(writes), Write::Put(write)) => writes.push(write),
            _ => {}
        }
    }
}
