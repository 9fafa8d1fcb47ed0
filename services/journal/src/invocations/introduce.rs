//! Streams that a value introduces.

use std::collections::BTreeMap;

use prost::Message;
use store::{TransactError, Transaction};
use uuid::Uuid;

use super::{InvocationId, MAX_NEW_STREAMS, MAX_STREAMS, Owner, Rule, StreamId};
use crate::Corrupt;
use crate::keys::InvocationKeys;
use crate::rows::{Kept, StreamCountRow, StreamRow, StreamStateRow};

/// An input that a value of the client introduces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewInput {
    /// What the client calls it.
    pub provisional: Uuid,
    /// The type of its items, as JSON; kept as it is.
    pub element: String,
    /// The fingerprint of that type (schema.md 10).
    pub fingerprint: [u8; 32],
}

/// An output that a value of the agent introduces. Its id is [`StreamId::output`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOutput {
    /// The type of its items, as JSON; kept as it is.
    pub element: String,
    /// The fingerprint of that type (schema.md 10).
    pub fingerprint: [u8; 32],
}

/// A stream to be introduced.
pub(super) struct Introduced {
    pub(super) id: StreamId,
    row: StreamRow,
    output: bool,
}

impl Introduced {
    /// The inputs of a value.
    pub(super) fn inputs(invocation: InvocationId, owner: Owner, new: &[NewInput]) -> Vec<Self> {
        let introduced = |input: &NewInput| Self {
            id: StreamId::input(invocation, input.provisional),
            row: StreamRow {
                provisional: input.provisional.into_bytes().to_vec(),
                owner: owner.to_string(),
                element: input.element.clone(),
                fingerprint: input.fingerprint.to_vec(),
            },
            output: false,
        };
        new.iter().map(introduced).collect()
    }

    /// The outputs of a value.
    pub(super) fn outputs(invocation: InvocationId, owner: Owner, new: &[NewOutput]) -> Vec<Self> {
        let introduced = |(index, output): (usize, &NewOutput)| Self {
            id: StreamId::output(invocation, &owner, index),
            row: StreamRow {
                provisional: Vec::new(),
                owner: owner.to_string(),
                element: output.element.clone(),
                fingerprint: output.fingerprint.to_vec(),
            },
            output: true,
        };
        new.iter().enumerate().map(introduced).collect()
    }
}

/// Makes the streams of one value, or none of them: answers the rule that they break.
pub(super) async fn introduce<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &InvocationKeys,
    new: &[Introduced],
) -> Result<Option<Rule>, TransactError<E>> {
    if new.is_empty() {
        return Ok(None);
    }
    if new.len() > MAX_NEW_STREAMS {
        return Ok(Some(Rule::ResourceExhausted));
    }
    if let Some(rule) = named_twice(new) {
        return Ok(Some(rule));
    }
    for stream in new {
        // Not from the same value: that is stored, and what is stored is not introduced again.
        if transaction.get(&keys.stream(stream.id)).await?.is_some() {
            return Ok(Some(Rule::StreamAlreadyConsumed));
        }
    }
    let mut count = Kept::<StreamCountRow>::read(transaction, &keys.stream_count()).await?.unwrap_or_default();
    count.row.streams += new.len() as u32;
    if count.row.streams as usize > MAX_STREAMS {
        return Ok(Some(Rule::ResourceExhausted));
    }
    count.write(transaction, &keys.stream_count());
    for stream in new {
        let state = Kept::new(StreamStateRow { output: stream.output, ..StreamStateRow::default() });
        transaction.set(&keys.stream(stream.id), &stream.row.encode_to_vec());
        state.write(transaction, &keys.stream_state(stream.id));
    }
    Ok(None)
}

/// The rule that a value breaks in which a stream stands twice (N4).
fn named_twice(new: &[Introduced]) -> Option<Rule> {
    let mut seen = BTreeMap::new();
    new.iter().find_map(|stream| {
        let before = seen.insert(stream.id, &stream.row.fingerprint)?;
        let same = *before == stream.row.fingerprint;
        Some(if same { Rule::StreamAlreadyConsumed } else { Rule::StreamConflict })
    })
}
