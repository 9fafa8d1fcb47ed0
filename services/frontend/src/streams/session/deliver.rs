//! From the journal to the client: items, ends and the result (protocol.md sections 11, 12 and 16).

use futures::FutureExt;
use futures::future::BoxFuture;
use journal::invocations::{Cursor, Frame, FrameItem, Invocation, Lease, Returned, StreamId, StreamState, Terminal};
use journal::{Journal, JournalError};
use stream_session::binary::BinaryItems;
use stream_session::json::{Json, Members, Writer};
use stream_session::server::{Event, MethodValue, OutputItem, Stream, StreamWay};
use stream_session::{ErrorCode, Refusal, limits, token};
use uuid::Uuid;

use super::{Attached, OUTPUT_READ, Read, Session, Telling, WithStreams};
use crate::streams::metrics::METRICS;
use crate::streams::outputs::outcome;

impl Session {
    pub(super) fn read_frames(&self, stream: StreamId, from: u64) -> BoxFuture<'static, Read> {
        let (journal, lease) = (self.endpoint.host.journal().clone(), self.attached.lease.clone());
        async move { Read::Frames(stream, frames(&journal, &lease, stream, from).await) }.boxed()
    }

    pub(super) fn read_returned(&self) -> BoxFuture<'static, Read> {
        let (journal, lease) = (self.endpoint.host.journal().clone(), self.attached.lease.clone());
        async move { Read::Returned(returned(&journal, &lease).await.map(|read| read.map(Box::new))) }.boxed()
    }

    pub(super) fn deliver(&mut self, stream: StreamId, frames: Vec<Frame>, introduced: &[StreamState]) {
        if frames.is_empty() {
            // It is asked for again when the journal has been looked at again.
            return;
        }
        if let Some(delay) = self.times.take_delay() {
            METRICS.output_delay(delay);
        }
        for frame in frames {
            if let Err(refusal) = self.deliver_one(stream, frame, introduced) {
                return self.failed(&refusal);
            }
        }
        self.attached.outputs.sent(stream);
        if !introduced.is_empty() {
            self.times.look_again();
        }
    }

    fn deliver_one(&mut self, stream: StreamId, frame: Frame, introduced: &[StreamState]) -> Result<(), Refusal> {
        let (first, size) = (self.attached.outputs.position(stream), frame.item.size());
        match frame.item {
            FrameItem::Octets(octets) => {
                // The client has the beginning of a batch in whose midst its cursor stands (P4).
                let had = usize::try_from(first.saturating_sub(frame.first)).unwrap_or(usize::MAX).min(octets.len());
                for (index, batch) in octets.slice(had..).chunks(limits::PACKED_BYTES).enumerate() {
                    let first = first + (index * limits::PACKED_BYTES) as u64;
                    let batch = octets.slice_ref(batch);
                    self.output(stream, first, OutputItem::Binary(BinaryItems::Packed(batch)));
                }
            }
            FrameItem::Binary { data, mime: mime_type } => {
                self.output(stream, first, OutputItem::Binary(BinaryItems::Whole { data, mime_type }));
            }
            FrameItem::Value(text) => {
                let (text, streams) = self.attached.exposed(text, &frame.streams, introduced)?;
                frame.streams.iter().for_each(|nested| self.attached.outputs.add(*nested, None));
                self.output(stream, first, OutputItem::Value(text, streams));
            }
        }
        self.unnoted.add(stream, self.attached.outputs.position(stream), size);
        Ok(())
    }

    fn output(&mut self, stream: StreamId, sequence: u64, item: OutputItem) {
        let count = match &item {
            OutputItem::Value(..) => 1,
            OutputItem::Binary(items) => items.count(),
        };
        let items = sequence + count;
        let cursor = self.attached.tokens.cursor(Cursor { stream, items, ended: false });
        self.attached.outputs.pass(stream, items);
        self.on(Event::Output { stream: stream.as_uuid(), sequence, cursor, item });
    }

    pub(super) fn ended(&mut self, stream: StreamId, items: u64, terminal: Terminal) {
        let cursor = Some(self.attached.tokens.cursor(Cursor { stream, items, ended: true }));
        let outcome = outcome(terminal);
        self.on(Event::OutputEnded { stream: stream.as_uuid(), sequence: items, cursor, outcome });
    }

    pub(super) fn returned(&mut self, (invocation, streams): WithStreams<Invocation>) {
        self.result = Telling::Told;
        let value = match invocation.returned {
            Some(Returned { value: Some(text), streams: exposed }) => {
                let made = self.attached.exposed(text, &exposed, &streams);
                exposed.iter().for_each(|stream| self.attached.outputs.add(*stream, None));
                let graph = invocation.start.result_schema;
                made.map(|(value, streams)| Some(MethodValue { graph, value, streams }))
            }
            Some(Returned { value: None, .. }) | None => Ok(None),
        };
        match value {
            Ok(value) => self.on(Event::Returned(value)),
            Err(refusal) => self.failed(&refusal),
        }
        self.times.look_again();
    }
}

