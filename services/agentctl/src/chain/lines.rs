//! Lines of a text of any length, in one buffer.

use std::io::{self, BufRead, Read};

/// Longest line. The largest record that a host stores is shorter, whatever JSON makes of it.
const LIMIT: u64 = 512 << 20;

/// Reads the lines of a text; empty ones are skipped.
pub struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    number: u64,
}

/// A line, without its end.
pub struct Line<'a> {
    /// From 1, empty lines included.
    pub number: u64,
    pub text: &'a [u8],
}

/// Why there is no next line.
pub enum LineError {
    /// It is longer than anything that is expected here.
    TooLong { number: u64, limit: u64 },
    /// It cannot be read.
    Io(io::Error),
}

impl From<io::Error> for LineError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), number: 0 }
    }

    /// The next line that is not empty; `None` after the last.
    pub fn next(&mut self) -> Result<Option<Line<'_>>, LineError> {
        loop {
            self.buffer.clear();
            self.number += 1;
            let length = self.input.by_ref().take(LIMIT).read_until(b'\n', &mut self.buffer)?;
            if length == 0 {
                return Ok(None);
            }
            if length as u64 == LIMIT && self.buffer.last() != Some(&b'\n') {
                return Err(LineError::TooLong { number: self.number, limit: LIMIT });
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some(Line { number: self.number, text: self.buffer.trim_ascii() }))
    }
}
