//! The canonical form, fact by fact.

use wire::canonical::{Canonical, NotCanonical};
use wire::event::Body;
use wire::protobuf::value::Kind;
use wire::protobuf::{ListValue, Struct, Timestamp, Value};
use wire::{
    Event, EventKind, ExecutionStart, FilePart, HarnessSpec, IdentityRef, Message, Origin, Part, ReasoningPart,
    ToolResult, file_part, tool_result,
};

/// IEEE 754 bits and text: RFC 8785, appendix B.
const NUMBERS: [(u64, &str); 22] = [
    (0x0000000000000000, "0"),
    (0x8000000000000000, "0"),
    (0x0000000000000001, "5e-324"),
    (0x8000000000000001, "-5e-324"),
    (0x7fefffffffffffff, "1.7976931348623157e+308"),
    (0xffefffffffffffff, "-1.7976931348623157e+308"),
    (0x4340000000000000, "9007199254740992"),
    (0xc340000000000000, "-9007199254740992"),
    (0x4430000000000000, "295147905179352830000"),
    (0x44b52d02c7e14af5, "9.999999999999997e+22"),
    (0x44b52d02c7e14af6, "1e+23"),
    (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
    (0x444b1ae4d6e2ef4e, "999999999999999700000"),
    (0x444b1ae4d6e2ef4f, "999999999999999900000"),
    (0x444b1ae4d6e2ef50, "1e+21"),
    (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
    (0x3eb0c6f7a0b5ed8d, "0.000001"),
    (0x41b3de4355555553, "333333333.3333332"),
    (0x41b3de4355555555, "333333333.3333333"),
    (0x41b3de4355555557, "333333333.33333343"),
    (0xbecbf647612f3696, "-0.0000033333333333333333"),
    (0x43143ff3c1cb0959, "1424953923781206.2"),
];

pub(crate) fn value(kind: Kind) -> Value {
    Value { kind: Some(kind) }
}

pub(crate) fn structure<'a>(fields: impl IntoIterator<Item = (&'a str, Kind)>) -> Struct {
    Struct { fields: fields.into_iter().map(|(name, kind)| (name.to_owned(), value(kind))).collect() }
}

