//! Protocol.md section 18: every limit that holds for single messages, and its neighbour.

use stream_session::limits;

#[test]
fn section_18_limits_of_messages() {
    assert_eq!(limits::MESSAGE_BYTES, 33_554_432);
    assert_eq!(limits::METADATA_BYTES, 16_384);
    assert_eq!(limits::PACKED_BYTES, 1_048_576);
    assert_eq!(limits::VALUE_CHARGE, 16_777_216);
    assert_eq!(limits::DEPTH, 64);
    assert_eq!(limits::COLLECTION, 100_000);
    assert_eq!(limits::MAPPINGS, 4096);
    assert_eq!(limits::NEW_STREAMS, 256);
    assert_eq!(limits::TOKEN_BYTES, 8192);
    assert_eq!(limits::IDEMPOTENCY_KEY_BYTES, 1024);
}
