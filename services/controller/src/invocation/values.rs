//! Values on their way between the journal and the harness.
//!
//! The journal keeps values of the client with its provisional references, and values of the agent with the ids of streams.
//! The harness is told of inputs by their ids, and names its outputs as it likes.

use std::sync::Arc;

use journal::invocations::{FrameItem, InvocationId, NewOutput, StreamId};
use stream_session::graph::{Graph, Lane, Shape, Type};
use stream_session::json::{self, Json};
use stream_session::value::{StreamPolicy, StreamRef, Value};
use stream_session::{ErrorCode, Refusal, field, limits};

use crate::agents::{UnusableGraph, graph, has_streams};

/// What the items of a stream are.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    of: Type,
    lane: Lane,
    /// Items may introduce streams.
    nests: bool,
}

/// What the client sends: values of one graph, in normal form.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    graph: Arc<Graph>,
    invocation: InvocationId,
}

/// What the agent sends: values of one graph, or nothing.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    graph: Option<Arc<Graph>>,
}

/// Something that the agent sent, as it is recorded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spoken<T> {
    /// In normal form, once its streams [have their ids](Results::text).
    pub(crate) said: T,
    /// The streams that it introduces, in document order.
    pub(crate) streams: Vec<Introduced>,
}

/// A stream that the agent introduces.
#[derive(Clone, Debug)]
pub(crate) struct Introduced {
    /// What the harness calls it.
    pub(crate) name: String,
    pub(crate) element: Element,
    pub(crate) new: NewOutput,
}

/// An item of an output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// A value, in which streams are named as the harness calls them.
    Value(Value),
    /// Octets, or a binary item.
    Whole(FrameItem),
}

impl Element {
    fn new(graph: &Graph, of: &Type) -> Self {
        Self { of: of.clone(), lane: graph.lane(of), nests: has_streams(graph, of) }
    }
}

impl Parameters {
    /// Values of the graph in this text.
    pub(crate) fn new(schema: &str, invocation: InvocationId) -> Result<Self, UnusableGraph> {
        Ok(Self { graph: graph(schema)?, invocation })
    }

    /// The type of the items of an input.
    pub(crate) fn element(&self, text: &str) -> Result<Element, Refusal> {
        let of = Type::read(&Json::parse(text.as_bytes())?)?;
        Ok(Element::new(&self.graph, &of))
    }

    /// The parameters of the method as the harness gets them.
    pub(crate) fn method(&self, text: &str) -> Result<String, Refusal> {
        self.named(self.graph.root(), text)
    }

    /// A value in an input as the harness gets it.
    pub(crate) fn item(&self, element: &Element, text: String) -> Result<String, Refusal> {
        if element.nests { self.named(&element.of, &text) } else { Ok(text) }
    }

    fn named(&self, of: &Type, text: &str) -> Result<String, Refusal> {
        let mut value = Value::read(&self.graph, of, StreamPolicy::Provisional, &Json::parse(text.as_bytes())?)?.value;
        value.rename_streams(&mut |stream| match stream {
            StreamRef::Provisional(name) => StreamRef::Stable(StreamId::input(self.invocation, *name).to_string()),
            StreamRef::Stable(name) => StreamRef::Stable(name.clone()),
        });
        Ok(value.canonical())
    }
}

impl Results {
    /// Values of the graph in this text; empty: the method returns nothing.
    pub(crate) fn new(schema: &str) -> Result<Self, UnusableGraph> {
        let graph = if schema.is_empty() { None } else { Some(graph(schema)?) };
        Ok(Self { graph })
    }

    /// Reads what the method returned; empty: nothing.
    pub(crate) fn result(&self, text: &str) -> Result<Spoken<Option<Value>>, Refusal> {
        match &self.graph {
            None if text.is_empty() => Ok(Spoken { said: None, streams: Vec::new() }),
            None => Err(Refusal::invalid("a method without a result returned one")),
            Some(graph) => {
                let Spoken { said, streams } = read(graph, graph.root(), text)?;
                Ok(Spoken { said: Some(said), streams })
            }
        }
    }

