//! Fields of rows that only a later version knows.

use prost::encoding::{DecodeContext, decode_key, skip_field};

use crate::error::Corrupt;

/// The fields of a row that are not among `known`, encoded as they were. A version that rewrites the row writes them again,
/// so that two versions can work on one journal.
pub(crate) fn unknown_fields(what: &'static str, value: &[u8], known: &[u32]) -> Result<Vec<u8>, Corrupt> {
    let corrupt = |_| Corrupt { what };
    let mut unknown = Vec::new();
    let mut rest = value;
    while !rest.is_empty() {
        let field = rest;
        let (tag, wire_type) = decode_key(&mut rest).map_err(corrupt)?;
        skip_field(wire_type, tag, &mut rest, DecodeContext::default()).map_err(corrupt)?;
        if !known.contains(&tag) {
            unknown.extend_from_slice(&field[..field.len() - rest.len()]);
        }
    }
    Ok(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type_are_kept_in_order() {
        let known = [0x08, 0x01];
        let (varint, fixed64) = ([0x10, 0x96, 0x01], [0x19, 1, 2, 3, 4, 5, 6, 7, 8]);
        let (bytes, fixed32) = ([0x22, 0x02, 0xaa, 0xbb], [0x2d, 1, 2, 3, 4]);
        let value = [&varint[..], &known, &fixed64, &bytes, &fixed32].concat();
        let kept = [&varint[..], &fixed64, &bytes, &fixed32].concat();
        assert_eq!(unknown_fields("row", &value, &[1]), Ok(kept));
        assert_eq!(unknown_fields("row", &value, &[1, 2, 3, 4, 5]), Ok(Vec::new()));
        assert!(unknown_fields("row", &bytes[..3], &[1]).is_err());
    }
}
