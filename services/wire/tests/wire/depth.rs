//! How deep messages may be nested: whatever has a canonical form can be read back wherever it ends up.

use prost::Message as _;
use wire::canonical::{Canonical, MAX_DEPTH, NotCanonical};
use wire::event::Body;
use wire::exec_update::Update;
use wire::protobuf::value::Kind;
use wire::protobuf::{ListValue, Struct, Value};
use wire::{Event, EventKind, ExecUpdate, LogRecord, Message, Part, ReasoningPart, ToolCall, ToolResult, part};

use crate::canonical::{structure, value};

/// An event in which something is nested `levels` deep.
type Nest = fn(levels: u32) -> Event;

const NESTS: [(&str, Nest); 4] =
    [("reasoning", reasoning), ("tool results", tool_results), ("objects", objects), ("lists", lists)];

fn message(part: Part) -> Event {
    Event::new(EventKind::EventInput, Body::Message(Message { parts: vec![part], ..Default::default() }))
}

fn reasoning(levels: u32) -> Event {
    message((0..levels).fold(Part::default(), |inner, _| {
        part::Part::Reasoning(ReasoningPart { summary: vec![inner], ..Default::default() }).into()
    }))
}

fn tool_results(levels: u32) -> Event {
    message((0..levels).fold(Part::default(), |inner, _| {
        part::Part::ToolResult(ToolResult { content: vec![inner], ..Default::default() }).into()
    }))
}

fn arguments(value: Value) -> Event {
    let args = Some(Struct { fields: [("x".to_owned(), value)].into() });
    Event::new(EventKind::EventToolCall, Body::Tool(ToolCall { args, ..Default::default() }))
}

fn objects(levels: u32) -> Event {
    let leaf = value(Kind::NullValue(0));
    arguments((0..levels).fold(leaf, |inner, _| value(Kind::StructValue(structure([("x", inner.kind.unwrap())])))))
}

fn lists(levels: u32) -> Event {
    let leaf = value(Kind::NullValue(0));
    arguments((0..levels).fold(leaf, |inner, _| value(Kind::ListValue(ListValue { values: vec![inner] }))))
}

/// The deepest event of its kind that has a canonical form, and how deep it is.
fn deepest(nest: Nest) -> (u32, Event) {
    let levels = (0..MAX_DEPTH).take_while(|levels| nest(*levels).canonical_json().is_ok()).count() as u32 - 1;
    assert_eq!(nest(levels + 1).canonical_json(), Err(NotCanonical::TooDeep));
    (levels, nest(levels))
}

#[test]
fn the_deepest_event_is_read_back_from_protobuf_inside_of_an_update() {
    for (name, nest) in NESTS {
        let (_, event) = deepest(nest);
        let record = LogRecord { event: Some(event), ..Default::default() };
        let update = ExecUpdate { update: Some(Update::Record(record)) };
        assert_eq!(ExecUpdate::decode(update.encode_to_vec().as_slice()).as_ref(), Ok(&update), "{name}");
    }
}

#[test]
fn the_deepest_event_is_read_back_from_json_inside_of_an_update() {
    for (name, nest) in NESTS {
        let (_, event) = deepest(nest);
        let record = LogRecord { event: Some(event), ..Default::default() };
        let update = ExecUpdate { update: Some(Update::Record(record)) };
        let text = serde_json::to_string(&vec![&update]).unwrap();
        assert_eq!(serde_json::from_str::<Vec<ExecUpdate>>(&text).unwrap(), [update], "{name}");
    }
}

#[test]
fn there_is_room_for_what_people_nest() {
    let levels = NESTS.map(|(_, nest)| deepest(nest).0);
    assert_eq!(levels, [39, 39, 25, 38]);
}
