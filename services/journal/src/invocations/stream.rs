//! One stream of an invocation.

use std::fmt;
use std::ops::AddAssign;
use std::str::FromStr;

use uuid::Uuid;

use super::StreamId;
use crate::Corrupt;
use crate::rows::{
    HandedRow, StreamErrorRow, StreamRow, StreamStateRow, TerminalKind, TerminalRow, decode_digest,
    decode_optional_uuid,
};

const CORRUPT: Corrupt = Corrupt { what: "stream" };

/// Which way a stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// To the agent.
    Input,
    /// To the client.
    Output,
}

impl Role {
    /// As metrics name it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

/// The value that a stream is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The parameters of the method.
    Start,
    /// What the method returned.
    Result,
    /// An item of another stream, by its sequence.
    Item(StreamId, u64),
}

/// A stream as of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamState {
    /// What the client called it, if it is an input.
    pub provisional: Option<Uuid>,
    /// The value that it is part of.
    pub owner: Owner,
    /// The type of its items, as it was given.
    pub element: String,
    /// The fingerprint of that type (schema.md 10).
    pub fingerprint: [u8; 32],
    /// How far it is.
    pub progress: StreamProgress,
}

/// How far a stream is.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamProgress {
    /// The stream.
    pub id: StreamId,
    /// Which way it goes.
    pub role: Role,
    /// How many items there are: the sequence of the next one.
    pub next: u64,
    /// How much that is.
    pub volume: Volume,
    /// Of an input: how much of that its agent was handed, as it was last noted. A later run may not have come so far again.
    pub handed: Volume,
    /// How it ended, if it did. Nothing comes after that.
    pub terminal: Option<Terminal>,
    /// Of an output: why the client has no use for it any more, if it said so. Its runner is to end it.
    pub wish: Option<String>,
    /// Of an output: how many items the client was sent, as it was last noted.
    pub delivered: u64,
}

/// How much there is of a stream, as its queue is limited (section 18).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Items; a batch of u8 is one.
    pub entries: u64,
    /// What they are charged, in bytes (schema.md 6 and B5). Nothing is charged for outputs.
    pub charge: u64,
}

/// How a stream ended. Reasons and codes are the protocol's texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// Well.
    Ended,
    /// Its producer failed.
    Error {
        /// Why, as one of the protocol's error codes.
        code: String,
        /// In words.
        message: String,
    },
    /// The client cancelled it, for this reason.
    CancelledByClient(String),
    /// The agent or the host cancelled it, for this reason.
    CancelledByServer(String),
}

impl StreamState {
    pub(super) fn read(row: StreamRow, progress: StreamProgress) -> Result<Self, Corrupt> {
        Ok(Self {
            provisional: decode_optional_uuid(CORRUPT.what, &row.provisional)?,
            owner: row.owner.parse()?,
            element: row.element,
            fingerprint: decode_digest(CORRUPT.what, &row.fingerprint)?,
            progress,
        })
    }
}

impl StreamProgress {
    pub(super) fn read(id: StreamId, state: StreamStateRow) -> Result<Self, Corrupt> {
        Ok(Self {
            id,
            role: if state.output { Role::Output } else { Role::Input },
            next: state.next,
            volume: Volume { entries: state.entries, charge: state.charge },
            handed: Volume::default(),
            terminal: state.terminal.map(Terminal::read).transpose()?,
            wish: None,
            delivered: 0,
        })
    }
}

impl Volume {
    /// One entry of this charge.
    #[must_use]
    pub fn entry(charge: u64) -> Self {
        Self { entries: 1, charge }
    }

    /// How much more this is than `part`.
    #[must_use]
    pub fn without(self, part: Self) -> Self {
        let Self { entries, charge } = self;
        Self { entries: entries.saturating_sub(part.entries), charge: charge.saturating_sub(part.charge) }
    }

    pub(super) fn to_row(self) -> HandedRow {
        HandedRow { entries: self.entries, charge: self.charge }
    }
}

impl AddAssign for Volume {
    fn add_assign(&mut self, more: Self) {
        self.entries = self.entries.saturating_add(more.entries);
        self.charge = self.charge.saturating_add(more.charge);
    }
}

impl From<HandedRow> for Volume {
    fn from(HandedRow { entries, charge }: HandedRow) -> Self {
        Self { entries, charge }
    }
}

impl Terminal {
    pub(super) fn to_row(&self) -> TerminalRow {
        let kind = match self.clone() {
            Self::Ended => TerminalKind::Ended(true),
            Self::Error { code, message } => TerminalKind::Error(StreamErrorRow { code, message }),
            Self::CancelledByClient(reason) => TerminalKind::CancelledByClient(reason),
            Self::CancelledByServer(reason) => TerminalKind::CancelledByServer(reason),
        };
        TerminalRow { kind: Some(kind) }
    }

    pub(super) fn read(row: TerminalRow) -> Result<Self, Corrupt> {
        Ok(match row.kind.ok_or(CORRUPT)? {
            TerminalKind::Ended(_) => Self::Ended,
            TerminalKind::Error(StreamErrorRow { code, message }) => Self::Error { code, message },
            TerminalKind::CancelledByClient(reason) => Self::CancelledByClient(reason),
            TerminalKind::CancelledByServer(reason) => Self::CancelledByServer(reason),
        })
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::Result => f.write_str("result"),
            Self::Item(stream, sequence) => write!(f, "{stream}/{sequence}"),
        }
    }
}

impl FromStr for Owner {
    type Err = Corrupt;

    fn from_str(text: &str) -> Result<Self, Corrupt> {
        match text {
            "start" => Ok(Self::Start),
            "result" => Ok(Self::Result),
            _ => {
                let (stream, sequence) = text.split_once('/').ok_or(CORRUPT)?;
                let stream = StreamId::new(Uuid::try_parse(stream).map_err(|_| CORRUPT)?);
                Ok(Self::Item(stream, sequence.parse().map_err(|_| CORRUPT)?))
            }
        }
    }
}
