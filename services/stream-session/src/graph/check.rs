//! Which graphs an agent may announce (schema.md section 9).

use std::cmp::Ordering;
use std::collections::HashSet;

use thiserror::Error;

use super::*;

/// Why a graph is refused. The texts name what to change, by the names in the graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IllFormed {
    /// Two definitions of one id.
    #[error("{0} is defined twice")]
    DefinedTwice(String),
    /// A reference that leads nowhere or around.
    #[error("reference {0} does not lead to a type")]
    Reference(String),
    /// Nothing to choose from.
    #[error("a {0} has no cases")]
    NoCases(&'static str),
    /// One name for two things.
    #[error("{0} is there twice in one type")]
    NamedTwice(String),
    /// A key that cannot be one.
    #[error("a map has keys of kind {0}")]
    Key(&'static str),
    /// A list that holds nothing.
    #[error("a fixed-list has length 0")]
    NoElements,
    /// Nothing lies between the bounds.
    #[error("a {0} has a minimum above its maximum")]
    Inverted(&'static str),
    /// A bound that counts something else.
    #[error("a bound of a quantity is not in {0}")]
    BoundUnit(String),
    /// A pattern that cannot be looked for.
    #[error("a pattern does not compile")]
    Pattern,
    /// A discriminator that says nothing.
    #[error("the discriminator of {0} is empty")]
    NoDiscriminator(String),
    /// A discriminator that cannot be evaluated, or holds always.
    #[error("the discriminator of {0} does not fit its type")]
    Discriminator(String),
    /// A value could belong to both.
    #[error("branches {0} and {1} cannot be told apart")]
    Ambiguous(String, String),
    /// A stream of nothing in particular.
    #[error("a {0} has no element type")]
    NoElementType(&'static str),
}

impl Graph {
    /// Refuses a graph that no agent may announce.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), IllFormed> {
        let mut ids = HashSet::new();
        for def in &self.defs {
            if !ids.insert(&def.id) {
                return Err(IllFormed::DefinedTwice(def.id.clone()));
            }
        }
        self.defs.iter().map(|def| &def.body).chain([&self.root]).try_for_each(|of| self.check_type(of))
    }

    fn check_type(&self, of: &Type) -> Result<(), IllFormed> {
        match &of.shape {
            Shape::Ref(id) if self.resolve(of).is_none() => return Err(IllFormed::Reference(id.clone())),
            Shape::Record(fields) => distinct(fields.iter().map(|field| &field.name))?,
            Shape::Variant(cases) => cases_of("variant", cases.iter().map(|case| &case.name))?,
            Shape::Enum(cases) => cases_of("enum", cases)?,
            Shape::Flags(flags) => cases_of("flags", flags)?,
            Shape::FixedList(_, 0) => return Err(IllFormed::NoElements),
            Shape::Map(key, _) => self.check_key(key)?,
            Shape::Number(kind, restrictions) => check_number(*kind, restrictions)?,
            Shape::Text(restrictions) => check_text(restrictions)?,
            Shape::Binary(restrictions) => {
                in_order("binary", restrictions.min_bytes, restrictions.max_bytes)?;
                distinct(restrictions.mime_types.iter().flatten())?;
            }
            Shape::Path(spec) => {
                distinct(spec.allowed_mime_types.iter().flatten())?;
                distinct(spec.allowed_extensions.iter().flatten())?;
            }
            Shape::Url(restrictions) => {
                distinct(restrictions.allowed_schemes.iter().flatten())?;
                distinct(restrictions.allowed_hosts.iter().flatten())?;
            }
            Shape::Quantity(spec) => check_quantity(spec)?,
            Shape::Union(branches) => self.check_union(branches)?,
            Shape::Future(None) | Shape::Stream(None) => return Err(IllFormed::NoElementType(of.shape.kind())),
            _ => {}
        }
        of.shape.parts().try_for_each(|part| self.check_type(part))
    }

    fn check_key(&self, key: &Type) -> Result<(), IllFormed> {
        match self.resolve(key).map(|key| &key.shape) {
            Some(Shape::Bool | Shape::Number(..) | Shape::Char | Shape::String) | None => Ok(()),
            Some(other) => Err(IllFormed::Key(other.kind())),
        }
    }

    fn check_union(&self, branches: &[Branch]) -> Result<(), IllFormed> {
        cases_of("union", branches.iter().map(|branch| &branch.tag))?;
        branches.iter().try_for_each(|branch| self.check_branch(branch))?;
        for (at, one) in branches.iter().enumerate() {
            if let Some(other) = branches[..at].iter().find(|other| overlap(&one.discriminator, &other.discriminator)) {
                return Err(IllFormed::Ambiguous(other.tag.clone(), one.tag.clone()));
            }
        }
        Ok(())
    }

    fn check_branch(&self, Branch { tag, body, discriminator, .. }: &Branch) -> Result<(), IllFormed> {
        let body = self.resolve(body).map(|body| &body.shape);
        let text = matches!(body, Some(Shape::String | Shape::Text(_) | Shape::Path(_) | Shape::Url(_)));
        let declares = |name: &String| match body {
            Some(Shape::Record(fields)) => Some(fields.iter().any(|field| field.name == *name)),
            _ => None,
        };
        let (empty, fits) = match discriminator {
            Discriminator::Prefix(part) | Discriminator::Suffix(part) | Discriminator::Contains(part) => {
                (part.is_empty(), text)
            }
            Discriminator::Regex(pattern) if !pattern.compiles() => return Err(IllFormed::Pattern),
            Discriminator::Regex(pattern) => (pattern.as_str().is_empty(), text),
            Discriminator::FieldEquals(name, _) => (false, declares(name) == Some(true)),
            Discriminator::FieldAbsent(name) => (false, declares(name) == Some(false)),
        };
        match (empty, fits) {
            (true, _) => Err(IllFormed::NoDiscriminator(tag.clone())),
            (false, false) => Err(IllFormed::Discriminator(tag.clone())),
            (false, true) => Ok(()),
        }
    }
}

/// Whether both can hold, in an obvious way.
fn overlap(one: &Discriminator, other: &Discriminator) -> bool {
    match (one, other) {
        (Discriminator::Prefix(one), Discriminator::Prefix(other)) => {
            one.starts_with(other.as_str()) || other.starts_with(one.as_str())
        }
        (Discriminator::Suffix(one), Discriminator::Suffix(other)) => {
            one.ends_with(other.as_str()) || other.ends_with(one.as_str())
        }
        (Discriminator::Contains(one), Discriminator::Contains(other)) => one == other,
        (Discriminator::Regex(one), Discriminator::Regex(other)) => one.as_str() == other.as_str(),
        (Discriminator::FieldEquals(one, a), Discriminator::FieldEquals(other, b)) => {
            one == other && (a.is_none() || b.is_none() || a == b)
        }
        (Discriminator::FieldAbsent(one), Discriminator::FieldAbsent(other)) => one == other,
        _ => false,
    }
}

fn check_number(kind: NumberKind, restrictions: &NumberRestrictions) -> Result<(), IllFormed> {
    let above = match (restrictions.min, restrictions.max) {
        (Some(Bound::Signed(min)), Some(Bound::Signed(max))) => min > max,
        (Some(Bound::Unsigned(min)), Some(Bound::Unsigned(max))) => min > max,
        (Some(Bound::FloatBits(min)), Some(Bound::FloatBits(max))) => f64::from_bits(min) > f64::from_bits(max),
        _ => false,
    };
    if above { Err(IllFormed::Inverted(kind.as_str())) } else { Ok(()) }
}

fn check_text(restrictions: &TextRestrictions) -> Result<(), IllFormed> {
    in_order("text", restrictions.min_length, restrictions.max_length)?;
    distinct(restrictions.languages.iter().flatten())?;
    let compiles = restrictions.regex.as_ref().is_none_or(Pattern::compiles);
    if compiles { Ok(()) } else { Err(IllFormed::Pattern) }
}

fn check_quantity(spec: &QuantitySpec) -> Result<(), IllFormed> {
    distinct(&spec.allowed_suffixes)?;
    if spec.min.iter().chain(&spec.max).any(|bound| bound.unit != spec.base_unit) {
        return Err(IllFormed::BoundUnit(spec.base_unit.clone()));
    }
    let (Some(min), Some(max)) = (&spec.min, &spec.max) else { return Ok(()) };
    // Bounds that cannot be compared admit nothing, either.
    match min.compare(max) {
        Some(Ordering::Less | Ordering::Equal) => Ok(()),
        Some(Ordering::Greater) | None => Err(IllFormed::Inverted("quantity")),
    }
}

impl Quantity {
    /// Compares by value, whatever the units, in 128-bit integers at the greater scale. `None` if they are too far apart.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        let scale = i64::from(self.scale.max(other.scale));
        let at_scale = |quantity: &Self| {
            let shift = u32::try_from(scale - i64::from(quantity.scale)).ok()?;
            i128::from(quantity.mantissa).checked_mul(10_i128.checked_pow(shift)?)
        };
        Some(at_scale(self)?.cmp(&at_scale(other)?))
    }
}

fn in_order(kind: &'static str, min: Option<u32>, max: Option<u32>) -> Result<(), IllFormed> {
    match (min, max) {
        (Some(min), Some(max)) if min > max => Err(IllFormed::Inverted(kind)),
        _ => Ok(()),
    }
}

fn cases_of<'g>(kind: &'static str, names: impl IntoIterator<Item = &'g String>) -> Result<(), IllFormed> {
    let mut names = names.into_iter().peekable();
    if names.peek().is_none() {
        return Err(IllFormed::NoCases(kind));
    }
    distinct(names)
}

fn distinct<'g>(names: impl IntoIterator<Item = &'g String>) -> Result<(), IllFormed> {
    let mut seen = HashSet::new();
    match names.into_iter().find(|&name| !seen.insert(name)) {
        Some(name) => Err(IllFormed::NamedTwice(name.clone())),
        None => Ok(()),
    }
}
