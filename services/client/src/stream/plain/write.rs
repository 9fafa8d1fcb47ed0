//! From values to JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stream_session::graph::{Graph, Shape, Type};
use stream_session::json::Writer;
use stream_session::value::{StreamRef, Value};

/// What a stream is called that stands at this place: names and indices from the outside in.
pub type Namer<'n> = dyn FnMut(&[String], &StreamRef) -> String + 'n;

/// Writes a value of type `of`. What a stream in it is called is for `name` to say, since tokens are not to be shown.
#[must_use]
pub fn write(graph: &Graph, of: &Type, value: &Value, name: &mut Namer<'_>) -> String {
    let mut printer = Printer { graph, to: Writer::default(), path: Vec::new(), name };
    printer.value(of, value);
    printer.to.finish()
}

struct Printer<'a, 'n> {
    graph: &'a Graph,
    to: Writer,
    /// Where it is in the value.
    path: Vec<String>,
    name: &'a mut Namer<'n>,
}

impl Printer<'_, '_> {
    fn value(&mut self, of: &Type, value: &Value) {
        // A value that was read is of its type; the names of the type are all that is taken from it.
        let graph = self.graph;
        let shape = graph.resolve(of).map(|of| &of.shape);
        match (value, shape) {
            (Value::Bool(value), _) => self.to.raw(if *value { "true" } else { "false" }),
            (Value::Signed(_, number) | Value::Duration(number), _) => self.to.raw(&number.to_string()),
            (Value::Unsigned(_, number), _) => self.to.raw(&number.to_string()),
            (Value::F32(number), _) => self.float(*number, f64::from(*number)),
            (Value::F64(number), _) => self.float(*number, *number),
            (Value::Char(char), _) => self.to.string(char.encode_utf8(&mut [0; 4])),
            (Value::String(text) | Value::Path(text) | Value::Url(text), _) => self.to.string(text),
            (Value::Text { text, language: None }, _) => self.to.string(text),
            (Value::Text { text, language: Some(language) }, _) => {
                self.to.open('{');
                self.to.text_member("language", language);
                self.to.text_member("text", text);
                self.to.close('}');
            }
            (Value::Binary { bytes, mime_type: None }, _) => self.to.string(&STANDARD.encode(bytes)),
            (Value::Binary { bytes, mime_type: Some(mime_type) }, _) => {
                self.to.open('{');
                self.to.text_member("base64", &STANDARD.encode(bytes));
                self.to.text_member("mimeType", mime_type);
                self.to.close('}');
            }
            (Value::Datetime(instant), _) => self.to.string(&instant.to_string()),
            (Value::Quantity(quantity), _) => {
                self.to.open('{');
                self.to.name("mantissa");
                self.to.raw(&quantity.mantissa.to_string());
                self.to.name("scale");
                self.to.raw(&quantity.scale.to_string());
                self.to.text_member("unit", &quantity.unit);
                self.to.close('}');
            }
            (Value::Record(parts), Some(Shape::Record(fields))) => {
                self.to.open('{');
                for (field, part) in fields.iter().zip(parts) {
                    self.member(&field.name, &field.body, part);
                }
                self.to.close('}');
            }
            (Value::Tuple(parts), Some(Shape::Tuple(types))) => self.array(types.iter().zip(parts)),
            (Value::List(parts), Some(Shape::List(element)))
            | (Value::FixedList(parts), Some(Shape::FixedList(element, _))) => {
                self.array(parts.iter().map(|part| (&**element, part)));
            }
            (Value::Map(entries), Some(Shape::Map(key, of))) => self.map(key, of, entries),
            (Value::Enum(case), Some(Shape::Enum(names))) => self.to.string(named(names, *case)),
            (Value::Flags(bits), Some(Shape::Flags(names))) => {
                let set = names.iter().zip(bits).filter(|(_, set)| **set);
                self.to.array(set, |to, (name, _)| to.string(name));
            }
            (Value::Variant { case, payload }, Some(Shape::Variant(cases))) => {
                let Some(case) = cases.get(*case as usize) else { return self.to.raw("null") };
                match (payload, &case.payload) {
                    (Some(payload), Some(of)) => self.only_member(&case.name, of, payload),
                    _ => self.to.string(&case.name),
                }
            }
            (Value::Option(Some(inner)), Some(Shape::Option(of))) => match graph.resolve(of).map(|of| &of.shape) {
                Some(Shape::Option(_)) => self.only_member("some", of, inner),
                _ => self.value(of, inner),
            },
            (Value::Result { ok, value }, Some(Shape::Result(arms))) => {
                let (tag, of) = if *ok { ("ok", &arms.ok) } else { ("err", &arms.err) };
                match (of, value) {
                    (Some(of), Some(value)) => self.only_member(tag, of, value),
                    _ => self.to.raw(&format!("{{\"{tag}\":null}}")),
                }
            }
            (Value::Union { tag, body }, Some(Shape::Union(branches))) => {
                match branches.iter().find(|branch| branch.tag == *tag) {
                    Some(branch) => self.only_member(tag, &branch.body, body),
                    None => self.to.raw("null"),
                }
            }
            (Value::Stream(stream), _) => {
                let name = (self.name)(&self.path, stream);
                self.to.string(&name);
            }
            _ => self.to.raw("null"),
        }
    }

    fn member(&mut self, name: &str, of: &Type, value: &Value) {
        self.to.name(name);
        self.part(name.to_owned(), of, value);
    }

    fn part(&mut self, place: String, of: &Type, value: &Value) {
        self.path.push(place);
        self.value(of, value);
        self.path.pop();
    }

    fn only_member(&mut self, name: &str, of: &Type, value: &Value) {
        self.to.open('{');
        self.member(name, of, value);
        self.to.close('}');
    }

    fn array<'v>(&mut self, parts: impl Iterator<Item = (&'v Type, &'v Value)>) {
        self.to.open('[');
        for (at, (of, part)) in parts.enumerate() {
            if at > 0 {
                self.to.raw(",");
            }
            self.part(at.to_string(), of, part);
        }
        self.to.close(']');
    }

    /// An object, if the keys are distinct strings, or pairs.
    fn map(&mut self, key: &Type, of: &Type, entries: &[(Value, Value)]) {
        let mut names: Vec<_> = entries.iter().filter_map(|(key, _)| string(key)).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() == entries.len() && matches!(self.graph.resolve(key).map(|key| &key.shape), Some(Shape::String))
        {
            self.to.open('{');
            for (key, value) in entries {
                self.member(string(key).unwrap_or_default(), of, value);
            }
            return self.to.close('}');
        }
        self.to.open('[');
        for (at, (first, second)) in entries.iter().enumerate() {
            if at > 0 {
                self.to.raw(",");
            }
            self.path.push(at.to_string());
            self.array([(key, first), (of, second)].into_iter());
            self.path.pop();
        }
        self.to.close(']');
    }

    fn float(&mut self, number: impl ryu_js::Float, double: f64) {
        match double {
            _ if double.is_nan() => self.to.string("nan"),
            f64::INFINITY => self.to.string("positive-infinity"),
            f64::NEG_INFINITY => self.to.string("negative-infinity"),
            _ if double == 0.0 && double.is_sign_negative() => self.to.raw("-0"),
            _ => self.to.raw(ryu_js::Buffer::new().format_finite(number)),
        }
    }
}

fn string(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn named(names: &[String], at: u32) -> &str {
    names.get(at as usize).map_or("", String::as_str)
}
