//! Looks through a text that is beyond the limits: too deep, or with too many members at one place.

use std::borrow::Cow;
use std::collections::HashSet;

use super::parse::Parser;
use crate::Refusal;

/// The string that is this member of the root, if the whole text keeps J1, J3 and J4, however deep and wide it is. Does not
/// recurse, and keeps nothing but names.
pub(crate) fn skim<'t>(text: &'t [u8], member: &str) -> Option<Cow<'t, str>> {
    let parser = Parser::new(text, 0).ok()?;
    let skimmer =
        Skimmer { parser, open: Vec::new(), objects: 0, names: HashSet::new(), member, is_next: false, found: None };
    skimmer.whole().ok()?
}

struct Skimmer<'t, 'm> {
    parser: Parser<'t>,
    /// The collections that have not ended: the number of an object, nothing for an array.
    open: Vec<Option<usize>>,
    /// How many objects have begun.
    objects: usize,
    /// Names of members, each with the object that it is in.
    names: HashSet<(usize, Cow<'t, str>)>,
    member: &'m str,
    /// Whether the next value is the one that is looked for.
    is_next: bool,
    found: Option<Cow<'t, str>>,
}

impl<'t> Skimmer<'t, '_> {
    fn whole(mut self) -> Result<Option<Cow<'t, str>>, Refusal> {
        while self.enters()? || self.goes_on()? {}
        self.parser.end()?;
        Ok(self.found)
    }

    /// Reads a value up to its end, or enters it, if it is a collection with something in it.
    fn enters(&mut self) -> Result<bool, Refusal> {
        let is_it = std::mem::take(&mut self.is_next);
        self.parser.space();
        match self.parser.peek() {
            Some(b'{') if self.parser.begins(b'}') => {
                self.open.push(Some(self.objects));
                self.objects += 1;
                self.name()?;
                return Ok(true);
            }
            Some(b'[') if self.parser.begins(b']') => {
                self.open.push(None);
                return Ok(true);
            }
            Some(b'{' | b'[') => {}
            Some(b'"') if is_it => self.found = Some(self.parser.string()?),
            _ => drop(self.parser.value(0)?),
        }
        Ok(false)
    }

    /// After a value: leaves what ends with it. Whether another one follows.
    fn goes_on(&mut self) -> Result<bool, Refusal> {
        while let Some(open) = self.open.last() {
            let is_object = open.is_some();
            self.parser.space();
            if self.parser.take(if is_object { b'}' } else { b']' }) {
                self.open.pop();
                continue;
            }
            self.parser.separator()?;
            if is_object {
                self.name()?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn name(&mut self) -> Result<(), Refusal> {
        let name = self.parser.name()?;
        self.is_next = self.open.len() == 1 && name == self.member;
        let object = self.open.last().copied().flatten().unwrap_or_default();
        if self.names.insert((object, name)) { Ok(()) } else { Err(Refusal::malformed("two members of one name")) }
    }
}
