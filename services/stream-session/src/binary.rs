//! Binary messages (protocol.md section 7): metadata in front of a payload that is never copied.

use bytes::Bytes;

use crate::graph::{BinaryRestrictions, Graph, Lane, Shape, Type};
use crate::json::members::{integer, optional, required, string, text};
use crate::json::{Json, Writer};
use crate::message::{check_channel, check_decimals, check_token, check_version, decimal};
use crate::token::Role;
use crate::{ErrorCode, Refusal, field, limits};

/// Largest payload of one binary item before its charge is looked at, in bytes.
const ITEM_BYTES: usize = 16 << 20;

/// A binary message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BinaryMessage {
    /// Where.
    pub channel: u32,
    /// The index of its first item.
    pub sequence: u64,
    /// The items.
    pub items: BinaryItems,
    /// On an output: stands for the last item.
    pub cursor: Option<String>,
}

/// What a binary message carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BinaryItems {
    /// Bytes, each an item; at least one.
    Packed(Bytes),
    /// One item.
    Whole {
        /// The item.
        data: Bytes,
        /// Its MIME type.
        mime_type: Option<String>,
    },
}

impl BinaryMessage {
    /// Reads a message that came from a client or from a server, as the direction of its kind says (4.2, steps 2 to 10).
    ///
    /// # Errors
    /// The first fault.
    pub fn decode(message: &Bytes, from: Role) -> Result<Self, Refusal> {
        let (length, rest) = message.split_first_chunk::<4>().ok_or_else(short)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > limits::METADATA_BYTES {
            return Err(Refusal::exhausted("the metadata is too long"));
        }
        let metadata = Json::parse(rest.get(..length).ok_or_else(short)?)?;
        let payload = message.slice(4 + length..);
        let Json::Object(members) = metadata else { return Err(Refusal::malformed("the metadata is not an object")) };
        check_version(&members)?;
        check_decimals(&members)?;
        members.expect(&["channel", "itemCount", "kind", "sequence", "version"], &["cursorToken", "mimeType"])?;
        let (role, lane) = kind(required(&members, "kind", text)?)?;
        let channel = required(&members, "channel", integer)?;
        let sequence = required(&members, "sequence", decimal)?;
        let count = required(&members, "itemCount", decimal)?;
        let mime_type = optional(&members, "mimeType", string)?;
        let cursor = optional(&members, "cursorToken", string)?;
        check_channel(channel)?;
        if sequence.checked_add(count).is_none() {
            return Err(Refusal::new(ErrorCode::InvalidSequence, "a sequence goes beyond 64 bits"));
        }
        let items = match lane {
            Lane::PackedU8 => packed(payload, count, mime_type.is_some())?,
            Lane::Binary | Lane::Json => whole(payload, count, mime_type)?,
        };
        if cursor.is_some() != (role == Role::Output) {
            return Err(Refusal::malformed("a cursor belongs to outputs, and to all of them"));
        }
        cursor.as_deref().map_or(Ok(()), check_token)?;
        if role != from {
            return Err(Refusal::new(ErrorCode::InvalidChannel, "a message is of a kind of the other direction"));
        }
        Ok(Self { channel, sequence, items, cursor })
    }

    /// The message up to its payload, which follows.
    #[must_use]
    pub fn encode_head(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.open('{');
        to.number_member("channel", self.channel);
        if let Some(cursor) = &self.cursor {
            to.text_member("cursorToken", cursor);
        }
        to.text_member("itemCount", &self.items.count().to_string());
        to.text_member("kind", self.kind());
        if let BinaryItems::Whole { mime_type: Some(mime_type), .. } = &self.items {
            to.text_member("mimeType", mime_type);
        }
        to.text_member("sequence", &self.sequence.to_string());
        to.number_member("version", 1);
        to.close('}');
        let metadata = to.finish();
        let length = u32::try_from(metadata.len()).unwrap_or(u32::MAX);
        [&length.to_be_bytes(), metadata.as_bytes()].concat()
    }

    fn kind(&self) -> &'static str {
        match (&self.items, &self.cursor) {
            (BinaryItems::Packed(_), None) => "input-u8",
            (BinaryItems::Packed(_), Some(_)) => "output-u8",
            (BinaryItems::Whole { .. }, None) => "input-binary",
            (BinaryItems::Whole { .. }, Some(_)) => "output-binary",
        }
    }
}

impl BinaryItems {
    /// The bytes.
    #[must_use]
    pub fn payload(&self) -> &Bytes {
        match self {
            Self::Packed(bytes) | Self::Whole { data: bytes, .. } => bytes,
        }
    }

