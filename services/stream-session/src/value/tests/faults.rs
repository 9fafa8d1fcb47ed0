//! Schema.md section 2 and 5, row by row, and section 4.

use super::{StreamPolicy, code};

const U8: &str = r#"{"kind":"u8","value":{}}"#;
const STRING: &str = r#"{"kind":"string","value":{}}"#;
const MALFORMED: Option<&str> = Some("malformed-message");
const INVALID: Option<&str> = Some("validation-error");
const UNSUPPORTED: Option<&str> = Some("unsupported-value");
const REFERENCE: &str = "0dff1c71-f12f-4bb1-996c-23d693bdc825";

/// Each payload of a node of this kind gives its code against the type.
fn payloads(of: &str, kind: &str, cases: &[(&str, Option<&str>)]) {
    for (payload, expected) in cases {
        let node = format!(r#"{{"kind":"{kind}","value":{payload}}}"#);
        assert_eq!(code(of, &node).as_deref(), *expected, "{node} against {of}");
    }
}

fn plain(kind: &str) -> String {
    format!(r#"{{"kind":"{kind}","value":{{}}}}"#)
}

#[test]
fn n1_a_node_has_exactly_kind_and_value() {
    for (node, expected) in [
        ("7", INVALID),
        ("[]", INVALID),
        ("null", INVALID),
        (r#"{"kind":"u8"}"#, MALFORMED),
        (r#"{"value":1}"#, MALFORMED),
        (r#"{"kind":"u8","value":1,"x":1}"#, MALFORMED),
        (r#"{"kind":1,"value":1}"#, INVALID),
        (r#"{"kind":"nope","value":1}"#, MALFORMED),
    ] {
        assert_eq!(code(U8, node).as_deref(), expected, "{node}");
    }
}

#[test]
fn n2_the_kind_is_that_of_the_type_and_never_ref() {
    assert_eq!(code(U8, r#"{"kind":"u16","value":1}"#).as_deref(), INVALID);
    assert_eq!(code(U8, r#"{"kind":"ref","value":{"id":"a"}}"#).as_deref(), MALFORMED);
}

#[test]
fn section_1_3_kinds_that_never_cross() {
    for kind in ["secret", "quota-token", "permission-card", "future"] {
        assert_eq!(code(STRING, &format!(r#"{{"kind":"{kind}","value":7}}"#)).as_deref(), UNSUPPORTED, "{kind}");
    }
    for of in [
        r#"{"kind":"secret","value":{"spec":{"inner":{"kind":"u8","value":{}}}}}"#,
        r#"{"kind":"quota-token","value":{"spec":{}}}"#,
        r#"{"kind":"permission-card","value":{"spec":{"polymorphic":false}}}"#,
        r#"{"kind":"future","value":{"inner":null}}"#,
    ] {
        assert_eq!(code(of, r#"{"kind":"u8","value":1}"#).as_deref(), UNSUPPORTED, "{of}");
    }
}

#[test]
fn f1_references_lead_to_a_type() {
    assert_eq!(code(r#"{"kind":"ref","value":{"id":"nope"}}"#, r#"{"kind":"u8","value":1}"#).as_deref(), INVALID);
}

#[test]
fn f1_a_reference_that_returns_to_itself_leads_nowhere_and_recursion_through_structure_is_fine() {
    let graph = |body: &str| {
        super::graph(&format!(
            r#"{{"defs":[{{"id":"a","body":{body}}}],"root":{{"kind":"ref","value":{{"id":"a"}}}}}}"#
        ))
    };
    let circle = graph(r#"{"kind":"ref","value":{"id":"a"}}"#);
    let none = r#"{"kind":"option","value":{"inner":null}}"#;
    let read = |graph, node: &str| super::read(graph, StreamPolicy::Provisional, node).map(|(_, charge)| charge);
    assert_eq!(read(&circle, none).unwrap_err().code.as_str(), "validation-error");
    let tree = graph(r#"{"kind":"option","value":{"inner":{"kind":"ref","value":{"id":"a"}}}}"#);
    assert_eq!(read(&tree, &format!(r#"{{"kind":"option","value":{{"inner":{none}}}}}"#)), Ok(2));
}

#[test]
fn f3_of_two_definitions_of_an_id_the_first_counts() {
    let defs = format!(r#"[{{"id":"a","body":{U8}}},{{"id":"a","body":{STRING}}}]"#);
    let graph = super::graph(&format!(r#"{{"defs":{defs},"root":{{"kind":"ref","value":{{"id":"a"}}}}}}"#));
    assert!(super::read(&graph, StreamPolicy::None, r#"{"kind":"u8","value":1}"#).is_ok());
    assert!(super::read(&graph, StreamPolicy::None, r#"{"kind":"string","value":"a"}"#).is_err());
}

#[test]
fn section_2_the_first_fault_in_the_order_of_the_table_answers() {
    let secret = r#"{"kind":"secret","value":{"spec":{"inner":{"kind":"u8","value":{}}}}}"#;
    assert_eq!(code(secret, r#"{"kind":"u8","x":1}"#).as_deref(), MALFORMED, "members before the type");
    assert_eq!(code(secret, r#"{"kind":"nope","value":1}"#).as_deref(), MALFORMED, "the word before the type");
    assert_eq!(code(U8, r#"{"kind":"secret","value":1}"#).as_deref(), UNSUPPORTED, "what never crosses before kinds");
    assert_eq!(code(secret, r#"{"kind":"u16","value":1}"#).as_deref(), UNSUPPORTED, "also as a type");
    let dangling = r#"{"kind":"ref","value":{"id":"nope"}}"#;
    assert_eq!(code(dangling, r#"{"kind":"future","value":1}"#).as_deref(), UNSUPPORTED, "before references");
    assert_eq!(code(STRING, r#"{"kind":"record","value":[]}"#).as_deref(), INVALID, "the kind before its payload");
}

#[test]
fn section_5_no_stream_stands_where_none_may_be() {
    let of = super::graph(&format!(r#"{{"root":{{"kind":"stream","value":{{"inner":{U8}}}}}}}"#));
    let code = |policy, payload: &str| {
        let node = format!(r#"{{"kind":"stream","value":{payload}}}"#);
        super::read(&of, policy, &node).err().map(|refusal| refusal.code.to_string())
    };
    let reference = format!(r#"{{"provisionalRef":"{REFERENCE}"}}"#);
    for payload in [&reference, "7", r#"{"streamToken":""}"#] {
        assert_eq!(code(StreamPolicy::None, payload).as_deref(), UNSUPPORTED, "{payload}");
    }
    assert_eq!(code(StreamPolicy::Stable, &reference).as_deref(), INVALID);
    assert_eq!(code(StreamPolicy::Stable, r#"{"streamToken":"t"}"#), None);
    assert_eq!(code(StreamPolicy::Stable, r#"{"streamToken":""}"#).as_deref(), Some("token-invalid"));
    let long = |length| format!(r#"{{"streamToken":"{}"}}"#, "t".repeat(length));
    assert_eq!(code(StreamPolicy::Stable, &long(8192)), None);
    assert_eq!(code(StreamPolicy::Stable, &long(8193)).as_deref(), Some("resource-exhausted"), "O-27");
}

#[test]
fn section_2_collections_are_bounded_and_nesting_is_too() {
    let flags = plain("string");
    let of = format!(r#"{{"kind":"list","value":{{"element":{flags}}}}}"#);
    let many = |count: usize| {
        let nodes = vec![r#"{"kind":"string","value":""}"#; count].join(",");
        format!(r#"{{"kind":"list","value":{{"elements":[{nodes}]}}}}"#)
    };
    assert_eq!(code(&of, &many(100_000)), None);
    assert_eq!(code(&of, &many(100_001)).as_deref(), Some("resource-exhausted"));
    let (mut of, mut node) = (U8.to_owned(), r#"{"kind":"u8","value":1}"#.to_owned());
    for depth in 1..=32 {
        of = format!(r#"{{"kind":"option","value":{{"inner":{of}}}}}"#);
        node = format!(r#"{{"kind":"option","value":{{"inner":{node}}}}}"#);
        assert_eq!(code(&of, &node).as_deref(), (depth > 31).then_some("resource-exhausted"), "{depth}");
    }
}

#[test]
fn section_2_small_integers_are_numbers_in_range() {
    payloads(U8, "u8", &[("0", None), ("255", None), ("256", INVALID), ("-1", INVALID), ("\"1\"", INVALID)]);
    payloads(U8, "u8", &[("1.0", INVALID), ("1e0", INVALID), ("-0", INVALID), ("null", INVALID), ("true", INVALID)]);
    payloads(&plain("s8"), "s8", &[("-128", None), ("-129", INVALID), ("128", INVALID), ("-0", INVALID)]);
    payloads(&plain("u16"), "u16", &[("65535", None), ("65536", INVALID)]);
    payloads(&plain("s16"), "s16", &[("-32768", None), ("32768", INVALID)]);
    payloads(&plain("u32"), "u32", &[("4294967295", None), ("4294967296", INVALID)]);
    payloads(&plain("s32"), "s32", &[("-2147483648", None), ("2147483648", INVALID)]);
}

#[test]
fn section_2_wide_integers_are_canonical_decimal_strings() {
    for (kind, member) in [("s64", None), ("u64", None), ("duration", Some("nanoseconds"))] {
        let payload = |value: &str| member.map_or(value.to_owned(), |member| format!(r#"{{"{member}":{value}}}"#));
        for (value, expected) in [
            ("\"7\"", None),
            ("7", MALFORMED),
            ("null", MALFORMED),
            ("\"07\"", MALFORMED),
            ("\"+7\"", MALFORMED),
            ("\"-0\"", MALFORMED),
            ("\"\"", MALFORMED),
            ("\"1.0\"", MALFORMED),
            ("\"18446744073709551616\"", INVALID),
        ] {
            payloads(&plain(kind), kind, &[(&payload(value), expected)]);
        }
    }
    payloads(&plain("u64"), "u64", &[("\"-1\"", MALFORMED), ("\"18446744073709551615\"", None)]);
    payloads(&plain("s64"), "s64", &[("\"-9223372036854775808\"", None), ("\"9223372036854775808\"", INVALID)]);
}

#[test]
fn section_2_floats() {
    for kind in ["f32", "f64"] {
        payloads(
            &plain(kind),
            kind,
            &[
                ("-0", None),
                ("1e-400", None),
                (r#"{"$float":"nan"}"#, None),
                (r#"{"$float":"NaN"}"#, MALFORMED),
                (r#"{"$float":1}"#, MALFORMED),
                (r#"{"$float":"nan","x":1}"#, MALFORMED),
                (r#"{"x":1}"#, MALFORMED),
                ("1e400", INVALID),
                ("\"1\"", INVALID),
                ("null", INVALID),
            ],
        );
    }
    payloads(&plain("f32"), "f32", &[("3.4028235e38", None), ("1e39", INVALID)]);
}

#[test]
fn section_2_texts_and_names() {
    payloads(&plain("bool"), "bool", &[("true", None), ("1", INVALID), ("null", INVALID)]);
    payloads(
        &plain("char"),
        "char",
        &[("\"\u{1f980}\"", None), ("\"\"", INVALID), ("\"ab\"", INVALID), ("1", INVALID)],
    );
    payloads(STRING, "string", &[("\"\"", None), ("1", INVALID), ("null", INVALID)]);
    let text = r#"{"kind":"text","value":{"restrictions":{}}}"#;
    payloads(
        text,
        "text",
        &[
            (r#"{"text":"a","language":"de"}"#, None),
            ("\"a\"", INVALID),
            ("{}", MALFORMED),
            (r#"{"text":"a","x":1}"#, MALFORMED),
            (r#"{"text":1}"#, INVALID),
            (r#"{"text":"a","language":null}"#, INVALID),
        ],
    );
    let binary = r#"{"kind":"binary","value":{"restrictions":{}}}"#;
    payloads(
        binary,
        "binary",
        &[
            (r#"{"bytes":[0,255],"mimeType":"a/b"}"#, None),
            (r#"{"bytes":[256]}"#, INVALID),
            (r#"{"bytes":"AA=="}"#, INVALID),
            (r#"{"bytes":[],"mimeType":"a"}"#, INVALID),
            (r#"{"bytes":[],"mimeType":null}"#, INVALID),
            ("{}", MALFORMED),
        ],
    );
    let datetime = plain("datetime");
    payloads(&datetime, "datetime", &[(r#"{"value":"2026-01-01T00:00:00Z"}"#, None), (r#"{"value":"now"}"#, INVALID)]);
    let quantity = r#"{"kind":"quantity","value":{"spec":{"baseUnit":"kg"}}}"#;
    payloads(
        quantity,
        "quantity",
        &[
            (r#"{"mantissa":"25","scale":1,"unit":"kg"}"#, None),
            (r#"{"mantissa":25,"scale":1,"unit":"kg"}"#, MALFORMED),
            (r#"{"mantissa":"25","scale":"1","unit":"kg"}"#, INVALID),
            (r#"{"mantissa":"25","unit":"kg"}"#, MALFORMED),
            (r#"{"mantissa":"25","scale":1,"unit":"g"}"#, INVALID),
        ],
    );
}

#[test]
fn section_2_structures() {
    let one = r#"{"kind":"u8","value":1}"#;
    let record = format!(r#"{{"kind":"record","value":{{"fields":[{{"name":"a","body":{U8}}}]}}}}"#);
    payloads(&record, "record", &[(&format!(r#"{{"fields":[{one}]}}"#), None), (r#"{"fields":[]}"#, INVALID)]);
    payloads(&record, "record", &[("[]", INVALID), ("{}", MALFORMED), (r#"{"fields":{}}"#, INVALID)]);
    let fixed = format!(r#"{{"kind":"fixed-list","value":{{"element":{U8},"length":2}}}}"#);
    payloads(&fixed, "fixed-list", &[(&format!(r#"{{"elements":[{one}]}}"#), INVALID)]);
    let map = format!(r#"{{"kind":"map","value":{{"key":{U8},"value":{U8}}}}}"#);
    let same = format!(r#"{{"entries":[[{one},{one}],[{one},{one}]]}}"#);
    payloads(&map, "map", &[(&same, None), (&format!(r#"{{"entries":[[{one}]]}}"#), INVALID)]);
    let enumeration = r#"{"kind":"enum","value":{"cases":["a","b"]}}"#;
    payloads(enumeration, "enum", &[(r#"{"case":1}"#, None), (r#"{"case":2}"#, INVALID), (r#"{"case":"a"}"#, INVALID)]);
    let flags = r#"{"kind":"flags","value":{"flags":["a","b"]}}"#;
    payloads(flags, "flags", &[(r#"{"bits":[true,false]}"#, None), (r#"{"bits":[true]}"#, INVALID)]);
    let variant = format!(r#"{{"kind":"variant","value":{{"cases":[{{"name":"a"}},{{"name":"b","payload":{U8}}}]}}}}"#);
    payloads(
        &variant,
        "variant",
        &[
            (r#"{"case":0}"#, None),
            (r#"{"case":0,"payload":null}"#, INVALID),
            (r#"{"case":1}"#, INVALID),
            (r#"{"case":2}"#, INVALID),
            (r#"{"case":0,"x":1}"#, MALFORMED),
        ],
    );
    let option = format!(r#"{{"kind":"option","value":{{"inner":{U8}}}}}"#);
    payloads(&option, "option", &[(r#"{"inner":null}"#, None), ("{}", MALFORMED), ("null", INVALID)]);
    let result = format!(r#"{{"kind":"result","value":{{"spec":{{"ok":{U8}}}}}}}"#);
    payloads(
        &result,
        "result",
        &[
            (r#"{"tag":"err","value":null}"#, None),
            (r#"{"tag":"ok","value":null}"#, INVALID),
            (r#"{"tag":"ok"}"#, MALFORMED),
            (r#"{"tag":"fine","value":null}"#, INVALID),
        ],
    );
}

#[test]
fn section_4_3_the_named_branch_must_hold() {
    let branch =
        r#"{"tag":"a","body":{"kind":"string","value":{}},"discriminator":{"rule":"prefix","value":{"prefix":"x"}}}"#;
    let union = format!(r#"{{"kind":"union","value":{{"spec":{{"branches":[{branch}]}}}}}}"#);
    let payload = |tag: &str, text: &str| format!(r#"{{"tag":"{tag}","body":{{"kind":"string","value":"{text}"}}}}"#);
    payloads(
        &union,
        "union",
        &[(&payload("a", "xy"), None), (&payload("a", "y"), INVALID), (&payload("b", "x"), INVALID)],
    );
    payloads(&union, "union", &[(r#"{"tag":"a"}"#, MALFORMED)]);
}

#[test]
fn section_5_streams() {
    let of = format!(r#"{{"kind":"stream","value":{{"inner":{U8}}}}}"#);
    let reference = |text: &str| format!(r#"{{"provisionalRef":"{text}"}}"#);
    payloads(
        &of,
        "stream",
        &[
            (&reference(REFERENCE), None),
            ("\"x\"", INVALID),
            ("{}", MALFORMED),
            (r#"{"channel":1}"#, MALFORMED),
            (&format!(r#"{{"provisionalRef":"{REFERENCE}","streamToken":"x"}}"#), MALFORMED),
            (r#"{"streamToken":"x"}"#, INVALID),
            (r#"{"provisionalRef":1}"#, INVALID),
            (&reference(&REFERENCE.to_uppercase()), INVALID),
            (&reference("994df72a-ebc7-10e0-a8ef-c9ce258f3da7"), INVALID),
        ],
    );
    payloads(r#"{"kind":"stream","value":{"inner":null}}"#, "stream", &[(&reference(REFERENCE), UNSUPPORTED)]);
}

#[test]
fn n4_a_reference_stands_at_one_place_of_a_value() {
    let of = format!(r#"{{"kind":"list","value":{{"element":{{"kind":"stream","value":{{"inner":{U8}}}}}}}}}"#);
    let stream = format!(r#"{{"kind":"stream","value":{{"provisionalRef":"{REFERENCE}"}}}}"#);
    let twice = format!(r#"{{"elements":[{stream},{stream}]}}"#);
    payloads(&of, "list", &[(&twice, Some("stream-already-consumed"))]);
    let inner = |of: &str| format!(r#"{{"kind":"stream","value":{{"inner":{of}}}}}"#);
    let of = format!(r#"{{"kind":"tuple","value":{{"elements":[{},{}]}}}}"#, inner(U8), inner(STRING));
    payloads(&of, "tuple", &[(&twice, Some("stream-already-consumed"))]);
}

#[test]
fn a_fault_is_told_with_its_place_and_without_what_was_sent() {
    let byte = r#"{"kind":"u8","value":{"restrictions":{"max":{"kind":"unsigned","value":121}}}}"#;
    let told = |of: &str, node: &str| {
        let graph = super::graph(&format!(r#"{{"root":{of}}}"#));
        let refusal = super::read(&graph, StreamPolicy::None, node).unwrap_err();
        let (place, words) = refusal.text.rsplit_once(": ").unwrap_or(("", &refusal.text));
        assert!(words.starts_with("a value ") && !words.contains(['2', '7']), "{refusal}");
        place.to_owned()
    };
    // Types that hold one other, the node of a value of theirs, and what a fault in it is told to be in.
    let around = [
        (r#"{"kind":"record","value":{"fields":[{"name":"mode","body":T}]}}"#, r#"{"fields":[N]}"#, "mode"),
        (r#"{"kind":"tuple","value":{"elements":[T]}}"#, r#"{"elements":[N]}"#, "0"),
        (r#"{"kind":"list","value":{"element":T}}"#, r#"{"elements":[N]}"#, "0"),
        (r#"{"kind":"fixed-list","value":{"element":T,"length":1}}"#, r#"{"elements":[N]}"#, "0"),
        (r#"{"kind":"map","value":{"key":{"kind":"bool","value":{}},"value":T}}"#, r#"{"entries":[[K,N]]}"#, "0"),
        (r#"{"kind":"variant","value":{"cases":[{"name":"b","payload":T}]}}"#, r#"{"case":0,"payload":N}"#, "b"),
        (r#"{"kind":"option","value":{"inner":T}}"#, r#"{"inner":N}"#, ""),
        (r#"{"kind":"result","value":{"spec":{"ok":T}}}"#, r#"{"tag":"ok","value":N}"#, "ok"),
        (r#"{"kind":"result","value":{"spec":{"err":T}}}"#, r#"{"tag":"err","value":N}"#, "err"),
    ];
    // The second breaks a restriction only.
    for fault in [r#"{"kind":"u8","value":256}"#, r#"{"kind":"u8","value":227}"#] {
        assert_eq!(told(byte, fault), "");
        for (of, node, place) in around {
            let kind = of.split('"').nth(3).unwrap();
            let of = of.replace('T', byte);
            let node = node.replace('K', r#"{"kind":"bool","value":true}"#).replace('N', fault);
            let node = format!(r#"{{"kind":"{kind}","value":{node}}}"#);
            assert_eq!(told(&of, &node), place, "{node}");
            let outer = format!(r#"{{"kind":"record","value":{{"fields":[{{"name":"outer","body":{of}}}]}}}}"#);
            let node = format!(r#"{{"kind":"record","value":{{"fields":[{node}]}}}}"#);
            assert_eq!(told(&outer, &node), format!("outer.{place}").trim_end_matches('.'), "{node}");
        }
    }
}
