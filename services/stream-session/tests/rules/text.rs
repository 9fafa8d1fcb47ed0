//! Protocol.md sections 2, 2.1 and 4.1: strict JSON, the syntax of fields, the order of checks.

use serde_json::{Value, json};
use stream_session::ErrorCode::{
    self, InvalidChannel, InvalidCursor, InvalidSequence, MalformedMessage, ResourceExhausted, TokenInvalid,
    UnsupportedValue, UnsupportedVersion, ValidationError,
};

use crate::{ATTEMPT, attach, cancel, end, item, refused, start, with, without};

/// Each value in the place gives its code.
fn field(message: fn() -> Value, path: &str, cases: &[(Value, Option<ErrorCode>)]) {
    for (value, code) in cases {
        assert_eq!(refused(with(message(), path, value.clone())), *code, "{path} = {value}");
    }
}

#[test]
fn j1_one_value_in_utf_8_without_byte_order_mark_and_nothing_after_it() {
    let text = end().to_string();
    assert_eq!(refused(format!(" \t\r\n{text}\n")), None);
    for bad in [format!("\u{feff}{text}"), format!("{text}{{}}"), format!("{text},"), String::new()] {
        assert_eq!(refused(&bad), Some(MalformedMessage), "{bad}");
    }
}

#[test]
fn j2_the_root_is_an_object_with_version_type_and_exactly_the_members_of_its_variant() {
    for root in [json!([end()]), json!("inputStreamEnd"), json!(null), json!(1)] {
        assert_eq!(refused(root), Some(MalformedMessage));
    }
    let members: [(Value, &[&str]); 5] = [
        (start(), &["attemptId", "config", "idempotencyKey", "methodParameters", "selector", "type", "version"]),
        (attach(), &["attemptId", "operation", "outputCursors", "sessionToken", "type", "version"]),
        (item(), &["channel", "sequence", "value", "type", "version"]),
        (end(), &["channel", "sequence", "type", "version"]),
        (cancel(), &["channel", "reason", "type", "version"]),
    ];
    for (message, names) in members {
        for name in names {
            assert_eq!(refused(without(message.clone(), &format!("/{name}"))), Some(MalformedMessage), "{name}");
        }
    }
}

