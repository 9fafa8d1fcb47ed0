//! The same turn asks for the same effects (execution.md §7.1).

use futures::FutureExt;
use wire::Event;
use wire::event::Body as EventBody;

use super::outcome::{Outcome, end, name};
use super::{Body, Check, Finding, Suite};

pub(super) const CHECKS: &[Check] = &[Check {
    name: "replay",
    promise: "asks for the same effects when a turn is run again with the same answers",
    body: Body::Replay(|suite| replays(suite).boxed()),
}];

async fn replays(suite: &Suite) -> Finding {
    let turn = suite.host.turn();
    let one = suite.hold(turn.clone()).await?;
    let two = suite.hold(turn).await?;
    same_effects(&one, &two)
}

/// A host resumes a turn only if each effect matches its record.
fn same_effects(one: &Outcome, two: &Outcome) -> Finding {
    for (n, (first, second)) in one.events.iter().zip(&two.events).enumerate() {
        if !matches(first, second) {
            let (first, second) = (told(first), told(second));
            let second = if second == first { "one that differs from it".to_owned() } else { second };
            return Err(format!("event {} was {first}, and the second time {second}", n + 1));
        }
    }
    match (one.events.len(), two.events.len()) {
        (first, second) if first == second => Ok(()),
        (first, second) => Err(format!("it sent {first} events, and the second time {second}")),
    }
}

/// Whether a host would serve `second` from the record of `first`.
fn matches(first: &Event, second: &Event) -> bool {
    match (&first.body, &second.body) {
        (Some(EventBody::Model(one)), Some(EventBody::Model(two))) => {
            wire::input_hash(one).ok() == wire::input_hash(two).ok()
        }
        (Some(EventBody::Message(one)), Some(EventBody::Message(two))) => one.text_content() == two.text_content(),
        // What it reports is not compared, only that it does.
        (Some(EventBody::Result(_)), Some(EventBody::Result(_))) => true,
        (Some(EventBody::End(one)), Some(EventBody::End(two))) => one.state == two.state,
        (one, two) => one == two,
    }
}

/// An event in a finding: which of two calls differ can be seen by their ids, never what they carry.
fn told(event: &Event) -> String {
    match &event.body {
        Some(EventBody::Tool(call)) => format!("{} {:?} with key {:?}", name(event), call.id, call.idempotency_key),
        Some(EventBody::Model(call)) => {
            let hash = wire::input_hash(call).unwrap_or_default();
            format!("{} with input hash {}", name(event), hash.get(..8).unwrap_or_default())
        }
        _ => end(event).map_or_else(|| name(event).to_owned(), |end| format!("{} {}", name(event), end.state)),
    }
}

#[cfg(test)]
mod tests {
    use wire::{EventKind, Message, ModelCall, ToolCall, Usage};

    use super::super::outcome::Ending;
    use super::*;

    fn outcome(bodies: &[EventBody]) -> Outcome {
        let events = bodies.iter().map(|body| Event::new(EventKind::Unspecified, body.clone())).collect();
        Outcome { execution: "e".into(), events, ending: Ending::Closed }
    }

    fn model(question: &str, id: &str) -> EventBody {
        let messages = vec![Message::text("user", question)];
        EventBody::Model(ModelCall { id: id.into(), messages, ..ModelCall::default() })
    }

    fn tool(key: &str) -> EventBody {
        EventBody::Tool(ToolCall { id: "c".into(), idempotency_key: key.into(), ..ToolCall::default() })
    }

    #[test]
    fn what_a_host_would_serve_from_the_record_is_the_same() {
        let report =
            |output: &str| EventBody::Result(wire::ToolResult { output_uri: output.into(), ..Default::default() });
        let one = outcome(&[model("a", "1"), tool("k"), report("x")]);
        let two = outcome(&[model("a", "2"), tool("k"), report("y")]);
        assert_eq!(same_effects(&one, &two), Ok(()));
    }

    #[test]
    fn what_a_host_would_refuse_as_diverged_is_found() {
        let said = |text: &str| EventBody::Message(Message::text("assistant", text));
        let usage = |tokens| EventBody::Usage(Usage { input_tokens: tokens, ..Usage::default() });
        let pairs = [
            (vec![model("a", "1")], vec![model("b", "1")]),
            (vec![tool("k")], vec![tool("l")]),
            (vec![said("a")], vec![said("b")]),
            (vec![usage(1)], vec![usage(2)]),
            (vec![said("a")], vec![usage(1)]),
            (vec![said("a")], vec![]),
        ];
        for (one, two) in pairs {
            assert!(same_effects(&outcome(&one), &outcome(&two)).is_err(), "{one:?} {two:?}");
        }
    }
}
