//! What is dropped before an event is stored, and what is not.

use wire::event::Body;
use wire::file_part::Source;
use wire::reasoning_part::Opaque;
use wire::{
    Event, EventKind, FilePart, IdentityRef, Message, ModelCall, Part, ReasoningPart, ToolResult, part, protobuf,
};

fn file(source: Option<Source>) -> Part {
    part::Part::File(FilePart { mime: "text/plain".into(), source, ..Default::default() }).into()
}

fn reasoning(opaque: Option<Opaque>, summary: Vec<Part>) -> Part {
    part::Part::Reasoning(ReasoningPart { opaque, summary, ..Default::default() }).into()
}

fn normalised(parts: Vec<Part>) -> Vec<Part> {
    let message = Message { role: "user".into(), parts };
    let mut event = Event::new(EventKind::EventInput, Body::Message(message));
    wire::normalise(&mut event);
    match event.body {
        Some(Body::Message(message)) => message.parts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_actor_that_names_nobody_is_dropped() {
    let mut event = Event { actor: Some(IdentityRef::default()), ..Default::default() };
    wire::normalise(&mut event);
    assert_eq!(event, Event::default());

    let somebody =
        Event { actor: Some(IdentityRef { subject: "s".into(), ..Default::default() }), ..Default::default() };
    let mut event = somebody.clone();
    wire::normalise(&mut event);
    assert_eq!(event, somebody);
}

#[test]
fn sources_and_opaque_blocks_without_bytes_are_dropped() {
    assert_eq!(normalised(vec![file(Some(Source::Bytes(vec![])))]), [file(None)]);
    assert_eq!(normalised(vec![reasoning(Some(Opaque::OpaqueBytes(vec![])), vec![])]), [reasoning(None, vec![])]);
    assert_eq!(normalised(vec![reasoning(Some(Opaque::OpaqueUri("".into())), vec![])]), [reasoning(None, vec![])]);
}

#[test]
fn what_says_something_stays() {
    let parts = vec![
        file(Some(Source::Bytes(vec![0]))),
        file(Some(Source::Uri("file:///x".into()))),
        reasoning(Some(Opaque::OpaqueBytes(vec![0])), vec![Part::text("")]),
        Part::default(),
        Part::data(protobuf::Struct::default()),
    ];
    assert_eq!(normalised(parts.clone()), parts);
}

#[test]
fn parts_are_reached_wherever_they_are() {
    let empty = || file(Some(Source::Bytes(vec![])));
    let result = |content| ToolResult { content, ..Default::default() };
    let nested = |part: Part| reasoning(None, vec![part::Part::ToolResult(result(vec![part])).into()]);
    assert_eq!(normalised(vec![nested(empty())]), [nested(file(None))]);

    let mut event = Event::new(EventKind::EventToolResult, Body::Result(result(vec![empty()])));
    wire::normalise(&mut event);
    assert_eq!(event.body, Some(Body::Result(result(vec![file(None)]))));

    let call =
        |part| ModelCall { messages: vec![Message { parts: vec![part], ..Default::default() }], ..Default::default() };
    let mut event = Event::new(EventKind::EventModelCall, Body::Model(call(empty())));
    wire::normalise(&mut event);
    assert_eq!(event.body, Some(Body::Model(call(file(None)))));
}
