//! Graphs and types as JSON.

use std::borrow::Cow;
use std::fmt::Display;

use super::*;
use crate::json::Json;

/// A member, or none.
type Member<'g> = Option<(&'g str, Json<'g>)>;

impl Graph {
    /// The graph as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json<'_> {
        let defs = (!self.defs.is_empty()).then(|| ("defs", array(&self.defs, def)));
        object([defs, Some(("root", self.root.to_json()))])
    }
}

impl Type {
    /// The type as JSON.
    #[must_use]
    pub fn to_json(&self) -> Json<'_> {
        let members = shape(&self.shape).into_iter().chain([metadata(&self.metadata)]);
        object([Some(("kind", string(self.shape.kind()))), Some(("value", object(members)))])
    }
}

fn def(def: &Def) -> Json<'_> {
    let id = Some(("id", string(&def.id)));
    object([id, Some(("body", def.body.to_json())), text("name", def.name.as_ref())])
}

fn shape(shape: &Shape) -> Vec<Member<'_>> {
    let one = |name, value| vec![Some((name, value))];
    match shape {
        Shape::Bool | Shape::Char | Shape::String | Shape::Datetime | Shape::Duration => Vec::new(),
        Shape::Ref(id) => one("id", string(id)),
        Shape::Number(_, restrictions) => number_restrictions(restrictions),
        Shape::Record(fields) => one("fields", array(fields, field)),
        Shape::Variant(cases) => one("cases", array(cases, case)),
        Shape::Enum(cases) => one("cases", array(cases, |case| string(case))),
        Shape::Flags(flags) => one("flags", array(flags, |flag| string(flag))),
        Shape::Tuple(elements) => one("elements", array(elements, Type::to_json)),
        Shape::List(element) => one("element", element.to_json()),
        Shape::FixedList(element, length) => {
            vec![Some(("element", element.to_json())), Some(("length", number(length)))]
        }
        Shape::Map(key, value) => vec![Some(("key", key.to_json())), Some(("value", value.to_json()))],
        Shape::Option(inner) => one("inner", inner.to_json()),
        Shape::Future(inner) | Shape::Stream(inner) => {
            one("inner", inner.as_ref().map_or(Json::Null, |inner| inner.to_json()))
        }
        Shape::Text(restrictions) => one("restrictions", text_restrictions(restrictions)),
        Shape::Binary(restrictions) => one("restrictions", binary_restrictions(restrictions)),
        Shape::Url(restrictions) => one("restrictions", url_restrictions(restrictions)),
        Shape::Result(arms) => {
            one("spec", object([of_type("ok", arms.ok.as_deref()), of_type("err", arms.err.as_deref())]))
        }
        Shape::Path(spec) => one("spec", path_spec(spec)),
        Shape::Quantity(spec) => one("spec", quantity_spec(spec)),
        Shape::Union(branches) => one("spec", object([Some(("branches", array(branches, branch)))])),
        Shape::Secret(inner, category) => {
            one("spec", object([Some(("inner", inner.to_json())), text("category", category.as_ref())]))
        }
        Shape::QuotaToken(name) => one("spec", object([text("resourceName", name.as_ref())])),
        Shape::PermissionCard(polymorphic) => one("spec", object([Some(("polymorphic", Json::Bool(*polymorphic)))])),
    }
}

fn field(field: &Field) -> Json<'_> {
    object([Some(("name", string(&field.name))), Some(("body", field.body.to_json())), metadata(&field.metadata)])
}

fn case(case: &Case) -> Json<'_> {
    let payload = case.payload.as_ref().map(|payload| ("payload", payload.to_json()));
    object([Some(("name", string(&case.name))), payload, metadata(&case.metadata)])
}

fn branch(branch: &Branch) -> Json<'_> {
    object([
        Some(("tag", string(&branch.tag))),
        Some(("body", branch.body.to_json())),
        Some(("discriminator", discriminator(&branch.discriminator))),
        metadata(&branch.metadata),
    ])
}

fn discriminator(discriminator: &Discriminator) -> Json<'_> {
    let one = |name, value| vec![Some((name, value))];
    let (rule, members) = match discriminator {
        Discriminator::Prefix(prefix) => ("prefix", one("prefix", string(prefix))),
        Discriminator::Suffix(suffix) => ("suffix", one("suffix", string(suffix))),
        Discriminator::Contains(part) => ("contains", one("substring", string(part))),
        Discriminator::Regex(pattern) => ("regex", one("regex", string(pattern.as_str()))),
        Discriminator::FieldAbsent(name) => ("field-absent", one("fieldName", string(name))),
        Discriminator::FieldEquals(name, literal) => {
            ("field-equals", vec![Some(("fieldName", string(name))), text("literal", literal.as_ref())])
        }
    };
    object([Some(("rule", string(rule))), Some(("value", object(members)))])
}

