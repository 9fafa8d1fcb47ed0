//! Reading an item and holding it against its type, beside `serde_json` reading the same text into a `Value`.

use std::fmt;
use std::hint::black_box;
use std::time::Duration;

use stream_session::graph::Graph;
use stream_session::json::Json;
use stream_session::message::{ClientMessage, Node};
use stream_session::value::{StreamPolicy, Value};
use tokio::time::Instant;

/// What both took for one kind of item.
pub struct Ratio {
    name: &'static str,
    bytes: usize,
    strict: Duration,
    serde: Duration,
}

/// Measures each kind of item for twice `bound`, both readers in turn, so that what else the machine does disturbs both.
pub fn measure(bound: Duration) -> Vec<Ratio> {
    [records(), text(), floats()].into_iter().map(|(name, root, value)| ratio(name, root, &value, bound)).collect()
}

fn ratio(name: &'static str, root: &str, value: &str, bound: Duration) -> Ratio {
    let graph = Json::parse(format!(r#"{{"root":{root}}}"#).as_bytes()).and_then(|json| Graph::read(&json));
    let graph = graph.expect("invariant: the graph is a constant");
    let message = format!(r#"{{"channel":1,"sequence":"0","type":"inputStreamItem","value":{value},"version":1}}"#);
    let (mut strict, mut serde, mut rounds) = (Duration::ZERO, Duration::ZERO, 0_u32);
    while strict + serde < bound * 2 {
        strict += timed(|| strictly(&graph, &message));
        serde += timed(|| black_box(serde_json::from_str::<serde_json::Value>(black_box(&message))).is_ok());
        rounds += 1;
    }
    Ratio { name, bytes: message.len(), strict: strict / rounds, serde: serde / rounds }
}

fn strictly(graph: &Graph, message: &str) -> bool {
    let Ok(ClientMessage::Item { value: Node::Json(node), .. }) = ClientMessage::decode(black_box(message.as_bytes()))
    else {
        return false;
    };
    black_box(Value::read(graph, graph.root(), StreamPolicy::Provisional, &node)).is_ok()
}

fn timed(read: impl FnOnce() -> bool) -> Duration {
    let begun = Instant::now();
    assert!(read(), "invariant: the message is well formed");
    begun.elapsed()
}

/// A name, a type and a value.
type Item = (&'static str, &'static str, String);

fn records() -> Item {
    let root = r#"{"kind":"list","value":{"element":{"kind":"record","value":{"fields":[
        {"name":"id","body":{"kind":"u64","value":{}}},{"name":"name","body":{"kind":"string","value":{}}},
        {"name":"tag","body":{"kind":"option","value":{"inner":{"kind":"enum","value":{"cases":["a","b"]}}}}}]}}}}"#;
    let record = |n: u32| {
        let tag = r#"{"kind":"option","value":{"inner":{"kind":"enum","value":{"case":1}}}}"#;
        let name = format!(r#"{{"kind":"string","value":"item number {n}"}}"#);
        format!(r#"{{"kind":"record","value":{{"fields":[{{"kind":"u64","value":"{n}"}},{name},{tag}]}}}}"#)
    };
    ("1,000 small records", root, list((0..1_000).map(record)))
}

fn text() -> Item {
    let text = "some words \\n and \\u00e4 ".repeat(2_000);
    let root = r#"{"kind":"text","value":{"restrictions":{"maxLength":1000000}}}"#;
    ("a long text with escapes", root, format!(r#"{{"kind":"text","value":{{"text":"{text}"}}}}"#))
}

fn floats() -> Item {
    let float = |n: u32| format!(r#"{{"kind":"f64","value":{n}.{n}25}}"#);
    let root = r#"{"kind":"list","value":{"element":{"kind":"f64","value":{}}}}"#;
    ("2,000 floats", root, list((0..2_000).map(float)))
}

fn list(elements: impl Iterator<Item = String>) -> String {
    format!(r#"{{"kind":"list","value":{{"elements":[{}]}}}}"#, elements.collect::<Vec<_>>().join(","))
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |took: Duration| self.bytes as f64 / 1e6 / took.as_secs_f64();
        let ratio = self.strict.as_secs_f64() / self.serde.as_secs_f64();
        write!(f, "| {} | {:.0} | {:.0} | {ratio:.2} |", self.name, rate(self.strict), rate(self.serde))
    }
}