    /// How many items they are.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Packed(bytes) => bytes.len() as u64,
            Self::Whole { .. } => 1,
        }
    }

    /// How they travel.
    #[must_use]
    pub fn lane(&self) -> Lane {
        match self {
            Self::Packed(_) => Lane::PackedU8,
            Self::Whole { .. } => Lane::Binary,
        }
    }

    /// What they cost (B5).
    ///
    /// # Errors
    /// `resource-exhausted` above 16 MiB.
    pub fn charge(&self) -> Result<u64, Refusal> {
        let charge = match self {
            Self::Packed(bytes) => 2 * bytes.len(),
            Self::Whole { data, mime_type } => 1 + data.len() + mime_type.as_ref().map_or(0, String::len),
        };
        let charge = charge as u64;
        if charge > limits::VALUE_CHARGE { Err(Refusal::exhausted("an item is too large")) } else { Ok(charge) }
    }

    /// Refuses items that `element` of `graph` does not admit (B4, B6).
    ///
    /// # Errors
    /// `invalid-channel` for another lane, else `validation-error`.
    pub fn check(&self, graph: &Graph, element: &Type) -> Result<(), Refusal> {
        let admitted = match (self, graph.resolve(element).map(|element| &element.shape)) {
            _ if graph.lane(element) != self.lane() => {
                return Err(Refusal::new(ErrorCode::InvalidChannel, "items of this stream travel otherwise"));
            }
            (Self::Packed(bytes), Some(Shape::Number(_, restrictions))) => {
                bytes.iter().all(|&byte| restrictions.admit_unsigned(byte.into()))
            }
            (Self::Whole { data, mime_type }, Some(Shape::Binary(restrictions))) => {
                BinaryRestrictions::admit(restrictions, data.len(), mime_type.as_deref())
            }
            _ => true,
        };
        if admitted { Ok(()) } else { Err(Refusal::invalid("an item is not one that its type admits")) }
    }
}

fn kind(kind: &str) -> Result<(Role, Lane), Refusal> {
    match kind {
        "input-u8" => Ok((Role::Input, Lane::PackedU8)),
        "output-u8" => Ok((Role::Output, Lane::PackedU8)),
        "input-binary" => Ok((Role::Input, Lane::Binary)),
        "output-binary" => Ok((Role::Output, Lane::Binary)),
        _ => Err(Refusal::malformed("a binary message is of an unknown kind")),
    }
}

fn packed(payload: Bytes, count: u64, has_mime_type: bool) -> Result<BinaryItems, Refusal> {
    if payload.is_empty() {
        return Err(Refusal::malformed("a packed message is empty"));
    }
    if payload.len() > limits::PACKED_BYTES {
        return Err(Refusal::exhausted("a packed message is too large"));
    }
    if count != payload.len() as u64 {
        return Err(miscounted());
    }
    if has_mime_type {
        return Err(Refusal::malformed("packed bytes have no MIME type"));
    }
    Ok(BinaryItems::Packed(payload))
}

fn whole(payload: Bytes, count: u64, mime_type: Option<String>) -> Result<BinaryItems, Refusal> {
    if payload.len() > ITEM_BYTES {
        return Err(Refusal::exhausted("an item is too large"));
    }
    if count != 1 {
        return Err(miscounted());
    }
    if mime_type.as_deref().is_some_and(|mime_type| !field::is_mime_type(mime_type)) {
        return Err(Refusal::invalid("a MIME type is not of the form that it must have"));
    }
    Ok(BinaryItems::Whole { data: payload, mime_type })
}

fn short() -> Refusal {
    Refusal::malformed("a binary message ends before its metadata does")
}

