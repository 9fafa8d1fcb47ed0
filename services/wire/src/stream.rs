//! What streams of invocations cost (invocation.proto).

use prost::Message;

use crate::stream_item::Item;
use crate::{StreamCredit, StreamItem};

/// What an item costs beside its size.
const ITEM_COST: usize = 64;

impl StreamCredit {
    /// What every stream begins with, in bytes.
    pub const INITIAL: i64 = 1 << 20;
}

impl StreamItem {
    /// What it costs its writer, in bytes of credit.
    #[must_use]
    pub fn cost(&self) -> i64 {
        i64::try_from(self.encoded_len() + ITEM_COST).unwrap_or(i64::MAX)
    }

    /// How many items it is: of octets, each is one.
    #[must_use]
    pub fn count(&self) -> i64 {
        match &self.item {
            Some(Item::Octets(octets)) => i64::try_from(octets.len()).unwrap_or(i64::MAX),
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_an_item_each_and_cost_what_they_take() {
        let octets = StreamItem { sequence: 1, item: Some(Item::Octets(vec![0; 3])) };
        assert_eq!((octets.count(), octets.cost()), (3, 64 + 2 + 5));
        let value = StreamItem { sequence: 0, item: Some(Item::Value("x".into())) };
        assert_eq!((value.count(), value.cost()), (1, 64 + 3));
    }
}
