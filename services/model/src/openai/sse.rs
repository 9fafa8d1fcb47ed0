//! Server-sent events, as bytes arrive: a state machine without I/O.
//!
//! Follows the WHATWG rules (lines end in LF, CR or CRLF; `data` lines of one event are joined; comments and other fields
//! are skipped) with one difference: text is left as bytes. Splitting happens at ASCII bytes only, so no boundary can
//! hurt a character, and the JSON reader checks the text anyway.

use thiserror::Error;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Turns bytes into the data of events.
#[derive(Debug)]
pub(super) struct Decoder {
    /// The line being read, without its end.
    line: Vec<u8>,
    /// The data lines of the event being read, joined.
    data: Option<Vec<u8>>,
    /// The last byte was a CR: an LF right after it ends no line of its own.
    after_cr: bool,
    at_start: bool,
    limit: usize,
}

/// A line, or the joined lines of one event, are longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a line of the stream is longer than {limit} bytes")]
pub(super) struct TooLong {
    limit: usize,
}

impl Decoder {
    /// A decoder for a new stream. `limit` bounds a line and the data of an event, in bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { line: Vec::new(), data: None, after_cr: false, at_start: true, limit }
    }

    /// Reads on, from the front of `input`, until an event is complete: its data. `None`: `input` is used up.
    pub(super) fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        loop {
            self.skip_second_half_of_crlf(input);
            let end = input.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (text, rest) = input.split_at(end.unwrap_or(input.len()));
            self.check(self.line.len() + text.len())?;
            self.line.extend_from_slice(text);
            *input = rest;
            let Some((end, rest)) = rest.split_first() else { return Ok(None) };
            self.after_cr = *end == b'\r';
            *input = rest;
            if let Some(data) = self.end_line()? {
                return Ok(Some(data));
            }
        }
    }

    /// The stream is over: the data of an event that no empty line has completed.
    pub(super) fn finish(mut self) -> Result<Option<Vec<u8>>, TooLong> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        Ok(self.data)
    }

    fn skip_second_half_of_crlf(&mut self, input: &mut &[u8]) {
        if let (true, Some((first, rest))) = (self.after_cr, input.split_first()) {
            self.after_cr = false;
            if *first == b'\n' {
                *input = rest;
            }
        }
    }

    fn end_line(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.at_start) && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.is_empty() {
            return Ok(self.data.take());
        }
        if let Some(value) = value_of_data(&line) {
            self.add(value)?;
        }
        line.clear();
        self.line = line;
        Ok(None)
    }

    fn add(&mut self, value: &[u8]) -> Result<(), TooLong> {
        match &mut self.data {
            None => self.data = Some(value.to_vec()),
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
        }
        self.check(self.data.as_ref().map_or(0, Vec::len))
    }

    fn check(&self, length: usize) -> Result<(), TooLong> {
        if length > self.limit { Err(TooLong { limit: self.limit }) } else { Ok(()) }
    }
}

/// The value of a `data` field; `None` for other fields and for comments.
fn value_of_data(line: &[u8]) -> Option<&[u8]> {
    match line.strip_prefix(b"data")? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
