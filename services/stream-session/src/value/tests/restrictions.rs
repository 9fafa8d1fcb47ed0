//! Schema.md section 4: what a value of the right form may be refused for.

use super::code;

const INVALID: Option<&str> = Some("validation-error");

/// Each payload of a node of this kind gives its code against the type whose `value` is `of`.
fn holds(kind: &str, of: &str, cases: &[(&str, Option<&str>)]) {
    for (payload, expected) in cases {
        let of = format!(r#"{{"kind":"{kind}","value":{of}}}"#);
        let node = format!(r#"{{"kind":"{kind}","value":{payload}}}"#);
        assert_eq!(code(&of, &node).as_deref(), *expected, "{node} against {of}");
    }
}

#[test]
fn section_4_1_bounds_of_numbers_are_inclusive_and_of_their_family() {
    let bounds = |family: &str, min: &str, max: &str| {
        let bound = |value: &str| format!(r#"{{"kind":"{family}","value":{value}}}"#);
        format!(r#"{{"restrictions":{{"min":{},"max":{}}}}}"#, bound(min), bound(max))
    };
    holds("u8", &bounds("unsigned", "3", "5"), &[("3", None), ("5", None), ("2", INVALID), ("6", INVALID)]);
    holds("s8", &bounds("signed", "-5", "-3"), &[("-5", None), ("-3", None), ("-6", INVALID), ("-2", INVALID)]);
    holds("s8", &bounds("unsigned", "3", "5"), &[("-9", None)]);
    holds("s64", &bounds("signed", "-5", "5"), &[("\"5\"", None), ("\"6\"", INVALID)]);
    // From 0.5 to 2.
    let floats = bounds("float-bits", "4602678819172646912", "4611686018427387904");
    holds(
        "f64",
        &floats,
        &[
            ("0.5", None),
            ("2", None),
            ("0.25", INVALID),
            ("2.5", INVALID),
            (r#"{"$float":"nan"}"#, INVALID),
            (r#"{"$float":"positive-infinity"}"#, INVALID),
        ],
    );
    let below = r#"{"restrictions":{"max":{"kind":"float-bits","value":4611686018427387904}}}"#;
    holds("f32", below, &[(r#"{"$float":"negative-infinity"}"#, None), (r#"{"$float":"nan"}"#, INVALID)]);
}

#[test]
fn section_4_1_texts() {
    let of = r#"{"restrictions":{"languages":["de","en"],"minLength":2,"maxLength":3,"regex":"b"}}"#;
    holds(
        "text",
        of,
        &[
            (r#"{"text":"ab"}"#, None),
            (r#"{"text":"ab","language":"de"}"#, None),
            (r#"{"text":"ab","language":"DE"}"#, INVALID),
            (r#"{"text":"b"}"#, INVALID),
            ("{\"text\":\"b\u{1f980}\u{1f980}\"}", None),
            (r#"{"text":"abcd"}"#, INVALID),
            (r#"{"text":"aa"}"#, INVALID),
        ],
    );
    holds("text", r#"{"restrictions":{"regex":"("}}"#, &[(r#"{"text":""}"#, None)]);
}

#[test]
fn section_4_1_binary_data() {
    let of = r#"{"restrictions":{"mimeTypes":["a/b"],"minBytes":1,"maxBytes":2}}"#;
    holds(
        "binary",
        of,
        &[
            (r#"{"bytes":[1]}"#, None),
            (r#"{"bytes":[1,2],"mimeType":"a/b"}"#, None),
            (r#"{"bytes":[1],"mimeType":"a/c"}"#, INVALID),
            (r#"{"bytes":[]}"#, INVALID),
            (r#"{"bytes":[1,2,3]}"#, INVALID),
        ],
    );
}

#[test]
fn section_4_1_paths_and_urls() {
    let path = r#"{"spec":{"direction":"input","kind":"file","allowedExtensions":["txt"]}}"#;
    holds(
        "path",
        path,
        &[
            (r#"{"path":"/a.b/c.txt"}"#, None),
            (r#"{"path":""}"#, INVALID),
            (r#"{"path":"/a/c.TXT"}"#, INVALID),
            (r#"{"path":"/a.b/c"}"#, None),
            (r#"{"path":"/a/c."}"#, None),
        ],
    );
    let url = r#"{"restrictions":{"allowedSchemes":["https"],"allowedHosts":["a.example"]}}"#;
    holds(
        "url",
        url,
        &[
            (r#"{"url":"HTTPS://A.example/x"}"#, None),
            (r#"{"url":"http://a.example/"}"#, INVALID),
            (r#"{"url":"https://b.example/"}"#, INVALID),
            (r#"{"url":"/a"}"#, INVALID),
            (r#"{"url":""}"#, INVALID),
        ],
    );
    holds("url", r#"{"restrictions":{"allowedHosts":["a"]}}"#, &[(r#"{"url":"data:,x"}"#, INVALID)]);
}

#[test]
fn section_4_1_quantities() {
    let bound = |mantissa: i64| format!(r#"{{"mantissa":{mantissa},"scale":1,"unit":"kg"}}"#);
    let spec =
        |suffixes: &str| format!(r#"{{"spec":{{"baseUnit":"kg"{suffixes},"min":{},"max":{}}}}}"#, bound(10), bound(20));
    let payload = |mantissa: &str, scale: i32, unit: &str| {
        format!(r#"{{"mantissa":"{mantissa}","scale":{scale},"unit":"{unit}"}}"#)
    };
    holds(
        "quantity",
        &spec(""),
        &[
            (&payload("1", 0, "kg"), None),
            (&payload("200", 2, "kg"), None),
            (&payload("201", 2, "kg"), INVALID),
            (&payload("9", 1, "kg"), INVALID),
            (&payload("1", 0, "g"), INVALID),
            (&payload("1", i32::MAX, "kg"), INVALID),
        ],
    );
    let listed = spec(r#","allowedSuffixes":["t"]"#);
    holds("quantity", &listed, &[(&payload("1", 0, "t"), None), (&payload("1", 0, "kg"), INVALID)]);
}

#[test]
fn section_4_2_restrictions_hold_at_every_depth() {
    let byte = r#"{"kind":"u8","value":{"restrictions":{"max":{"kind":"unsigned","value":5}}}}"#;
    let node = |value: u8| format!(r#"{{"kind":"u8","value":{value}}}"#);
    for (kind, of, payload) in [
        ("option", format!(r#"{{"inner":{byte}}}"#), r#"{"inner":NODE}"#),
        ("list", format!(r#"{{"element":{byte}}}"#), r#"{"elements":[NODE]}"#),
        ("tuple", format!(r#"{{"elements":[{byte}]}}"#), r#"{"elements":[NODE]}"#),
        ("record", format!(r#"{{"fields":[{{"name":"a","body":{byte}}}]}}"#), r#"{"fields":[NODE]}"#),
        ("map", format!(r#"{{"key":{byte},"value":{byte}}}"#), r#"{"entries":[[NODE,{"kind":"u8","value":1}]]}"#),
        ("map", format!(r#"{{"key":{byte},"value":{byte}}}"#), r#"{"entries":[[{"kind":"u8","value":1},NODE]]}"#),
        ("result", format!(r#"{{"spec":{{"err":{byte}}}}}"#), r#"{"tag":"err","value":NODE}"#),
        ("variant", format!(r#"{{"cases":[{{"name":"a","payload":{byte}}}]}}"#), r#"{"case":0,"payload":NODE}"#),
    ] {
        let payload = |value| payload.replace("NODE", &node(value));
        holds(kind, &of, &[(&payload(5), None), (&payload(6), INVALID)]);
    }
}

#[test]
fn section_4_3_every_rule_of_a_discriminator() {
    let union = |rule: &str, members: &str, body: &str| {
        let discriminator = format!(r#"{{"rule":"{rule}","value":{members}}}"#);
        format!(r#"{{"spec":{{"branches":[{{"tag":"a","body":{body},"discriminator":{discriminator}}}]}}}}"#)
    };
    let text = |text: &str| format!(r#"{{"tag":"a","body":{{"kind":"string","value":"{text}"}}}}"#);
    let string = r#"{"kind":"string","value":{}}"#;
    for (rule, members, good, bad) in [
        ("prefix", r#"{"prefix":"ab"}"#, "abc", "cab"),
        ("suffix", r#"{"suffix":"ab"}"#, "cab", "abc"),
        ("contains", r#"{"substring":"ab"}"#, "xabx", "axb"),
        ("regex", r#"{"regex":"a.b"}"#, "xaxbx", "ab"),
    ] {
        holds("union", &union(rule, members, string), &[(&text(good), None), (&text(bad), INVALID)]);
    }
    let record = format!(r#"{{"kind":"record","value":{{"fields":[{{"name":"f","body":{string}}}]}}}}"#);
    let body = |value: &str| {
        let field = format!(r#"{{"kind":"string","value":"{value}"}}"#);
        format!(r#"{{"tag":"a","body":{{"kind":"record","value":{{"fields":[{field}]}}}}}}"#)
    };
    let equals = union("field-equals", r#"{"fieldName":"f","literal":"x"}"#, &record);
    holds("union", &equals, &[(&body("x"), None), (&body("y"), INVALID)]);
    let declared = union("field-equals", r#"{"fieldName":"f"}"#, &record);
    holds("union", &declared, &[(&body("y"), None)]);
    holds("union", &union("field-equals", r#"{"fieldName":"g"}"#, &record), &[(&body("x"), INVALID)]);
    holds("union", &union("field-absent", r#"{"fieldName":"g"}"#, &record), &[(&body("x"), None)]);
    holds("union", &union("field-absent", r#"{"fieldName":"f"}"#, &record), &[(&body("x"), INVALID)]);
}
