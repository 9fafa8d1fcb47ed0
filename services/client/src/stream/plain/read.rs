//! From JSON to values. Ranges and other restrictions are checked when the value is sent.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stream_session::graph::{Arms, Branch, Case, Field, Graph, NumberKind, Quantity, Shape, Type};
use stream_session::json::{Json, Members};
use stream_session::value::{Datetime, Value};

use super::NotOfType;

type Outcome = Result<Value, NotOfType>;

/// Reads a value of type `of`. No stream can be in it.
///
/// # Errors
/// [`NotOfType`].
pub fn read(graph: &Graph, of: &Type, json: &Json<'_>) -> Outcome {
    let Some(of) = graph.resolve(of) else { return Err(NotOfType::new("the type is not defined")) };
    match &of.shape {
        Shape::Bool => json.as_bool().map(Value::Bool).ok_or_else(|| expected("true or false")),
        Shape::Number(kind, _) => number(*kind, json),
        Shape::Char => char(json).map(Value::Char).ok_or_else(|| expected("a string of one character")),
        Shape::String => text(json).map(Value::String),
        Shape::Text(_) => localized(json),
        Shape::Path(_) => text(json).map(Value::Path),
        Shape::Url(_) => text(json).map(Value::Url),
        Shape::Binary(_) => binary(json),
        Shape::Datetime => {
            let instant = json.as_str().and_then(Datetime::parse);
            instant.map(Value::Datetime).ok_or_else(|| expected("a date and time as in 2026-01-31T12:00:00Z"))
        }
        Shape::Duration => whole(json).map(Value::Duration).ok_or_else(|| expected("a whole number of nanoseconds")),
        Shape::Quantity(_) => quantity(json).map(Value::Quantity),
        Shape::Record(fields) => read_record(fields, json, |field, json| read(graph, &field.body, json)),
        Shape::Tuple(parts) => {
            let elements = array(json)?;
            if elements.len() != parts.len() {
                return Err(expected(&format!("an array of {}", parts.len())));
            }
            each(elements.iter().zip(parts), |(json, part)| read(graph, part, json)).map(Value::Tuple)
        }
        Shape::List(element) => each(array(json)?, |json| read(graph, element, json)).map(Value::List),
        Shape::FixedList(element, _) => each(array(json)?, |json| read(graph, element, json)).map(Value::FixedList),
        Shape::Map(key, value) => map(graph, key, value, json).map(Value::Map),
        Shape::Enum(names) => index(names.iter().map(String::as_str), json).map(Value::Enum),
        Shape::Flags(names) => flags(names, json).map(Value::Flags),
        Shape::Variant(cases) => variant(graph, cases, json),
        Shape::Option(inner) => option(graph, inner, json),
        Shape::Result(arms) => result(graph, arms, json),
        Shape::Union(branches) => union(graph, branches, json),
        Shape::Stream(_) => Err(NotOfType::new("a stream cannot stand here")),
        Shape::Ref(_) | Shape::Secret(..) | Shape::QuotaToken(_) | Shape::PermissionCard(_) | Shape::Future(_) => {
            Err(NotOfType::new(format!("a {} cannot be given", of.shape.kind())))
        }
    }
}

/// Reads a record from an object, each field by `part`. A field that is missing is read as null, which only an option takes.
///
/// # Errors
/// [`NotOfType`].
pub fn read_record(fields: &[Field], json: &Json<'_>, mut part: impl FnMut(&Field, &Json<'_>) -> Outcome) -> Outcome {
    let members = object(json)?;
    let known = |name: &str| fields.iter().any(|field| field.name == name);
    if let Some((name, _)) = members.iter().find(|(name, _)| !known(name)) {
        return Err(NotOfType::new(format!("there is no field {name:?}; there are {}", names(fields))));
    }
    let read = fields.iter().map(|field| {
        let read = match members.get(&field.name) {
            Some(given) => part(field, given),
            None => part(field, &Json::Null).map_err(|_| NotOfType::new("it is missing")),
        };
        read.map_err(|error| error.within(&field.name))
    });
    read.collect::<Result<_, _>>().map(Value::Record)
}

fn names(fields: &[Field]) -> String {
    let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn expected(what: &str) -> NotOfType {
    NotOfType::new(format!("{what} is expected"))
}

fn text(json: &Json<'_>) -> Result<String, NotOfType> {
    json.as_str().map(str::to_owned).ok_or_else(|| expected("a string"))
}

fn array<'j, 't>(json: &'j Json<'t>) -> Result<&'j [Json<'t>], NotOfType> {
    json.as_array().ok_or_else(|| expected("an array"))
}