    /// Reads an item of an output.
    pub(crate) fn item(
        &self,
        element: &Element,
        item: Option<wire::stream_item::Item>,
    ) -> Result<Spoken<Item>, Refusal> {
        use wire::stream_item::Item as Told;
        let item = item.ok_or_else(|| Refusal::invalid("an item is empty"))?;
        let (said, streams) = match (item, element.lane, &self.graph) {
            (Told::Value(text), Lane::Json, Some(graph)) => {
                let Spoken { said, streams } = read(graph, &element.of, &text)?;
                (Item::Value(said), streams)
            }
            (Told::Octets(octets), Lane::PackedU8, Some(graph)) => {
                check_octets(graph, &element.of, &octets)?;
                (Item::Whole(FrameItem::Octets(octets.into())), Vec::new())
            }
            (Told::Binary(item), Lane::Binary, Some(graph)) => {
                check_binary(graph, &element.of, &item)?;
                let mime = Some(item.mime_type).filter(|mime| !mime.is_empty());
                (Item::Whole(FrameItem::Binary { data: item.data.into(), mime }), Vec::new())
            }
            _ => return Err(Refusal::invalid("an item is not of the kind that its stream has")),
        };
        Ok(Spoken { said, streams })
    }

    /// A value in normal form, in which its streams have these ids, in document order.
    pub(crate) fn text(mut value: Value, ids: &[StreamId]) -> String {
        let mut ids = ids.iter();
        value.rename_streams(&mut |stream| match ids.next() {
            Some(id) => StreamRef::Stable(id.to_string()),
            None => stream.clone(),
        });
        value.canonical()
    }
}

impl Item {
    /// The item as it is recorded: its streams have these ids, in document order.
    pub(crate) fn recorded(self, ids: &[StreamId]) -> FrameItem {
        match self {
            Self::Value(value) => FrameItem::Value(Results::text(value, ids)),
            Self::Whole(item) => item,
        }
    }
}

impl PartialEq for Introduced {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.new) == (&other.name, &other.new)
    }
}

fn read(graph: &Graph, of: &Type, text: &str) -> Result<Spoken<Value>, Refusal> {
    let read = Value::read(graph, of, StreamPolicy::Stable, &Json::parse(text.as_bytes())?)?;
    let introduced = |(stream, element): (StreamRef, &Type)| match stream {
        StreamRef::Stable(name) => Some(Introduced {
            name,
            element: Element::new(graph, element),
            new: NewOutput {
                element: json::canonical(&element.to_json()),
                fingerprint: graph.fingerprint(Some(element)),
            },
        }),
        StreamRef::Provisional(_) => None,
    };
    Ok(Spoken { said: read.value, streams: read.streams.into_iter().filter_map(introduced).collect() })
}

fn check_octets(graph: &Graph, of: &Type, octets: &[u8]) -> Result<(), Refusal> {
    if octets.is_empty() || octets.len() > limits::PACKED_BYTES {
        return Err(Refusal::invalid("octets are not from 1 byte to 1 MiB"));
    }
    let admitted = match graph.resolve(of).map(|of| &of.shape) {
        Some(Shape::Number(_, restrictions)) => octets.iter().all(|&octet| restrictions.admit_unsigned(octet.into())),
        _ => true,
    };
    admitted.then_some(()).ok_or_else(outside)
}

fn check_binary(graph: &Graph, of: &Type, item: &wire::BinaryItem) -> Result<(), Refusal> {
    let mime = Some(item.mime_type.as_str()).filter(|mime| !mime.is_empty());
    if mime.is_some_and(|mime| !field::is_mime_type(mime)) {
        return Err(Refusal::invalid("the type of a binary item is no MIME type"));
    }
    let charge = 1 + item.data.len() + item.mime_type.len();
    if charge as u64 > limits::VALUE_CHARGE {
        return Err(Refusal::new(ErrorCode::ResourceExhausted, "a binary item is too large"));
    }
    let admitted = match graph.resolve(of).map(|of| &of.shape) {
        Some(Shape::Binary(restrictions)) => restrictions.admit(item.data.len(), mime),
        _ => true,
    };
    admitted.then_some(()).ok_or_else(outside)
}

fn outside() -> Refusal {
    Refusal::invalid("an item is outside of what its type admits")
}

#[cfg(test)]
mod tests;
