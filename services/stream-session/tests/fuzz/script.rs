//! What scripts of both sides are made of.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use stream_session::graph::Graph;
use stream_session::json::Json;
use stream_session::server::Element;
use uuid::Uuid;

use crate::corpus;
use crate::mutation::{Change, change, changed};

pub(crate) const BYTE: &str = r#"{"kind":"u8","value":{}}"#;
pub(crate) const STRING: &str = r#"{"kind":"string","value":{}}"#;

/// A sequence, seen from the one that comes next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    Next,
    Before(u64),
    After(u64),
    Last,
}

/// Mostly the next one.
pub(crate) fn at() -> impl Strategy<Value = At> {
    prop_oneof![
        40 => Just(At::Next),
        8 => (1_u64..4).prop_map(At::Before),
        1 => (1_u64..3).prop_map(At::After),
        1 => Just(At::Last),
    ]
}

impl At {
    /// The sequence, where `next` comes next.
    pub(crate) fn after(self, next: u64) -> u64 {
        match self {
            Self::Next => next,
            Self::Before(count) => next.saturating_sub(count),
            Self::After(count) => next + count,
            Self::Last => u64::MAX,
        }
    }
}

/// Mostly this channel.
pub(crate) fn channel(usual: u32) -> impl Strategy<Value = u32> {
    prop_oneof![40 => Just(usual), 1 => 0_u32..9]
}

/// A message that is nearly right, to be sent as text or as bytes.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub(crate) is_text: bool,
    seed: Index,
    changes: Vec<Change>,
}

pub(crate) fn raw() -> impl Strategy<Value = Raw> {
    let parts = (any::<bool>(), any::<Index>(), prop::collection::vec(change(), 1..4));
    parts.prop_map(|(is_text, seed, changes)| Raw { is_text, seed, changes })
}

/// What raw messages are made of.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    corpus::messages().into_iter().chain(corpus::frames()).collect()
}

impl Raw {
    pub(crate) fn message(&self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let seed: &Vec<u8> = self.seed.get(seeds);
        changed(seed, seeds, &self.changes)
    }
}

/// Items of the type with this text.
pub(crate) fn element(of: &str) -> Element {
    let graph = Json::parse(format!(r#"{{"root":{of}}}"#).as_bytes()).and_then(|json| Graph::read(&json));
    let graph = Arc::new(graph.expect("the graph is sound"));
    Element::new(Arc::clone(&graph), graph.root().clone())
}

/// The UUIDv4 of a number.
pub(crate) fn uuid(number: u64) -> Uuid {
    let bytes = ((u128::from(number) + 1) << 64 | u128::from(number)).to_be_bytes();
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}
