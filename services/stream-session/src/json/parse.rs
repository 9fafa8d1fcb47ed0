//! The parser. Its recursion is bounded by the greatest depth.

use std::borrow::Cow;
use std::str;

use super::{Json, Members};
use crate::{Refusal, limits};

/// Objects up to this size are searched for equal names pair by pair.
const FEW: usize = 8;

/// Reads a text of at most `depth` levels below its root.
pub(super) fn parse(text: &[u8], depth: usize) -> Result<Json<'_>, Refusal> {
    let mut parser = Parser::new(text, depth)?;
    let value = parser.value(0)?;
    parser.end()?;
    Ok(value)
}

pub(super) struct Parser<'t> {
    text: &'t str,
    at: usize,
    greatest_depth: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t [u8], greatest_depth: usize) -> Result<Self, Refusal> {
        let text = str::from_utf8(text).map_err(|_| Refusal::malformed("text is not UTF-8"))?;
        Ok(Self { text, at: 0, greatest_depth })
    }

    /// Refuses what follows the value.
    pub(super) fn end(&mut self) -> Result<(), Refusal> {
        self.space();
        if self.at == self.text.len() { Ok(()) } else { Err(Refusal::malformed("something follows the JSON value")) }
    }

    pub(super) fn value(&mut self, depth: usize) -> Result<Json<'t>, Refusal> {
        if depth > self.greatest_depth {
            return Err(Refusal::exhausted("JSON is nested too deeply"));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(|spelling| Json::Number(Cow::Borrowed(spelling))),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(Refusal::malformed("a JSON value is missing")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'t>, Refusal> {
        let mut members = Vec::new();
        self.collection(b'}', |parser| {
            let name = parser.name()?;
            members.push((name, parser.value(depth + 1)?));
            Ok(())
        })?;
        refuse_equal_names(&members)?;
        Ok(Json::Object(Members(members)))
    }

    fn array(&mut self, depth: usize) -> Result<Json<'t>, Refusal> {
        let mut elements = Vec::new();
        self.collection(b']', |parser| {
            elements.push(parser.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Json::Array(elements))
    }

    /// Reads items between the present byte and `end`.
    fn collection(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Result<(), Refusal>) -> Result<(), Refusal> {
        if !self.begins(end) {
            return Ok(());
        }
        for _ in 0..limits::COLLECTION {
            item(self)?;
            self.space();
            if self.take(end) {
                return Ok(());
            }
            self.separator()?;
        }
        Err(Refusal::exhausted("an object or array has too many members"))
    }

    /// Moves over the beginning of a collection, and over its end, if it is empty. Whether something is in it.
    pub(super) fn begins(&mut self, end: u8) -> bool {
        self.at += 1;
        self.space();
        !self.take(end)
    }

    /// Moves over what stands between two items.
    pub(super) fn separator(&mut self) -> Result<(), Refusal> {
        if self.take(b',') { Ok(()) } else { Err(Refusal::malformed("an object or array does not go on")) }
    }

    /// The name of a member, up to its value.
    pub(super) fn name(&mut self) -> Result<Cow<'t, str>, Refusal> {
        self.space();
        if self.peek() != Some(b'"') {
            return Err(Refusal::malformed("a member has no name"));
        }
        let name = self.string()?;
        self.space();
        if self.take(b':') { Ok(name) } else { Err(Refusal::malformed("a member has no value")) }
    }

    pub(super) fn string(&mut self) -> Result<Cow<'t, str>, Refusal> {
        self.at += 1;
        let start = self.at;
        self.plain();
        if self.take(b'"') {
            return Ok(Cow::Borrowed(&self.text[start..self.at - 1]));
        }
        let mut unescaped = self.text[start..self.at].to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(unescaped));
                }
                Some(b'\\') => unescaped.push(self.escape()?),
                Some(_) => return Err(Refusal::malformed("a string holds a control character")),
                None => return Err(Refusal::malformed("a string does not end")),
            }
            let start = self.at;
            self.plain();
            unescaped.push_str(&self.text[start..self.at]);
        }
    }

    /// Moves over what stands for itself in a string.
    fn plain(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\').unwrap_or(rest.len());
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        self.at += 1;
        let escaped = self.peek();
        self.at += 1;
        Ok(match escaped {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.escaped_unit(),
            _ => return Err(Refusal::malformed("a string holds an unknown escape")),
        })
    }

    fn escaped_unit(&mut self) -> Result<char, Refusal> {
        let unit = self.hex()?;
        let lone = || Refusal::malformed("a string holds half of a surrogate pair");
        if !(0xd800..0xe000).contains(&unit) {
            return char::from_u32(unit).ok_or_else(lone);
        }
        let is_pair = unit < 0xdc00 && self.take(b'\\') && self.take(b'u');
        let low = if is_pair { self.hex()? } else { 0 };
        let offset = low.checked_sub(0xdc00).filter(|&offset| offset < 0x400).ok_or_else(lone)?;
        char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + offset).ok_or_else(lone)
    }

    fn hex(&mut self) -> Result<u32, Refusal> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.ok_or_else(|| Refusal::malformed("an escape has not four digits"))?;
        self.at += 4;
        let value = |digit: &u8| char::from(*digit).to_digit(16).unwrap_or(0);
        Ok(digits.iter().fold(0, |unit, digit| unit << 4 | value(digit)))
    }

    fn number(&mut self) -> Result<&'t str, Refusal> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn digits(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Refusal::malformed("a number lacks digits")) }
    }

    fn word(&mut self, word: &str, value: Json<'t>) -> Result<Json<'t>, Refusal> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(Refusal::malformed("a JSON value is missing"));
        }
        self.at += word.len();
        Ok(value)
    }

    pub(super) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

fn refuse_equal_names(members: &[(Cow<'_, str>, Json<'_>)]) -> Result<(), Refusal> {
    let repeated = if members.len() <= FEW {
        members.iter().enumerate().any(|(at, (name, _))| members[..at].iter().any(|(earlier, _)| earlier == name))
    } else {
        let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    };
    if repeated { Err(Refusal::malformed("an object has two members of one name")) } else { Ok(()) }
}
