//! What the log of a session says of its invocations. Values are texts in it: they are not for the log to interpret, and
//! may be nested deeper than its own data.

use journal::invocations::{InvocationStart, Role, StreamId};
use wire::file_part::Source;
use wire::protobuf::{Struct, Value, value};
use wire::{FilePart, Message, Part, part};

/// A stream that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FinishedStream {
    pub(crate) id: StreamId,
    pub(crate) role: Role,
    /// How many items it has.
    pub(crate) count: u64,
    /// SHA-256 of its items.
    pub(crate) sha256: [u8; 32],
}

/// INPUT of the turn.
pub(crate) fn input(start: &InvocationStart) -> Message {
    let data = data([
        ("agentType", &start.agent_type),
        ("method", &start.method),
        ("methodParameters", &start.method_parameters),
        ("idempotencyKey", &start.idempotency_key),
    ]);
    Message { role: "user".into(), parts: vec![data] }
}

/// OUTPUT: what the method returned.
pub(crate) fn result(value: Option<&str>) -> Message {
    said(vec![data(value.map(|value| ("result", value)))])
}

/// OUTPUT: every stream of the invocation, in the order of their ids.
pub(crate) fn streams(mut finished: Vec<FinishedStream>) -> Message {
    finished.sort_unstable_by_key(|stream| stream.id);
    let parts = |stream: FinishedStream| {
        let file = FilePart {
            name: match stream.role {
                Role::Input => "input".to_owned(),
                Role::Output => "output".to_owned(),
            },
            source: Some(Source::Uri(format!("stream:{}", stream.id))),
            digest: format!("sha256:{}", hex::encode(stream.sha256)),
            ..FilePart::default()
        };
        [part::Part::File(file).into(), data([("itemCount", stream.count.to_string())])]
    };
    said(finished.into_iter().flat_map(parts).collect())
}

fn said(parts: Vec<Part>) -> Message {
    Message { role: "assistant".into(), parts }
}

fn data<'a>(members: impl IntoIterator<Item = (&'a str, impl Into<String>)>) -> Part {
    let text = |text: String| Value { kind: Some(value::Kind::StringValue(text)) };
    let fields = members.into_iter().map(|(name, value)| (name.to_owned(), text(value.into()))).collect();
    Part::data(Struct { fields })
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn streams_are_told_in_the_order_of_their_ids() {
        let stream = |id| FinishedStream {
            id: StreamId::new(Uuid::from_u128(id)),
            role: if id == 1 { Role::Input } else { Role::Output },
            count: u64::MAX,
            sha256: [0xab; 32],
        };
        let message = streams(vec![stream(2), stream(1)]);
        assert_eq!(message, streams(vec![stream(1), stream(2)]));
        let [part::Part::File(first), part::Part::Data(_), part::Part::File(second), _] =
            &message.parts.iter().filter_map(|part| part.part.clone()).collect::<Vec<_>>()[..]
        else {
            panic!("a file and data for each: {message:?}")
        };
        assert_eq!((first.name.as_str(), second.name.as_str()), ("input", "output"));
        assert_eq!(first.source, Some(Source::Uri("stream:00000000-0000-0000-0000-000000000001".into())));
        assert_eq!(first.digest, format!("sha256:{}", "ab".repeat(32)));
        assert_eq!(message.parts[1], data([("itemCount", "18446744073709551615")]));
    }
}
