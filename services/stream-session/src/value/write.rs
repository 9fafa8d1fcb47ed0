//! The normal form of values (schema.md section 7).

use super::{StreamRef, Value};
use crate::graph::NumberKind;
use crate::json::Writer;

impl Value {
    /// The normal form, as text.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut writer = Writer::default();
        self.write(&mut writer);
        writer.finish()
    }

    /// Writes the normal form.
    pub fn write(&self, to: &mut Writer) {
        to.open('{');
        to.name("kind");
        to.string(self.kind());
        to.name("value");
        self.write_payload(to);
        to.close('}');
    }

    fn write_payload(&self, to: &mut Writer) {
        match self {
            Self::Bool(value) => bool(to, *value),
            Self::Signed(NumberKind::S64, value) => to.string(&value.to_string()),
            Self::Signed(_, value) => to.raw(&value.to_string()),
            Self::Unsigned(NumberKind::U64, value) => to.string(&value.to_string()),
            Self::Unsigned(_, value) => to.raw(&value.to_string()),
            Self::F32(value) => float(to, *value, f64::from(*value)),
            Self::F64(value) => float(to, *value, *value),
            Self::Char(char) => to.string(char.encode_utf8(&mut [0; 4])),
            Self::String(text) => to.string(text),
            Self::Text { text, language } => object(to, |to| {
                named_text(to, "language", language.as_deref());
                named_text(to, "text", Some(text));
            }),
            Self::Binary { bytes, mime_type } => object(to, |to| {
                to.name("bytes");
                to.array(bytes, |to, byte| to.raw(&byte.to_string()));
                named_text(to, "mimeType", mime_type.as_deref());
            }),
            Self::Path(path) => object(to, |to| named_text(to, "path", Some(path))),
            Self::Url(url) => object(to, |to| named_text(to, "url", Some(url))),
            Self::Datetime(datetime) => object(to, |to| named_text(to, "value", Some(&datetime.to_string()))),
            Self::Duration(nanoseconds) => {
                object(to, |to| named_text(to, "nanoseconds", Some(&nanoseconds.to_string())));
            }
            Self::Quantity(quantity) => object(to, |to| {
                named_text(to, "mantissa", Some(&quantity.mantissa.to_string()));
                to.name("scale");
                to.raw(&quantity.scale.to_string());
                named_text(to, "unit", Some(&quantity.unit));
            }),
            Self::Record(parts) => named_parts(to, "fields", parts),
            Self::Tuple(parts) | Self::List(parts) | Self::FixedList(parts) => named_parts(to, "elements", parts),
            Self::Map(entries) => object(to, |to| {
                to.name("entries");
                to.array(entries, |to, (key, value)| to.array([key, value], |to, part| part.write(to)));
            }),
            Self::Enum(case) => object(to, |to| to.number_member("case", *case)),
            Self::Flags(bits) => object(to, |to| {
                to.name("bits");
                to.array(bits, |to, bit| bool(to, *bit));
            }),
            Self::Variant { case, payload } => object(to, |to| {
                to.number_member("case", *case);
                if let Some(payload) = payload {
                    to.name("payload");
                    payload.write(to);
                }
            }),
            Self::Option(inner) => object(to, |to| named_or_null(to, "inner", inner.as_deref())),
            Self::Result { ok, value } => object(to, |to| {
                named_text(to, "tag", Some(if *ok { "ok" } else { "err" }));
                named_or_null(to, "value", value.as_deref());
            }),
            Self::Union { tag, body } => object(to, |to| {
                to.name("body");
                body.write(to);
                named_text(to, "tag", Some(tag));
            }),
            Self::Stream(StreamRef::Provisional(reference)) => {
                object(to, |to| named_text(to, "provisionalRef", Some(&reference.to_string())));
            }
            Self::Stream(StreamRef::Stable(token)) => object(to, |to| named_text(to, "streamToken", Some(token))),
        }
    }
}

fn object(to: &mut Writer, members: impl FnOnce(&mut Writer)) {
    to.open('{');
    members(to);
    to.close('}');
}

fn named_text(to: &mut Writer, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        to.text_member(name, text);
    }
}

fn named_parts(to: &mut Writer, name: &str, parts: &[Value]) {
    object(to, |to| {
        to.name(name);
        to.array(parts, |to, part| part.write(to));
    });
}

fn named_or_null(to: &mut Writer, name: &str, part: Option<&Value>) {
    to.name(name);
    match part {
        Some(part) => part.write(to),
        None => to.raw("null"),
    }
}

fn bool(to: &mut Writer, value: bool) {
    to.raw(if value { "true" } else { "false" });
}

/// The shortest digits that read back to the same float, written as ECMAScript does, but for -0 and what is not finite.
fn float(to: &mut Writer, value: impl ryu_js::Float, double: f64) {
    let word = match double {
        _ if double.is_nan() => "nan",
        f64::INFINITY => "positive-infinity",
        f64::NEG_INFINITY => "negative-infinity",
        _ if double == 0.0 && double.is_sign_negative() => return to.raw("-0"),
        _ => return to.raw(ryu_js::Buffer::new().format_finite(value)),
    };
    object(to, |to| named_text(to, "$float", Some(word)));
}
