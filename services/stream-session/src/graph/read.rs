//! Reading graphs and types from JSON, strictly: whatever is wrong is `malformed-message`.

use super::*;
use crate::Refusal;
use crate::json::members::{boolean, integer, list, many, object, optional, required, string, strings, text, wrong};
use crate::json::{Json, Members};

impl Graph {
    /// Reads a graph.
    ///
    /// # Errors
    /// `malformed-message`.
    pub fn read(json: &Json<'_>) -> Result<Self, Refusal> {
        let graph = object(json)?;
        graph.expect(&["root"], &["defs"])?;
        let defs = graph.get("defs").map_or(Ok(Vec::new()), |defs| list(defs, def))?;
        Ok(Self::new(defs, required(graph, "root", Type::read)?))
    }
}

impl Type {
    /// Reads a type.
    ///
    /// # Errors
    /// `malformed-message`.
    pub fn read(json: &Json<'_>) -> Result<Self, Refusal> {
        let node = object(json)?;
        node.expect(&["kind", "value"], &[])?;
        let kind = required(node, "kind", text)?;
        let value = required(node, "value", object)?;
        let shape = shape(kind, value)?;
        Ok(Self { shape, metadata: metadata(value)? })
    }
}

fn def(json: &Json<'_>) -> Result<Def, Refusal> {
    let def = object(json)?;
    def.expect(&["id", "body"], &["name"])?;
    Ok(Def {
        id: required(def, "id", string)?,
        name: optional(def, "name", string)?,
        body: required(def, "body", Type::read)?,
    })
}

fn shape(kind: &str, value: &Members<'_>) -> Result<Shape, Refusal> {
    let only = |required: &[&str], optional: &[&str]| {
        let optional: Vec<&str> = optional.iter().copied().chain(["metadata"]).collect();
        value.expect(required, &optional)
    };
    if let Some(number) = NumberKind::parse(kind) {
        only(&[], &["restrictions"])?;
        let restrictions = optional(value, "restrictions", number_restrictions)?;
        return Ok(Shape::Number(number, restrictions.unwrap_or_default()));
    }
    let plain = |shape| only(&[], &[]).map(|()| shape);
    match kind {
        "ref" => only(&["id"], &[]).and_then(|()| required(value, "id", string)).map(Shape::Ref),
        "bool" => plain(Shape::Bool),
        "char" => plain(Shape::Char),
        "string" => plain(Shape::String),
        "datetime" => plain(Shape::Datetime),
        "duration" => plain(Shape::Duration),
        "record" => only(&["fields"], &[]).and_then(|()| many(value, "fields", field)).map(Shape::Record),
        "variant" => only(&["cases"], &[]).and_then(|()| many(value, "cases", case)).map(Shape::Variant),
        "enum" => only(&["cases"], &[]).and_then(|()| many(value, "cases", string)).map(Shape::Enum),
        "flags" => only(&["flags"], &[]).and_then(|()| many(value, "flags", string)).map(Shape::Flags),
        "tuple" => only(&["elements"], &[]).and_then(|()| many(value, "elements", Type::read)).map(Shape::Tuple),
        "list" => only(&["element"], &[]).and_then(|()| required(value, "element", boxed)).map(Shape::List),
        "fixed-list" => {
            only(&["element", "length"], &[])?;
            Ok(Shape::FixedList(required(value, "element", boxed)?, required(value, "length", integer)?))
        }
        "map" => {
            only(&["key", "value"], &[])?;
            Ok(Shape::Map(required(value, "key", boxed)?, required(value, "value", boxed)?))
        }
        "option" => only(&["inner"], &[]).and_then(|()| required(value, "inner", boxed)).map(Shape::Option),
        "future" => only(&["inner"], &[]).and_then(|()| required(value, "inner", or_null)).map(Shape::Future),
        "stream" => only(&["inner"], &[]).and_then(|()| required(value, "inner", or_null)).map(Shape::Stream),
        "text" => only(&["restrictions"], &[])
            .and_then(|()| required(value, "restrictions", text_restrictions))
            .map(Shape::Text),
        "binary" => only(&["restrictions"], &[])
            .and_then(|()| required(value, "restrictions", binary_restrictions))
            .map(Shape::Binary),
        "url" => only(&["restrictions"], &[])
            .and_then(|()| required(value, "restrictions", url_restrictions))
            .map(Shape::Url),
        _ => only(&["spec"], &[]).and_then(|()| spec(kind, required(value, "spec", object)?)),
    }
}

