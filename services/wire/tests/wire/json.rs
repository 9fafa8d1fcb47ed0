//! proto3-JSON through serde.

use serde::de::DeserializeOwned;
use serde_json::{from_str, to_string};
use wire::event::Body;
use wire::{Event, ExecutionStart, HarnessDescriptor, LogRecord, Message, ReasoningPart, Session, ToolResult, Usage};

fn refused<T: DeserializeOwned>(text: &str) -> String {
    match from_str::<T>(text) {
        Ok(_) => panic!("{text} was read"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_record_is_written_with_proto_names_in_canonical_order() {
    let event = Event::new(wire::EventKind::EventInput, Body::Message(Message::text("user", "hi")));
    let record = LogRecord { seq: 1, fence: 2, content_hash: "ab".into(), event: Some(event), ..Default::default() };
    let text = concat!(
        r#"{"content_hash":"ab","event":{"kind":"EVENT_INPUT","#,
        r#""message":{"parts":[{"text":{"text":"hi"}}],"role":"user"}},"fence":"2","seq":"1"}"#
    );
    assert_eq!(to_string(&record).unwrap(), text);
    assert_eq!(from_str::<LogRecord>(text).unwrap(), record);
}

#[test]
fn both_spellings_of_a_name_are_read() {
    let proto: Event = from_str(r#"{"execution_id":"e","schema_version":3}"#).unwrap();
    let camel: Event = from_str(r#"{"executionId":"e","schemaVersion":3}"#).unwrap();
    assert_eq!(proto, camel);
    assert!(refused::<Event>(r#"{"execution_id":"e","executionId":"e"}"#).contains("duplicate"));
}

#[test]
fn null_is_unset() {
    let text = r#"{"execution_id":null,"ts":null,"kind":null,"message":null,"actor":null}"#;
    assert_eq!(from_str::<Event>(text).unwrap(), Event::default());
    assert_eq!(from_str::<ExecutionStart>(r#"{"input_count":null}"#).unwrap(), ExecutionStart::default());
}

#[test]
fn null_in_a_struct_is_a_value() {
    let result: ToolResult = from_str(r#"{"output":{"x":null}}"#).unwrap();
    assert_eq!(to_string(&result).unwrap(), r#"{"output":{"x":null}}"#);
}

#[test]
fn integers_are_read_from_numbers_and_strings_but_not_rounded() {
    let tokens =
        |text: &str| from_str::<Usage>(&format!(r#"{{"input_tokens":{text}}}"#)).map(|usage| usage.input_tokens);
    assert_eq!(tokens("7").unwrap(), 7);
    assert_eq!(tokens(r#""-7""#).unwrap(), -7);
    assert_eq!(tokens(r#""9223372036854775807""#).unwrap(), i64::MAX);
    assert_eq!(tokens("1e3").unwrap(), 1000);
    assert_eq!(tokens("5.0").unwrap(), 5);
    assert_eq!(tokens("-9007199254740991.0").unwrap(), -9_007_199_254_740_991);
    for text in [
        "1.5",
        "1e300",
        "9007199254740993.0",
        r#""9223372036854775808""#,
        "18446744073709551615",
        r#""x""#,
        "true",
        "[]",
    ] {
        assert!(tokens(text).is_err(), "{text}");
    }
    assert!(from_str::<ReasoningPart>(r#"{"ordinal":2147483648}"#).is_err());
}

#[test]
fn enums_are_read_by_name_and_by_any_number() {
    let code = |text: &str| from_str::<ToolResult>(&format!(r#"{{"code":{text}}}"#)).map(|result| result.code);
    assert_eq!(code(r#""EXECUTOR_ERROR""#).unwrap(), 2);
    assert_eq!(code("2").unwrap(), 2);
    assert_eq!(code("77").unwrap(), 77);
    assert_eq!(to_string(&ToolResult { code: 77, ..Default::default() }).unwrap(), r#"{"code":77}"#);
    assert!(code(r#""NO_SUCH_CODE""#).is_err());
    assert!(code("4294967296").is_err());
}

#[test]
fn bytes_are_read_in_either_alphabet_with_or_without_padding() {
    for text in ["+/8=", "-_8=", "+/8", "-_8"] {
        let start: ExecutionStart = from_str(&format!(r#"{{"config":"{text}"}}"#)).unwrap();
        assert_eq!(start.config, [0xfb, 0xff], "{text}");
    }
    assert!(from_str::<ExecutionStart>(r#"{"config":"*"}"#).is_err());
}

#[test]
fn members_that_a_message_lacks_are_refused() {
    let error = refused::<LogRecord>(r#"{"seq":"1","event":{"future":1}}"#);
    assert!(error.contains("future"), "{error}");
}

#[test]
fn two_members_of_a_choice_are_refused() {
    let error = refused::<Event>(r#"{"message":{},"usage":{}}"#);
    assert!(error.contains("usage"), "{error}");
}

#[test]
fn a_name_given_twice_is_refused_in_maps_and_structs() {
    refused::<Session>(r#"{"labels":{"a":"1","a":"2"}}"#);
    refused::<ToolResult>(r#"{"output":{"a":1,"a":2}}"#);
}

#[test]
fn wrong_shapes_are_refused_with_what_was_expected() {
    assert!(refused::<Event>("[]").contains("agentsessions.v1.Event"));
    assert!(refused::<HarnessDescriptor>(r#"{"models":"m"}"#).contains("list"));
    refused::<HarnessDescriptor>(r#"{"models":[null]}"#);
    refused::<Event>(r#"{"ts":"yesterday"}"#);
}

#[test]
fn doubles_are_read_to_the_last_digit() {
    for text in ["0.30000000000000004", "5e-324", "1.7976931348623157e308", "9007199254740993.0", "123456789.12345679"]
    {
        let data: wire::protobuf::Struct = from_str(&format!(r#"{{"n":{text}}}"#)).unwrap();
        let expected = wire::protobuf::value::Kind::NumberValue(text.parse().unwrap());
        assert_eq!(data.fields["n"].kind, Some(expected));
    }
}

#[test]
fn whole_numbers_in_a_struct_are_written_without_a_fraction() {
    let text = r#"{"a":-5,"b":0.5,"c":1e21,"d":9007199254740992}"#;
    let data: wire::protobuf::Struct = from_str(text).unwrap();
    assert_eq!(to_string(&data).unwrap().replace("e+", "e"), text);
}

#[test]
fn what_json_lacks_is_an_error_when_written() {
    let data = |kind| wire::protobuf::Struct { fields: [("x".to_owned(), wire::protobuf::Value { kind })].into() };
    assert!(to_string(&data(Some(wire::protobuf::value::Kind::NumberValue(f64::NAN)))).is_err());
    assert!(to_string(&data(None)).is_err());
    assert!(
        to_string(&Event { ts: Some(wire::protobuf::Timestamp { seconds: 0, nanos: -1 }), ..Default::default() })
            .is_err()
    );
}
