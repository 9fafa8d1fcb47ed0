//! The streams in a value.

use super::{StreamRef, Value};

impl Value {
    /// Gives every stream in the value the name that `name` has for it, in document order.
    pub fn rename_streams(&mut self, name: &mut impl FnMut(&StreamRef) -> StreamRef) {
        match self {
            Self::Stream(stream) => *stream = name(stream),
            Self::Record(parts) | Self::Tuple(parts) | Self::List(parts) | Self::FixedList(parts) => {
                parts.iter_mut().for_each(|part| part.rename_streams(name));
            }
            Self::Map(entries) => {
                for (key, value) in entries {
                    key.rename_streams(name);
                    value.rename_streams(name);
                }
            }
            Self::Variant { payload: part, .. } | Self::Option(part) | Self::Result { value: part, .. } => {
                part.iter_mut().for_each(|part| part.rename_streams(name));
            }
            Self::Union { body, .. } => body.rename_streams(name),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_renamed_wherever_they_stand_in_document_order() {
        let stream = |name: &str| Value::Stream(StreamRef::Stable(name.into()));
        let boxed = |name: &str| Some(Box::new(stream(name)));
        let value = |names: [&str; 8]| {
            let [a, b, c, d, e, f, g, h] = names;
            Value::Record(vec![
                Value::List(vec![stream(a), Value::Bool(true)]),
                Value::Map(vec![(stream(b), stream(c))]),
                Value::Variant { case: 0, payload: boxed(d) },
                Value::Option(boxed(e)),
                Value::Result { ok: false, value: boxed(f) },
                Value::Union { tag: "t".into(), body: Box::new(stream(g)) },
                Value::Tuple(vec![Value::FixedList(vec![stream(h)]), Value::Option(None)]),
            ])
        };
        let mut renamed = value(["a", "b", "c", "d", "e", "f", "g", "h"]);
        let mut seen = 0;
        renamed.rename_streams(&mut |_| {
            seen += 1;
            StreamRef::Stable(seen.to_string())
        });
        assert_eq!(renamed, value(["1", "2", "3", "4", "5", "6", "7", "8"]));
    }
}