fn object<'j, 't>(json: &'j Json<'t>) -> Result<&'j Members<'t>, NotOfType> {
    json.as_object().ok_or_else(|| expected("an object"))
}

fn each<T>(parts: impl IntoIterator<Item = T>, read: impl Fn(T) -> Outcome) -> Result<Vec<Value>, NotOfType> {
    let read = |(at, part): (usize, T)| read(part).map_err(|error| error.within(at.to_string()));
    parts.into_iter().enumerate().map(read).collect()
}

/// A number, or the digits of one in a string: not every program keeps all digits of a 64-bit number.
fn whole<T: std::str::FromStr>(json: &Json<'_>) -> Option<T> {
    json.as_integer().or_else(|| json.as_str()?.parse().ok())
}

fn number(kind: NumberKind, json: &Json<'_>) -> Outcome {
    let value = match kind {
        NumberKind::S8 | NumberKind::S16 | NumberKind::S32 | NumberKind::S64 => {
            whole(json).map(|number| Value::Signed(kind, number))
        }
        NumberKind::U8 | NumberKind::U16 | NumberKind::U32 | NumberKind::U64 => {
            whole(json).map(|number| Value::Unsigned(kind, number))
        }
        NumberKind::F32 => float(json).map(|number| Value::F32(number as f32)),
        NumberKind::F64 => float(json).map(Value::F64),
    };
    value.ok_or_else(|| expected(&format!("a number of type {}", kind.as_str())))
}

