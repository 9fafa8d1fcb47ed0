//! JSON text as Go's `encoding/json` prints it.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{InvalidModelCall, Result};
use crate::protobuf::value::Kind;
use crate::protobuf::{Struct, Value};
use crate::scan::first_matching;

/// A text that grows. Methods return it, so that a name and its value stand on one line.
#[derive(Default)]
pub(super) struct Text(String);

impl Text {
    /// The text so far.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }

    /// Ends a chain of calls.
    pub(super) fn ok(&mut self) -> Result {
        Ok(())
    }

    /// Text that is JSON already.
    pub(super) fn raw(&mut self, text: &str) -> &mut Self {
        self.0.push_str(text);
        self
    }

    /// An integer.
    pub(super) fn integer(&mut self, value: impl itoa::Integer) -> &mut Self {
        self.raw(itoa::Buffer::new().format(value))
    }

    /// Bytes in base64, or `null` for none.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        if bytes.is_empty() {
            return self.raw("null");
        }
        self.0.push('"');
        STANDARD.encode_string(bytes, &mut self.0);
        self.raw("\"")
    }

    /// A string, with what could end an HTML script escaped too.
    pub(super) fn string(&mut self, text: &str) -> &mut Self {
        self.0.push('"');
        let mut rest = text;
        while let Some(at) = first_matching(rest.as_bytes(), may_be_special) {
            let (clean, special) = rest.split_at(at);
            self.0.push_str(clean);
            let mut chars = special.chars();
            chars.next().into_iter().for_each(|c| self.character(c));
            rest = chars.as_str();
        }
        self.0.push_str(rest);
        self.raw("\"")
    }

    fn character(&mut self, c: char) {
        match c {
            '"' => self.0.push_str("\\\""),
            '\\' => self.0.push_str("\\\\"),
            '\u{8}' => self.0.push_str("\\b"),
            '\u{c}' => self.0.push_str("\\f"),
            '\n' => self.0.push_str("\\n"),
            '\r' => self.0.push_str("\\r"),
            '\t' => self.0.push_str("\\t"),
            '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                self.0.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            other => self.0.push(other),
        }
    }

    /// A list, or `null` for an empty one.
    pub(super) fn list_or_null<T>(&mut self, items: &[T], item: impl Fn(&T, &mut Self) -> Result) -> Result {
        if items.is_empty() { self.raw("null").ok() } else { self.list(items, item) }
    }

    /// A list.
    pub(super) fn list<T>(&mut self, items: &[T], item: impl Fn(&T, &mut Self) -> Result) -> Result {
        self.raw("[");
        for (position, value) in items.iter().enumerate() {
            self.comma(position);
            item(value, self)?;
        }
        self.raw("]").ok()
    }

    /// An object of names in byte order.
    pub(super) fn map<T>(&mut self, entries: &BTreeMap<String, T>, value: impl Fn(&T, &mut Self) -> Result) -> Result {
        self.raw("{");
        for (position, (name, entry)) in entries.iter().enumerate() {
            self.comma(position);
            value(entry, self.string(name).raw(":"))?;
        }
        self.raw("}").ok()
    }

    /// A struct, or `null` for none.
    pub(super) fn structure(&mut self, value: Option<&Struct>) -> Result {
        match value {
            None => self.raw("null").ok(),
            Some(value) => self.map(&value.fields, Self::value),
        }
    }

    fn comma(&mut self, position: usize) {
        if position > 0 {
            self.raw(",");
        }
    }

    fn value(value: &Value, text: &mut Self) -> Result {
        match &value.kind {
            None | Some(Kind::NullValue(_)) => text.raw("null").ok(),
            Some(Kind::BoolValue(true)) => text.raw("true").ok(),
            Some(Kind::BoolValue(false)) => text.raw("false").ok(),
            Some(Kind::StringValue(value)) => text.string(value).ok(),
            Some(Kind::NumberValue(number)) => text.number(*number),
            Some(Kind::StructValue(value)) => text.map(&value.fields, Self::value),
            Some(Kind::ListValue(list)) => text.list(&list.values, Self::value),
        }
    }

    /// A number: as ECMAScript prints it, except that zero keeps its sign.
    fn number(&mut self, number: f64) -> Result {
        if !number.is_finite() {
            return Err(InvalidModelCall::NotFinite);
        }
        if number == 0.0 && number.is_sign_negative() {
            self.raw("-");
        }
        self.raw(ryu_js::Buffer::new().format_finite(number)).ok()
    }
}

/// Whether a character that begins with this byte may have to be escaped. U+2028 and U+2029 begin with 0xe2.
fn may_be_special(byte: u8) -> bool {
    byte < b' ' || matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2)
}
