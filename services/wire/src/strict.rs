//! Finding what a generated type has no room for: fields that this build does not know, and enum numbers without a name.
//!
//! Decoding drops the one and keeps the other, as readers of the wire must. A harness spec is the exception: its digest
//! has to cover everything that decides what runs (registry.md §2).

use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use prost::{DecodeError, Message};
use thiserror::Error;

use crate::json::Members;
use crate::{HarnessSpec, RegisterHarnessRequest};

/// The number of [`RegisterHarnessRequest::spec`].
const SPEC: u32 = 2;

/// Why an encoded message is not wholly known to this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unknown {
    /// It has a field that its type does not have.
    #[error("{message} has a field {number}, which this version does not know")]
    Field {
        /// Full name of the message.
        message: &'static str,
        /// Number of the field.
        number: u32,
    },
    /// An enum has a number without a name.
    #[error("field {number} of {message} has the value {value}, which this version does not know")]
    EnumValue {
        /// Full name of the message.
        message: &'static str,
        /// Number of the field.
        number: u32,
        /// The value.
        value: i32,
    },
    /// A field is of a kind that is not looked into.
    #[error("field {number} of {message} cannot be part of a digest")]
    Opaque {
        /// Full name of the message.
        message: &'static str,
        /// Number of the field.
        number: u32,
    },
    /// The bytes are no message.
    #[error("{message} cannot be decoded")]
    Malformed {
        /// Full name of the message.
        message: &'static str,
    },
}

/// What the values of a field may hide.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// Nothing.
    Scalar,
    /// A number without a name.
    Enum(fn(i32) -> Option<&'static str>),
    /// Whatever its message hides.
    Message(fn(&[u8]) -> Result<(), Unknown>),
    /// Nobody looks: maps and the well-known types.
    Opaque,
}

/// A request to register a harness, as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// What of it this build knows.
    pub request: RegisterHarnessRequest,
    /// What else its spec has.
    pub unknown: Option<Unknown>,
}

impl Received {
    /// Decodes a request.
    ///
    /// # Errors
    /// The bytes are no such message.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let request = RegisterHarnessRequest::decode(bytes)?;
        Ok(Self { request, unknown: check_spec(bytes).err() })
    }
}

/// A request all of which is known.
impl From<RegisterHarnessRequest> for Received {
    fn from(request: RegisterHarnessRequest) -> Self {
        let unknown = request.spec.as_ref().and_then(|spec| check_known(spec).err());
        Self { request, unknown }
    }
}

/// Checks that all enum numbers of a spec have names. It has lost its unknown fields where it was decoded.
///
/// # Errors
/// The first [`Unknown`].
pub fn check_known(spec: &HarnessSpec) -> Result<(), Unknown> {
    check::<HarnessSpec>(&spec.encode_to_vec())
}

/// Checks the specs in an encoded request; in the request itself, fields of a newer client are no harm.
fn check_spec(mut request: &[u8]) -> Result<(), Unknown> {
    let malformed = Unknown::Malformed { message: RegisterHarnessRequest::NAME };
    while request.has_remaining() {
        match decode_key(&mut request).map_err(|_| malformed)? {
            (SPEC, WireType::LengthDelimited) => check::<HarnessSpec>(delimited(&mut request).ok_or(malformed)?)?,
            (number, wire_type) => {
                skip_field(wire_type, number, &mut request, DecodeContext::default()).map_err(|_| malformed)?;
            }
        }
    }
    Ok(())
}

/// Checks an encoded `M` and every message within it.
pub(crate) fn check<M: Members>(mut bytes: &[u8]) -> Result<(), Unknown> {
    let message = M::NAME;
    let malformed = Unknown::Malformed { message };
    while bytes.has_remaining() {
        let (number, wire_type) = decode_key(&mut bytes).map_err(|_| malformed)?;
        match (M::shape(number), wire_type) {
            (None, _) => return Err(Unknown::Field { message, number }),
            (Some(Shape::Opaque), _) => return Err(Unknown::Opaque { message, number }),
            (Some(Shape::Message(check)), WireType::LengthDelimited) => {
                check(delimited(&mut bytes).ok_or(malformed)?)?;
            }
            (Some(Shape::Enum(name)), WireType::Varint) => {
                // Enum values are 32-bit; what is sent beyond that is cut off by every decoder.
                let value = decode_varint(&mut bytes).map_err(|_| malformed)? as i32;
                name(value).ok_or(Unknown::EnumValue { message, number, value })?;
            }
            (Some(Shape::Scalar), _) => {
                skip_field(wire_type, number, &mut bytes, DecodeContext::default()).map_err(|_| malformed)?;
            }
            (Some(_), _) => return Err(malformed),
        }
    }
    Ok(())
}

/// Takes the value of a length-delimited field.
fn delimited<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(decode_varint(bytes).ok()?).ok()?;
    let (value, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(value)
}
