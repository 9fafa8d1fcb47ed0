//! Values, read and written against a [graph](crate::graph) (schema.md sections 1 to 7).

mod charge;
mod datetime;
mod place;
mod read;
mod restrict;
mod scalar;
mod streams;
mod write;

use uuid::Uuid;

use crate::graph::{NumberKind, Quantity, Type};

pub use datetime::Datetime;

/// A value. Two are equal if their normal forms are.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the kinds of the contract, each with its payload")]
pub enum Value {
    Bool(bool),
    Signed(NumberKind, i64),
    Unsigned(NumberKind, u64),
    F32(f32),
    F64(f64),
    Char(char),
    String(String),
    Text {
        text: String,
        language: Option<String>,
    },
    Binary {
        bytes: Vec<u8>,
        mime_type: Option<String>,
    },
    Path(String),
    Url(String),
    Datetime(Datetime),
    /// Nanoseconds.
    Duration(i64),
    Quantity(Quantity),
    Record(Vec<Value>),
    Tuple(Vec<Value>),
    List(Vec<Value>),
    FixedList(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Enum(u32),
    Flags(Vec<bool>),
    Variant {
        case: u32,
        payload: Option<Box<Value>>,
    },
    Option(Option<Box<Value>>),
    Result {
        ok: bool,
        value: Option<Box<Value>>,
    },
    Union {
        tag: String,
        body: Box<Value>,
    },
    Stream(StreamRef),
}

/// What a value says of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StreamRef {
    /// From client to server: a name that the client made up.
    Provisional(Uuid),
    /// From server to client: the stream's token.
    Stable(String),
}

/// Which streams a value may hold (section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamPolicy {
    /// None: constructor parameters.
    None,
    /// Provisional references: what a client sends.
    Provisional,
    /// Tokens: what a server sends.
    Stable,
}

/// A value that was read.
#[derive(Clone, Debug)]
pub struct Decoded<'g> {
    /// The value.
    pub value: Value,
    /// What it costs (section 6).
    pub charge: u64,
    /// Its streams in document order, each once, with the types of their elements.
    pub streams: Vec<(StreamRef, &'g Type)>,
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Value {
    /// The kind, as nodes write it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "bool",
            Self::Signed(kind, _) | Self::Unsigned(kind, _) => kind.as_str(),
            Self::F32(_) => "f32",
            Self::F64(_) => "f64",
            Self::Char(_) => "char",
            Self::String(_) => "string",
            Self::Text { .. } => "text",
            Self::Binary { .. } => "binary",
            Self::Path(_) => "path",
            Self::Url(_) => "url",
            Self::Datetime(_) => "datetime",
            Self::Duration(_) => "duration",
            Self::Quantity(_) => "quantity",
            Self::Record(_) => "record",
            Self::Tuple(_) => "tuple",
            Self::List(_) => "list",
            Self::FixedList(_) => "fixed-list",
            Self::Map(_) => "map",
            Self::Enum(_) => "enum",
            Self::Flags(_) => "flags",
            Self::Variant { .. } => "variant",
            Self::Option(_) => "option",
            Self::Result { .. } => "result",
            Self::Union { .. } => "union",
            Self::Stream(_) => "stream",
        }
    }

    /// What discriminators look at (section 4.3).
    fn discriminating_text(&self) -> Option<&str> {
        match self {
            Self::String(text) | Self::Text { text, .. } | Self::Path(text) | Self::Url(text) => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
