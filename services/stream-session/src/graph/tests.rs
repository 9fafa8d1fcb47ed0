use std::cmp::Ordering;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;
use crate::json::{Json, canonical};
use crate::spec;

#[derive(Deserialize)]
struct Vectors<'v> {
    #[serde(borrow)]
    vectors: Vec<Vector<'v>>,
    #[serde(borrow)]
    fingerprints: Vec<Fingerprinted<'v>>,
}

#[derive(Deserialize)]
struct Vector<'v> {
    name: String,
    #[serde(borrow)]
    graph: &'v RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fingerprinted<'v> {
    name: String,
    #[serde(borrow)]
    graph: Option<&'v RawValue>,
    cbor_hex: String,
    blake3_hex: String,
}

fn graph(text: &str) -> Graph {
    Graph::read(&Json::parse(text.as_bytes()).unwrap()).unwrap()
}

#[test]
fn section_8_graphs_are_read_and_written_as_they_came() {
    let Some(text) = spec::text("schema-values.json") else { return };
    let vectors: Vectors<'_> = serde_json::from_str(&text).unwrap();
    for Vector { name, graph: text } in vectors.vectors {
        let json = Json::parse(text.get().as_bytes()).unwrap();
        let again = canonical(&Graph::read(&json).unwrap().to_json());
        assert_eq!(again, canonical(&json), "{name}");
    }
}

#[test]
fn section_10_fingerprints_are_the_published_ones() {
    let Some(text) = spec::text("schema-values.json") else { return };
    let vectors: Vectors<'_> = serde_json::from_str(&text).unwrap();
    for vector in vectors.fingerprints {
        let graph = vector.graph.map(|text| graph(text.get()));
        let nothing = Graph::new(Vec::new(), Type::new(Shape::Bool));
        let (graph, element) = match &graph {
            Some(graph) => (graph, Some(graph.root())),
            None => (&nothing, None),
        };
        assert_eq!(hex::encode(graph.fingerprinted(element)), vector.cbor_hex, "{}", vector.name);
        assert_eq!(hex::encode(graph.fingerprint(element)), vector.blake3_hex, "{}", vector.name);
    }
}

#[test]
fn section_8_what_is_not_of_the_form_is_malformed() {
    for bad in [
        r"{}",
        r#"{"root":{"kind":"bool"}}"#,
        r#"{"root":{"kind":"bool","value":{"x":1}}}"#,
        r#"{"root":{"kind":"uuid","value":{}}}"#,
        r#"{"root":{"kind":"bool","value":{}},"x":[]}"#,
        r#"{"root":{"kind":"text","value":{}}}"#,
        r#"{"root":{"kind":"fixed-list","value":{"element":{"kind":"u8","value":{}},"length":-1}}}"#,
        r#"{"root":{"kind":"u8","value":{"restrictions":{"min":{"kind":"decimal","value":1}}}}}"#,
        r#"{"root":{"kind":"option","value":{"inner":null}}}"#,
        r#"{"root":{"kind":"bool","value":{"metadata":{"role":{"tag":"multimodal","value":"x"}}}}}"#,
    ] {
        let refusal = Graph::read(&Json::parse(bad.as_bytes()).unwrap()).unwrap_err();
        assert_eq!(refusal.code, crate::ErrorCode::MalformedMessage, "{bad}");
    }
}

