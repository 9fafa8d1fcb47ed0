//! What is on or off.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{InvalidValue, Raw, text_value};

text_value!(Switch);

/// Whether something is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "bool")]
pub struct Switch(bool);

impl Switch {
    /// Off.
    pub const OFF: Self = Self(false);
    /// On.
    pub const ON: Self = Self(true);

    /// Whether it is on.
    #[must_use]
    pub fn is_on(self) -> bool {
        self.0
    }
}

impl From<Switch> for bool {
    fn from(switch: Switch) -> Self {
        switch.0
    }
}

impl FromStr for Switch {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.parse().map(Self).map_err(|_| InvalidValue(format!("{text:?} is neither true nor false")))
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
