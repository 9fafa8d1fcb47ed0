//! Where in a value a fault is.

use std::fmt;

use crate::Refusal;

/// The names of fields, cases and branches, and the indices of elements, that lead to a fault, from the inside out: noted only
/// when there is one. Names are the schema's, so that nothing is told of what was sent.
#[derive(Debug, Default)]
pub(super) struct Place(Vec<String>);

impl Place {
    /// What was found so far is within this part.
    pub(super) fn is_within(&mut self, name: &dyn fmt::Display) {
        self.0.push(name.to_string());
    }

    /// The refusal with the place.
    pub(super) fn told(&self, refusal: Refusal) -> Refusal {
        if self.0.is_empty() {
            return refusal;
        }
        let path: Vec<_> = self.0.iter().rev().map(String::as_str).collect();
        refusal.at(path.join("."))
    }
}
