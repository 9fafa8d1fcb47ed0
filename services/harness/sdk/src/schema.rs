//! Building schemas: `record([("lines", stream(string()))])`.
//!
//! These are the kinds that most agents need. [`Type::new`] makes a type of any [`Shape`], with restrictions where it has
//! some, and [`graph`] names types, so that they can be recursive.

use stream_session::graph::Graph;
pub use stream_session::graph::{
    Arms, Case, Def, Discriminator, Field, Metadata, NumberKind, PathSpec, Quantity, QuantitySpec, Shape, Type,
};
use stream_session::graph::{Branch, PathDirection, PathKind};

/// A schema: a type, and the types that it names.
#[derive(Clone, Debug)]
pub struct Schema(pub(crate) Graph);

impl From<Type> for Schema {
    fn from(root: Type) -> Self {
        Self(Graph::new(Vec::new(), root))
    }
}

impl From<Graph> for Schema {
    fn from(graph: Graph) -> Self {
        Self(graph)
    }
}

const ANY_PATH: PathSpec = PathSpec {
    direction: PathDirection::InOut,
    kind: PathKind::Any,
    allowed_mime_types: None,
    allowed_extensions: None,
};

macro_rules! numbers {
    ($($name:ident: $kind:ident, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[must_use]
        pub fn $name() -> Type {
            Type::new(Shape::Number(NumberKind::$kind, Default::default()))
        }
    )*};
}

numbers! {
    s8: S8, "`i8`.";
    s16: S16, "`i16`.";
    s32: S32, "`i32`.";
    s64: S64, "`i64`.";
    u8: U8, "`u8`. A stream of them is read and written as bytes.";
    u16: U16, "`u16`.";
    u32: U32, "`u32`.";
    u64: U64, "`u64`.";
    f32: F32, "`f32`.";
    f64: F64, "`f64`.";
}

macro_rules! scalars {
    ($($name:ident: $shape:expr, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[must_use]
        pub fn $name() -> Type {
            Type::new($shape)
        }
    )*};
}

scalars! {
    bool: Shape::Bool, "`bool`.";
    char: Shape::Char, "`char`.";
    string: Shape::String, "`String`.";
    text: Shape::Text(Default::default()), "Text for people, in some language.";
    binary: Shape::Binary(Default::default()), "Bytes with a MIME type.";
    path: Shape::Path(ANY_PATH), "A path in a file system.";
    url: Shape::Url(Default::default()), "An absolute URL.";
    datetime: Shape::Datetime, "An instant.";
    duration: Shape::Duration, "A span of time.";
}

/// A decimal number of such units.
#[must_use]
pub fn quantity(unit: &str) -> Type {
    let spec = QuantitySpec { base_unit: unit.into(), allowed_suffixes: Vec::new(), min: None, max: None };
    Type::new(Shape::Quantity(spec))
}

/// `Vec`.
#[must_use]
pub fn list(element: Type) -> Type {
    Type::new(Shape::List(Box::new(element)))
}

/// `Vec` of one length.
#[must_use]
pub fn fixed_list(element: Type, length: u32) -> Type {
    Type::new(Shape::FixedList(Box::new(element), length))
}

/// Pairs of a key (a bool, number, char or string) and a value.
#[must_use]
pub fn map(key: Type, value: Type) -> Type {
    Type::new(Shape::Map(Box::new(key), Box::new(value)))
}

/// `Option`.
#[must_use]
pub fn option(inner: Type) -> Type {
    Type::new(Shape::Option(Box::new(inner)))
}

/// `Result`; an arm without a type is `()`.
#[must_use]
pub fn result(ok: impl Into<Option<Type>>, err: impl Into<Option<Type>>) -> Type {
    Type::new(Shape::Result(Arms { ok: ok.into().map(Box::new), err: err.into().map(Box::new) }))
}

/// A tuple.
#[must_use]
pub fn tuple(elements: impl IntoIterator<Item = Type>) -> Type {
    Type::new(Shape::Tuple(elements.into_iter().collect()))
}

/// A record of these fields.
#[must_use]
pub fn record<'n>(fields: impl IntoIterator<Item = (&'n str, Type)>) -> Type {
    let field = |(name, body): (&str, Type)| Field { name: name.into(), body, metadata: Metadata::default() };
    Type::new(Shape::Record(fields.into_iter().map(field).collect()))
}

/// One of these cases, some with a payload.
#[must_use]
pub fn variant<'n>(cases: impl IntoIterator<Item = (&'n str, Option<Type>)>) -> Type {
    let case =
        |(name, payload): (&str, Option<Type>)| Case { name: name.into(), payload, metadata: Metadata::default() };
    Type::new(Shape::Variant(cases.into_iter().map(case).collect()))
}

/// One of these names.
#[must_use]
pub fn enumeration<'n>(cases: impl IntoIterator<Item = &'n str>) -> Type {
    Type::new(Shape::Enum(cases.into_iter().map(Into::into).collect()))
}

/// A set of these names.
#[must_use]
pub fn flags<'n>(flags: impl IntoIterator<Item = &'n str>) -> Type {
    Type::new(Shape::Flags(flags.into_iter().map(Into::into).collect()))
}

/// One of these types, told apart by what holds for a value of each.
#[must_use]
pub fn union<'n>(branches: impl IntoIterator<Item = (&'n str, Type, Discriminator)>) -> Type {
    let branch = |(tag, body, discriminator): (&str, Type, Discriminator)| Branch {
        tag: tag.into(),
        body,
        discriminator,
        metadata: Metadata::default(),
    };
    Type::new(Shape::Union(branches.into_iter().map(branch).collect()))
}

/// A stream of such items: an input in parameters, an output in a result.
#[must_use]
pub fn stream(item: Type) -> Type {
    Type::new(Shape::Stream(Some(Box::new(item))))
}

/// The type that a [`graph`] gives this name.
#[must_use]
pub fn named(id: &str) -> Type {
    Type::new(Shape::Ref(id.into()))
}

/// A type, and those that it [names](named).
#[must_use]
pub fn graph<'n>(named: impl IntoIterator<Item = (&'n str, Type)>, root: Type) -> Schema {
    let def = |(id, body): (&str, Type)| Def { id: id.into(), name: None, body };
    Schema(Graph::new(named.into_iter().map(def).collect(), root))
}
