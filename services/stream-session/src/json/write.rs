//! Canonical JSON (J7): no whitespace, members in the order of their names, the fewest escapes.

use std::fmt::Write;

use super::Json;

/// The canonical text of a value. Numbers keep their spelling: their normal form depends on where they stand.
#[must_use]
pub fn canonical(value: &Json<'_>) -> String {
    let mut writer = Writer::default();
    writer.value(value);
    writer.finish()
}

/// The text of a value for people: a member or element a line, indented, members in the order of their names.
#[must_use]
pub fn pretty(value: &Json<'_>) -> String {
    let mut writer = Writer::default();
    indented(value, 0, &mut writer);
    writer.finish()
}

fn indented(value: &Json<'_>, depth: usize, to: &mut Writer) {
    let line = |to: &mut Writer, depth: usize| {
        to.raw("\n");
        to.raw(&"  ".repeat(depth));
    };
    match value {
        Json::Array(elements) if !elements.is_empty() => {
            to.raw("[");
            for (at, element) in elements.iter().enumerate() {
                to.raw(if at == 0 { "" } else { "," });
                line(to, depth + 1);
                indented(element, depth + 1, to);
            }
            line(to, depth);
            to.raw("]");
        }
        Json::Object(members) if !members.is_empty() => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            to.raw("{");
            for (at, (name, value)) in members.into_iter().enumerate() {
                to.raw(if at == 0 { "" } else { "," });
                line(to, depth + 1);
                to.string(name);
                to.raw(": ");
                indented(value, depth + 1, to);
            }
            line(to, depth);
            to.raw("}");
        }
        flat => to.value(flat),
    }
}

/// Writes canonical JSON, one token after the other. The caller writes members in the order of their names.
#[derive(Debug, Default)]
pub struct Writer {
    text: String,
}

impl Writer {
    /// Whatever `value` is, in its canonical form.
    pub fn value(&mut self, value: &Json<'_>) {
        match value {
            Json::Null => self.raw("null"),
            Json::Bool(true) => self.raw("true"),
            Json::Bool(false) => self.raw("false"),
            Json::Number(spelling) => self.raw(spelling),
            Json::String(string) => self.string(string),
            Json::Array(elements) => self.array(elements, Self::value),
            Json::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                // The order of UTF-8 bytes is that of code points.
                members.sort_unstable_by_key(|(name, _)| *name);
                self.open('{');
                for (name, value) in members {
                    self.name(name);
                    self.value(value);
                }
                self.close('}');
            }
        }
    }

    /// An array of these elements, each written by `write`.
    pub fn array<T>(&mut self, elements: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.open('[');
        for element in elements {
            self.comma();
            write(self, element);
        }
        self.close(']');
    }

    /// Begins an object or an array.
    pub fn open(&mut self, bracket: char) {
        self.text.push(bracket);
    }

    /// Ends it.
    pub fn close(&mut self, bracket: char) {
        self.text.push(bracket);
    }

    /// The name of the next member.
    pub fn name(&mut self, name: &str) {
        self.comma();
        self.string(name);
        self.text.push(':');
    }

    /// A member that is a string.
    pub fn text_member(&mut self, name: &str, text: &str) {
        self.name(name);
        self.string(text);
    }

    /// A member that is a number.
    pub fn number_member(&mut self, name: &str, number: u32) {
        self.name(name);
        self.raw(&number.to_string());
    }

    /// A member that is true or false.
    pub fn bool_member(&mut self, name: &str, value: bool) {
        self.name(name);
        self.raw(if value { "true" } else { "false" });
    }

    /// A string.
    pub fn string(&mut self, string: &str) {
        self.text.push('"');
        let mut rest = string;
        while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
            self.text.push_str(&rest[..at]);
            self.escaped(rest.as_bytes()[at]);
            rest = &rest[at + 1..];
        }
        self.text.push_str(rest);
        self.text.push('"');
    }

    /// Text that is JSON already.
    pub fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// What was written.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }

    /// Separates an item from the one before it, if there is one.
    fn comma(&mut self) {
        if !self.text.ends_with(['{', '[']) {
            self.text.push(',');
        }
    }

    fn escaped(&mut self, byte: u8) {
        let short = match byte {
            b'"' => '"',
            b'\\' => '\\',
            0x08 => 'b',
            0x09 => 't',
            0x0a => 'n',
            0x0c => 'f',
            0x0d => 'r',
            control => {
                // Writing to a string does not fail.
                let _ = write!(self.text, "\\u{control:04x}");
                return;
            }
        };
        self.text.push('\\');
        self.text.push(short);
    }
}
