//! How far an output may be ahead of its client (stream-session protocol, section 18). Nobody waits for a client that is not
//! attached: what it missed it is sent when it comes back.

use std::collections::VecDeque;

/// Most bytes, as items cost, that are durable and that an attached client was not sent.
const MOST_BYTES: i64 = 16 << 20;
/// Most items, or batches of octets, of that kind.
const MOST_ITEMS: usize = 256;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// How many items the client was sent.
    delivered: u64,
    /// What it was not: the sequences that follow, and what the items cost.
    owed: VecDeque<(u64, i64)>,
    bytes: i64,
    /// Credit that the harness does not get yet.
    withheld: i64,
}

impl Pace {
    /// An item before `end`, which cost so much, has become durable. Answers the credit that the harness gets.
    pub(super) fn durable(&mut self, end: u64, cost: i64, attached: bool) -> i64 {
        self.withheld += cost;
        if end > self.delivered {
            self.owed.push_back((end, cost));
            self.bytes += cost;
        }
        self.release(attached)
    }

    /// The client was sent so many items. Answers the credit that the harness gets.
    pub(super) fn delivered(&mut self, count: u64, attached: bool) -> i64 {
        self.delivered = count;
        self.release(attached)
    }

    fn release(&mut self, attached: bool) -> i64 {
        while let Some((_, cost)) = self.owed.pop_front_if(|(end, _)| !attached || *end <= self.delivered) {
            self.bytes -= cost;
        }
        let within = self.bytes <= MOST_BYTES && self.owed.len() <= MOST_ITEMS;
        if within { std::mem::take(&mut self.withheld) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_is_withheld_while_the_client_is_too_far_behind() {
        let mut pace = Pace::default();
        for end in 1..=16 {
            assert_eq!(pace.durable(end, 1 << 20, true), 1 << 20);
        }
        assert_eq!(pace.durable(17, 100, true), 0);
        assert_eq!(pace.durable(18, 100, true), 0);
        assert_eq!(pace.delivered(1, true), 200);
    }

    #[test]
    fn small_items_count_too() {
        let mut pace = Pace::default();
        let granted: i64 = (1..=300).map(|end| pace.durable(end, 1, true)).sum();
        assert_eq!(granted, MOST_ITEMS as i64);
        assert_eq!(pace.delivered(100, true), 300 - granted);
    }

    #[test]
    fn nobody_waits_for_a_client_that_is_away_or_was_sent_everything() {
        let mut pace = Pace::default();
        assert_eq!(pace.durable(1, 20 << 20, true), 0);
        assert_eq!(pace.delivered(0, false), 20 << 20);
        assert_eq!(pace.durable(2, 20 << 20, false), 20 << 20);
        pace.delivered(9, true);
        assert_eq!(pace.durable(3, 20 << 20, true), 20 << 20);
    }
}