#[test]
fn b3_lanes_follow_references_and_nothing_else() {
    let u8_type = r#"{"kind":"u8","value":{}}"#;
    let lane = |root: &str| {
        let graph = graph(&format!(r#"{{"defs":[{{"id":"byte","body":{u8_type}}}],"root":{root}}}"#));
        graph.lane(graph.root())
    };
    assert_eq!(lane(u8_type), Lane::PackedU8);
    assert_eq!(lane(r#"{"kind":"ref","value":{"id":"byte"}}"#), Lane::PackedU8);
    assert_eq!(lane(r#"{"kind":"binary","value":{"restrictions":{}}}"#), Lane::Binary);
    assert_eq!(lane(&format!(r#"{{"kind":"list","value":{{"element":{u8_type}}}}}"#)), Lane::Json);
    assert_eq!(lane(r#"{"kind":"s8","value":{}}"#), Lane::Json);
}

fn branches(one: &str, other: &str) -> String {
    let branch = |tag: &str, discriminator: &str| {
        format!(r#"{{"tag":"{tag}","body":{{"kind":"string","value":{{}}}},"discriminator":{discriminator}}}"#)
    };
    let branches = format!("{},{}", branch("a", one), branch("b", other));
    format!(r#"{{"kind":"union","value":{{"spec":{{"branches":[{branches}]}}}}}}"#)
}

fn rule(rule: &str, member: &str, text: &str) -> String {
    format!(r#"{{"rule":"{rule}","value":{{"{member}":"{text}"}}}}"#)
}

#[test]
fn section_9_graphs_that_no_agent_may_announce() {
    let checked = |text: &str| graph(text).check();
    let root = |root: &str| checked(&format!(r#"{{"root":{root}}}"#));
    let named = |name: &str| name.to_owned();
    let def = r#"{"id":"a","body":{"kind":"bool","value":{}}}"#;
    let twice = format!(r#"{{"defs":[{def},{def}],"root":{{"kind":"bool","value":{{}}}}}}"#);
    assert_eq!(checked(&twice), Err(IllFormed::DefinedTwice(named("a"))));
    assert_eq!(root(r#"{"kind":"ref","value":{"id":"a"}}"#), Err(IllFormed::Reference(named("a"))));
    let around = r#"{"defs":[{"id":"a","body":{"kind":"ref","value":{"id":"a"}}}],"root":{"kind":"bool","value":{}}}"#;
    assert_eq!(checked(around), Err(IllFormed::Reference(named("a"))));
    assert_eq!(root(r#"{"kind":"enum","value":{"cases":[]}}"#), Err(IllFormed::NoCases("enum")));
    assert_eq!(root(r#"{"kind":"flags","value":{"flags":["a","a"]}}"#), Err(IllFormed::NamedTwice(named("a"))));
    let list_keys =
        r#"{"kind":"map","value":{"key":{"kind":"datetime","value":{}},"value":{"kind":"bool","value":{}}}}"#;
    assert_eq!(root(list_keys), Err(IllFormed::Key("datetime")));
    let none = r#"{"kind":"fixed-list","value":{"element":{"kind":"u8","value":{}},"length":0}}"#;
    assert_eq!(root(none), Err(IllFormed::NoElements));
    let inverted = r#"{"kind":"u8","value":{"restrictions":{"max":{"kind":"unsigned","value":1},"min":{"kind":"unsigned","value":2}}}}"#;
    assert_eq!(root(inverted), Err(IllFormed::Inverted("u8")));
    let text = r#"{"kind":"text","value":{"restrictions":{"regex":"("}}}"#;
    assert_eq!(root(text), Err(IllFormed::Pattern));
    let unit = r#"{"kind":"quantity","value":{"spec":{"baseUnit":"kg","min":{"mantissa":1,"scale":0,"unit":"g"}}}}"#;
    assert_eq!(root(unit), Err(IllFormed::BoundUnit(named("kg"))));
    let stream = r#"{"kind":"list","value":{"element":{"kind":"stream","value":{"inner":null}}}}"#;
    assert_eq!(root(stream), Err(IllFormed::NoElementType("stream")));

    let prefix = |text: &str| rule("prefix", "prefix", text);
    assert_eq!(root(&branches(&prefix("x"), &prefix("y"))), Ok(()));
    let both = Err(IllFormed::Ambiguous(named("a"), named("b")));
    assert_eq!(root(&branches(&prefix("x"), &prefix("xy"))), both);
    assert_eq!(root(&branches(&prefix("x"), &prefix(""))), Err(IllFormed::NoDiscriminator(named("b"))));
    let field = rule("field-absent", "fieldName", "f");
    assert_eq!(root(&branches(&prefix("x"), &field)), Err(IllFormed::Discriminator(named("b"))));
    let nested = r#"{"kind":"option","value":{"inner":{"kind":"option","value":{"inner":{"kind":"u8","value":{}}}}}}"#;
    assert_eq!(root(nested), Ok(()), "nested options are allowed");
}

#[test]
fn quantities_compare_across_scales_and_not_beyond_128_bits() {
    let quantity = |mantissa, scale| Quantity { mantissa, scale, unit: String::new() };
    assert_eq!(quantity(25, 1).compare(&quantity(2500, 3)), Some(Ordering::Equal));
    assert_eq!(quantity(1, -3).compare(&quantity(1000, 0)), Some(Ordering::Equal));
    assert_eq!(quantity(-1, 0).compare(&quantity(1, 5)), Some(Ordering::Less));
    assert_eq!(quantity(1, i32::MIN).compare(&quantity(1, i32::MAX)), None);
}
