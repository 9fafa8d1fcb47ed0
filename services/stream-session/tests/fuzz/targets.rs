//! What holds of each decoder, whatever it is given.

use std::borrow::Cow;

use bytes::Bytes;
use stream_session::Refusal;
use stream_session::binary::BinaryMessage;
use stream_session::checkpoint::Checkpoint;
use stream_session::graph::Graph;
use stream_session::json::{Json, canonical, pretty};
use stream_session::limits;
use stream_session::message::{ClientMessage, ServerMessage, Undecodable};
use stream_session::token::{Binding, Caller, CursorClaims, Key, KeyRing, Role, SessionClaims, StreamClaims};
use stream_session::value::{StreamPolicy, Value};
use uuid::Uuid;

use crate::{corpus, fuzz};

/// Refusals are worded beforehand: there is nothing in them of what they refuse (V1).
fn is_worded(refusal: &Refusal) {
    assert!(matches!(refusal.text, Cow::Borrowed(_)), "a refusal that is made up: {refusal}");
}

/// The same of a refusal that tells the place of the fault, which it does in the words of the schema.
fn is_worded_at_a_place(refusal: &Refusal, schema: &Json<'_>) {
    let Cow::Owned(text) = &refusal.text else { return };
    let (place, _) = text.split_once(": ").expect("a place, and what is wrong there");
    let mut words = Vec::new();
    collect_words(schema, &mut words);
    let is_known = |part: &str| part.parse::<usize>().is_ok() || words.iter().any(|word| word.contains(part));
    assert!(place.split('.').all(is_known), "a place that is made up: {refusal}");
}

fn collect_words<'j>(json: &'j Json<'_>, to: &mut Vec<&'j str>) {
    match json {
        Json::Array(elements) => elements.iter().for_each(|element| collect_words(element, to)),
        Json::Object(members) => members.iter().for_each(|(name, value)| {
            to.push(name);
            collect_words(value, to);
        }),
        flat => to.extend(flat.as_str()),
    }
}

fn is_worded_too(undecodable: &Undecodable) {
    is_worded(&undecodable.refusal);
}

#[test]
fn json_reads_what_it_writes() {
    fuzz(&corpus::messages(), |text| match Json::parse(text) {
        Ok(json) => {
            let normal = canonical(&json);
            let again = Json::parse(normal.as_bytes()).expect("canonical text is JSON");
            assert_eq!(canonical(&again), normal);
            let shown = pretty(&json);
            assert_eq!(canonical(&Json::parse(shown.as_bytes()).expect("pretty text is JSON")), normal);
        }
        Err(refusal) => is_worded(&refusal),
    });
}

#[test]
fn messages_of_clients_are_read_as_they_are_written() {
    fuzz(&corpus::messages(), |text| match ClientMessage::decode(text) {
        Ok(message) => {
            let normal = message.encode();
            assert_eq!(ClientMessage::decode(normal.as_bytes()).expect("it was read before").encode(), normal);
        }
        Err(undecodable) => is_worded_too(&undecodable),
    });
}

#[test]
fn messages_of_servers_are_read_as_they_are_written() {
    fuzz(&corpus::messages(), |text| match ServerMessage::decode(text) {
        Ok(message) => {
            let normal = message.encode();
            assert_eq!(ServerMessage::decode(normal.as_bytes()).expect("it was read before").encode(), normal);
        }
        Err(undecodable) => is_worded_too(&undecodable),
    });
}

#[test]
fn binary_messages_share_their_payload_and_are_read_as_they_are_written() {
    fuzz(&corpus::frames(), |frame| {
        let frame = Bytes::copy_from_slice(frame);
        for from in [Role::Input, Role::Output] {
            match BinaryMessage::decode(&frame, from) {
                Ok(message) => {
                    let payload = message.items.payload();
                    assert!(payload.is_empty() || frame.as_ptr_range().contains(&payload.as_ptr()), "it is copied");
                    let written = Bytes::from([&message.encode_head(), &payload[..]].concat());
                    assert_eq!(BinaryMessage::decode(&written, from).as_ref(), Ok(&message));
                }
                Err(refusal) => is_worded(&refusal),
            }
        }
    });
}

#[test]
fn graphs_are_read_as_they_are_written_and_have_one_fingerprint() {
    fuzz(&corpus::graphs(), |text| {
        let graph = match Json::parse(text).and_then(|json| Graph::read(&json)) {
            Ok(graph) => graph,
            Err(refusal) => return is_worded(&refusal),
        };
        let normal = canonical(&graph.to_json());
        let again = Json::parse(normal.as_bytes()).and_then(|json| Graph::read(&json)).expect("it was read before");
        assert_eq!(canonical(&again.to_json()), normal);
        assert_eq!(again.fingerprint(Some(again.root())), graph.fingerprint(Some(graph.root())));
        assert_eq!(again.check(), graph.check());
        let _ = graph.lane(graph.root());
    });
}

#[test]
fn values_have_a_normal_form_and_a_bounded_charge() {
    fuzz(&corpus::values(), |input| {
        let Some(at) = input.iter().position(|byte| *byte == b'\n') else { return };
        let Ok(schema) = Json::parse(&input[..at]) else { return };
        let Ok(graph) = Graph::read(&schema) else { return };
        let Ok(node) = Json::parse(&input[at + 1..]) else { return };
        for policy in [StreamPolicy::None, StreamPolicy::Provisional, StreamPolicy::Stable] {
            let decoded = match Value::read(&graph, graph.root(), policy, &node) {
                Ok(decoded) => decoded,
                Err(refusal) => {
                    is_worded_at_a_place(&refusal, &schema);
                    continue;
                }
            };
            assert!(decoded.charge <= limits::VALUE_CHARGE);
            assert_eq!(decoded.value.charge(), Ok(decoded.charge));
            let normal = decoded.value.canonical();
            let again = Json::parse(normal.as_bytes()).expect("the normal form is JSON");
            let again = Value::read(&graph, graph.root(), policy, &again).expect("it was read before");
            assert_eq!((again.value.canonical(), again.charge), (normal, decoded.charge));
        }
    });
}

#[test]
fn no_token_is_valid_that_was_not_signed() {
    let ring = KeyRing::new("here", Key { id: "k".into(), secret: vec![7; 32] }, []).expect("a ring");
    let caller = Caller { account: "a", principal: "p" };
    let binding = Binding { account: "a".into(), principal: "p".into(), issued_at: 1 };
    let id = Uuid::from_u128(1);
    let signed = ring.sign(&binding, &CursorClaims { invocation: id, stream: id, position: vec![1; 24] });
    let seeds: Vec<_> = corpus::tokens().into_iter().chain([signed.clone().into_bytes()]).collect();
    fuzz(&seeds, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        match ring.verify::<CursorClaims>(&text, caller) {
            Ok(_) => assert_eq!(text, signed),
            Err(refusal) => is_worded(&refusal),
        }
        assert!(ring.verify::<SessionClaims>(&text, caller).is_err());
        assert!(ring.verify::<StreamClaims>(&text, caller).is_err());
    });
}

#[test]
fn checkpoints_are_read_as_they_are_written() {
    fuzz(&corpus::checkpoints(), |text| match Checkpoint::read(text) {
        Ok(checkpoint) => assert_eq!(Checkpoint::read(checkpoint.write().as_bytes()).as_ref(), Ok(&checkpoint)),
        Err(refusal) => is_worded(&refusal),
    });
}
