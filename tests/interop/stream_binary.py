"""Binary messages of stream sessions (protocol.md 4.2 and 7)."""

import dataclasses
import struct

import stream_fields as field
from stream_json import Refused, canonical, malformed, parse
from stream_messages import check_channel, check_decimals, check_version

METADATA_BYTES = 16 << 10
PACKED_BYTES = 1 << 20
ITEM_BYTES = 16 << 20


@dataclasses.dataclass(frozen=True)
class Binary:
    """A binary message: `packed` payloads are as many items as bytes, others are one."""

    direction: str
    packed: bool
    channel: int
    sequence: int
    payload: bytes
    mime_type: str | None = None
    cursor: str | None = None

    @property
    def count(self):
        return len(self.payload) if self.packed else 1

    def write(self):
        kind = f"{self.direction}-{'u8' if self.packed else 'binary'}"
        metadata = {"channel": self.channel, "itemCount": str(self.count), "kind": kind,
                    "sequence": str(self.sequence), "version": 1}
        if self.mime_type is not None:
            metadata["mimeType"] = self.mime_type
        if self.cursor is not None:
            metadata["cursorToken"] = self.cursor
        return frame(canonical(metadata), self.payload)


def frame(metadata, payload):
    """The bytes of a message with this metadata, right or wrong."""
    head = metadata.encode()
    return struct.pack(">I", len(head)) + head + payload


def read(data, direction):
    """Reads a message that `direction`, "input" or "output", admits."""
    if len(data) < 4:
        raise malformed("no length")
    length, = struct.unpack_from(">I", data)
    if length > METADATA_BYTES:
        raise Refused("resource-exhausted", "metadata that is too long")
    if len(data) < 4 + length:
        raise malformed("metadata that is cut off")
    metadata, payload = parse(data[4:4 + length]), data[4 + length:]
    if not isinstance(metadata, dict):
        raise malformed("metadata that is no object")
    check_version(metadata)
    check_decimals(metadata)
    field.members(metadata, ("channel", "itemCount", "kind", "sequence", "version"), ("cursorToken", "mimeType"))
    kind = field.word(("input-u8", "output-u8", "input-binary", "output-binary"))(metadata["kind"])
    of, _, lane = kind.partition("-")
    message = Binary(of, lane == "u8", field.channel(metadata["channel"]), field.decimal(metadata["sequence"]), payload,
                     _optional(metadata, "mimeType"), _optional(metadata, "cursorToken"))
    check_channel(metadata)
    count = field.decimal(metadata["itemCount"])
    if message.sequence + count >= 1 << 64:
        raise Refused("invalid-sequence", "beyond 64 bits")
    _check_payload(message, count)
    if (message.cursor is None) != (of == "input"):
        raise malformed("a cursor belongs to outputs")
    if message.cursor is not None:
        field.token(message.cursor)
    if of != direction:
        raise Refused("invalid-channel", "a kind of the other direction")
    return message


def _optional(metadata, name):
    return field.text(metadata[name]) if name in metadata else None


def _check_payload(message, count):
    size = len(message.payload)
    if message.packed and size == 0:
        raise malformed("a packed message without items")
    if size > (PACKED_BYTES if message.packed else ITEM_BYTES):
        raise Refused("resource-exhausted", "a payload that is too large")
    if count != message.count:
        raise Refused("invalid-sequence", "another number of items")
    if message.packed and message.mime_type is not None:
        raise malformed("bytes have no MIME type")
    if message.mime_type is not None:
        field.mime_type(message.mime_type)
