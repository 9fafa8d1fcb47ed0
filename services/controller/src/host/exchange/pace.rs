//! How far an output may be ahead of its client (stream-session protocol, section 18). Nobody waits for a client that is not
//! attached: what it missed it is sent when it comes back.

use std::collections::VecDeque;

/// Most that is durable of one output and that an attached client was not sent, as it is charged.
const MOST_BYTES: i64 = 16 << 20;
/// Most items, or batches of octets, of that kind.
const MOST_ITEMS: usize = 256;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// How many items the client was sent.
    delivered: u64,
    /// What it was not: the sequences that follow, and what the items are charged.
    owed: VecDeque<(u64, i64)>,
    bytes: i64,
    /// Credit that the harness does not get yet.
    withheld: i64,
}

impl Pace {
    /// An item before `end`, which used up so much credit, has become durable. Until it is sent it is charged.
    pub(super) fn durable(&mut self, end: u64, (cost, charge): (i64, i64), attached: bool) {
        self.withheld += cost;
        if end > self.delivered {
            self.owed.push_back((end, charge));
            self.bytes += charge;
        }
        self.settle(attached);
    }

    /// The client was sent so many items, or has no use for them.
    pub(super) fn delivered(&mut self, count: u64, attached: bool) {
        self.delivered = count;
        self.settle(attached);
    }

    fn settle(&mut self, attached: bool) {
        while let Some((_, charge)) = self.owed.pop_front_if(|(end, _)| !attached || *end <= self.delivered) {
            self.bytes -= charge;
        }
    }

    /// What is charged now.
    pub(super) fn bytes(&self) -> i64 {
        self.bytes
    }

    /// The credit that the harness gets now, `None` if it must wait for the client.
    pub(super) fn release(&mut self) -> Option<i64> {
        let within = self.bytes <= MOST_BYTES && self.owed.len() <= MOST_ITEMS;
        within.then(|| std::mem::take(&mut self.withheld))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durable(pace: &mut Pace, end: u64, cost: i64, attached: bool) -> i64 {
        pace.durable(end, (cost, cost), attached);
        pace.release().unwrap_or(0)
    }

    fn delivered(pace: &mut Pace, count: u64, attached: bool) -> i64 {
        pace.delivered(count, attached);
        pace.release().unwrap_or(0)
    }

    #[test]
    fn credit_is_withheld_while_the_client_is_too_far_behind() {
        let mut pace = Pace::default();
        for end in 1..=16 {
            assert_eq!(durable(&mut pace, end, 1 << 20, true), 1 << 20);
        }
        assert_eq!(durable(&mut pace, 17, 100, true), 0);
        assert_eq!(durable(&mut pace, 18, 100, true), 0);
        assert_eq!(delivered(&mut pace, 1, true), 200);
    }

    #[test]
    fn small_items_count_too() {
        let mut pace = Pace::default();
        let granted: i64 = (1..=300).map(|end| durable(&mut pace, end, 1, true)).sum();
        assert_eq!(granted, MOST_ITEMS as i64);
        assert_eq!(delivered(&mut pace, 100, true), 300 - granted);
    }

    #[test]
    fn what_is_charged_may_be_more_than_what_it_cost() {
        let mut pace = Pace::default();
        pace.durable(1, (9 << 20, 18 << 20), true);
        assert_eq!(pace.release(), None);
        assert_eq!(delivered(&mut pace, 1, true), 9 << 20);
    }

    #[test]
    fn nobody_waits_for_a_client_that_is_away_or_was_sent_everything() {
        let mut pace = Pace::default();
        assert_eq!(durable(&mut pace, 1, 20 << 20, true), 0);
        assert_eq!(delivered(&mut pace, 0, false), 20 << 20);
        assert_eq!(durable(&mut pace, 2, 20 << 20, false), 20 << 20);
        delivered(&mut pace, 9, true);
        assert_eq!(durable(&mut pace, 3, 20 << 20, true), 20 << 20);
    }
}
