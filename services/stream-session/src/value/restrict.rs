//! The restrictions of types (schema.md section 4). What breaks one is `validation-error`.

use std::cmp::Ordering;
use std::fmt;

use url::Url;

use super::Value;
use super::place::Place;
use crate::Refusal;
use crate::graph::{
    BinaryRestrictions, Bound, Branch, Discriminator, Graph, NumberRestrictions, PathSpec, Quantity, QuantitySpec,
    Shape, TextRestrictions, Type, UrlRestrictions,
};

/// Refuses a value of type `of` that breaks a restriction, at any depth.
///
/// # Errors
/// `validation-error`.
pub(super) fn restrict(graph: &Graph, of: &Type, value: &Value) -> Result<(), Refusal> {
    let mut restrictions = Restrictions { graph, place: Place::default() };
    restrictions.hold(of, value).map_err(|refusal| restrictions.place.told(refusal))
}

struct Restrictions<'g> {
    graph: &'g Graph,
    /// Of the fault.
    place: Place,
}

impl Restrictions<'_> {
    fn hold(&mut self, of: &Type, value: &Value) -> Result<(), Refusal> {
        let Some(of) = self.graph.resolve(of) else { return Ok(()) };
        let holds = match (&of.shape, value) {
            (Shape::Number(_, restrictions), value) => number(restrictions, value),
            (Shape::Text(restrictions), Value::Text { text, language }) => text_admits(restrictions, text, language),
            (Shape::Binary(restrictions), Value::Binary { bytes, mime_type }) => {
                restrictions.admit(bytes.len(), mime_type.as_deref())
            }
            (Shape::Path(spec), Value::Path(path)) => path_admits(spec, path),
            (Shape::Url(restrictions), Value::Url(text)) => url_admits(restrictions, text),
            (Shape::Quantity(spec), Value::Quantity(value)) => quantity(spec, value),
            _ => true,
        };
        if !holds {
            return Err(Refusal::invalid("a value is not one that its type admits"));
        }
        self.hold_within(&of.shape, value)
    }

    fn hold_within(&mut self, shape: &Shape, value: &Value) -> Result<(), Refusal> {
        match (shape, value) {
            (Shape::Record(fields), Value::Record(parts)) => {
                fields.iter().zip(parts).try_for_each(|(field, part)| self.part(&field.name, &field.body, part))
            }
            (Shape::Tuple(types), Value::Tuple(parts)) => {
                types.iter().zip(parts).enumerate().try_for_each(|(at, (of, part))| self.part(&at, of, part))
            }
            (Shape::List(element), Value::List(parts)) | (Shape::FixedList(element, _), Value::FixedList(parts)) => {
                parts.iter().enumerate().try_for_each(|(at, part)| self.part(&at, element, part))
            }
            (Shape::Map(key, value), Value::Map(entries)) => entries.iter().enumerate().try_for_each(|(at, (a, b))| {
                self.part(&at, key, a)?;
                self.part(&at, value, b)
            }),
            (Shape::Variant(cases), Value::Variant { case, payload: Some(part) }) => {
                let of = cases.get(*case as usize).and_then(|case| Some((&case.name, case.payload.as_ref()?)));
                of.map_or(Ok(()), |(name, of)| self.part(&name, of, part))
            }
            (Shape::Option(inner), Value::Option(Some(part))) => self.hold(inner, part),
            (Shape::Result(arms), Value::Result { ok, value: Some(part) }) => {
                let (name, of) = if *ok { ("ok", &arms.ok) } else { ("err", &arms.err) };
                of.as_ref().map_or(Ok(()), |of| self.part(&name, of, part))
            }
            (Shape::Union(branches), Value::Union { tag, body }) => {
                let branch = branches.iter().find(|branch| branch.tag == *tag);
                branch.map_or(Ok(()), |branch| self.branch(branch, body))
            }
            _ => Ok(()),
        }
    }

    fn part(&mut self, name: &dyn fmt::Display, of: &Type, value: &Value) -> Result<(), Refusal> {
        self.hold(of, value).inspect_err(|_| self.place.is_within(name))
    }

    fn branch(&mut self, branch: &Branch, body: &Value) -> Result<(), Refusal> {
        if !self.graph.discriminates(branch, body) {
            return Err(Refusal::invalid("a value does not belong to the branch that it names"));
        }
        self.part(&branch.tag, &branch.body, body)
    }
}