/// The kinds whose members stand in a `spec`.
fn spec(kind: &str, spec: &Members<'_>) -> Result<Shape, Refusal> {
    match kind {
        "result" => {
            spec.expect(&[], &["ok", "err"])?;
            Ok(Shape::Result(Arms { ok: optional(spec, "ok", boxed)?, err: optional(spec, "err", boxed)? }))
        }
        "path" => path_spec(spec).map(Shape::Path),
        "quantity" => quantity_spec(spec).map(Shape::Quantity),
        "union" => spec.expect(&["branches"], &[]).and_then(|()| many(spec, "branches", branch)).map(Shape::Union),
        "secret" => {
            spec.expect(&["inner"], &["category"])?;
            Ok(Shape::Secret(required(spec, "inner", boxed)?, optional(spec, "category", string)?))
        }
        "quota-token" => {
            spec.expect(&[], &["resourceName"])?;
            Ok(Shape::QuotaToken(optional(spec, "resourceName", string)?))
        }
        "permission-card" => {
            spec.expect(&["polymorphic"], &[])?;
            Ok(Shape::PermissionCard(required(spec, "polymorphic", boolean)?))
        }
        _ => Err(wrong()),
    }
}

fn field(json: &Json<'_>) -> Result<Field, Refusal> {
    let field = object(json)?;
    field.expect(&["name", "body"], &["metadata"])?;
    Ok(Field {
        name: required(field, "name", string)?,
        body: required(field, "body", Type::read)?,
        metadata: metadata(field)?,
    })
}

fn case(json: &Json<'_>) -> Result<Case, Refusal> {
    let case = object(json)?;
    case.expect(&["name"], &["payload", "metadata"])?;
    Ok(Case {
        name: required(case, "name", string)?,
        payload: optional(case, "payload", Type::read)?,
        metadata: metadata(case)?,
    })
}

fn branch(json: &Json<'_>) -> Result<Branch, Refusal> {
    let branch = object(json)?;
    branch.expect(&["tag", "body", "discriminator"], &["metadata"])?;
    Ok(Branch {
        tag: required(branch, "tag", string)?,
        body: required(branch, "body", Type::read)?,
        discriminator: required(branch, "discriminator", discriminator)?,
        metadata: metadata(branch)?,
    })
}

fn discriminator(json: &Json<'_>) -> Result<Discriminator, Refusal> {
    let node = object(json)?;
    node.expect(&["rule", "value"], &[])?;
    let value = required(node, "value", object)?;
    let one = |name| value.expect(&[name], &[]).and_then(|()| required(value, name, string));
    match required(node, "rule", text)? {
        "prefix" => one("prefix").map(Discriminator::Prefix),
        "suffix" => one("suffix").map(Discriminator::Suffix),
        "contains" => one("substring").map(Discriminator::Contains),
        "regex" => one("regex").map(|text| Discriminator::Regex(Pattern::new(text))),
        "field-absent" => one("fieldName").map(Discriminator::FieldAbsent),
        "field-equals" => {
            value.expect(&["fieldName"], &["literal"])?;
            let literal = optional(value, "literal", string)?;
            Ok(Discriminator::FieldEquals(required(value, "fieldName", string)?, literal))
        }
        _ => Err(wrong()),
    }
}

fn number_restrictions(json: &Json<'_>) -> Result<NumberRestrictions, Refusal> {
    let restrictions = object(json)?;
    restrictions.expect(&[], &["min", "max", "unit"])?;
    Ok(NumberRestrictions {
        min: optional(restrictions, "min", bound)?,
        max: optional(restrictions, "max", bound)?,
        unit: optional(restrictions, "unit", string)?,
    })
}

fn bound(json: &Json<'_>) -> Result<Bound, Refusal> {
    let node = object(json)?;
    node.expect(&["kind", "value"], &[])?;
    match required(node, "kind", text)? {
        "signed" => required(node, "value", integer).map(Bound::Signed),
        "unsigned" => required(node, "value", integer).map(Bound::Unsigned),
        "float-bits" => {
            let bits: u64 = required(node, "value", integer)?;
            Ok(Bound::FloatBits(if bits == (-0.0_f64).to_bits() { 0 } else { bits }))
        }
        _ => Err(wrong()),
    }
}

fn text_restrictions(json: &Json<'_>) -> Result<TextRestrictions, Refusal> {
    let restrictions = object(json)?;
    restrictions.expect(&[], &["languages", "minLength", "maxLength", "regex"])?;
    Ok(TextRestrictions {
        languages: optional(restrictions, "languages", strings)?,
        min_length: optional(restrictions, "minLength", integer)?,
        max_length: optional(restrictions, "maxLength", integer)?,
        regex: optional(restrictions, "regex", string)?.map(Pattern::new),
    })
}

