//! The Rust types that are values.

use bytes::Bytes;
use stream_session::graph::NumberKind;
use stream_session::limits;
use stream_session::value::Value;
use wire::BinaryItem;
use wire::stream_item::Item;

use super::{Binary, Decode, Encode, Mismatch, Scope};

/// The fields of a record, in the order of its schema. Alone, a tuple is a value of kind `tuple`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<T>(pub T);

impl Encode for Value {
    fn into_value(self) -> Value {
        self
    }
}

impl Decode for Value {
    fn from_value(value: Value, _: &Scope) -> Result<Self, Mismatch> {
        Ok(value)
    }
}

macro_rules! scalars {
    ($($of:ty: $from:pat => $value:expr, $into:ident => $as:expr;)*) => {$(
        impl Encode for $of {
            fn into_value(self) -> Value {
                let $into = self;
                $as
            }
        }

        impl Decode for $of {
            fn from_value(value: Value, _: &Scope) -> Result<Self, Mismatch> {
                match value {
                    $from => Ok($value),
                    other => Err(Mismatch::of::<Self>(other.kind())),
                }
            }
        }
    )*};
}

scalars! {
    bool: Value::Bool(value) => value, value => Value::Bool(value);
    char: Value::Char(value) => value, value => Value::Char(value);
    f32: Value::F32(value) => value, value => Value::F32(value);
    f64: Value::F64(value) => value, value => Value::F64(value);
    String: Value::String(value) | Value::Text { text: value, .. } | Value::Path(value) | Value::Url(value) => value,
        value => Value::String(value);
}

macro_rules! integers {
    ($($of:ty: $variant:ident $kind:ident;)*) => {$(
        impl Encode for $of {
            fn into_value(self) -> Value {
                Value::$variant(NumberKind::$kind, self.into())
            }
        }

        impl Decode for $of {
            fn from_value(value: Value, _: &Scope) -> Result<Self, Mismatch> {
                match value {
                    Value::$variant(NumberKind::$kind, value) => {
                        value.try_into().map_err(|_| Mismatch::of::<Self>(NumberKind::$kind.as_str()))
                    }
                    other => Err(Mismatch::of::<Self>(other.kind())),
                }
            }
        }
    )*};
}

integers! {
    i8: Signed S8;
    i16: Signed S16;
    i32: Signed S32;
    i64: Signed S64;
    u8: Unsigned U8;
    u16: Unsigned U16;
    u32: Unsigned U32;
    u64: Unsigned U64;
}

impl Encode for &str {
    fn into_value(self) -> Value {
        Value::String(self.to_owned())
    }
}

impl Encode for () {
    fn into_value(self) -> Value {
        Value::Tuple(Vec::new())
    }

    fn into_arm(self) -> Option<Value> {
        None
    }
}

impl Decode for () {
    fn from_value(value: Value, _: &Scope) -> Result<Self, Mismatch> {
        match value {
            Value::Tuple(parts) if parts.is_empty() => Ok(()),
            other => Err(Mismatch::of::<Self>(other.kind())),
        }
    }

    fn from_arm(value: Option<Value>, scope: &Scope) -> Result<Self, Mismatch> {
        value.map_or(Ok(()), |value| Self::from_value(value, scope))
    }
}