impl Attached {
    /// A value as the client gets it, and its streams: what the journal has is their ids.
    fn exposed(
        &self,
        text: String,
        streams: &[StreamId],
        states: &[StreamState],
    ) -> Result<(String, Vec<Stream>), Refusal> {
        if streams.is_empty() {
            return Ok((text, Vec::new()));
        }
        let state = |id: &StreamId| states.iter().find(|state| state.progress.id == *id).ok_or_else(corrupt);
        let exposed = streams.iter().map(|id| {
            let token = self.tokens.stream(*id, token::Role::Output, state(id)?.fingerprint)?;
            Ok(Stream { id: id.as_uuid(), token, way: StreamWay::Output })
        });
        let exposed = exposed.collect::<Result<Vec<_>, Refusal>>()?;
        let token = |id: &str| {
            let id = Uuid::try_parse(id).ok()?;
            exposed.iter().find(|stream| stream.id == id).map(|stream| stream.token.as_str())
        };
        let text = with_tokens(&text, token)?;
        Ok((text, exposed))
    }
}

/// A value in whose text streams are named by their tokens, made of one in which they are named otherwise.
fn with_tokens<'s>(text: &str, token: impl Fn(&str) -> Option<&'s str>) -> Result<String, Refusal> {
    fn write<'s>(json: &Json<'_>, token: &impl Fn(&str) -> Option<&'s str>, to: &mut Writer) {
        match json {
            Json::Array(elements) => to.array(elements, |to, element| write(element, token, to)),
            Json::Object(members) => match stream_named_by(members).and_then(token) {
                Some(token) => {
                    to.open('{');
                    to.text_member("kind", "stream");
                    to.name("value");
                    to.open('{');
                    to.text_member("streamToken", token);
                    to.close('}');
                    to.close('}');
                }
                None => {
                    to.open('{');
                    for (name, value) in members.iter() {
                        to.name(name);
                        write(value, token, to);
                    }
                    to.close('}');
                }
            },
            flat => to.value(flat),
        }
    }
    let mut to = Writer::default();
    write(&Json::parse(text.as_bytes())?, &token, &mut to);
    Ok(to.finish())
}

/// What a stream node calls its stream.
fn stream_named_by<'j>(members: &'j Members<'_>) -> Option<&'j str> {
    members.get("kind")?.as_str().filter(|kind| *kind == "stream")?;
    members.get("value")?.as_object()?.get("streamToken")?.as_str()
}

async fn frames(
    journal: &Journal,
    lease: &Lease,
    stream: StreamId,
    from: u64,
) -> Result<WithStreams<Vec<Frame>>, JournalError> {
    let (session, invocation) = (lease.session(), lease.invocation());
    let frames = journal.frames(session, invocation, stream, from, OUTPUT_READ).await?;
    let introduced = match frames.iter().all(|frame| frame.streams.is_empty()) {
        true => Vec::new(),
        false => journal.streams(session, invocation).await?,
    };
    Ok((frames, introduced))
}

async fn returned(journal: &Journal, lease: &Lease) -> Result<Option<WithStreams<Invocation>>, JournalError> {
    let (session, id) = (lease.session(), lease.invocation());
    let Some(invocation) = journal.invocation(session, id).await? else { return Ok(None) };
    let streams = match invocation.returned.as_ref().is_none_or(|returned| returned.streams.is_empty()) {
        true => Vec::new(),
        false => journal.streams(session, id).await?,
    };
    Ok(Some((invocation, streams)))
}

fn corrupt() -> Refusal {
    Refusal::new(ErrorCode::InternalError, "a stream is not known")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_named_by_their_tokens_wherever_they_are_and_nothing_else_changes() {
        let stream = |name: &str| format!(r#"{{"kind":"stream","value":{{"streamToken":"{name}"}}}}"#);
        let value = |one: &str, other: &str| {
            let text = r#"{"kind":"string","value":"{\"kind\":\"stream\"}"}"#;
            format!(r#"{{"kind":"record","value":{{"fields":[{one},{text},{{"kind":"f64","value":1e300}},{other}]}}}}"#)
        };
        let token = |id: &str| [("a", "t1"), ("b", "t2")].into_iter().find(|(from, _)| *from == id).map(|(_, to)| to);
        let renamed = with_tokens(&value(&stream("a"), &stream("b")), token);
        assert_eq!(renamed, Ok(value(&stream("t1"), &stream("t2"))));
    }
}