fn number(number: f64) -> Result<String, NotCanonical> {
    let text = structure([("n", Kind::NumberValue(number))]).canonical_json()?;
    Ok(text[r#"{"n":"#.len()..text.len() - 1].to_owned())
}

#[test]
fn numbers_are_printed_as_the_rfc_prints_them() {
    for (bits, text) in NUMBERS {
        assert_eq!(number(f64::from_bits(bits)).unwrap(), text, "{bits:016x}");
    }
}

#[test]
fn numbers_at_the_edges_of_exact_integers_and_of_exponents() {
    let edges = [
        (9_007_199_254_740_991.0, "9007199254740991"),
        (-9_007_199_254_740_991.0, "-9007199254740991"),
        (9_007_199_254_740_993.0, "9007199254740992"),
        (9_007_199_254_740_994.0, "9007199254740994"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (f64::MIN_POSITIVE / 2.0, "1.1125369292536007e-308"),
        (0.1 + 0.2, "0.30000000000000004"),
        (-1.5, "-1.5"),
    ];
    for (value, text) in edges {
        assert_eq!(number(value).unwrap(), text);
    }
}

#[test]
fn numbers_that_json_lacks_are_refused() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(number(value), Err(NotCanonical::NotFinite));
    }
}

#[test]
fn names_are_sorted_by_utf16_code_units() {
    let names = ["\u{20ac}", "\r", "\u{fb33}", "1", "\u{1f600}", "\u{80}", "\u{f6}"];
    let text = structure(names.map(|name| (name, Kind::BoolValue(true)))).canonical_json().unwrap();
    let sorted = "{\"\\r\":true,\"1\":true,\"\u{80}\":true,\"\u{f6}\":true,\"\u{20ac}\":true,\"\u{1f600}\":true,\"\u{fb33}\":true}";
    assert_eq!(text, sorted, "the example of RFC 8785, section 3.2.3");

    let text = structure(["\u{ffff}", "\u{10000}"].map(|name| (name, Kind::BoolValue(true)))).canonical_json().unwrap();
    assert_eq!(text, "{\"\u{10000}\":true,\"\u{ffff}\":true}");
}

#[test]
fn map_keys_are_sorted_by_utf16_code_units_too() {
    let attributes = ["\u{ffff}", "\u{10000}"].map(|name| (name.to_owned(), "x".to_owned())).into();
    let text = Origin { attributes, ..Default::default() }.canonical_json().unwrap();
    assert_eq!(text, "{\"attributes\":{\"\u{10000}\":\"x\",\"\u{ffff}\":\"x\"}}");
}

#[test]
fn only_quotation_marks_backslashes_and_controls_are_escaped() {
    let text = "\"\\/\u{0}\u{7}\u{8}\t\n\u{b}\u{c}\r\u{1f} <>&\u{7f}\u{80}\u{2028}\u{2029}\u{1f600}";
    let escaped = "\\\"\\\\/\\u0000\\u0007\\b\\t\\n\\u000b\\f\\r\\u001f <>&\u{7f}\u{80}\u{2028}\u{2029}\u{1f600}";
    assert_eq!(Part::text(text).canonical_json().unwrap(), format!(r#"{{"text":{{"text":"{escaped}"}}}}"#));
}

#[test]
fn every_position_of_an_escape_is_found() {
    for length in 0..100 {
        for at in 0..length {
            let mut text = vec![b'x'; length];
            text[at] = b'"';
            let text = String::from_utf8(text).unwrap();
            let escaped = text.replace('"', "\\\"");
            assert_eq!(Part::text(text).canonical_json().unwrap(), format!(r#"{{"text":{{"text":"{escaped}"}}}}"#));
        }
    }
}

#[test]
fn unset_is_absent_and_an_empty_message_is_an_empty_object() {
    assert_eq!(Event::default().canonical_json().unwrap(), "{}");
    assert_eq!(HarnessSpec::default().canonical_json().unwrap(), "{}");
    let event = Event::new(EventKind::EventInput, Body::Message(Message::default()));
    assert_eq!(event.canonical_json().unwrap(), r#"{"kind":"EVENT_INPUT","message":{}}"#);
    let message = Message { role: String::new(), parts: vec![Part::default(), Part::text("")] };
    assert_eq!(message.canonical_json().unwrap(), r#"{"parts":[{},{"text":{}}]}"#);
}

#[test]
fn a_struct_that_is_empty_is_not_one_that_is_absent() {
    let absent = ToolResult::default();
    let empty = ToolResult { output: Some(Struct::default()), ..Default::default() };
    assert_eq!(absent.canonical_json().unwrap(), "{}");
    assert_eq!(empty.canonical_json().unwrap(), r#"{"output":{}}"#);
}

#[test]
fn optional_zero_is_written_and_int64_is_a_string() {
    let start = ExecutionStart { input_count: Some(0), ..Default::default() };
    assert_eq!(start.canonical_json().unwrap(), r#"{"input_count":"0"}"#);
    let start = ExecutionStart { resume_from_seq: i64::MIN, ..Default::default() };
    assert_eq!(start.canonical_json().unwrap(), r#"{"resume_from_seq":"-9223372036854775808"}"#);
}

#[test]
fn a_set_member_of_a_choice_is_written_even_when_it_is_empty() {
    let file = FilePart { source: Some(file_part::Source::Uri(String::new())), ..Default::default() };
    assert_eq!(file.canonical_json().unwrap(), r#"{"uri":""}"#);
}

#[test]
fn int32_is_a_number_and_bytes_are_padded_base64() {
    let part = ReasoningPart { ordinal: -7, ..Default::default() };
    assert_eq!(part.canonical_json().unwrap(), r#"{"ordinal":-7}"#);
    for (bytes, text) in [(&b"\xfb"[..], "+w=="), (b"\xfb\xff", "+/8="), (b"\xfb\xff\xfe", "+//+")] {
        let start = ExecutionStart { config: bytes.to_vec(), ..Default::default() };
        assert_eq!(start.canonical_json().unwrap(), format!(r#"{{"config":"{text}"}}"#));
    }
}

#[test]
fn enums_are_names_or_else_numbers() {
    let result = |code| ToolResult { code, ..Default::default() }.canonical_json().unwrap();
    assert_eq!(result(tool_result::Code::ApprovalDenied.into()), r#"{"code":"APPROVAL_DENIED"}"#);
    assert_eq!(result(77), r#"{"code":77}"#);
    assert_eq!(result(-1), r#"{"code":-1}"#);
}

#[test]
fn a_struct_is_plain_json() {
    let list = ListValue { values: vec![value(Kind::NullValue(0)), value(Kind::ListValue(ListValue::default()))] };
    let data = structure([
        ("z", Kind::StructValue(structure([("b", Kind::BoolValue(false)), ("a", Kind::NumberValue(-0.0))]))),
        ("list", Kind::ListValue(list)),
        ("s", Kind::StringValue("é\n".into())),
    ]);
    let text = Part::data(data).canonical_json().unwrap();
    assert_eq!(text, r#"{"data":{"data":{"list":[null,[]],"s":"é\n","z":{"a":0,"b":false}}}}"#);
}

#[test]
fn a_value_without_a_kind_is_refused() {
    let data = Struct { fields: [("x".to_owned(), Value::default())].into() };
    assert_eq!(data.canonical_json(), Err(NotCanonical::NoKind));
}

#[test]
fn timestamps_that_rfc_3339_lacks_are_refused() {
    let event = |seconds, nanos| Event { ts: Some(Timestamp { seconds, nanos }), ..Default::default() };
    for (seconds, nanos) in [(-62_135_596_801, 0), (253_402_300_800, 0), (0, -1), (0, 1_000_000_000)] {
        assert_eq!(event(seconds, nanos).canonical_json(), Err(NotCanonical::Timestamp));
    }
    assert_eq!(event(0, 0).canonical_json().unwrap(), r#"{"ts":"1970-01-01T00:00:00Z"}"#);
}

#[test]
fn an_actor_is_written_beside_the_body() {
    let actor = IdentityRef { principal: "human".into(), ..Default::default() };
    let event = Event { actor: Some(actor), ..Event::new(EventKind::EventEnd, Body::End(Default::default())) };
    assert_eq!(event.canonical_json().unwrap(), r#"{"actor":{"principal":"human"},"end":{},"kind":"EVENT_END"}"#);
}
