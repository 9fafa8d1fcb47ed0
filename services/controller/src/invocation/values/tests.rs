use bytes::Bytes;
use uuid::Uuid;
use wire::BinaryItem;
use wire::stream_item::Item as Told;

use super::*;

const STRING: &str = r#"{"kind":"string","value":{}}"#;
const REF: &str = "c1b1f0a2-3d7e-4f39-8a4e-0d9b7c6e5f41";

fn stream_of(element: &str) -> String {
    format!(r#"{{"kind":"stream","value":{{"inner":{element}}}}}"#)
}

fn id() -> InvocationId {
    InvocationId::new(Uuid::from_u128(7))
}

/// The type of what the only stream of a result carries, and the results.
fn results(element: &str) -> (Results, Element) {
    let results = Results::new(&format!(r#"{{"root":{}}}"#, stream_of(element))).unwrap();
    let told = r#"{"kind":"stream","value":{"streamToken":"x"}}"#;
    let element = results.result(told).unwrap().streams.remove(0).element;
    (results, element)
}

fn code(read: Result<Spoken<Item>, Refusal>) -> ErrorCode {
    read.expect_err("it is refused").code
}

#[test]
fn inputs_are_named_by_their_ids_in_parameters_and_in_items() {
    let nested = stream_of(&stream_of(STRING));
    let schema = format!(r#"{{"root":{{"kind":"record","value":{{"fields":[{{"body":{nested},"name":"s"}}]}}}}}}"#);
    let parameters = Parameters::new(&schema, id()).unwrap();
    let reference = format!(r#"{{"kind":"stream","value":{{"provisionalRef":"{REF}"}}}}"#);
    let named = StreamId::input(id(), REF.parse().unwrap());
    let named = format!(r#"{{"kind":"stream","value":{{"streamToken":"{named}"}}}}"#);
    let record = |stream: &str| format!(r#"{{"kind":"record","value":{{"fields":[{stream}]}}}}"#);
    assert_eq!(parameters.method(&record(&reference)).unwrap(), record(&named));
    let element = parameters.element(&stream_of(STRING)).unwrap();
    assert_eq!(parameters.item(&element, reference).unwrap(), named);
    let element = parameters.element(STRING).unwrap();
    assert_eq!(parameters.item(&element, "anything".into()).unwrap(), "anything", "nothing in it can be a stream");
}

#[test]
fn streams_of_results_get_their_ids_in_document_order() {
    let pair = format!(r#"{{"kind":"tuple","value":{{"elements":[{0},{0}]}}}}"#, stream_of(STRING));
    let results = Results::new(&format!(r#"{{"root":{pair}}}"#)).unwrap();
    let stream = |name: &dyn std::fmt::Display| format!(r#"{{"kind":"stream","value":{{"streamToken":"{name}"}}}}"#);
    let tuple = |a, b| format!(r#"{{"kind":"tuple","value":{{"elements":[{a},{b}]}}}}"#);
    let read = results.result(&tuple(stream(&"a"), stream(&"b"))).unwrap();
    let names: Vec<_> = read.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(read.streams[0].new.element, STRING);
    let ids = [1, 2].map(|number| StreamId::new(Uuid::from_u128(number)));
    let text = Results::text(read.said.unwrap(), &ids);
    assert_eq!(text, tuple(stream(&ids[0]), stream(&ids[1])));
    let twice = results.result(&tuple(stream(&"a"), stream(&"a"))).unwrap_err();
    assert_eq!(twice.code, ErrorCode::StreamAlreadyConsumed);
}

#[test]
fn a_method_without_result_returns_nothing() {
    let results = Results::new("").unwrap();
    assert_eq!(results.result("").unwrap(), Spoken { said: None, streams: Vec::new() });
    assert!(results.result(r#"{"kind":"bool","value":true}"#).is_err());
    assert!(Results::new(&format!(r#"{{"root":{STRING}}}"#)).unwrap().result("").is_err());
}

#[test]
fn octets_are_from_1_byte_to_1_mib_and_within_what_their_type_admits() {
    let (results, element) = results(r#"{"kind":"u8","value":{"restrictions":{"max":{"kind":"unsigned","value":9}}}}"#);
    let read = |octets: Vec<u8>| results.item(&element, Some(Told::Octets(octets)));
    let all = vec![9; limits::PACKED_BYTES];
    assert_eq!(read(all.clone()).unwrap().said, Item::Whole(FrameItem::Octets(all.into())));
    for refused in [vec![], vec![0; limits::PACKED_BYTES + 1], vec![1, 10]] {
        assert_eq!(code(read(refused)), ErrorCode::ValidationError);
    }
}

#[test]
fn binary_items_are_within_what_their_type_and_the_protocol_admit() {
    let (results, element) =
        results(r#"{"kind":"binary","value":{"restrictions":{"mimeTypes":["a/b"],"minBytes":1}}}"#);
    let read = |data: Vec<u8>, mime: &str| {
        results.item(&element, Some(Told::Binary(BinaryItem { data, mime_type: mime.into() })))
    };
    let whole = FrameItem::Binary { data: Bytes::from_static(b"x"), mime: Some("a/b".into()) };
    assert_eq!(read(vec![b'x'], "a/b").unwrap().said, Item::Whole(whole));
    for (data, mime) in [(vec![], "a/b"), (vec![1], "c/d"), (vec![1], "a")] {
        assert_eq!(code(read(data, mime)), ErrorCode::ValidationError, "{mime}");
    }
    assert_eq!(code(read(vec![1; 16 << 20], "a/b")), ErrorCode::ResourceExhausted);
}

#[test]
fn items_have_the_form_that_their_stream_asks_for() {
    let value = || Some(Told::Value(r#"{"kind":"string","value":"a"}"#.into()));
    let octets = || Some(Told::Octets(vec![1]));
    let (strings, string) = results(STRING);
    let (bytes, byte) = results(r#"{"kind":"u8","value":{}}"#);
    assert!(strings.item(&string, value()).is_ok() && bytes.item(&byte, octets()).is_ok());
    for refused in [strings.item(&string, octets()), bytes.item(&byte, value()), bytes.item(&byte, None)] {
        assert_eq!(code(refused), ErrorCode::ValidationError);
    }
}
