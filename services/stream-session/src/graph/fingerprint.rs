//! Fingerprints of element types (schema.md section 10): by them two streams are known to carry the same.

use std::collections::BTreeSet;

use ciborium::Value;

use super::*;

/// BLAKE3 of the deterministic CBOR of a type and the definitions that it needs.
pub type Fingerprint = [u8; 32];

impl Graph {
    /// The fingerprint of `element`; of a stream without element type, if there is none.
    #[must_use]
    pub fn fingerprint(&self, element: Option<&Type>) -> Fingerprint {
        *blake3::hash(&self.fingerprinted(element)).as_bytes()
    }

    /// What the fingerprint is of.
    pub(super) fn fingerprinted(&self, element: Option<&Type>) -> Vec<u8> {
        let mut reachable = BTreeSet::new();
        if let Some(element) = element {
            self.reach(element, &mut reachable);
        }
        let defs = reachable.into_iter().filter_map(|id| self.def(id));
        let defs = defs.map(|def| array([text(&def.id), or_null(def.name.as_deref(), text), of_type(&def.body)]));
        let root = element.map_or_else(|| array([int(0), metadata(&Metadata::default())]), of_type);
        let whole = array([text("golem-schema-fingerprint"), int(1), root, array(defs)]);
        let mut bytes = Vec::new();
        // Writing to a vector does not fail.
        let _ = ciborium::into_writer(&whole, &mut bytes);
        bytes
    }

    /// Notes the definitions that `of` needs.
    fn reach<'g>(&'g self, of: &'g Type, reachable: &mut BTreeSet<&'g str>) {
        if let Shape::Ref(id) = &of.shape
            && reachable.insert(id)
            && let Some(def) = self.def(id)
        {
            self.reach(&def.body, reachable);
        }
        of.shape.parts().for_each(|part| self.reach(part, reachable));
    }
}

impl Shape {
    /// The types that it is made of.
    pub fn parts(&self) -> Box<dyn Iterator<Item = &Type> + '_> {
        match self {
            Self::Record(fields) => Box::new(fields.iter().map(|field| &field.body)),
            Self::Variant(cases) => Box::new(cases.iter().filter_map(|case| case.payload.as_ref())),
            Self::Tuple(elements) => Box::new(elements.iter()),
            Self::List(part) | Self::FixedList(part, _) | Self::Option(part) | Self::Secret(part, _) => {
                Box::new(std::iter::once(&**part))
            }
            Self::Map(key, value) => Box::new([&**key, &**value].into_iter()),
            Self::Result(arms) => Box::new(arms.ok.as_deref().into_iter().chain(arms.err.as_deref())),
            Self::Union(branches) => Box::new(branches.iter().map(|branch| &branch.body)),
            Self::Future(part) | Self::Stream(part) => Box::new(part.as_deref().into_iter()),
            _ => Box::new(std::iter::empty()),
        }
    }
}

fn of_type(of: &Type) -> Value {
    let m = metadata(&of.metadata);
    match &of.shape {
        Shape::Ref(id) => array([int(1), text(id), m]),
        Shape::Bool => array([int(2), m]),
        Shape::Number(kind, restrictions) => array([int(3 + *kind as u64), number_restrictions(restrictions), m]),
        Shape::Char => array([int(13), m]),
        Shape::String => array([int(14), m]),
        Shape::Record(fields) => {
            let fields = fields.iter();
            let fields =
                fields.map(|field| array([text(&field.name), of_type(&field.body), metadata(&field.metadata)]));
            array([int(15), array(fields), m])
        }
        Shape::Variant(cases) => {
            let payload = |case: &Case| or_null(case.payload.as_ref(), of_type);
            let cases = cases.iter();
            let cases = cases.map(|case| array([text(&case.name), payload(case), metadata(&case.metadata)]));
            array([int(16), array(cases), m])
        }
        Shape::Enum(cases) => array([int(17), texts(cases), m]),
        Shape::Flags(flags) => array([int(18), texts(flags), m]),
        Shape::Tuple(elements) => array([int(19), array(elements.iter().map(of_type)), m]),
        Shape::List(element) => array([int(20), of_type(element), m]),
        Shape::FixedList(element, length) => array([int(21), of_type(element), int(*length), m]),
        Shape::Map(key, value) => array([int(22), of_type(key), of_type(value), m]),
        Shape::Option(inner) => array([int(23), of_type(inner), m]),
        Shape::Result(arms) => {
            array([int(24), or_null(arms.ok.as_deref(), of_type), or_null(arms.err.as_deref(), of_type), m])
        }
        Shape::Text(TextRestrictions { languages, min_length, max_length, regex }) => {
            let regex = or_null(regex.as_ref(), |pattern| text(pattern.as_str()));
            array([int(25), set(languages.as_ref()), or_null(*min_length, int), or_null(*max_length, int), regex, m])
        }
        Shape::Binary(BinaryRestrictions { mime_types, min_bytes, max_bytes }) => {
            array([int(26), set(mime_types.as_ref()), or_null(*min_bytes, int), or_null(*max_bytes, int), m])
        }
        Shape::Path(spec) => {
            let (direction, kind) = (int(spec.direction as u64), int(spec.kind as u64));
            let (mime_types, extensions) = (spec.allowed_mime_types.as_ref(), spec.allowed_extensions.as_ref());
            array([int(27), direction, kind, set(mime_types), set(extensions), m])
        }
        Shape::Url(UrlRestrictions { allowed_schemes, allowed_hosts }) => {
            array([int(28), set(allowed_schemes.as_ref()), set(allowed_hosts.as_ref()), m])
        }
        Shape::Datetime => array([int(29), m]),
        Shape::Duration => array([int(30), m]),
        Shape::Quantity(QuantitySpec { base_unit, allowed_suffixes, min, max }) => {
            let (min, max) = (or_null(min.as_ref(), quantity), or_null(max.as_ref(), quantity));
            array([int(31), text(base_unit), set(Some(allowed_suffixes)), min, max, m])
        }
        Shape::Union(branches) => array([int(32), array(branches.iter().map(branch)), m]),
        Shape::Secret(inner, category) => array([int(33), of_type(inner), or_null(category.as_deref(), text), m]),
        Shape::QuotaToken(name) => array([int(34), or_null(name.as_deref(), text), m]),
        Shape::Future(inner) => array([int(35), or_null(inner.as_deref(), of_type), m]),
        Shape::Stream(inner) => array([int(36), or_null(inner.as_deref(), of_type), m]),
        Shape::PermissionCard(polymorphic) => array([int(37), Value::Bool(*polymorphic), m]),
    }
}

