//! Items as they stand in files.

use anyhow::bail;
use client::stream::Graph;
use client::stream::{BinaryItems, Item, Lane, Type, Value, plain};
use stream_session::json::{Json, Writer};
use stream_session::server::Element;

use super::StreamForm;

/// Bytes of one item or batch, where items are raw.
pub const CHUNK_BYTES: usize = 64 << 10;

/// The form of a stream of this type, if `asked` is asked for.
pub fn form(asked: Option<StreamForm>, lane: Lane) -> anyhow::Result<StreamForm> {
    match (asked, lane) {
        (Some(StreamForm::Raw), Lane::Json) => bail!("only streams of bytes and of binary items can be raw"),
        (Some(form), _) => Ok(form),
        (None, Lane::PackedU8) => Ok(StreamForm::Raw),
        (None, Lane::Binary | Lane::Json) => Ok(StreamForm::Value),
    }
}

/// The item that a line is.
pub fn item(element: &Element, line: &[u8]) -> anyhow::Result<Item> {
    let json = Json::parse(line)?;
    Ok(match plain::read(&element.graph, &element.of, &json)? {
        Value::Unsigned(_, byte) if element.lane == Lane::PackedU8 => match u8::try_from(byte) {
            Ok(byte) => raw(Lane::PackedU8, vec![byte]),
            Err(_) => bail!("{byte} is no byte"),
        },
        Value::Binary { bytes, mime_type } if element.lane == Lane::Binary => {
            Item::Binary(BinaryItems::Whole { data: bytes.into(), mime_type })
        }
        value => Item::Value(value),
    })
}

/// The item, or the items, that raw bytes are.
pub fn raw(lane: Lane, bytes: Vec<u8>) -> Item {
    Item::Binary(match lane {
        Lane::PackedU8 => BinaryItems::Packed(bytes.into()),
        Lane::Binary | Lane::Json => BinaryItems::Whole { data: bytes.into(), mime_type: None },
    })
}

/// The values of an item, each as JSON on its own.
pub fn values(element: &Element, item: &Item, name: &mut plain::Namer<'_>) -> Vec<String> {
    let Element { graph, of, .. } = element;
    match item {
        Item::Value(value) => vec![plain::write(graph, of, value, name)],
        Item::Binary(BinaryItems::Packed(bytes)) => bytes.iter().map(u8::to_string).collect(),
        Item::Binary(whole) => vec![binary(graph, of, whole)],
    }
}

/// An item as the value of one member of a line about it.
pub fn member(element: &Element, item: &Item, name: &mut plain::Namer<'_>) -> String {
    let Element { graph, of, .. } = element;
    match item {
        Item::Value(value) => plain::write(graph, of, value, name),
        Item::Binary(items) => binary(graph, of, items),
    }
}

/// In base64, as binary values are.
fn binary(graph: &Graph, of: &Type, items: &BinaryItems) -> String {
    let mime_type = match items {
        BinaryItems::Whole { mime_type, .. } => mime_type.clone(),
        BinaryItems::Packed(_) => None,
    };
    let value = Value::Binary { bytes: items.payload().to_vec(), mime_type };
    plain::write(graph, of, &value, &mut |_, _| String::new())
}

/// A line about something that happened.
pub fn event(name: &str, members: impl FnOnce(&mut Writer)) -> String {
    let mut to = Writer::default();
    to.open('{');
    to.text_member("event", name);
    members(&mut to);
    to.close('}');
    to.finish()
}

/// A line about an item of one of several streams.
pub fn labelled(stream: &str, value: &str) -> String {
    let mut to = Writer::default();
    to.open('{');
    to.text_member("stream", stream);
    to.name("value");
    to.raw(value);
    to.close('}');
    to.finish()
}
