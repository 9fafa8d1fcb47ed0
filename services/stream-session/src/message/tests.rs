use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::spec;

#[derive(Deserialize)]
struct Vectors<V> {
    vectors: Vec<V>,
}

#[derive(Deserialize)]
struct Message {
    name: String,
    direction: String,
    canonical: String,
    input: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Malformed {
    name: String,
    lane: String,
    direction: Option<String>,
    input: Option<String>,
    input_base64: Option<String>,
    input_repeat: Option<Repeat>,
    expected_code: String,
}

#[derive(Deserialize)]
struct Repeat {
    prefix: String,
    repeat: String,
    count: usize,
    suffix: String,
}

/// Reads a message of a direction and writes it again.
fn again(direction: &str, text: &[u8]) -> Result<String, Undecodable> {
    match direction {
        "client" => ClientMessage::decode(text).map(|message| message.encode()),
        "server" => ServerMessage::decode(text).map(|message| message.encode()),
        other => panic!("no direction {other}"),
    }
}

#[test]
fn sections_5_and_6_published_messages_are_read_and_written() {
    let Some(Vectors { vectors }) = spec::vectors::<Vectors<Message>>("json-messages.json") else { return };
    for Message { name, direction, canonical, input } in vectors {
        for text in input.iter().chain([&canonical]) {
            assert_eq!(again(&direction, text.as_bytes()).as_ref(), Ok(&canonical), "{name}");
        }
    }
}

impl Malformed {
    fn text(&self) -> Vec<u8> {
        match (&self.input, &self.input_base64, &self.input_repeat) {
            (Some(text), ..) => text.clone().into_bytes(),
            (None, Some(text), _) => STANDARD.decode(text).unwrap(),
            (None, None, Some(Repeat { prefix, repeat, count, suffix })) => {
                format!("{prefix}{}{suffix}", repeat.repeat(*count)).into_bytes()
            }
            (None, None, None) => panic!("{} has no text", self.name),
        }
    }
}

#[test]
fn section_4_1_published_faults_have_their_code() {
    let Some(Vectors { vectors }) = spec::vectors::<Vectors<Malformed>>("malformed.json") else { return };
    // Well formed, and refused because of the state of the connection.
    let of_state = |vector: &Malformed| vector.name == "data-before-acceptance";
    for vector in vectors.iter().filter(|vector| vector.lane == "text" && !of_state(vector)) {
        let outcome = again(vector.direction.as_deref().unwrap(), &vector.text());
        let code = outcome.map_err(|undecodable| undecodable.refusal.code.to_string());
        assert_eq!(code.as_ref(), Err(&vector.expected_code), "{}", vector.name);
    }
}

#[test]
fn v2_the_attempt_is_recovered_from_a_message_that_is_refused() {
    let attempt = |text: &str| ClientMessage::decode(text.as_bytes()).unwrap_err().attempt;
    let id = "ca7e5a82-2064-4c18-8359-806145c1562f";
    assert_eq!(attempt(&format!(r#"{{"attemptId":"{id}","version":2}}"#)), field(id));
    assert_eq!(attempt(&format!(r#"{{"attemptId":"{id}","attemptId":"{id}"}}"#)), None);
    assert_eq!(attempt(&format!(r#"{{"attemptId":"{}","version":1}}"#, id.to_uppercase())), None);
    assert_eq!(attempt(&format!(r#"["attemptId","{id}"]"#)), None);
}

#[test]
fn v2_the_attempt_is_recovered_from_a_message_that_is_too_deep_or_too_wide() {
    let id = "ca7e5a82-2064-4c18-8359-806145c1562f";
    let of = |name: &str, value: &str| format!(r#"{{"deep":{value},"{name}":"{id}","wide":[{value}]}}"#);
    let refused = |text: &str| {
        let undecodable = ClientMessage::decode(text.as_bytes()).unwrap_err();
        assert_eq!(undecodable.refusal.code, ErrorCode::ResourceExhausted, "{}", &text[..30]);
        undecodable.attempt
    };
    let deep = |depth: usize, inner: &str| format!("{}{inner}{}", r#"[{"a":"#.repeat(depth), "}]".repeat(depth));
    let names: Vec<_> = (0..=100_000).map(|name| format!(r#""{name}":0"#)).collect();
    let wide = format!("{{{}}}", names.join(","));
    for beyond in [deep(32, "0"), deep(200_000, "{}"), wide.clone(), format!("[{}0]", "0,".repeat(100_000))] {
        assert_eq!(refused(&of("attemptId", &beyond)), field(id));
        assert_eq!(refused(&of("attempt\\u0049d", &beyond)), field(id));
        assert_eq!(refused(&of("other", &beyond)), None);
        assert_eq!(refused(&format!("[{}]", of("attemptId", &beyond))), None, "it is not the message's");
        assert_eq!(refused(&format!(r#"{{"a":{}}}"#, of("attemptId", &beyond))), None, "it is not the message's");
        // J1, J3 and J4 hold for all of it.
        for bad in ["}", "1", ","] {
            assert_eq!(refused(&(of("attemptId", &beyond) + bad)), None);
        }
    }
    for bad in [r#"{"b":1,"\u0062":2}"#, "01", "[1 2]", r#"{"a"}"#, r#""\ud800""#, "nul", "[1,]", ""] {
        assert_eq!(refused(&of("attemptId", &deep(40, bad))), None, "{bad}");
    }
    assert_eq!(refused(&of("attemptId", &wide.replacen("\"7\"", "\"8\"", 1))), None, "two members of one name");
    assert_eq!(refused(&of("attemptId", &deep(40, "0")).replacen(id, &id.to_uppercase(), 1)), None);
}

fn field(text: &str) -> Option<Uuid> {
    crate::field::uuid_v4(text)
}

#[test]
fn m1_a_message_has_at_most_4096_mappings() {
    let accepted = |count: u32| {
        let mapping = |channel| Mapping { channel, stream_token: format!("t{channel}"), way: Way::Output };
        let message = ServerMessage::Accepted {
            attempt: field("ca7e5a82-2064-4c18-8359-806145c1562f").unwrap(),
            idempotency_key: "k".into(),
            mappings: (1..=count).map(mapping).collect(),
            session_token: "t".into(),
        };
        again("server", message.encode().as_bytes()).map(drop).map_err(|undecodable| undecodable.refusal.code)
    };
    assert_eq!(accepted(4096), Ok(()));
    assert_eq!(accepted(4097), Err(ErrorCode::ResourceExhausted));
}

proptest! {
    #[test]
    fn any_text_is_a_message_or_is_refused(text in r#"[{}\[\]",:0-9a-zA-Z ]{0,60}"#) {
        let _ = ClientMessage::decode(text.as_bytes());
        let _ = ServerMessage::decode(text.as_bytes());
    }
}
