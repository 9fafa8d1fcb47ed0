use stream_session::graph::Graph;
use stream_session::json::Json;

use super::*;

fn graph(root: &str) -> Graph {
    Graph::read(&Json::parse(format!(r#"{{"root":{root}}}"#).as_bytes()).unwrap()).unwrap()
}

/// Reads `text`, and gives back what is written of it.
fn there_and_back(root: &str, text: &str) -> String {
    let graph = graph(root);
    let value = read(&graph, graph.root(), &Json::parse(text.as_bytes()).unwrap()).unwrap();
    let node = value.canonical();
    let policy = stream_session::value::StreamPolicy::None;
    let node = Json::parse(node.as_bytes()).unwrap();
    stream_session::value::Value::read(&graph, graph.root(), policy, &node).unwrap();
    write(&graph, graph.root(), &value, &mut |_, _| unreachable!("there is no stream"))
}

fn refusal(root: &str, text: &str) -> String {
    let graph = graph(root);
    read(&graph, graph.root(), &Json::parse(text.as_bytes()).unwrap()).unwrap_err().to_string()
}

fn bare(kind: &str) -> Bare<'_> {
    Bare(kind)
}

struct Bare<'a>(&'a str);

impl std::fmt::Display for Bare<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, r#"{{"kind":"{}","value":{{}}}}"#, self.0)
    }
}

#[test]
fn scalars_are_written_as_they_are_read() {
    for (kind, text) in [
        ("bool", "true"),
        ("s8", "-128"),
        ("s64", "-9223372036854775808"),
        ("u64", "18446744073709551615"),
        ("f64", "1.5"),
        ("f64", "-0"),
        ("f32", r#""nan""#),
        ("f64", r#""negative-infinity""#),
        ("char", r#""λ""#),
        ("string", r#""a\"b""#),
        ("datetime", r#""2026-01-01T00:00:00.500Z""#),
        ("duration", "-1"),
    ] {
        assert_eq!(there_and_back(&bare(kind).to_string(), text), text, "{kind}");
    }
    assert_eq!(there_and_back(&bare("u64").to_string(), r#""7""#), "7", "digits may be in a string");
}

#[test]
fn rich_values_have_a_short_form() {
    let text = r#"{"kind":"text","value":{"restrictions":{}}}"#;
    let binary = r#"{"kind":"binary","value":{"restrictions":{}}}"#;
    assert_eq!(there_and_back(text, r#""ja""#), r#""ja""#);
    assert_eq!(there_and_back(text, r#"{"text":"ja","language":"de"}"#), r#"{"language":"de","text":"ja"}"#);
    assert_eq!(there_and_back(binary, r#""AQI=""#), r#""AQI=""#);
    let typed = r#"{"base64":"AQI=","mimeType":"image/png"}"#;
    assert_eq!(there_and_back(binary, typed), typed);
    let quantity = r#"{"kind":"quantity","value":{"spec":{"baseUnit":"kg"}}}"#;
    let value = r#"{"mantissa":25,"scale":1,"unit":"kg"}"#;
    assert_eq!(there_and_back(quantity, value), value);
}

#[test]
fn structures_use_names() {
    let (string, number) = (bare("string"), bare("u32"));
    let record = format!(
        r#"{{"kind":"record","value":{{"fields":[{{"body":{string},"name":"a"}},{{"body":{{"kind":"option","value":{{"inner":{number}}}}},"name":"b"}}]}}}}"#
    );
    assert_eq!(there_and_back(&record, r#"{"a":"x"}"#), r#"{"a":"x","b":null}"#);
    assert_eq!(there_and_back(&record, r#"{"b":7,"a":"x"}"#), r#"{"a":"x","b":7}"#);
    let variant =
        format!(r#"{{"kind":"variant","value":{{"cases":[{{"name":"none"}},{{"name":"one","payload":{number}}}]}}}}"#);
    for text in [r#""none""#, r#"{"one":1}"#] {
        assert_eq!(there_and_back(&variant, text), text);
    }
    let map = |key: &Bare<'_>| format!(r#"{{"kind":"map","value":{{"key":{key},"value":{number}}}}}"#);
    assert_eq!(there_and_back(&map(&string), r#"{"k":1}"#), r#"{"k":1}"#);
    assert_eq!(there_and_back(&map(&string), r#"[["k",1],["k",2]]"#), r#"[["k",1],["k",2]]"#);
    assert_eq!(there_and_back(&map(&number), r#"[[1,2]]"#), "[[1,2]]");
    let flags = r#"{"kind":"flags","value":{"flags":["r","w","x"]}}"#;
    assert_eq!(there_and_back(flags, r#"["x","r"]"#), r#"["r","x"]"#);
    assert_eq!(there_and_back(r#"{"kind":"enum","value":{"cases":["on","off"]}}"#, r#""off""#), r#""off""#);
    let nested = format!(r#"{{"kind":"option","value":{{"inner":{{"kind":"option","value":{{"inner":{number}}}}}}}}}"#);
    for text in ["null", r#"{"some":null}"#, r#"{"some":1}"#] {
        assert_eq!(there_and_back(&nested, text), text);
    }
    let result = format!(r#"{{"kind":"result","value":{{"spec":{{"ok":{number}}}}}}}"#);
    for text in [r#"{"ok":1}"#, r#"{"err":null}"#] {
        assert_eq!(there_and_back(&result, text), text);
    }
}

#[test]
fn what_is_not_of_the_type_is_told_with_its_place() {
    let list = format!(r#"{{"kind":"list","value":{{"element":{}}}}}"#, bare("u32"));
    let record = format!(r#"{{"kind":"record","value":{{"fields":[{{"body":{list},"name":"a"}}]}}}}"#);
    assert_eq!(refusal(&record, r#"{"a":[1,"x"]}"#), "a.1: a number of type u32 is expected");
    assert_eq!(refusal(&record, "{}"), "a: it is missing");
    assert_eq!(refusal(&record, r#"{"b":1}"#), r#"there is no field "b"; there are a"#);
    let stream = format!(r#"{{"kind":"stream","value":{{"inner":{}}}}}"#, bare("u8"));
    assert_eq!(refusal(&stream, "[]"), "a stream cannot stand here");
}

#[test]
fn streams_are_called_by_their_place() {
    use stream_session::value::{StreamRef, Value};
    let stream = format!(r#"{{"kind":"stream","value":{{"inner":{}}}}}"#, bare("u8"));
    let list = format!(r#"{{"kind":"list","value":{{"element":{stream}}}}}"#);
    let graph = graph(&format!(r#"{{"kind":"record","value":{{"fields":[{{"body":{list},"name":"parts"}}]}}}}"#));
    let named = |token: &str| Value::Stream(StreamRef::Stable(token.to_owned()));
    let value = Value::Record(vec![Value::List(vec![named("secret-1"), named("secret-2")])]);
    let written = write(&graph, graph.root(), &value, &mut |path, _| path.join("."));
    assert_eq!(written, r#"{"parts":["parts.0","parts.1"]}"#);
}