macro_rules! tuples {
    ($($($part:ident)+;)*) => {$(
        #[allow(non_snake_case, reason = "the parts are named as their types")]
        impl<$($part: Encode),+> Encode for ($($part,)+) {
            fn into_value(self) -> Value {
                let ($($part,)+) = self;
                Value::Tuple(vec![$($part.into_value()),+])
            }
        }

        impl<$($part: Decode),+> Decode for ($($part,)+) {
            fn from_value(value: Value, scope: &Scope) -> Result<Self, Mismatch> {
                let mut parts = match value {
                    Value::Tuple(parts) => parts.into_iter(),
                    other => return Err(Mismatch::of::<Self>(other.kind())),
                };
                let mut next = || parts.next().ok_or_else(|| Mismatch::of::<Self>("shorter tuple"));
                let all = ($($part::from_value(next()?, scope)?,)+);
                parts.next().map_or(Ok(all), |_| Err(Mismatch::of::<Self>("longer tuple")))
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}

impl<T: Encode> Encode for Record<T> {
    fn into_value(self) -> Value {
        match self.0.into_value() {
            Value::Tuple(fields) => Value::Record(fields),
            field => Value::Record(vec![field]),
        }
    }
}

impl<T: Decode> Decode for Record<T> {
    fn from_value(value: Value, scope: &Scope) -> Result<Self, Mismatch> {
        match value {
            Value::Record(fields) => T::from_value(Value::Tuple(fields), scope).map(Self),
            other => Err(Mismatch::of::<Self>(other.kind())),
        }
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn into_value(self) -> Value {
        Value::List(self.into_iter().map(T::into_value).collect())
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn from_value(value: Value, scope: &Scope) -> Result<Self, Mismatch> {
        match value {
            Value::List(parts) | Value::FixedList(parts) => {
                parts.into_iter().map(|part| T::from_value(part, scope)).collect()
            }
            other => Err(Mismatch::of::<Self>(other.kind())),
        }
    }
}

impl<T: Encode> Encode for Option<T> {
    fn into_value(self) -> Value {
        Value::Option(self.map(|inner| Box::new(inner.into_value())))
    }
}

impl<T: Decode> Decode for Option<T> {
    fn from_value(value: Value, scope: &Scope) -> Result<Self, Mismatch> {
        match value {
            Value::Option(inner) => inner.map(|inner| T::from_value(*inner, scope)).transpose(),
            other => Err(Mismatch::of::<Self>(other.kind())),
        }
    }
}

impl<T: Encode, E: Encode> Encode for Result<T, E> {
    fn into_value(self) -> Value {
        let ok = self.is_ok();
        let value = self.map_or_else(E::into_arm, T::into_arm);
        Value::Result { ok, value: value.map(Box::new) }
    }
}

impl<T: Decode, E: Decode> Decode for Result<T, E> {
    fn from_value(value: Value, scope: &Scope) -> Result<Self, Mismatch> {
        match value {
            Value::Result { ok: true, value } => T::from_arm(value.map(|value| *value), scope).map(Ok),
            Value::Result { ok: false, value } => E::from_arm(value.map(|value| *value), scope).map(Err),
            other => Err(Mismatch::of::<Self>(other.kind())),
        }
    }
}

impl Encode for Binary {
    fn into_value(self) -> Value {
        Value::Binary { bytes: self.bytes.into(), mime_type: self.mime_type }
    }

    fn into_items(self) -> Vec<Item> {
        let mime_type = self.mime_type.unwrap_or_default();
        vec![Item::Binary(BinaryItem { data: self.bytes.into(), mime_type })]
    }
}

impl Decode for Binary {
    fn from_value(value: Value, _: &Scope) -> Result<Self, Mismatch> {
        match value {
            Value::Binary { bytes, mime_type } => Ok(Self { bytes: bytes.into(), mime_type }),
            other => Err(Mismatch::of::<Self>(other.kind())),
        }
    }

    fn from_binary(binary: Binary) -> Result<Self, Mismatch> {
        Ok(binary)
    }
}

/// A list of `u8`; as items of a stream, each byte is one.
impl Encode for Bytes {
    fn into_value(self) -> Value {
        Value::List(self.into_iter().map(u8::into_value).collect())
    }

    fn into_items(self) -> Vec<Item> {
        self.chunks(limits::PACKED_BYTES).map(|octets| Item::Octets(octets.to_vec())).collect()
    }
}

impl Decode for Bytes {
    fn from_value(value: Value, scope: &Scope) -> Result<Self, Mismatch> {
        Vec::<u8>::from_value(value, scope).map(Self::from)
    }

    fn from_octets(octets: Bytes) -> Result<Self, Mismatch> {
        Ok(octets)
    }
}
