//! What is printed: lines of text or of JSON, and text as it streams.

mod content;
mod plain;
mod reader;
pub mod text;

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;
use thiserror::Error;

use crate::cli::Format;
use plain::Streamed;

pub use reader::closed;

/// Standard output, in the form that the user chose.
pub struct Output<W: Write = BufWriter<Stdout>> {
    out: W,
    format: Format,
    /// Each line is shown at once; otherwise when [`Self::flush`] is called or the buffer is full.
    interactive: bool,
    /// Streamed text has been written, and no line break after it.
    inside_line: bool,
}

/// Standard output could not be written to.
#[derive(Debug, Error)]
#[error("standard output: {0}")]
pub struct OutputError(#[from] io::Error);

impl OutputError {
    /// Whether the reader has closed it.
    pub fn is_closed(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

impl Output {
    /// Standard output.
    pub fn stdout(format: Format) -> Self {
        let stdout = io::stdout();
        let interactive = stdout.is_terminal();
        Self { out: BufWriter::new(stdout), format, interactive, inside_line: false }
    }
}

impl<W: Write> Output<W> {
    /// Prints JSON from now on.
    pub fn use_json(&mut self) {
        self.format = Format::Json;
    }

    /// Whether JSON was asked for.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Whether a person sees what is written here.
    pub fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Prints one line: `text`, or `json`.
    pub fn line(&mut self, text: impl Display, json: &impl Serialize) -> Result<(), OutputError> {
        self.end_line()?;
        match self.format {
            Format::Text => writeln!(self.out, "{text}")?,
            Format::Json => write_json(&mut self.out, json)?,
        }
        if self.interactive { self.flush() } else { Ok(()) }
    }

    /// Prints text that is part of a longer one, at once: as it is, unless it goes to a terminal.
    pub fn streamed(&mut self, text: &str) -> Result<(), OutputError> {
        match self.interactive {
            true => write!(self.out, "{}", Streamed(text))?,
            false => self.out.write_all(text.as_bytes())?,
        }
        self.inside_line = match text.as_bytes().last() {
            Some(last) => *last != b'\n',
            None => self.inside_line,
        };
        self.flush()
    }

    /// Ends a line of streamed text, if there is one, so that what comes next starts its own.
    pub fn end_line(&mut self) -> Result<(), OutputError> {
        if std::mem::take(&mut self.inside_line) {
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Prints one line of JSON, whatever the form of the output.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), OutputError> {
        Ok(write_json(&mut self.out, value)?)
    }

    /// Prints a line as it is, at once, whatever the form of the output.
    pub fn verbatim(&mut self, line: &str) -> Result<(), OutputError> {
        writeln!(self.out, "{line}")?;
        self.flush()
    }

    /// Prints bytes as they are, at once.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        self.out.write_all(bytes)?;
        self.flush()
    }

    /// Shows everything printed so far.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        Ok(self.out.flush()?)
    }
}

/// Writes `value` as a line of JSON.
pub fn write_json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests;