/// An object only if there are any.
fn number_restrictions(restrictions: &NumberRestrictions) -> Vec<Member<'_>> {
    let NumberRestrictions { min, max, unit } = restrictions;
    let members = [min.map(|min| ("min", bound(min))), max.map(|max| ("max", bound(max))), text("unit", unit.as_ref())];
    let any = members.iter().any(Option::is_some);
    vec![any.then(|| ("restrictions", object(members)))]
}

fn bound<'g>(bound: Bound) -> Json<'g> {
    let (kind, value) = match bound {
        Bound::Signed(value) => ("signed", number(value)),
        Bound::Unsigned(value) => ("unsigned", number(value)),
        Bound::FloatBits(bits) => ("float-bits", number(bits)),
    };
    object([Some(("kind", string(kind))), Some(("value", value))])
}

fn text_restrictions(restrictions: &TextRestrictions) -> Json<'_> {
    object([
        texts("languages", restrictions.languages.as_ref()),
        restrictions.min_length.map(|length| ("minLength", number(length))),
        restrictions.max_length.map(|length| ("maxLength", number(length))),
        restrictions.regex.as_ref().map(|pattern| ("regex", string(pattern.as_str()))),
    ])
}

fn binary_restrictions(restrictions: &BinaryRestrictions) -> Json<'_> {
    object([
        texts("mimeTypes", restrictions.mime_types.as_ref()),
        restrictions.min_bytes.map(|bytes| ("minBytes", number(bytes))),
        restrictions.max_bytes.map(|bytes| ("maxBytes", number(bytes))),
    ])
}

fn url_restrictions(restrictions: &UrlRestrictions) -> Json<'_> {
    object([
        texts("allowedSchemes", restrictions.allowed_schemes.as_ref()),
        texts("allowedHosts", restrictions.allowed_hosts.as_ref()),
    ])
}

fn path_spec(spec: &PathSpec) -> Json<'_> {
    let direction = match spec.direction {
        PathDirection::Input => "input",
        PathDirection::Output => "output",
        PathDirection::InOut => "in-out",
    };
    let kind = match spec.kind {
        PathKind::File => "file",
        PathKind::Directory => "directory",
        PathKind::Any => "any",
    };
    object([
        Some(("direction", string(direction))),
        Some(("kind", string(kind))),
        texts("allowedMimeTypes", spec.allowed_mime_types.as_ref()),
        texts("allowedExtensions", spec.allowed_extensions.as_ref()),
    ])
}

fn quantity_spec(spec: &QuantitySpec) -> Json<'_> {
    object([
        Some(("baseUnit", string(&spec.base_unit))),
        not_empty("allowedSuffixes", &spec.allowed_suffixes),
        spec.min.as_ref().map(|min| ("min", quantity(min))),
        spec.max.as_ref().map(|max| ("max", quantity(max))),
    ])
}

fn quantity(quantity: &Quantity) -> Json<'_> {
    object([
        Some(("mantissa", number(quantity.mantissa))),
        Some(("scale", number(quantity.scale))),
        Some(("unit", string(&quantity.unit))),
    ])
}

/// Left out if there is nothing to say.
fn metadata(metadata: &Metadata) -> Member<'_> {
    (*metadata != Metadata::default()).then(|| {
        let members = [
            text("doc", metadata.doc.as_ref()),
            not_empty("aliases", &metadata.aliases),
            not_empty("examples", &metadata.examples),
            text("deprecated", metadata.deprecated.as_ref()),
            metadata.role.as_ref().map(|role| ("role", self::role(role))),
        ];
        ("metadata", object(members))
    })
}

fn role(role: &SchemaRole) -> Json<'_> {
    let (tag, value) = match role {
        SchemaRole::Multimodal => ("multimodal", None),
        SchemaRole::UnstructuredText => ("unstructured-text", None),
        SchemaRole::UnstructuredBinary => ("unstructured-binary", None),
        SchemaRole::Other(value) => ("other", Some(value)),
    };
    object([Some(("tag", string(tag))), text("value", value)])
}

fn object<'g>(members: impl IntoIterator<Item = Member<'g>>) -> Json<'g> {
    Json::Object(members.into_iter().flatten().collect())
}

fn array<'g, T>(elements: &'g [T], write: impl Fn(&'g T) -> Json<'g>) -> Json<'g> {
    Json::Array(elements.iter().map(write).collect())
}

fn string(text: &str) -> Json<'_> {
    Json::String(Cow::Borrowed(text))
}

fn number<'g>(number: impl Display) -> Json<'g> {
    Json::Number(Cow::Owned(number.to_string()))
}

fn text<'g>(name: &'g str, text: Option<&'g String>) -> Member<'g> {
    text.map(|text| (name, string(text)))
}

fn texts<'g>(name: &'g str, texts: Option<&'g Vec<String>>) -> Member<'g> {
    texts.map(|texts| (name, array(texts, |text| string(text))))
}

fn not_empty<'g>(name: &'g str, list: &'g Vec<String>) -> Member<'g> {
    texts(name, Some(list).filter(|list| !list.is_empty()))
}

fn of_type<'g>(name: &'g str, of: Option<&'g Type>) -> Member<'g> {
    of.map(|of| (name, of.to_json()))
}