fn branch(branch: &Branch) -> Value {
    let discriminator = match &branch.discriminator {
        Discriminator::Prefix(prefix) => array([int(0), text(prefix)]),
        Discriminator::Suffix(suffix) => array([int(1), text(suffix)]),
        Discriminator::Contains(part) => array([int(2), text(part)]),
        Discriminator::Regex(pattern) => array([int(3), text(pattern.as_str())]),
        Discriminator::FieldEquals(name, literal) => array([int(4), text(name), or_null(literal.as_deref(), text)]),
        Discriminator::FieldAbsent(name) => array([int(5), text(name)]),
    };
    array([text(&branch.tag), of_type(&branch.body), discriminator, metadata(&branch.metadata)])
}

fn number_restrictions(restrictions: &NumberRestrictions) -> Value {
    if *restrictions == NumberRestrictions::default() {
        return Value::Null;
    }
    let NumberRestrictions { min, max, unit } = restrictions;
    array([or_null(*min, bound), or_null(*max, bound), or_null(unit.as_deref(), text)])
}

fn bound(bound: Bound) -> Value {
    match bound {
        Bound::Signed(value) => array([int(0), int(value)]),
        Bound::Unsigned(value) => array([int(1), int(value)]),
        Bound::FloatBits(bits) => array([int(2), int(bits)]),
    }
}

fn quantity(quantity: &Quantity) -> Value {
    array([int(quantity.mantissa), int(quantity.scale), text(&quantity.unit)])
}

fn metadata(metadata: &Metadata) -> Value {
    let role = or_null(metadata.role.as_ref(), |role| match role {
        SchemaRole::Multimodal => array([int(0)]),
        SchemaRole::UnstructuredText => array([int(1)]),
        SchemaRole::UnstructuredBinary => array([int(2)]),
        SchemaRole::Other(value) => array([int(3), text(value)]),
    });
    let (doc, deprecated) = (metadata.doc.as_deref(), metadata.deprecated.as_deref());
    let (aliases, examples) = (set(Some(&metadata.aliases)), texts(&metadata.examples));
    array([or_null(doc, text), aliases, examples, or_null(deprecated, text), role])
}

fn array(elements: impl IntoIterator<Item = Value>) -> Value {
    Value::Array(elements.into_iter().collect())
}

fn int(number: impl Into<ciborium::value::Integer>) -> Value {
    Value::Integer(number.into())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn texts(list: &[String]) -> Value {
    array(list.iter().map(|entry| text(entry)))
}

/// A list whose order has no meaning: sorted.
fn set(list: Option<&Vec<String>>) -> Value {
    or_null(list, |list| {
        let mut list: Vec<&String> = list.iter().collect();
        list.sort_unstable();
        array(list.into_iter().map(|entry| text(entry)))
    })
}

fn or_null<T>(value: Option<T>, write: impl FnOnce(T) -> Value) -> Value {
    value.map_or(Value::Null, write)
}
