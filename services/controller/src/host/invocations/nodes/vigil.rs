//! Who lives, as far as one node can tell by its own clock.

use std::collections::HashMap;
use std::time::Duration;

use journal::Incarnation;
use journal::invocations::Beat;
use tokio::time::Instant;

use super::sign::is_of_the_dead;

/// How long a node may give no sign of life.
const SILENCE: Duration = Duration::from_secs(8);
/// How long a node may have something before it gives its first sign; one that has said farewell looks the same.
const FIRST_SIGN: Duration = Duration::from_secs(1);

/// The last signs of life, and since when each has been the last one.
#[derive(Debug, Default)]
pub(super) struct Vigil {
    seen: HashMap<Incarnation, (u64, Instant)>,
}

impl Vigil {
    /// Looks at the signs of life as of now, and tells which of the others are dead.
    pub(super) fn look(&mut self, beats: &[Beat], own: Incarnation, now: Instant) -> Vec<Incarnation> {
        let before = std::mem::take(&mut self.seen);
        let since = |beat: &Beat| match before.get(&beat.node) {
            Some(&(number, since)) if number == beat.beat => since,
            _ => now,
        };
        let others = beats.iter().filter(|beat| beat.node != own);
        self.seen = others.map(|beat| (beat.node, (beat.beat, since(beat)))).collect();
        let patience = |beat: u64| if beat == 0 { FIRST_SIGN } else { SILENCE };
        let is_silent =
            |beat: &Beat| self.seen.get(&beat.node).is_some_and(|(_, since)| now - *since >= patience(beat.beat));
        let others = beats.iter().filter(|beat| beat.node != own);
        others.filter(|beat| is_of_the_dead(&beat.name) || is_silent(beat)).map(|beat| beat.node).collect()
    }

    /// A dead node has been dealt with. If it shows up again it is looked at anew.
    pub(super) fn forget(&mut self, node: Incarnation) {
        self.seen.remove(&node);
    }
}

#[cfg(test)]
mod tests {
    use env::Env;

    use super::super::sign;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_node_is_dead_after_eight_seconds_without_another_sign() {
        let env = Env::seeded(1);
        let [own, other] = [Incarnation::mint(&env), Incarnation::mint(&env)];
        let beat = |node, beat| Beat { node, name: String::new(), beat };
        let beats = |number| vec![beat(own, 1), beat(other, number)];
        let (mut vigil, begin) = (Vigil::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(vigil.look(&beats(7), own, at(0)), []);
        assert_eq!(vigil.look(&beats(7), own, at(7)), []);
        assert_eq!(vigil.look(&beats(8), own, at(8)), [], "it gave one");
        assert_eq!(vigil.look(&beats(8), own, at(15)), []);
        assert_eq!(vigil.look(&beats(8), own, at(16)), [other]);
        vigil.forget(other);
        assert_eq!(vigil.look(&beats(8), own, at(17)), []);
        assert_eq!(vigil.look(&[], own, at(40)), [], "it is gone");
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_whose_process_has_ended_on_this_machine_is_dead_at_once() {
        let Some(mark) = env::process_mark() else { return };
        let env = Env::seeded(1);
        let [own, lives, ended] = [(); 3].map(|()| Incarnation::mint(&env));
        let beat = |node, mark: &str| Beat { node, name: sign::write("node", Some(mark)), beat: 1 };
        let beats = [beat(lives, &mark), beat(ended, &format!("{mark}0"))];
        assert_eq!(Vigil::default().look(&beats, own, Instant::now()), [ended]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_gives_no_signs_any_more_is_dead_at_the_second_look() {
        let env = Env::seeded(1);
        let [own, other] = [Incarnation::mint(&env), Incarnation::mint(&env)];
        let (mut vigil, begin) = (Vigil::default(), Instant::now());
        let beats = || vec![Beat { node: other, name: String::new(), beat: 0 }];
        assert_eq!(vigil.look(&beats(), own, begin), []);
        assert_eq!(vigil.look(&beats(), own, begin + Duration::from_secs(2)), [other]);
    }
}
