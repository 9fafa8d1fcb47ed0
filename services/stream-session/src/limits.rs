//! The limits of protocol.md section 18 that hold for single messages. All are inclusive.

/// Largest WebSocket message, in bytes.
pub const MESSAGE_BYTES: usize = 32 << 20;
/// Largest metadata of a binary message, in bytes.
pub const METADATA_BYTES: usize = 16 << 10;
/// Largest payload of a packed u8 message, in bytes.
pub const PACKED_BYTES: usize = 1 << 20;
/// Largest charge of one logical value or binary item.
pub const VALUE_CHARGE: u64 = 16 << 20;
/// Greatest depth of a JSON text; the root is at 0.
pub const DEPTH: usize = 64;
/// Most members, elements or entries of one collection.
pub const COLLECTION: usize = 100_000;
/// Most mappings of one message, and of one session.
pub const MAPPINGS: usize = 4096;
/// Most new streams in one value.
pub const NEW_STREAMS: usize = 256;
/// Longest token, in bytes.
pub const TOKEN_BYTES: usize = 8192;
/// Longest idempotency key, in bytes of UTF-8.
pub const IDEMPOTENCY_KEY_BYTES: usize = 1024;
