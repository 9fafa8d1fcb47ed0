//! Schema graphs: the types of values (schema.md sections 8 to 10).

mod check;
mod fingerprint;
mod read;
mod shared;
mod write;

use std::collections::HashMap;

use regex::Regex;

pub use check::IllFormed;
pub use fingerprint::Fingerprint;

/// Named types and the type that a value is read against.
#[derive(Clone, Debug)]
pub struct Graph {
    defs: Vec<Def>,
    /// Where the first definition of an id is (F3).
    by_id: HashMap<String, usize>,
    root: Type,
}

/// A named type.
#[derive(Clone, Debug)]
pub struct Def {
    /// What references name it by.
    pub id: String,
    /// What people call it.
    pub name: Option<String>,
    /// What it stands for.
    pub body: Type,
}

/// A type, with what is said about it for people.
#[derive(Clone, Debug)]
pub struct Type {
    /// What values of it look like.
    pub shape: Shape,
    /// Never matters to values.
    pub metadata: Metadata,
}

/// What values of a type look like.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Values of the definition with this id.
    Ref(String),
    /// True or false.
    Bool,
    /// A number.
    Number(NumberKind, NumberRestrictions),
    /// One Unicode scalar value.
    Char,
    /// A string.
    String,
    /// One value for each field.
    Record(Vec<Field>),
    /// One of several cases, some with a payload.
    Variant(Vec<Case>),
    /// One of these names.
    Enum(Vec<String>),
    /// A set of these names.
    Flags(Vec<String>),
    /// One value for each type.
    Tuple(Vec<Type>),
    /// Any number of values.
    List(Box<Type>),
    /// As many values as it says.
    FixedList(Box<Type>, u32),
    /// Pairs of a key and a value.
    Map(Box<Type>, Box<Type>),
    /// A value or none.
    Option(Box<Type>),
    /// A value of one of two types, each of which may be absent.
    Result(Arms),
    /// Text for people, in some language.
    Text(TextRestrictions),
    /// Bytes.
    Binary(BinaryRestrictions),
    /// A path in a file system.
    Path(PathSpec),
    /// An absolute URL.
    Url(UrlRestrictions),
    /// An instant.
    Datetime,
    /// A span of time.
    Duration,
    /// A decimal number with a unit.
    Quantity(QuantitySpec),
    /// One of several types, told apart by what the value says.
    Union(Vec<Branch>),
    /// Managed by hosts: never crosses.
    Secret(Box<Type>, Option<String>),
    /// Managed by hosts: never crosses.
    QuotaToken(Option<String>),
    /// Managed by hosts: never crosses.
    PermissionCard(bool),
    /// Never crosses.
    Future(Option<Box<Type>>),
    /// A stream of values.
    Stream(Option<Box<Type>>),
}

/// The kinds of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum NumberKind {
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

/// A field of a record.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub body: Type,
    /// For people.
    pub metadata: Metadata,
}

/// A case of a variant.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The type of its payload, if it has one.
    pub payload: Option<Type>,
    /// For people.
    pub metadata: Metadata,
}

/// The types of a result, `None` for an arm without a value.
#[derive(Clone, Debug, Default)]
pub struct Arms {
    /// Of `ok`.
    pub ok: Option<Box<Type>>,
    /// Of `err`.
    pub err: Option<Box<Type>>,
}

/// A branch of a union.
#[derive(Clone, Debug)]
pub struct Branch {
    /// What values name it by.
    pub tag: String,
    /// Its type.
    pub body: Type,
    /// What holds for its values.
    pub discriminator: Discriminator,
    /// For people.
    pub metadata: Metadata,
}

/// What holds for the values of a branch (section 4.3).
#[derive(Clone, Debug)]
pub enum Discriminator {
    /// The text begins so.
    Prefix(String),
    /// The text ends so.
    Suffix(String),
    /// The text holds this.
    Contains(String),
    /// The pattern is found in the text.
    Regex(Pattern),
    /// The record has a field of this name, whose text is the literal, if there is one.
    FieldEquals(String, Option<String>),
    /// The record has no field of this name.
    FieldAbsent(String),
}

/// A regular expression. One that does not compile matches everything (section 4.1), but no well-formed graph has one.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    compiled: Option<Regex>,
}

/// A bound of a number, in one of three families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// For signed integers.
    Signed(i64),
    /// For unsigned integers.
    Unsigned(u64),
    /// For floats: the bits of a double, never those of -0.
    FloatBits(u64),
}

/// What a number may be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NumberRestrictions {
    /// The least.
    pub min: Option<Bound>,
    /// The greatest.
    pub max: Option<Bound>,
    /// A label.
    pub unit: Option<String>,
}

/// What a text may be.
#[derive(Clone, Debug, Default)]
pub struct TextRestrictions {
    /// Its languages.
    pub languages: Option<Vec<String>>,
    /// Fewest Unicode scalar values.
    pub min_length: Option<u32>,
    /// Most Unicode scalar values.
    pub max_length: Option<u32>,
    /// Found in it.
    pub regex: Option<Pattern>,
}

/// What binary data may be.
#[derive(Clone, Debug, Default)]
pub struct BinaryRestrictions {
    /// Its MIME types.
    pub mime_types: Option<Vec<String>>,
    /// Fewest bytes.
    pub min_bytes: Option<u32>,
    /// Most bytes.
    pub max_bytes: Option<u32>,
}

/// What a path may be.
#[derive(Clone, Debug)]
pub struct PathSpec {
    /// `input`, `output` or `in-out`.
    pub direction: PathDirection,
    /// `file`, `directory` or `any`.
    pub kind: PathKind,
    /// Not checked against the path.
    pub allowed_mime_types: Option<Vec<String>>,
    /// Extensions of files that have one.
    pub allowed_extensions: Option<Vec<String>>,
}

