//! What is dropped from an event before it is stored and hashed.

use crate::event::Body;
use crate::{Event, Message, Part, file_part, part, reasoning_part};

/// Drops what says nothing: an actor that names nobody, an inline file or opaque block without bytes.
///
/// Unknown fields are gone since decoding. Parts without a member stay, so that positions do not move; a struct that is
/// there but empty stays. What comes out is what must be stored, or the stored record would not verify.
pub fn normalise(event: &mut Event) {
    event.actor.take_if(|actor| actor.is_empty());
    match &mut event.body {
        Some(Body::Message(message)) => normalise_message(message),
        Some(Body::Model(call)) => call.messages.iter_mut().for_each(normalise_message),
        Some(Body::Result(result)) => normalise_parts(&mut result.content),
        _ => {}
    }
}

fn normalise_message(message: &mut Message) {
    normalise_parts(&mut message.parts);
}

fn normalise_parts(parts: &mut [Part]) {
    for part in parts {
        match &mut part.part {
            Some(part::Part::File(file)) => {
                file.source.take_if(|source| matches!(source, file_part::Source::Bytes(bytes) if bytes.is_empty()));
            }
            Some(part::Part::Reasoning(reasoning)) => {
                reasoning.opaque.take_if(|opaque| is_empty(opaque));
                normalise_parts(&mut reasoning.summary);
            }
            Some(part::Part::ToolResult(result)) => normalise_parts(&mut result.content),
            _ => {}
        }
    }
}

fn is_empty(opaque: &reasoning_part::Opaque) -> bool {
    match opaque {
        reasoning_part::Opaque::OpaqueBytes(bytes) => bytes.is_empty(),
        reasoning_part::Opaque::OpaqueUri(uri) => uri.is_empty(),
    }
}
