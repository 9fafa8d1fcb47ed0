//! What it costs to read an item and hold it against its type, beside `serde_json` reading the same text into a `Value`:
//! at most twice as much.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use stream_session::graph::Graph;
use stream_session::json::Json;
use stream_session::message::{ClientMessage, Node};
use stream_session::value::{StreamPolicy, Value};

fn main() {
    divan::main();
}

/// Items of different make, each with its type.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// Many small values.
    Records,
    /// One long text with escapes.
    Text,
    /// Numbers.
    Floats,
}

const ITEMS: [Item; 3] = [Item::Records, Item::Text, Item::Floats];

impl Item {
    fn graph(self) -> Graph {
        let root = match self {
            Self::Records => {
                r#"{"kind":"list","value":{"element":{"kind":"record","value":{"fields":[
                    {"name":"id","body":{"kind":"u64","value":{}}},
                    {"name":"name","body":{"kind":"string","value":{}}},
                    {"name":"tag","body":{"kind":"option","value":{"inner":{"kind":"enum","value":{"cases":["a","b"]}}}}}]}}}}"#
            }
            Self::Text => r#"{"kind":"text","value":{"restrictions":{"maxLength":1000000}}}"#,
            Self::Floats => r#"{"kind":"list","value":{"element":{"kind":"f64","value":{}}}}"#,
        };
        Graph::read(&Json::parse(format!(r#"{{"root":{root}}}"#).as_bytes()).expect("JSON")).expect("a graph")
    }

    fn message(self) -> String {
        let list =
            |elements: Vec<String>| format!(r#"{{"kind":"list","value":{{"elements":[{}]}}}}"#, elements.join(","));
        let value = match self {
            Self::Records => list((0..1_000).map(record).collect()),
            Self::Text => {
                let text = "some words \\n and \\u00e4 ".repeat(2_000);
                format!(r#"{{"kind":"text","value":{{"text":"{text}"}}}}"#)
            }
            Self::Floats => list((0..2_000).map(|n| format!(r#"{{"kind":"f64","value":{n}.{n}25}}"#)).collect()),
        };
        format!(r#"{{"channel":1,"sequence":"0","type":"inputStreamItem","value":{value},"version":1}}"#)
    }
}

fn record(n: usize) -> String {
    let tag = r#"{"kind":"option","value":{"inner":{"kind":"enum","value":{"case":1}}}}"#;
    let name = format!(r#"{{"kind":"string","value":"item number {n}"}}"#);
    format!(r#"{{"kind":"record","value":{{"fields":[{{"kind":"u64","value":"{n}"}},{name},{tag}]}}}}"#)
}

#[divan::bench(args = ITEMS)]
fn strict_with_schema(bencher: Bencher<'_, '_>, item: Item) {
    let (graph, message) = (item.graph(), item.message());
    bencher.counter(BytesCount::of_str(&message)).bench(|| {
        let Ok(ClientMessage::Item { value: Node::Json(node), .. }) = ClientMessage::decode(message.as_bytes()) else {
            panic!("the item is well formed");
        };
        let decoded = Value::read(&graph, graph.root(), StreamPolicy::Provisional, &node).expect("of its type");
        black_box(decoded.charge)
    });
}

#[divan::bench(args = ITEMS)]
fn serde_json_value(bencher: Bencher<'_, '_>, item: Item) {
    let message = item.message();
    bencher
        .counter(BytesCount::of_str(&message))
        .bench(|| serde_json::from_str::<serde_json::Value>(black_box(&message)).expect("JSON"));
}
