//! Text from elsewhere, made harmless: whoever writes a session's name or a message must not be able to move the cursor,
//! or to write what looks like a line of ours.

use std::fmt::{self, Display, Formatter, Write};

/// Text within a line. Control characters, and characters that reorder a line, are shown as escapes.
pub struct Inline<'a>(pub &'a str);

/// Text that may have several lines: all but the first are indented. Everything else is as in [`Inline`].
pub struct Indented<'a>(pub &'a str);

/// Text that streams to a terminal: it keeps its lines and tabs.
pub struct Streamed<'a>(pub &'a str);

const INDENT: &str = "\n        ";

impl Display for Inline<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| show(f, character))
    }
}

impl Display for Indented<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '\n' => f.write_str(INDENT),
            '\t' => f.write_char('\t'),
            other => show(f, other),
        })
    }
}

impl Display for Streamed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| match character {
            '\n' | '\t' => f.write_char(character),
            other => show(f, other),
        })
    }
}

fn show(f: &mut Formatter<'_>, character: char) -> fmt::Result {
    if character.is_control() || reorders(character) {
        Display::fmt(&character.escape_default(), f)
    } else {
        f.write_char(character)
    }
}

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm, and the separators of lines.
fn reorders(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
