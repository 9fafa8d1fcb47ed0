//! What values cost (schema.md section 6).

use super::{StreamRef, Value};
use crate::{Refusal, limits};

/// The sum so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Charge(u64);

impl Charge {
    /// Adds a node without its children.
    pub(super) fn add(&mut self, node: &Value) -> Result<(), Refusal> {
        self.0 = self.0.saturating_add(own(node));
        if self.0 <= limits::VALUE_CHARGE { Ok(()) } else { Err(Refusal::exhausted("a value is too large")) }
    }

    pub(super) fn total(self) -> u64 {
        self.0
    }
}

impl Value {
    /// What it costs.
    ///
    /// # Errors
    /// `resource-exhausted` above 16 MiB.
    pub fn charge(&self) -> Result<u64, Refusal> {
        let mut charge = Charge::default();
        self.add_to(&mut charge)?;
        Ok(charge.total())
    }

    fn add_to(&self, charge: &mut Charge) -> Result<(), Refusal> {
        charge.add(self)?;
        match self {
            Self::Record(parts) | Self::Tuple(parts) | Self::List(parts) | Self::FixedList(parts) => {
                parts.iter().try_for_each(|part| part.add_to(charge))
            }
            Self::Map(entries) => entries.iter().try_for_each(|(key, value)| {
                key.add_to(charge)?;
                value.add_to(charge)
            }),
            Self::Variant { payload: part, .. } | Self::Option(part) | Self::Result { value: part, .. } => {
                part.iter().try_for_each(|part| part.add_to(charge))
            }
            Self::Union { body, .. } => body.add_to(charge),
            _ => Ok(()),
        }
    }
}

/// A node costs 1, and this much more for what is not its children's.
fn own(node: &Value) -> u64 {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let more = match node {
        Value::Bool(_) => 1,
        Value::Signed(kind, _) | Value::Unsigned(kind, _) => kind.bytes(),
        Value::F32(_) | Value::Enum(_) | Value::Variant { .. } => 4,
        Value::F64(_) | Value::Duration(_) => 8,
        Value::Char(char) => char.len_utf8(),
        Value::String(text) | Value::Path(text) | Value::Url(text) => text.len(),
        Value::Text { text: of, language } => of.len() + text(language),
        Value::Binary { bytes, mime_type } => bytes.len() + text(mime_type),
        Value::Datetime(datetime) => datetime.to_string().len(),
        Value::Quantity(quantity) => 12 + quantity.unit.len(),
        Value::Record(_) | Value::Tuple(_) | Value::List(_) | Value::FixedList(_) | Value::Map(_) => 4,
        Value::Flags(bits) => 4 + bits.len(),
        Value::Option(_) => 0,
        Value::Result { ok, .. } => if *ok { "ok" } else { "err" }.len(),
        Value::Union { tag, .. } => tag.len(),
        Value::Stream(StreamRef::Provisional(_)) => 16,
        Value::Stream(StreamRef::Stable(token)) => token.len(),
    };
    1 + more as u64
}