/// Who reads or writes what is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum PathDirection {
    Input,
    Output,
    InOut,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum PathKind {
    File,
    Directory,
    Any,
}

/// What a URL may be.
#[derive(Clone, Debug, Default)]
pub struct UrlRestrictions {
    /// Its schemes.
    pub allowed_schemes: Option<Vec<String>>,
    /// Its hosts.
    pub allowed_hosts: Option<Vec<String>>,
}

/// What a quantity may be.
#[derive(Clone, Debug)]
pub struct QuantitySpec {
    /// The unit, unless suffixes are listed.
    pub base_unit: String,
    /// The units, if not empty.
    pub allowed_suffixes: Vec<String>,
    /// The least.
    pub min: Option<Quantity>,
    /// The greatest.
    pub max: Option<Quantity>,
}

/// `mantissa` times 10 to the power of `-scale`, of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The digits.
    pub mantissa: i64,
    /// How many of them stand after the point.
    pub scale: i32,
    /// What is counted.
    pub unit: String,
}

/// What is said about a type, field, case or branch for people.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// What it is.
    pub doc: Option<String>,
    /// Other names.
    pub aliases: Vec<String>,
    /// Values.
    pub examples: Vec<String>,
    /// Why not to use it.
    pub deprecated: Option<String>,
    /// What it is for.
    pub role: Option<SchemaRole>,
}

/// What a type is for.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum SchemaRole {
    Multimodal,
    UnstructuredText,
    UnstructuredBinary,
    Other(String),
}

/// How the items of a stream travel (protocol.md B3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// One text message for each.
    Json,
    /// Bytes, many to a message.
    PackedU8,
    /// One binary message for each.
    Binary,
}

impl Graph {
    /// A graph of these parts.
    #[must_use]
    pub fn new(defs: Vec<Def>, root: Type) -> Self {
        let mut by_id = HashMap::with_capacity(defs.len());
        for (at, def) in defs.iter().enumerate() {
            by_id.entry(def.id.clone()).or_insert(at);
        }
        Self { defs, by_id, root }
    }

    /// The type that values are read against.
    #[must_use]
    pub fn root(&self) -> &Type {
        &self.root
    }

    /// The named types.
    #[must_use]
    pub fn defs(&self) -> &[Def] {
        &self.defs
    }

    /// The definition of an id.
    #[must_use]
    pub fn def(&self, id: &str) -> Option<&Def> {
        self.by_id.get(id).map(|&at| &self.defs[at])
    }

    /// What values of `of` look like, references followed (F1). `None` if they lead nowhere or around.
    #[must_use]
    pub fn resolve<'g>(&'g self, mut of: &'g Type) -> Option<&'g Type> {
        // A chain that is longer than there are definitions goes around.
        for _ in 0..=self.defs.len() {
            match &of.shape {
                Shape::Ref(id) => of = &self.def(id)?.body,
                _ => return Some(of),
            }
        }
        None
    }

    /// How items of type `element` travel.
    #[must_use]
    pub fn lane(&self, element: &Type) -> Lane {
        match self.resolve(element).map(|element| &element.shape) {
            Some(Shape::Number(NumberKind::U8, _)) => Lane::PackedU8,
            Some(Shape::Binary(_)) => Lane::Binary,
            _ => Lane::Json,
        }
    }
}

impl Type {
    /// A type about which nothing is said.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self { shape, metadata: Metadata::default() }
    }
}

impl Pattern {
    /// A pattern of this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { compiled: Regex::new(&text).ok(), text }
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it can be looked for.
    #[must_use]
    pub fn compiles(&self) -> bool {
        self.compiled.is_some()
    }

    /// Whether it is found anywhere in `text`.
    #[must_use]
    pub fn is_found_in(&self, text: &str) -> bool {
        self.compiled.as_ref().is_none_or(|pattern| pattern.is_match(text))
    }
}

impl Shape {
    /// The kind, as types and values write it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ref(_) => "ref",
            Self::Bool => "bool",
            Self::Number(kind, _) => kind.as_str(),
            Self::Char => "char",
            Self::String => "string",
            Self::Record(_) => "record",
            Self::Variant(_) => "variant",
            Self::Enum(_) => "enum",
            Self::Flags(_) => "flags",
            Self::Tuple(_) => "tuple",
            Self::List(_) => "list",
            Self::FixedList(..) => "fixed-list",
            Self::Map(..) => "map",
            Self::Option(_) => "option",
            Self::Result(_) => "result",
            Self::Text(_) => "text",
            Self::Binary(_) => "binary",
            Self::Path(_) => "path",
            Self::Url(_) => "url",
            Self::Datetime => "datetime",
            Self::Duration => "duration",
            Self::Quantity(_) => "quantity",
            Self::Union(_) => "union",
            Self::Secret(..) => "secret",
            Self::QuotaToken(_) => "quota-token",
            Self::PermissionCard(_) => "permission-card",
            Self::Future(_) => "future",
            Self::Stream(_) => "stream",
        }
    }
}

impl NumberKind {
    const ALL: [Self; 10] =
        [Self::S8, Self::S16, Self::S32, Self::S64, Self::U8, Self::U16, Self::U32, Self::U64, Self::F32, Self::F64];

    /// The kind, as types and values write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::S8 => "s8",
            Self::S16 => "s16",
            Self::S32 => "s32",
            Self::S64 => "s64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Bytes of its binary form.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::S8 | Self::U8 => 1,
            Self::S16 | Self::U16 => 2,
            Self::S32 | Self::U32 | Self::F32 => 4,
            Self::S64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Reads a kind.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

#[cfg(test)]
mod tests;
