//! What is sent on a stream to a harness. The first frame carries the whole history, so it is encoded out of the events
//! that the host keeps anyway, without a copy of them.

use bytes::BufMut;
use controller::ports::TurnStart;
use prost::Message;
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, EncodeBuf, Encoder};
use tonic_prost::ProstDecoder;
use wire::{ControllerFrame, Event, History, Start};

/// Keys of `ControllerFrame.start` and of `Start.history`, both length-delimited.
const START: u8 = 3 << 3 | 2;
const HISTORY: u8 = 2 << 3 | 2;

/// Bytes that a stream keeps for each direction. Most streams carry little at a time, and there may be thousands; what is
/// larger grows the buffer.
const KEPT_BYTES: usize = 1 << 10;
/// Bytes of gathered frames above which they are sent.
const GATHERED_BYTES: usize = 32 << 10;

fn buffers() -> BufferSettings {
    BufferSettings::new(KEPT_BYTES, GATHERED_BYTES)
}

/// A frame on its way.
pub(super) enum Outgoing {
    /// The first one.
    Start(FirstFrame),
    /// Any other.
    Frame(ControllerFrame),
}

/// The first frame, in the parts that it is encoded from.
pub(super) struct FirstFrame {
    /// Session and execution.
    envelope: ControllerFrame,
    /// All but the history, boxed so that other frames are not as large.
    start: Box<Start>,
    history: History,
}

impl FirstFrame {
    /// That of `turn`, in an envelope without content.
    pub(super) fn new(envelope: ControllerFrame, turn: TurnStart) -> Self {
        let TurnStart { history, inputs, config, resume_from_seq, invocation, .. } = turn;
        let start = Start { config, inputs, resume_from_seq, invocation, ..Start::default() };
        Self { envelope, start: Box::new(start), history }
    }

    fn start_len(&self) -> usize {
        let events = self.history.iter().map(|event| 1 + delimited_len(event.encoded_len())).sum::<usize>();
        self.start.encoded_len() + events
    }

    fn encode(&self, buf: &mut impl BufMut) -> Result<(), prost::EncodeError> {
        self.envelope.encode(buf)?;
        buf.put_u8(START);
        prost::encode_length_delimiter(self.start_len(), buf)?;
        for event in self.history.iter() {
            buf.put_u8(HISTORY);
            event.encode_length_delimited(buf)?;
        }
        // The fields of a message may come in any order.
        self.start.encode(buf)
    }
}

impl Outgoing {
    /// Its size on the wire.
    pub(super) fn encoded_len(&self) -> usize {
        match self {
            Self::Start(first) => first.envelope.encoded_len() + 1 + delimited_len(first.start_len()),
            Self::Frame(frame) => frame.encoded_len(),
        }
    }

    fn encode(&self, buf: &mut impl BufMut) -> Result<(), prost::EncodeError> {
        match self {
            Self::Start(first) => first.encode(buf),
            Self::Frame(frame) => frame.encode(buf),
        }
    }
}

fn delimited_len(len: usize) -> usize {
    prost::length_delimiter_len(len) + len
}

/// The codec of `Harness.Connect`, from the host's side.
#[derive(Clone, Copy, Default)]
pub(super) struct ConnectCodec;

impl Codec for ConnectCodec {
    type Encode = Outgoing;
    type Decode = Event;
    type Encoder = OutgoingEncoder;
    type Decoder = ProstDecoder<Event>;

    fn encoder(&mut self) -> OutgoingEncoder {
        OutgoingEncoder
    }

    fn decoder(&mut self) -> ProstDecoder<Event> {
        ProstDecoder::new(buffers())
    }
}

pub(super) struct OutgoingEncoder;

impl Encoder for OutgoingEncoder {
    type Item = Outgoing;
    type Error = Status;

    fn encode(&mut self, frame: Outgoing, buf: &mut EncodeBuf<'_>) -> Result<(), Status> {
        frame.encode(buf).map_err(|error| Status::internal(error.to_string()))
    }

    fn buffer_settings(&self) -> BufferSettings {
        buffers()
    }
}

#[cfg(test)]
mod tests {
    use journal::{ExecutionId, SessionUid};
    use wire::EventKind;
    use wire::controller_frame::Frame;

    use super::*;

    #[test]
    fn the_first_frame_is_read_as_the_message_that_it_is() {
        let events: Vec<Event> =
            (0..300).map(|n| Event::new(EventKind::EventOutput, None).of_execution("x".repeat(n))).collect();
        let start = Start {
            config: vec![1; 200],
            history: events.clone(),
            inputs: vec![wire::Message::text("user", "hello")],
            identity: None,
            resume_from_seq: -1,
            invocation: None,
        };
        let turn = TurnStart {
            session: SessionUid::parse("s").unwrap(),
            execution: ExecutionId::new("e"),
            history: events.into(),
            inputs: start.inputs.clone(),
            config: start.config.clone(),
            resume_from_seq: -1,
            request_id: String::new(),
            invocation: None,
        };
        let envelope = ControllerFrame { session: "s".into(), execution_id: "e".into(), frame: None };
        let frame = Outgoing::Start(FirstFrame::new(envelope.clone(), turn));
        let mut encoded = Vec::new();
        frame.encode(&mut encoded).unwrap();
        assert_eq!(encoded.len(), frame.encoded_len());
        let expected = ControllerFrame { frame: Some(Frame::Start(start)), ..envelope };
        assert_eq!(ControllerFrame::decode(&encoded[..]).unwrap(), expected);
    }
}
