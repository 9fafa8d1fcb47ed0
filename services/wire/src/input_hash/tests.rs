//! The hashed texts, as the reference host's encoder prints them.

use serde_json::json;

use super::*;
use crate::protobuf::value::Kind;
use crate::protobuf::{Struct, Value};

fn text_of(call: serde_json::Value) -> String {
    let call: ModelCall = serde_json::from_value(call).unwrap();
    String::from_utf8(hashed_text(&call).unwrap()).unwrap()
}

/// The text of a single part of a single message.
fn text_of_part(part: &serde_json::Value) -> String {
    let text = text_of(json!({ "messages": [{ "parts": [part] }] }));
    let inner = text.strip_prefix(r#"{"Model":"","Messages":[{"Role":"","Parts":["#).unwrap();
    inner.strip_suffix(r#"]}],"Params":null}"#).unwrap().to_owned()
}

#[test]
fn an_empty_request_has_nulls() {
    assert_eq!(text_of(json!({})), r#"{"Model":"","Messages":null,"Params":null}"#);
    let message = r#"{"Model":"","Messages":[{"Role":"","Parts":[]}],"Params":null}"#;
    assert_eq!(text_of(json!({ "messages": [{}] })), message);
}

#[test]
fn a_request_has_its_members_in_order_of_declaration() {
    let call = json!({
        "model": "m",
        "params": { "temperature": "0", "a": "b" },
        "messages": [{ "role": "system", "parts": [{ "text": { "text": "be brief" } }] }],
        "tools": [{ "name": "t", "description": "d", "input_schema": { "type": "object" } }, { "name": "u" }],
        "tool_choice": { "mode": "MODE_REQUIRED", "name": "t" },
    });
    let text = concat!(
        r#"{"Model":"m","Messages":[{"Role":"system","Parts":["#,
        r#"{"Text":{"Text":"be brief"},"File":null,"Data":null,"Reasoning":null}]}],"#,
        r#""Params":{"a":"b","temperature":"0"},"#,
        r#""Tools":[{"Name":"t","Description":"d","InputSchema":{"type":"object"}},"#,
        r#"{"Name":"u","Description":"","InputSchema":null}],"#,
        r#""ToolChoice":{"Mode":"REQUIRED","Name":"t"}}"#
    );
    assert_eq!(text_of(call), text);
}

#[test]
fn tool_choices_have_short_names() {
    for (mode, name) in [(0, ""), (1, "AUTO"), (2, "NONE"), (3, "REQUIRED")] {
        let text = text_of(json!({ "tool_choice": { "mode": mode } }));
        assert!(text.ends_with(&format!(r#","ToolChoice":{{"Mode":"{name}","Name":""}}}}"#)), "{text}");
    }
}

#[test]
fn files_are_inline_or_by_reference() {
    let inline = json!({ "file": { "mime": "image/png", "bytes": "AQI=", "name": "img", "digest": "sha256:aa" } });
    let text = concat!(
        r#"{"Text":null,"File":{"MIME":"image/png","Bytes":"AQI=","URI":"","Digest":"sha256:aa","Name":"img"},"#,
        r#""Data":null,"Reasoning":null}"#
    );
    assert_eq!(text_of_part(&inline), text);
    let empty =
        r#"{"Text":null,"File":{"MIME":"","Bytes":null,"URI":"x","Digest":"","Name":""},"Data":null,"Reasoning":null}"#;
    assert_eq!(text_of_part(&json!({ "file": { "uri": "x" } })), empty);
}

#[test]
fn data_is_the_object_itself() {
    let text = r#"{"Text":null,"File":null,"Data":{"a":"x","b":1.5,"c":[null,true,{}]},"Reasoning":null}"#;
    assert_eq!(text_of_part(&json!({ "data": { "data": { "c": [null, true, {}], "b": 1.5, "a": "x" } } })), text);
    assert_eq!(text_of_part(&json!({ "data": {} })), text_of_part(&json!({})));
}

#[test]
fn reasoning_keeps_its_opaque_block_and_summary() {
    let part = json!({ "reasoning": {
        "provider": "p", "model_id": "m", "opaque_bytes": "cg==", "item_id": "rs_1", "ordinal": 1,
        "summary": [{ "text": { "text": "brief" } }],
    } });
    let text = concat!(
        r#"{"Text":null,"File":null,"Data":null,"Reasoning":{"Provider":"p","ModelID":"m","Opaque":"cg==","#,
        r#""OpaqueURI":"","OpaqueDigest":"","#,
        r#""Summary":[{"Text":{"Text":"brief"},"File":null,"Data":null,"Reasoning":null}],"#,
        r#""ItemID":"rs_1","Ordinal":1,"ValidityScope":""}}"#
    );
    assert_eq!(text_of_part(&part), text);
    let empty = text_of_part(&json!({ "reasoning": { "opaque_uri": "u", "opaque_digest": "d" } }));
    assert!(empty.contains(r#""Opaque":null,"OpaqueURI":"u","OpaqueDigest":"d","Summary":null,"#), "{empty}");
}

#[test]
fn tool_parts_come_after_the_four_that_are_always_there() {
    let none = r#"{"Text":null,"File":null,"Data":null,"Reasoning":null"#;
    let call = json!({ "tool_call": { "id": "c", "tool": "t", "args": {}, "mediation": 3, "idempotency_key": "k" } });
    let text = r#","ToolCall":{"ID":"c","Tool":"t","Args":{},"Mediation":"REQUIRES_APPROVAL","IdempotencyKey":"k"}}"#;
    assert_eq!(text_of_part(&call), format!("{none}{text}"));

    let result = json!({ "tool_result": { "id": "c", "output_uri": "u", "error": "e", "is_error": true } });
    let text = concat!(
        r#","ToolResult":{"ID":"c","Output":null,"OutputURI":"u","OutputDigest":"","#,
        r#""IsError":true,"Error":"e"}}"#
    );
    assert_eq!(text_of_part(&result), format!("{none}{text}"));

    let receipt = json!({ "tool_result": {
        "id": "c", "content": [{}], "code": "APPROVAL_DENIED", "approval_request_seq": "4", "approval_decision_seq": "5",
    } });
    let text = text_of_part(&receipt);
    let end = concat!(
        r#","IsError":false,"Error":"","Content":[{"Text":null,"File":null,"Data":null,"Reasoning":null}],"#,
        r#""Code":1,"ApprovalRequestSeq":4,"ApprovalDecisionSeq":5}}"#
    );
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn mediations_have_short_names_and_an_unknown_one_counts_as_none() {
    let names = [0, 1, 2, 3, 99].map(mediation);
    assert_eq!(names, ["", "IN_HARNESS_REPORTED", "CONTROLLER_MEDIATED", "REQUIRES_APPROVAL", ""]);
}

#[test]
fn strings_are_escaped_for_html() {
    let text = "\"\\/\u{0}\u{1f}\u{8}\u{c}\n\r\t\u{7f}<>&\u{2028}\u{2029}’\u{e2}é\u{1f600}";
    let escaped =
        concat!(r#"\"\\/\u0000\u001f\b\f\n\r\t"#, "\u{7f}", r"\u003c\u003e\u0026\u2028\u2029", "’\u{e2}é\u{1f600}");
    assert_eq!(text_of(json!({ "model": text })), format!(r#"{{"Model":"{escaped}","Messages":null,"Params":null}}"#));
    let params = text_of(json!({ "params": { "<": ">" } }));
    assert!(params.ends_with(r#"{"\u003c":"\u003e"}}"#), "{params}");
}

#[test]
fn names_are_sorted_by_bytes() {
    let text = text_of_part(&json!({ "data": { "data": { "\u{10000}": 1, "\u{ffff}": 2, "B": 3, "a": 4 } } }));
    assert!(text.contains("{\"B\":3,\"a\":4,\"\u{ffff}\":2,\"\u{10000}\":1}"), "{text}");
}

fn number(number: f64) -> Result<String> {
    let mut text = Text::default();
    let kind = Some(Kind::NumberValue(number));
    text.structure(Some(&Struct { fields: [("n".to_owned(), Value { kind })].into() }))?;
    let text = String::from_utf8(text.into_bytes()).unwrap();
    Ok(text[r#"{"n":"#.len()..text.len() - 1].to_owned())
}

#[test]
fn numbers_have_an_exponent_only_when_they_are_very_small_or_large() {
    let texts = [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (1.5, "1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-1.25e-9, "-1.25e-9"),
        (5e-324, "5e-324"),
        (0.1 + 0.2, "0.30000000000000004"),
        (9_007_199_254_740_993.0, "9007199254740992"),
    ];
    for (value, text) in texts {
        assert_eq!(number(value).unwrap(), text);
    }
    for value in [f64::NAN, f64::INFINITY] {
        assert_eq!(number(value), Err(InvalidModelCall::NotFinite));
    }
}
