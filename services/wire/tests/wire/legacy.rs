//! Journals of the reference host's release 0.1.2.

use wire::event::Body;
use wire::verify::Verifier;
use wire::{Message, ModelCall};

use crate::spec::old_journals;

#[test]
fn chains_of_old_journals_verify() {
    for (name, records) in old_journals() {
        let mut verifier = Verifier::new();
        for record in &records {
            verifier.check(record).unwrap_or_else(|bad| panic!("{name}: {bad}"));
        }
    }
}

#[test]
fn input_hashes_of_old_journals_are_those_of_an_echo_request_for_the_last_input() {
    for (name, records) in old_journals() {
        let mut input = String::new();
        for body in records.into_iter().filter_map(|record| record.event?.body) {
            match body {
                Body::Message(message) if message.role == "user" => input = message.text_content(),
                Body::Model(recorded) => assert_eq!(recorded.input_hash, echo_hash(&input), "{name}: {input}"),
                _ => {}
            }
        }
    }
}

fn echo_hash(text: &str) -> String {
    let call = ModelCall { model: "echo".into(), messages: vec![Message::text("user", text)], ..Default::default() };
    wire::input_hash(&call).unwrap()
}