fn binary_restrictions(json: &Json<'_>) -> Result<BinaryRestrictions, Refusal> {
    let restrictions = object(json)?;
    restrictions.expect(&[], &["mimeTypes", "minBytes", "maxBytes"])?;
    Ok(BinaryRestrictions {
        mime_types: optional(restrictions, "mimeTypes", strings)?,
        min_bytes: optional(restrictions, "minBytes", integer)?,
        max_bytes: optional(restrictions, "maxBytes", integer)?,
    })
}

fn url_restrictions(json: &Json<'_>) -> Result<UrlRestrictions, Refusal> {
    let restrictions = object(json)?;
    restrictions.expect(&[], &["allowedSchemes", "allowedHosts"])?;
    Ok(UrlRestrictions {
        allowed_schemes: optional(restrictions, "allowedSchemes", strings)?,
        allowed_hosts: optional(restrictions, "allowedHosts", strings)?,
    })
}

fn path_spec(spec: &Members<'_>) -> Result<PathSpec, Refusal> {
    spec.expect(&["direction", "kind"], &["allowedMimeTypes", "allowedExtensions"])?;
    Ok(PathSpec {
        direction: match required(spec, "direction", text)? {
            "input" => PathDirection::Input,
            "output" => PathDirection::Output,
            "in-out" => PathDirection::InOut,
            _ => return Err(wrong()),
        },
        kind: match required(spec, "kind", text)? {
            "file" => PathKind::File,
            "directory" => PathKind::Directory,
            "any" => PathKind::Any,
            _ => return Err(wrong()),
        },
        allowed_mime_types: optional(spec, "allowedMimeTypes", strings)?,
        allowed_extensions: optional(spec, "allowedExtensions", strings)?,
    })
}

fn quantity_spec(spec: &Members<'_>) -> Result<QuantitySpec, Refusal> {
    spec.expect(&["baseUnit"], &["allowedSuffixes", "min", "max"])?;
    Ok(QuantitySpec {
        base_unit: required(spec, "baseUnit", string)?,
        allowed_suffixes: optional(spec, "allowedSuffixes", strings)?.unwrap_or_default(),
        min: optional(spec, "min", quantity)?,
        max: optional(spec, "max", quantity)?,
    })
}

fn quantity(json: &Json<'_>) -> Result<Quantity, Refusal> {
    let quantity = object(json)?;
    quantity.expect(&["mantissa", "scale", "unit"], &[])?;
    Ok(Quantity {
        mantissa: required(quantity, "mantissa", integer)?,
        scale: required(quantity, "scale", integer)?,
        unit: required(quantity, "unit", string)?,
    })
}

/// What is said for people about the thing whose members these are.
fn metadata(of: &Members<'_>) -> Result<Metadata, Refusal> {
    let Some(metadata) = of.get("metadata") else { return Ok(Metadata::default()) };
    let metadata = object(metadata)?;
    metadata.expect(&[], &["doc", "aliases", "examples", "deprecated", "role"])?;
    Ok(Metadata {
        doc: optional(metadata, "doc", string)?,
        aliases: optional(metadata, "aliases", strings)?.unwrap_or_default(),
        examples: optional(metadata, "examples", strings)?.unwrap_or_default(),
        deprecated: optional(metadata, "deprecated", string)?,
        role: optional(metadata, "role", role)?,
    })
}

fn role(json: &Json<'_>) -> Result<SchemaRole, Refusal> {
    let role = object(json)?;
    let tag = role.get("tag").ok_or_else(wrong).and_then(text)?;
    let plain = |plain| role.expect(&["tag"], &[]).map(|()| plain);
    match tag {
        "multimodal" => plain(SchemaRole::Multimodal),
        "unstructured-text" => plain(SchemaRole::UnstructuredText),
        "unstructured-binary" => plain(SchemaRole::UnstructuredBinary),
        "other" => {
            role.expect(&["tag", "value"], &[]).and_then(|()| required(role, "value", string)).map(SchemaRole::Other)
        }
        _ => Err(wrong()),
    }
}

fn boxed(json: &Json<'_>) -> Result<Box<Type>, Refusal> {
    Type::read(json).map(Box::new)
}

fn or_null(json: &Json<'_>) -> Result<Option<Box<Type>>, Refusal> {
    match json {
        Json::Null => Ok(None),
        json => boxed(json).map(Some),
    }
}
