//! Finding the few bytes of a long text that need care.

/// The position of the first byte that `matches`. Whole chunks are tested without a branch for each byte, which the
/// compiler turns into vector code.
pub(crate) fn first_matching(bytes: &[u8], matches: impl Fn(u8) -> bool) -> Option<usize> {
    const CHUNK: usize = 32;
    let is_clean = |chunk: &&[u8]| !chunk.iter().fold(false, |any, &byte| any | matches(byte));
    let clean = CHUNK * bytes.chunks_exact(CHUNK).take_while(is_clean).count();
    bytes[clean..].iter().position(|&byte| matches(byte)).map(|at| clean + at)
}
