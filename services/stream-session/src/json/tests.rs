use proptest::prelude::*;

use super::*;
use crate::ErrorCode::{self, MalformedMessage, ResourceExhausted};

fn code(text: &str) -> Option<ErrorCode> {
    Json::parse(text.as_bytes()).err().map(|refusal| refusal.code)
}

#[test]
fn j1_exactly_one_value_in_utf_8_without_byte_order_mark() {
    for good in ["1", " \t\r\n{} ", "\"\u{10ffff}\""] {
        assert_eq!(code(good), None, "{good:?}");
    }
    for bad in ["", " ", "1 2", "{}]", "\u{feff}{}", "{} \u{a0}"] {
        assert_eq!(code(bad), Some(MalformedMessage), "{bad:?}");
    }
    assert_eq!(Json::parse(b"\"\xff\"").unwrap_err().code, MalformedMessage);
}

#[test]
fn j3_names_are_distinct_after_unescaping_at_any_depth() {
    let many = |last: &str| {
        let members: Vec<_> = (0..20).map(|n| format!("\"m{n}\":0")).chain([format!("\"{last}\":0")]).collect();
        format!("{{{}}}", members.join(","))
    };
    for bad in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"\u0061":2}}]"#, &many("m7")] {
        assert_eq!(code(bad), Some(MalformedMessage), "{bad}");
    }
    assert_eq!(code(&many("m20")), None);
}

#[test]
fn j4_what_only_looks_like_json_is_refused() {
    for bad in [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\u0041""#,
        r#""\ud800x""#,
        r#""\u12g4""#,
        r#""\u+123""#,
        r#""\x""#,
        "\"\u{1}\"",
        "\"",
        "\"\\",
        "NaN",
        "-",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "+1",
        "1e+",
        "[1,]",
        "{\"a\":1,}",
        "[,1]",
        "{\"a\"}",
        "{a:1}",
        "{'a':1}",
        "tru",
        "nulls",
        "[1 2]",
        "{\"a\":1 \"b\":2}",
        "[",
        "{",
    ] {
        assert_eq!(code(bad), Some(MalformedMessage), "{bad}");
    }
    for good in ["-0", "0.5e-7", "1E+2", r#""\ud83d\ude00\/\b\f\n\r\t\"\\""#] {
        assert_eq!(code(good), None, "{good}");
    }
}

#[test]
fn section_4_1_step_3_depth_and_collections_are_bounded() {
    let nested = |depth: usize| format!("{}0{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(code(&nested(64)), None);
    assert_eq!(code(&nested(65)), Some(ResourceExhausted));
    assert_eq!(code(&"[".repeat(1_000_000)), Some(ResourceExhausted));
    let wide = |count: usize| format!("[{}]", vec!["0"; count].join(","));
    assert_eq!(code(&wide(100_000)), None);
    assert_eq!(code(&wide(100_001)), Some(ResourceExhausted));
}

#[test]
fn j7_canonical_text_has_sorted_names_and_few_escapes() {
    let text = "{ \"\u{ffff}\" : 1, \"\u{10000}\": [ 1.50 , null, true ], \"a\\u000b\\/\\u00e4\\u001F\\n\\\"\":{} }";
    let canonical = canonical(&Json::parse(text.as_bytes()).unwrap());
    assert_eq!(canonical, "{\"a\\u000b/\u{e4}\\u001f\\n\\\"\":{},\"\u{ffff}\":1,\"\u{10000}\":[1.50,null,true]}");
}

proptest! {
    #[test]
    fn what_is_read_is_what_serde_reads(text in any_json()) {
        let ours = Json::parse(text.as_bytes()).unwrap();
        let theirs: serde_json::Value = serde_json::from_str(&text).unwrap();
        let again: serde_json::Value = serde_json::from_str(&canonical(&ours)).unwrap();
        prop_assert_eq!(theirs, again);
    }

    #[test]
    fn every_string_of_the_root_is_found_by_looking_through_the_text(text in any_json()) {
        let root = Json::parse(text.as_bytes()).unwrap();
        for (name, value) in root.as_object().into_iter().flat_map(Members::iter) {
            let found = skim(text.as_bytes(), name);
            prop_assert_eq!(found.as_deref(), value.as_str(), "{} in {}", name, text);
        }
    }

    #[test]
    fn a_text_that_is_refused_is_not_looked_through(text in "[{][\\[\\]{}\",:0-1a]{0,20}[}]") {
        let read = Json::parse(text.as_bytes()).ok();
        let member = read.as_ref().and_then(|root| root.as_object()?.get("a")?.as_str());
        let found = skim(text.as_bytes(), "a");
        prop_assert_eq!(found.as_deref(), member, "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:0-9eE+.tfn\\\\u -]{0,40}") {
        let ours = Json::parse(text.as_bytes());
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        // They accept equal names, and refuse numbers beyond those of a double.
        prop_assert!(ours.is_err() || theirs.is_ok() || text.contains(['e', 'E']), "{}", text);
    }
}

fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    let tree = leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..12)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    });
    tree.prop_map(|value: serde_json::Value| value.to_string())
}
