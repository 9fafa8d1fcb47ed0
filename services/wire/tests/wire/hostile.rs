//! Bytes from anybody.

use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use wire::canonical::Canonical;
use wire::{ControllerFrame, Event, ExecRequest, LogRecord, Session, normalise};

use crate::strategy::event;

/// Everything a host does with an event from the wire.
fn handle(bytes: &[u8]) {
    let Ok(mut event) = Event::decode(bytes) else { return };
    normalise(&mut event);
    let once = event.clone();
    normalise(&mut event);
    assert_eq!(event.encode_to_vec(), once.encode_to_vec());

    let Ok(text) = event.canonical_json() else { return };
    let read: Event = serde_json::from_str(&text).expect("what is canonical can be read");
    assert_eq!(read.canonical_json().as_ref(), Ok(&text));
    let stored = LogRecord { event: Some(event), ..Default::default() }.encode_to_vec();
    LogRecord::decode(stored.as_slice()).expect("what is canonical can be stored");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        handle(&bytes);
        let _ = (LogRecord::decode(bytes.as_slice()), Session::decode(bytes.as_slice()));
        let _ = (ExecRequest::decode(bytes.as_slice()), ControllerFrame::decode(bytes.as_slice()));
        let _ = serde_json::from_slice::<LogRecord>(&bytes);
    }
}

proptest! {
    #[test]
    fn damaged_events_never_panic(event in event(), damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = event.encode_to_vec();
        prop_assume!(!bytes.is_empty());
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        handle(&bytes);
    }

    #[test]
    fn damaged_json_never_panics(event in event(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = serde_json::to_vec(&event).unwrap();
        let at = at.index(text.len());
        text[at] = byte;
        if let Ok(event) = serde_json::from_slice::<Event>(&text) {
            let _ = event.canonical_json();
        }
    }
}

/// A length-delimited field around `content`.
fn wrap(number: u32, content: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut field);
    prost::encoding::encode_varint(content.len() as u64, &mut field);
    [field.as_slice(), content].concat()
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    // Event.message.parts, then ReasoningPart.summary and Part.reasoning in turns.
    let mut part = Vec::new();
    for depth in 0..10_000 {
        part = wrap(4, &wrap(5, &part));
        if part.len() > 1 << 20 {
            panic!("depth {depth} is larger than any message should be");
        }
    }
    let bytes = wrap(8, &wrap(2, &part));
    assert!(Event::decode(bytes.as_slice()).is_err());

    let json = format!(r#"{{"tool":{{"args":{{"x":{}1{}}}}}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    assert!(serde_json::from_str::<Event>(&json).is_err());
}

#[test]
fn whatever_a_decoder_takes_as_an_input_has_a_canonical_form_or_is_refused_by_it() {
    // Value.list_value and ListValue.values in turns, in an Event: up to the depth that the decoder still takes.
    let mut accepted = 0;
    let mut value = wrap(3, b"x");
    for _ in 0..60 {
        value = wrap(6, &wrap(1, &value));
        let entry = [wrap(1, b"k"), wrap(2, &value)].concat();
        let event = wrap(10, &wrap(3, &wrap(1, &entry)));
        handle(&event);
        accepted += usize::from(Event::decode(event.as_slice()).is_ok_and(|event| event.canonical_json().is_ok()));
    }
    assert!((30..40).contains(&accepted), "{accepted} levels of lists were accepted");
}