impl Graph {
    fn discriminates(&self, Branch { body: of, discriminator, .. }: &Branch, body: &Value) -> bool {
        let text = body.discriminating_text();
        let of = self.resolve(of).map(|of| &of.shape);
        let field = |name: &String| match (of, body) {
            (Some(Shape::Record(fields)), Value::Record(parts)) => {
                Some(fields.iter().zip(parts).find(|(field, _)| field.name == *name).map(|(_, part)| part))
            }
            _ => None,
        };
        match discriminator {
            Discriminator::Prefix(prefix) => text.is_some_and(|text| text.starts_with(prefix.as_str())),
            Discriminator::Suffix(suffix) => text.is_some_and(|text| text.ends_with(suffix.as_str())),
            Discriminator::Contains(part) => text.is_some_and(|text| text.contains(part.as_str())),
            Discriminator::Regex(pattern) => text.is_some_and(|text| pattern.is_found_in(text)),
            Discriminator::FieldEquals(name, literal) => field(name).flatten().is_some_and(|part| {
                literal.as_deref().is_none_or(|literal| part.discriminating_text() == Some(literal))
            }),
            Discriminator::FieldAbsent(name) => field(name).is_some_and(|part| part.is_none()),
        }
    }
}

impl BinaryRestrictions {
    /// Whether data of this many bytes and this MIME type is admitted.
    #[must_use]
    pub fn admit(&self, bytes: usize, mime_type: Option<&str>) -> bool {
        within(bytes, self.min_bytes, self.max_bytes) && (mime_type.is_none() || listed(&self.mime_types, mime_type))
    }
}

impl NumberRestrictions {
    /// Whether an unsigned number is admitted.
    #[must_use]
    pub fn admit_unsigned(&self, value: u64) -> bool {
        let above = |bound| matches!(bound, Some(Bound::Unsigned(min)) if value < min);
        let below = |bound| matches!(bound, Some(Bound::Unsigned(max)) if value > max);
        !above(self.min) && !below(self.max)
    }

    fn admit_signed(&self, value: i64) -> bool {
        let above = |bound| matches!(bound, Some(Bound::Signed(min)) if value < min);
        let below = |bound| matches!(bound, Some(Bound::Signed(max)) if value > max);
        !above(self.min) && !below(self.max)
    }

    /// NaN is not within any bound.
    fn admit_float(&self, value: f64) -> bool {
        let bound = |bound| match bound {
            Some(Bound::FloatBits(bits)) => Some(f64::from_bits(bits)),
            _ => None,
        };
        bound(self.min).is_none_or(|min| value >= min) && bound(self.max).is_none_or(|max| value <= max)
    }
}

fn number(restrictions: &NumberRestrictions, value: &Value) -> bool {
    match value {
        Value::Signed(_, value) => restrictions.admit_signed(*value),
        Value::Unsigned(_, value) => restrictions.admit_unsigned(*value),
        Value::F32(value) => restrictions.admit_float(f64::from(*value)),
        Value::F64(value) => restrictions.admit_float(*value),
        _ => true,
    }
}

fn text_admits(restrictions: &TextRestrictions, text: &str, language: &Option<String>) -> bool {
    let TextRestrictions { languages, min_length, max_length, regex } = restrictions;
    let bounded = min_length.is_some() || max_length.is_some();
    (language.is_none() || listed(languages, language.as_deref()))
        && (!bounded || within(text.chars().count(), *min_length, *max_length))
        && regex.as_ref().is_none_or(|pattern| pattern.is_found_in(text))
}

fn path_admits(spec: &PathSpec, path: &str) -> bool {
    let segment = path.rsplit('/').next().unwrap_or(path);
    let extension = segment.rsplit_once('.').map(|(_, extension)| extension).filter(|extension| !extension.is_empty());
    !path.is_empty() && (extension.is_none() || listed(&spec.allowed_extensions, extension))
}

fn url_admits(restrictions: &UrlRestrictions, text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let listed = |list: &Option<Vec<String>>, entry: Option<&str>| {
        list.as_ref()
            .is_none_or(|list| entry.is_some_and(|entry| list.iter().any(|listed| listed.eq_ignore_ascii_case(entry))))
    };
    listed(&restrictions.allowed_schemes, Some(url.scheme())) && listed(&restrictions.allowed_hosts, url.host_str())
}

fn quantity(spec: &QuantitySpec, value: &Quantity) -> bool {
    let unit = match spec.allowed_suffixes.as_slice() {
        [] => value.unit == spec.base_unit,
        suffixes => suffixes.contains(&value.unit),
    };
    let above =
        spec.min.as_ref().is_none_or(|min| matches!(value.compare(min), Some(Ordering::Greater | Ordering::Equal)));
    let below =
        spec.max.as_ref().is_none_or(|max| matches!(value.compare(max), Some(Ordering::Less | Ordering::Equal)));
    unit && above && below
}

fn within(count: usize, min: Option<u32>, max: Option<u32>) -> bool {
    min.is_none_or(|min| count >= min as usize) && max.is_none_or(|max| count <= max as usize)
}

/// Whether there is no list, or it holds the entry.
fn listed(list: &Option<Vec<String>>, entry: Option<&str>) -> bool {
    list.as_ref().is_none_or(|list| list.iter().any(|listed| Some(listed.as_str()) == entry))
}
