use proptest::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::*;
use crate::graph::Graph;
use crate::json::Json;
use crate::{Refusal, spec};

#[derive(Deserialize)]
struct Vectors<'v> {
    #[serde(borrow)]
    vectors: Vec<Vector<'v>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Vector<'v> {
    name: String,
    #[serde(borrow)]
    graph: &'v RawValue,
    canonical: String,
    charge: u64,
    stream_policy: Option<String>,
    #[serde(default)]
    alternatives: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Malformed<'v> {
    name: String,
    lane: String,
    #[serde(borrow)]
    graph: Option<&'v RawValue>,
    input: Option<String>,
    stream_policy: Option<String>,
    expected_code: String,
}

#[derive(Deserialize)]
struct AllMalformed<'v> {
    #[serde(borrow)]
    vectors: Vec<Malformed<'v>>,
}

fn policy(name: Option<&str>) -> StreamPolicy {
    match name {
        None | Some("none") => StreamPolicy::None,
        Some("provisional") => StreamPolicy::Provisional,
        Some("stable") => StreamPolicy::Stable,
        Some(other) => panic!("no policy {other}"),
    }
}

fn graph(text: &str) -> Graph {
    Graph::read(&Json::parse_deep(text).unwrap()).unwrap()
}

/// The normal form and the charge of a node.
fn read(graph: &Graph, policy: StreamPolicy, node: &str) -> Result<(String, u64), Refusal> {
    let node = Json::parse(node.as_bytes())?;
    let decoded = Value::read(graph, graph.root(), policy, &node)?;
    assert_eq!(decoded.value.charge(), Ok(decoded.charge));
    Ok((decoded.value.canonical(), decoded.charge))
}

#[test]
fn sections_1_6_7_published_values_have_their_charge_and_normal_form() {
    let Some(text) = spec::text("schema-values.json") else { return };
    let vectors: Vectors<'_> = serde_json::from_str(&text).unwrap();
    for vector in vectors.vectors {
        let graph = graph(vector.graph.get());
        let policy = policy(vector.stream_policy.as_deref());
        let expected = Ok((vector.canonical.clone(), vector.charge));
        for spelling in vector.alternatives.iter().chain([&vector.canonical]) {
            assert_eq!(read(&graph, policy, spelling), expected, "{}: {spelling}", vector.name);
        }
    }
}

#[test]
fn section_2_published_faults_have_their_code() {
    let Some(text) = spec::text("malformed.json") else { return };
    let vectors: AllMalformed<'_> = serde_json::from_str(&text).unwrap();
    let vectors = vectors.vectors.into_iter().filter(|vector| vector.lane == "schema-value");
    for vector in vectors {
        let graph = graph(vector.graph.unwrap().get());
        let outcome = read(&graph, policy(vector.stream_policy.as_deref()), &vector.input.unwrap());
        let code = outcome.map_err(|refusal| refusal.code.to_string());
        assert_eq!(code, Err(vector.expected_code), "{}", vector.name);
    }
}

fn code(root: &str, node: &str) -> Option<String> {
    let graph = graph(&format!(r#"{{"root":{root}}}"#));
    read(&graph, StreamPolicy::Provisional, node).err().map(|refusal| refusal.code.to_string())
}

#[test]
fn section_5_a_value_introduces_at_most_256_streams() {
    let list = r#"{"kind":"list","value":{"element":{"kind":"stream","value":{"inner":{"kind":"u8","value":{}}}}}}"#;
    let node = |count: u32| {
        let stream =
            |n| format!(r#"{{"kind":"stream","value":{{"provisionalRef":"0dff1c71-f12f-4bb1-996c-{n:012x}"}}}}"#);
        let streams: Vec<_> = (0..count).map(stream).collect();
        format!(r#"{{"kind":"list","value":{{"elements":[{}]}}}}"#, streams.join(","))
    };
    assert_eq!(code(list, &node(256)), None);
    assert_eq!(code(list, &node(257)).as_deref(), Some("resource-exhausted"));
}

#[test]
fn section_6_a_value_costs_at_most_16_mib() {
    let string = r#"{"kind":"string","value":{}}"#;
    let node = |bytes: usize| format!(r#"{{"kind":"string","value":"{}"}}"#, "a".repeat(bytes));
    assert_eq!(code(string, &node((16 << 20) - 1)), None);
    assert_eq!(code(string, &node(16 << 20)).as_deref(), Some("resource-exhausted"));
}

#[test]
fn section_1_1_impossible_instants_are_refused() {
    for bad in [
        "2026-01-01T00:00:00",
        "2026-02-29T00:00:00Z",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00.1234567891Z",
        "2026-01-01T24:00:00Z",
        "2026-1-1T00:00:00Z",
        "0000-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00+1:00",
        "2026-01-01T00:00:00Zx",
        "+2026-01-01T00:00:00Z",
    ] {
        assert_eq!(Datetime::parse(bad), None, "{bad}");
    }
    let utc = |text| Datetime::parse(text).unwrap().to_string();
    assert_eq!(utc("2026-01-01T01:00:00.120000+01:00"), "2026-01-01T00:00:00.120Z");
    assert_eq!(utc("0000-01-01T00:00:00Z"), "0000-01-01T00:00:00Z");
}

proptest! {
    #[test]
    fn floats_read_back_to_themselves(bits in any::<u64>(), small in any::<u32>()) {
        let double = Value::F64(f64::from_bits(bits));
        let single = Value::F32(f32::from_bits(small));
        for (kind, value) in [("f64", double), ("f32", single)] {
            let graph = graph(&format!(r#"{{"root":{{"kind":"{kind}","value":{{}}}}}}"#));
            let again = read(&graph, StreamPolicy::None, &value.canonical()).unwrap().0;
            prop_assert_eq!(again, value.canonical());
        }
    }

    #[test]
    fn instants_read_back_to_themselves(seconds in -62_167_219_200_i64..253_402_300_800, nanos in 0_i64..1_000_000_000) {
        let instant = time::OffsetDateTime::from_unix_timestamp(seconds).unwrap() + time::Duration::nanoseconds(nanos);
        let text = instant.format(&time::format_description::well_known::Rfc3339).unwrap();
        let datetime = Datetime::parse(&text).unwrap();
        prop_assert_eq!(Datetime::parse(&datetime.to_string()), Some(datetime));
    }
}

mod faults;
mod restrictions;
