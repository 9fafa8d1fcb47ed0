//! What a value is read in.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use stream_session::Refusal;
use stream_session::graph::{Graph, Type};
use stream_session::json::Json;
use stream_session::value::{StreamPolicy, StreamRef, Value};
use wire::BinaryItem;
use wire::stream_item::Item;

use super::{Binary, Decode, Mismatch};
use crate::Streams;

/// The streams of a value and of its invocation: what [`Decode`] needs to open them.
pub struct Scope {
    streams: Streams,
    graph: Arc<Graph>,
    /// The types of the items of the value's streams.
    elements: HashMap<String, Type>,
}

impl Scope {
    /// Reads a value of type `of` of `graph`.
    pub(crate) fn read(
        streams: &Streams,
        graph: &Arc<Graph>,
        of: &Type,
        policy: StreamPolicy,
        text: &str,
    ) -> Result<(Value, Self), Mismatch> {
        let json = Json::parse(text.as_bytes())?;
        let decoded = Value::read(graph, of, policy, &json)?;
        let element = |(stream, element): (StreamRef, &Type)| match stream {
            StreamRef::Stable(name) => Some((name, element.clone())),
            StreamRef::Provisional(_) => None,
        };
        let elements = decoded.streams.into_iter().filter_map(element).collect();
        Ok((decoded.value, Self { streams: streams.clone(), graph: Arc::clone(graph), elements }))
    }

    /// Reads an item of a stream whose items are of type `of`.
    pub(crate) fn item<T: Decode>(streams: &Streams, graph: &Arc<Graph>, of: &Type, item: Item) -> Result<T, Mismatch> {
        match item {
            Item::Value(text) => {
                let (value, scope) = Self::read(streams, graph, of, StreamPolicy::Stable, &text)?;
                T::from_value(value, &scope)
            }
            Item::Octets(octets) => T::from_octets(Bytes::from(octets)),
            Item::Binary(BinaryItem { data, mime_type }) => {
                let mime_type = Some(mime_type).filter(|mime_type| !mime_type.is_empty());
                T::from_binary(Binary { bytes: Bytes::from(data), mime_type })
            }
        }
    }

    pub(crate) fn streams(&self) -> &Streams {
        &self.streams
    }

    pub(crate) fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    pub(super) fn element(&self, name: &str) -> Option<Type> {
        self.elements.get(name).cloned()
    }
}

impl From<Refusal> for Mismatch {
    fn from(refusal: Refusal) -> Self {
        Self(refusal.text.into_owned())
    }
}