#[test]
fn j3_no_two_members_of_one_object_have_a_name_at_any_depth() {
    let text = start().to_string();
    for (from, to) in [
        (r#""version":1"#, r#""version":1,"version":1"#),
        (r#""version":1"#, r#""version":1,"versio\u006e":1"#),
        (r#""fields":[]"#, r#""fields":[],"fields":[]"#),
        (r#""config":[]"#, r#""config":[{"path":["a"],"value":{"b":[{"c":1,"c":1}]}}]"#),
    ] {
        assert!(text.contains(from), "{from}");
        assert_eq!(refused(text.replacen(from, to, 1)), Some(MalformedMessage), "{to}");
    }
}

#[test]
fn j4_what_is_not_json_is_refused() {
    let text = item().to_string();
    for bad in ["NaN", "01", "[1,]", r#""\ud800""#, r#""\udc00\ud800""#, "\"\t\"", "True", "'a'", "Infinity", "-"] {
        assert_eq!(refused(text.replace("true", bad)), Some(MalformedMessage), "{bad}");
    }
}

#[test]
fn j5_null_is_not_an_absent_member() {
    assert_eq!(refused(with(start(), "/selector/phantomId", json!(null))), Some(MalformedMessage));
    assert_eq!(refused(with(start(), "/config", json!([{"path": ["a"], "value": null}]))), None, "free JSON");
}

#[test]
fn j6_order_whitespace_and_escapes_carry_no_meaning() {
    let spelled = r#"{ "version":1, "\u0074ype" : "inputStream\u0045nd", "sequence":"0" ,"channel":1 }"#;
    assert_eq!(refused(spelled), None);
}

#[test]
fn j8_unknown_members_are_errors_at_every_depth() {
    for message in [start(), attach(), item(), end(), cancel()] {
        assert_eq!(refused(with(message, "/extra", json!(1))), Some(MalformedMessage));
    }
    assert_eq!(refused(with(start(), "/selector/extra", json!(1))), Some(MalformedMessage));
    let entry = json!([{"path": ["a"], "value": 1, "extra": 1}]);
    assert_eq!(refused(with(start(), "/config", entry)), Some(MalformedMessage));
}

#[test]
fn section_2_1_decimal_strings() {
    field(
        end,
        "/sequence",
        &[
            (json!("0"), None),
            (json!("18446744073709551615"), None),
            (json!(0), Some(MalformedMessage)),
            (json!(null), Some(MalformedMessage)),
            (json!(""), Some(MalformedMessage)),
            (json!("-1"), Some(MalformedMessage)),
            (json!("-0"), Some(MalformedMessage)),
            (json!("+1"), Some(MalformedMessage)),
            (json!("01"), Some(MalformedMessage)),
            (json!(" 1"), Some(MalformedMessage)),
            (json!("1.0"), Some(MalformedMessage)),
            (json!("0x1"), Some(MalformedMessage)),
            (json!("\u{661}"), Some(MalformedMessage)),
            (json!("18446744073709551616"), Some(InvalidSequence)),
            (json!("018446744073709551616"), Some(MalformedMessage)),
        ],
    );
}

#[test]
fn section_2_1_channels() {
    field(
        end,
        "/channel",
        &[
            (json!(1), None),
            (json!(u32::MAX), None),
            (json!(0), Some(InvalidChannel)),
            (json!(1_u64 << 32), Some(MalformedMessage)),
            (json!(-1), Some(MalformedMessage)),
            (json!(1.5), Some(MalformedMessage)),
            (json!("1"), Some(MalformedMessage)),
            (json!(null), Some(MalformedMessage)),
        ],
    );
    let spelled =
        |number: &str| refused(end().to_string().replace(r#""channel":1"#, &format!(r#""channel":{number}"#)));
    for number in ["1.0", "1e0", "-0"] {
        assert_eq!(spelled(number), Some(MalformedMessage), "{number}");
    }
}

#[test]
fn section_2_1_version() {
    assert_eq!(refused(without(end(), "/version")), Some(MalformedMessage));
    field(
        end,
        "/version",
        &[
            (json!("1"), Some(MalformedMessage)),
            (json!(null), Some(MalformedMessage)),
            (json!(true), Some(MalformedMessage)),
            (json!(0), Some(UnsupportedVersion)),
            (json!(2), Some(UnsupportedVersion)),
            (json!(1.0), Some(UnsupportedVersion)),
        ],
    );
}

#[test]
fn section_2_1_attempt_ids() {
    field(
        start,
        "/attemptId",
        &[
            (json!(7), Some(MalformedMessage)),
            (json!(null), Some(MalformedMessage)),
            (json!(ATTEMPT.to_uppercase()), Some(ValidationError)),
            (json!(ATTEMPT.replace('-', "")), Some(ValidationError)),
            (json!(format!("{{{ATTEMPT}}}")), Some(ValidationError)),
            (json!("ca7e5a82-2064-1c18-8359-806145c1562f"), Some(ValidationError)),
            (json!("ca7e5a82-2064-4c18-c359-806145c1562f"), Some(ValidationError)),
            (json!("00000000-0000-0000-0000-000000000000"), Some(ValidationError)),
            (json!(""), Some(ValidationError)),
        ],
    );
}

#[test]
fn section_2_1_phantom_ids() {
    field(
        start,
        "/selector/phantomId",
        &[
            (json!(ATTEMPT), None),
            (json!("994df72a-ebc7-10e0-a8ef-c9ce258f3da7"), None),
            (json!(null), Some(MalformedMessage)),
            (json!(1), Some(MalformedMessage)),
            (json!(ATTEMPT.to_uppercase()), Some(ValidationError)),
        ],
    );
}

#[test]
fn section_2_1_idempotency_keys() {
    field(
        start,
        "/idempotencyKey",
        &[
            (json!("k".repeat(1024)), None),
            (json!("\u{fc}".repeat(512)), None),
            (json!("k".repeat(1025)), Some(ValidationError)),
            (json!("\u{fc}".repeat(513)), Some(ValidationError)),
            (json!(""), Some(ValidationError)),
            (json!(null), Some(MalformedMessage)),
            (json!(1), Some(MalformedMessage)),
        ],
    );
}

#[test]
fn section_2_1_tokens() {
    for path in ["/sessionToken", "/outputCursors/0"] {
        field(
            attach,
            path,
            &[
                (json!("t".repeat(8192)), None),
                (json!("t".repeat(8193)), Some(ResourceExhausted)),
                (json!(""), Some(TokenInvalid)),
                (json!(null), Some(MalformedMessage)),
                (json!(1), Some(MalformedMessage)),
            ],
        );
    }
}

#[test]
fn section_2_1_enumerated_strings() {
    field(
        attach,
        "/operation",
        &[
            (json!("takeover"), None),
            (json!("Resume"), Some(MalformedMessage)),
            (json!("steal"), Some(MalformedMessage)),
            (json!(1), Some(MalformedMessage)),
        ],
    );
    field(
        cancel,
        "/reason",
        &[
            (json!("consumer-drop"), None),
            (json!("source-unavailable"), None),
            (json!("transport-detached"), Some(MalformedMessage)),
            (json!("Cancelled"), Some(MalformedMessage)),
        ],
    );
    field(end, "/type", &[(json!("InputStreamEnd"), Some(MalformedMessage)), (json!(1), Some(MalformedMessage))]);
}

#[test]
fn section_3_selector_names_are_not_empty() {
    for name in ["application", "environment", "agentType", "method"] {
        let path = format!("/selector/{name}");
        field(start, &path, &[(json!(""), Some(ValidationError)), (json!(null), Some(MalformedMessage))]);
        assert_eq!(refused(without(start(), &path)), Some(MalformedMessage));
    }
    field(start, "/selector", &[(json!(null), Some(MalformedMessage))]);
}

#[test]
fn section_3_configuration_paths_are_not_empty_and_hold_no_streams() {
    let entry = |path: Value, value: Value| json!([{"path": path, "value": value}]);
    let stream = |member: &str| json!([{"deep": {"kind": "stream", "value": {member: "x"}}}]);
    field(
        start,
        "/config",
        &[
            (entry(json!(["a", "b"]), json!({"kind": "stream", "value": {"other": 1}})), None),
            (entry(json!([]), json!(1)), Some(ValidationError)),
            (entry(json!(["a", ""]), json!(1)), Some(ValidationError)),
            (entry(json!("a"), json!(1)), Some(MalformedMessage)),
            (entry(json!(["a"]), stream("provisionalRef")), Some(UnsupportedValue)),
            (entry(json!(["a"]), stream("streamToken")), Some(UnsupportedValue)),
            (json!({}), Some(MalformedMessage)),
            (json!(null), Some(MalformedMessage)),
        ],
    );
}

#[test]
fn section_4_1_depth_and_collections_are_bounded() {
    let nested = |depth: usize| {
        let value: Value = (0..depth).fold(json!(0), |inner, _| json!([inner]));
        refused(with(start(), "/config", json!([{"path": ["a"], "value": value}])))
    };
    // The root, `config`, an entry, and its value stand above.
    assert_eq!(nested(61), None);
    assert_eq!(nested(62), Some(ResourceExhausted));
    let wide = |count: usize| refused(with(start(), "/config", json!([{"path": ["a"], "value": vec![0; count]}])));
    assert_eq!(wide(100_000), None);
    assert_eq!(wide(100_001), Some(ResourceExhausted));
}

#[test]
fn section_4_1_the_first_fault_in_the_order_of_checks_answers() {
    let broken = |changes: &[(&str, Value)]| {
        refused(changes.iter().fold(start(), |message, (path, value)| with(message, path, value.clone())))
    };
    let (version, decimal) = (("/version", json!(2)), ("/sequence", json!("18446744073709551616")));
    let (uuid, member) = (("/attemptId", json!("x")), ("/extra", json!(1)));
    let (key, stream) = (
        ("/idempotencyKey", json!("")),
        json!([{"path": ["a"], "value": {"kind": "stream", "value": {"streamToken": ""}}}]),
    );
    let stream = ("/config", stream);
    let all = [version, decimal, uuid, member, key, stream];
    let codes =
        [UnsupportedVersion, InvalidSequence, ValidationError, MalformedMessage, MalformedMessage, UnsupportedValue];
    // An unknown member and the decimal that does not belong here are one fault.
    for from in [0, 1, 2, 3, 5] {
        assert_eq!(broken(&all[from..]), Some(codes[from]), "from {}", all[from].0);
    }
    assert_eq!(broken(&all[4..]), Some(ValidationError), "the key comes before streams in the configuration");

    let wrong = |path: &str, value: Value| with(with(attach(), "/outputCursors", json!(["", ""])), path, value);
    assert_eq!(refused(wrong("/operation", json!("steal"))), Some(MalformedMessage), "words before tokens");
    assert_eq!(refused(wrong("/sessionToken", json!("t".repeat(8193)))), Some(ResourceExhausted), "the session first");
    assert_eq!(refused(wrong("/sessionToken", json!("t"))), Some(TokenInvalid), "length before repetition");
    field(attach, "/outputCursors", &[(json!(["c", "c"]), Some(InvalidCursor)), (json!([]), None)]);
    assert_eq!(refused(with(with(item(), "/channel", json!(0)), "/extra", json!(1))), Some(MalformedMessage));
}

#[test]
fn section_4_1_variants_of_servers_are_unknown_from_clients_and_version_beats_type() {
    let finished = json!({"outcome": {"kind": "success"}, "type": "invocationFinished", "version": 1});
    assert_eq!(refused(&finished), Some(MalformedMessage));
    assert_eq!(crate::refused_by_client(&finished), None);
    assert_eq!(crate::refused_by_client(end()), Some(MalformedMessage));
    assert_eq!(refused(json!({"type": "newFutureVariant", "version": 2})), Some(UnsupportedVersion));
}
