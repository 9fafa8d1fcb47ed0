//! Decodes RegisterHarness with what its type has no room for.

use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstEncoder};
use wire::strict::Received;
use wire::{RegisterHarnessRequest, RegisterHarnessResponse};

use bytes::Buf;

/// The codec of RegisterHarness.
pub(super) struct ReceivedCodec;

/// Reads requests.
pub(super) struct ReceivedDecoder;

impl Codec for ReceivedCodec {
    type Encode = RegisterHarnessResponse;
    type Decode = Received;
    type Encoder = ProstEncoder<RegisterHarnessResponse>;
    type Decoder = ReceivedDecoder;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<RegisterHarnessResponse, RegisterHarnessRequest>::raw_encoder(BufferSettings::default())
    }

    fn decoder(&mut self) -> ReceivedDecoder {
        ReceivedDecoder
    }
}

impl Decoder for ReceivedDecoder {
    type Item = Received;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Received>, Status> {
        let message = buffer.copy_to_bytes(buffer.remaining());
        // What the generated codec answers, too; the layers turn it into the caller's fault.
        Received::decode(&message).map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}
