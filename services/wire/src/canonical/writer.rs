//! Appends canonical JSON to a buffer. Nothing is built in between: this runs once for every record written or verified.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{MAX_DEPTH, NotCanonical};
use crate::json::{JsonType, Key, Visitor};
use crate::scan::first_matching;

type Result = std::result::Result<(), NotCanonical>;

/// Writes one value after the other.
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    depth: u32,
}

impl<'a> Writer<'a> {
    /// Appends to `out`.
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, depth: 0 }
    }

    /// Runs `body` one message further down.
    pub(crate) fn nested(&mut self, body: impl FnOnce(&mut Self) -> Result) -> Result {
        if self.depth == MAX_DEPTH {
            return Err(NotCanonical::TooDeep);
        }
        self.depth += 1;
        body(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Writes an object whose members `members` writes in order.
    pub(crate) fn object(&mut self, members: impl FnOnce(&mut Self) -> Result) -> Result {
        self.enclosed(b'{', b'}', members)
    }

    /// Writes a list of `items`, each by `item`.
    pub(crate) fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T) -> Result) -> Result {
        self.enclosed(b'[', b']', |writer| {
            items.iter().try_for_each(|value| {
                writer.out.push(b',');
                item(writer, value)
            })
        })
    }

    /// Every member and item begins with a comma, and the first comma becomes the opening bracket: no state to carry, no
    /// branch for each member.
    fn enclosed(&mut self, open: u8, close: u8, content: impl FnOnce(&mut Self) -> Result) -> Result {
        let start = self.out.len();
        content(self)?;
        match self.out.get_mut(start) {
            Some(comma) => *comma = open,
            None => self.out.push(open),
        }
        self.out.push(close);
        Ok(())
    }

    /// Writes the name of a member that is not known at build time.
    pub(crate) fn name(&mut self, name: &str) {
        self.out.push(b',');
        self.string(name);
        self.out.push(b':');
    }

    /// Writes ASCII text that is JSON already.
    pub(crate) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes an integer as a number.
    pub(crate) fn integer(&mut self, value: impl itoa::Integer) {
        self.raw(itoa::Buffer::new().format(value));
    }

    /// Writes an integer as a string.
    pub(crate) fn quoted_integer(&mut self, value: impl itoa::Integer) {
        self.out.push(b'"');
        self.integer(value);
        self.out.push(b'"');
    }

    /// Writes a number as ECMAScript prints it; negative zero is `0`.
    pub(crate) fn double(&mut self, value: f64) -> Result {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if !value.is_finite() {
            return Err(NotCanonical::NotFinite);
        }
        if value.abs() <= EXACT && value.trunc() == value {
            // The same text, sooner. Negative zero becomes zero here as well.
            self.integer(value as i64);
            return Ok(());
        }
        self.raw(ryu_js::Buffer::new().format_finite(value));
        Ok(())
    }

    /// Writes bytes as a string in standard base64 with padding.
    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.out.push(b'"');
        let start = self.out.len();
        self.out.resize(start + value.len().div_ceil(3) * 4, 0);
        STANDARD.encode_slice(value, &mut self.out[start..]).expect("invariant: the slice has the encoded length");
        self.out.push(b'"');
    }

    /// Writes bytes in lowercase hex, without quotation marks.
    pub(crate) fn hex(&mut self, value: &[u8]) {
        value.iter().for_each(|byte| self.out.extend_from_slice(&[hex_digit(byte >> 4), hex_digit(byte & 15)]));
    }

    /// Writes a string; escapes only quotation marks, backslashes and control characters.
    pub(crate) fn string(&mut self, text: &str) {
        self.out.reserve(text.len() + 2);
        self.out.push(b'"');
        let mut rest = text.as_bytes();
        while let Some(at) = first_matching(rest, is_special) {
            self.out.extend_from_slice(&rest[..at]);
            self.escape(rest[at]);
            rest = &rest[at + 1..];
        }
        self.out.extend_from_slice(rest);
        self.out.push(b'"');
    }

    fn escape(&mut self, byte: u8) {
        let short = match byte {
            b'"' | b'\\' => byte,
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0c => b'f',
            b'\r' => b'r',
            _ => {
                self.raw("\\u00");
                return self.hex(&[byte]);
            }
        };
        self.out.extend_from_slice(&[b'\\', short]);
    }
}

impl Visitor for Writer<'_> {
    type Error = NotCanonical;

    fn member<J: JsonType>(&mut self, key: Key, value: &J::Rust) -> Result {
        self.raw(key.prefix);
        J::write(value, self)
    }
}

fn hex_digit(digit: u8) -> u8 {
    b"0123456789abcdef"[usize::from(digit)]
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}