fn miscounted() -> Refusal {
    Refusal::new(ErrorCode::InvalidSequence, "a message does not hold as many items as it says")
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;
    use crate::spec;

    #[derive(Deserialize)]
    struct Vectors<V> {
        vectors: Vec<V>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Frame {
        name: String,
        direction: String,
        frame_base64: String,
        payload_hex: String,
        equivalent_to: Option<String>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Malformed {
        name: String,
        lane: String,
        direction: Option<String>,
        input_hex: Option<String>,
        input_shape: Option<serde_json::Value>,
        expected_code: String,
    }

    fn from(direction: &str) -> Role {
        if direction == "client" { Role::Input } else { Role::Output }
    }

    fn again(direction: &str, frame: Vec<u8>) -> Result<Vec<u8>, Refusal> {
        let message = BinaryMessage::decode(&frame.into(), from(direction))?;
        Ok([&message.encode_head(), &message.items.payload()[..]].concat())
    }

    #[test]
    fn section_7_published_frames_are_read_and_written() {
        let Some(Vectors { vectors }) = spec::vectors::<Vectors<Frame>>("binary-messages.json") else { return };
        let frame = |vector: &Frame| STANDARD.decode(&vector.frame_base64).unwrap();
        for vector in &vectors {
            let same = vector.equivalent_to.as_ref();
            let canonical = same.map_or(vector, |name| vectors.iter().find(|other| other.name == *name).unwrap());
            assert_eq!(again(&vector.direction, frame(vector)), Ok(frame(canonical)), "{}", vector.name);
            let message = BinaryMessage::decode(&frame(vector).into(), from(&vector.direction)).unwrap();
            assert_eq!(hex::encode(message.items.payload()), vector.payload_hex, "{}", vector.name);
        }
    }

    impl Malformed {
        fn frame(&self) -> Vec<u8> {
            if let Some(text) = &self.input_hex {
                return hex::decode(text).unwrap();
            }
            let shape = self.input_shape.as_ref().unwrap();
            let metadata = shape["metadata"].as_str().unwrap();
            let length = usize::try_from(shape["payloadLength"].as_u64().unwrap()).unwrap();
            let byte = hex::decode(shape["payloadByteHex"].as_str().unwrap()).unwrap()[0];
            let head = u32::try_from(metadata.len()).unwrap().to_be_bytes();
            [&head, metadata.as_bytes(), &vec![byte; length]].concat()
        }
    }

    #[test]
    fn section_4_2_published_faults_have_their_code() {
        let Some(Vectors { vectors }) = spec::vectors::<Vectors<Malformed>>("malformed.json") else { return };
        for vector in vectors.iter().filter(|vector| vector.lane == "binary") {
            let outcome = again(vector.direction.as_deref().unwrap(), vector.frame());
            let code = outcome.map_err(|refusal| refusal.code.to_string());
            assert_eq!(code.as_ref(), Err(&vector.expected_code), "{}", vector.name);
        }
    }

    #[test]
    fn b5_the_greatest_item_has_16_mib_less_one() {
        let whole = |length: usize| BinaryItems::Whole { data: vec![0; length].into(), mime_type: None }.charge();
        assert_eq!(whole((16 << 20) - 1), Ok(16 << 20));
        assert_eq!(whole(16 << 20).unwrap_err().code, ErrorCode::ResourceExhausted);
        assert_eq!(BinaryItems::Packed(vec![0; 1 << 20].into()).charge(), Ok(2 << 20));
    }

    #[test]
    fn b4_items_are_held_against_their_type() {
        let graph =
            |root: &str| Graph::read(&Json::parse(format!(r#"{{"root":{root}}}"#).as_bytes()).unwrap()).unwrap();
        let code =
            |items: &BinaryItems, graph: &Graph| items.check(graph, graph.root()).err().map(|refusal| refusal.code);
        let bytes = graph(r#"{"kind":"u8","value":{"restrictions":{"max":{"kind":"unsigned","value":9}}}}"#);
        let packed = |bytes: &'static [u8]| BinaryItems::Packed(Bytes::from_static(bytes));
        assert_eq!(code(&packed(&[0, 9]), &bytes), None);
        assert_eq!(code(&packed(&[0, 10]), &bytes), Some(ErrorCode::ValidationError));
        let whole = |mime: Option<&str>| BinaryItems::Whole { data: Bytes::new(), mime_type: mime.map(str::to_owned) };
        let png = graph(r#"{"kind":"binary","value":{"restrictions":{"mimeTypes":["image/png"]}}}"#);
        assert_eq!(code(&whole(None), &png), None);
        assert_eq!(code(&whole(Some("image/gif")), &png), Some(ErrorCode::ValidationError));
        assert_eq!(code(&whole(None), &bytes), Some(ErrorCode::InvalidChannel));
        assert_eq!(code(&packed(&[1]), &png), Some(ErrorCode::InvalidChannel));
    }

    #[test]
    fn the_payload_is_not_copied() {
        let message =
            BinaryMessage { channel: 1, sequence: 0, items: BinaryItems::Packed(vec![7; 1000].into()), cursor: None };
        let frame: Bytes = [&message.encode_head(), &message.items.payload()[..]].concat().into();
        let read = BinaryMessage::decode(&frame, Role::Input).unwrap();
        assert_eq!(read.items.payload().as_ptr(), frame[frame.len() - 1000..].as_ptr());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_are_refused(frame in prop::collection::vec(any::<u8>(), 0..80), length in 0_u8..90) {
            let mut frame = frame;
            if frame.len() > 3 {
                frame[..4].copy_from_slice(&[0, 0, 0, length]);
            }
            let _ = BinaryMessage::decode(&frame.into(), Role::Input);
        }
    }
}
