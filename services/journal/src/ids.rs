//! The identities and counters of the journal. Constructors fail, uses do not.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use thiserror::Error;

/// The uid of a session. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionUid(Arc<str>);

/// Why a text is not a [`SessionUid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidUid {
    /// It is empty.
    #[error("session uid is empty")]
    Empty,
    /// It is longer than any uid can be, or holds a NUL: no such session exists.
    #[error("no session has such a uid")]
    Impossible,
}

impl SessionUid {
    /// Longest uid accepted, in bytes. Minted ones have 29; journals of other hosts may hold others.
    pub const MAX_BYTES: usize = 256;

    /// Reads a uid that a caller sent.
    ///
    /// # Errors
    /// [`InvalidUid`].
    pub fn parse(text: &str) -> Result<Self, InvalidUid> {
        match text {
            "" => Err(InvalidUid::Empty),
            _ if text.len() > Self::MAX_BYTES || text.contains('\0') => Err(InvalidUid::Impossible),
            _ => Ok(Self(text.into())),
        }
    }

    /// Mints a new one.
    #[must_use]
    pub fn mint(env: &env::Env) -> Self {
        Self(env::session_uid(env).into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The id of an execution (one turn). Empty for records from before executions had ids. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ExecutionId(Arc<str>);

impl ExecutionId {
    /// Length of a minted id: lowercase hex digits (journal.md §6).
    const MINTED_BYTES: usize = 16;

    /// An id found in a record or sent by a caller.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// An id that a caller chose for a new turn; `None` unless it has the form of a minted one.
    #[must_use]
    pub fn chosen(text: &str) -> Option<Self> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == Self::MINTED_BYTES && text.as_bytes().iter().all(is_digit)).then(|| Self::new(text))
    }

    /// Mints a new one.
    #[must_use]
    pub fn mint(env: &env::Env) -> Self {
        Self(env::execution_id(env).into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this stands for records without an execution id.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.0.is_empty()
    }
}

macro_rules! text_id {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

text_id!(SessionUid);
text_id!(ExecutionId);

/// One run of a node, from its start to its end. Recorded with the fences that it mints, so that others know whom to ask;
/// never needed for safety.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(NonZeroU64);

impl Incarnation {
    /// Mints a new one.
    #[must_use]
    pub fn mint(env: &env::Env) -> Self {
        Self(NonZeroU64::new(env.random_u64()).unwrap_or(NonZeroU64::MAX))
    }

    /// Reads one back; `None` for 0, which stands for nobody.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        NonZeroU64::new(number).map(Self)
    }

    /// As a number, which is never 0.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Incarnation({self})")
    }
}

/// The position of a record in its session: the first is 1; 0 is the head of an empty log. Never above `i64::MAX`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(u64);

/// A fence: 0 until the first is minted. Never above `i64::MAX`. Not shown to users and never logged.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

macro_rules! counter {
    ($name:ident) => {
        impl $name {
            /// Reads a wire value; `None` if it is negative.
            #[must_use]
            pub fn from_wire(value: i64) -> Option<Self> {
                u64::try_from(value).ok().map(Self)
            }

            /// The wire value.
            #[must_use]
            pub fn to_wire(self) -> i64 {
                i64::try_from(self.0).unwrap_or(i64::MAX)
            }

            /// The number.
            #[must_use]
            pub fn get(self) -> u64 {
                self.0
            }

            /// A value that this journal stored.
            pub(crate) fn stored(value: u64) -> Self {
                Self(value)
            }

            /// The next one.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }
    };
}

counter!(Seq);
counter!(Fence);

impl Seq {
    /// The head of an empty log.
    pub const ZERO: Self = Self(0);
    /// The first record.
    pub const FIRST: Self = Self(1);
    /// No record comes after it.
    pub(crate) const MAX: Self = Self(i64::MAX as u64);

    /// The position before; the first is that of an empty log.
    pub(crate) fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The position `count` records later.
    #[must_use]
    pub fn plus(self, count: usize) -> Self {
        Self(self.0 + count as u64)
    }
}

impl Fence {
    /// What every record of a fork child that it did not write itself carries.
    pub const FIRST: Self = Self(1);
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fence(..)")
    }
}