fn float(json: &Json<'_>) -> Option<f64> {
    match json {
        Json::Number(spelling) => spelling.parse().ok(),
        Json::String(word) => match word.as_ref() {
            "nan" => Some(f64::NAN),
            "positive-infinity" => Some(f64::INFINITY),
            "negative-infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn char(json: &Json<'_>) -> Option<char> {
    let mut chars = json.as_str()?.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn localized(json: &Json<'_>) -> Outcome {
    match json {
        Json::Object(members) => {
            known(members, &["text", "language"])?;
            let text = members.get("text").ok_or_else(|| expected("\"text\"")).and_then(text)?;
            let language = members.get("language").map(self::text).transpose()?;
            Ok(Value::Text { text, language })
        }
        _ => Ok(Value::Text { text: text(json)?, language: None }),
    }
}

fn binary(json: &Json<'_>) -> Outcome {
    let (data, mime_type) = match json {
        Json::Object(members) => {
            known(members, &["base64", "mimeType"])?;
            (members.get("base64").and_then(Json::as_str), members.get("mimeType").map(text).transpose()?)
        }
        _ => (json.as_str(), None),
    };
    let bytes = data.and_then(|data| STANDARD.decode(data).ok()).ok_or_else(|| expected("base64"))?;
    Ok(Value::Binary { bytes, mime_type })
}

fn quantity(json: &Json<'_>) -> Result<Quantity, NotOfType> {
    let members = object(json)?;
    known(members, &["mantissa", "scale", "unit"])?;
    let part = |name| members.get(name).ok_or_else(|| expected(&format!("{name:?}")));
    Ok(Quantity {
        mantissa: whole(part("mantissa")?).ok_or_else(|| expected("a whole number").within("mantissa"))?,
        scale: whole(part("scale")?).ok_or_else(|| expected("a whole number").within("scale"))?,
        unit: text(part("unit")?).map_err(|error| error.within("unit"))?,
    })
}

fn known(members: &Members<'_>, names: &[&str]) -> Result<(), NotOfType> {
    match members.iter().find(|(name, _)| !names.contains(name)) {
        Some((name, _)) => Err(NotOfType::new(format!("there is no {name:?}; there are {}", names.join(", ")))),
        None => Ok(()),
    }
}

/// An object, if the keys are strings, or pairs.
fn map(graph: &Graph, key: &Type, value: &Type, json: &Json<'_>) -> Result<Vec<(Value, Value)>, NotOfType> {
    if let Json::Object(members) = json {
        if !matches!(graph.resolve(key).map(|key| &key.shape), Some(Shape::String)) {
            return Err(expected("an array of pairs"));
        }
        let entry = |(name, json): (&str, &Json<'_>)| {
            let value = read(graph, value, json).map_err(|error| error.within(name))?;
            Ok((Value::String(name.to_owned()), value))
        };
        return members.iter().map(entry).collect();
    }
    let pair = |(at, json): (usize, &Json<'_>)| {
        let [first, second] = array(json)? else { return Err(expected("a pair")) };
        let within = |error: NotOfType| error.within(at.to_string());
        Ok((read(graph, key, first).map_err(within)?, read(graph, value, second).map_err(within)?))
    };
    array(json)?.iter().enumerate().map(pair).collect()
}

/// The place of a name.
fn index<'n>(names: impl Iterator<Item = &'n str> + Clone, json: &Json<'_>) -> Result<u32, NotOfType> {
    let given = json.as_str();
    let at = names.clone().position(|name| Some(name) == given);
    at.and_then(|at| u32::try_from(at).ok()).ok_or_else(|| {
        let names: Vec<_> = names.collect();
        expected(&format!("one of {}", names.join(", ")))
    })
}

fn flags(names: &[String], json: &Json<'_>) -> Result<Vec<bool>, NotOfType> {
    let mut bits = vec![false; names.len()];
    for given in array(json)? {
        let at = index(names.iter().map(String::as_str), given)?;
        bits[at as usize] = true;
    }
    Ok(bits)
}

/// The name of a case, or an object whose only member is a case with its payload.
fn variant(graph: &Graph, cases: &[Case], json: &Json<'_>) -> Outcome {
    let named = |name: &Json<'_>| index(cases.iter().map(|case| case.name.as_str()), name);
    let (case, given) = match only_member(json) {
        Some((name, given)) => (named(&Json::String(name.into()))?, Some(given)),
        None => (named(json)?, None),
    };
    let Case { name, payload, .. } = &cases[case as usize];
    let payload = match (payload, given) {
        (None, None) => None,
        (Some(payload), Some(given)) => {
            Some(Box::new(read(graph, payload, given).map_err(|error| error.within(name))?))
        }
        (None, Some(_)) => return Err(NotOfType::new("it has no payload").within(name)),
        (Some(_), None) => return Err(NotOfType::new("its payload is missing").within(name)),
    };
    Ok(Value::Variant { case, payload })
}

fn only_member<'j>(json: &'j Json<'_>) -> Option<(&'j str, &'j Json<'j>)> {
    let members = json.as_object().filter(|members| members.len() == 1)?;
    members.iter().next()
}

/// Null or the value; where the value may itself be null, an object with `some`.
fn option(graph: &Graph, inner: &Type, json: &Json<'_>) -> Outcome {
    if matches!(json, Json::Null) {
        return Ok(Value::Option(None));
    }
    let nested = matches!(graph.resolve(inner).map(|inner| &inner.shape), Some(Shape::Option(_)));
    let given = match only_member(json).filter(|_| nested) {
        Some(("some", given)) => given,
        _ if nested => return Err(expected("null or an object with \"some\"")),
        _ => json,
    };
    Ok(Value::Option(Some(Box::new(read(graph, inner, given)?))))
}

fn result(graph: &Graph, arms: &Arms, json: &Json<'_>) -> Outcome {
    let (ok, of, given) = match only_member(json) {
        Some(("ok", given)) => (true, &arms.ok, given),
        Some(("err", given)) => (false, &arms.err, given),
        _ => return Err(expected("an object with \"ok\" or \"err\"")),
    };
    let value = match of {
        Some(of) => {
            Some(Box::new(read(graph, of, given).map_err(|error| error.within(if ok { "ok" } else { "err" }))?))
        }
        None if matches!(given, Json::Null) => None,
        None => return Err(expected("null")),
    };
    Ok(Value::Result { ok, value })
}

fn union(graph: &Graph, branches: &[Branch], json: &Json<'_>) -> Outcome {
    let (tag, given) = only_member(json).ok_or_else(|| expected("an object with one branch"))?;
    let branch = branches.iter().find(|branch| branch.tag == tag);
    let branch = branch.ok_or_else(|| {
        let tags: Vec<_> = branches.iter().map(|branch| branch.tag.as_str()).collect();
        expected(&format!("one of {}", tags.join(", ")))
    })?;
    let body = Box::new(read(graph, &branch.body, given).map_err(|error| error.within(tag))?);
    Ok(Value::Union { tag: tag.to_owned(), body })
}
