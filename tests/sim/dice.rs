//! Decisions drawn from a seed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The dice of one actor. Clones share them.
#[derive(Clone)]
pub struct Dice {
    rng: Arc<Mutex<StdRng>>,
}

impl Dice {
    /// Dice that fall as `seed` says.
    pub fn new(seed: u64) -> Self {
        Self { rng: Arc::new(Mutex::new(StdRng::seed_from_u64(seed))) }
    }

    /// Dice of their own for another actor: what it draws does not depend on what this one draws later.
    pub fn split(&self) -> Self {
        Self::new(self.number())
    }

    /// Any number.
    pub fn number(&self) -> u64 {
        self.with(RngExt::random)
    }

    /// Whether something happens that does with this probability.
    pub fn chance(&self, probability: f64) -> bool {
        self.with(|rng| rng.random::<f64>()) < probability
    }

    /// A number below `bound`, which is positive.
    pub fn below(&self, bound: usize) -> usize {
        self.with(|rng| rng.random_range(0..bound))
    }

    /// One of `choices`; there is at least one.
    pub fn pick<'a, T>(&self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// A time up to `longest`, in whole milliseconds.
    pub fn up_to(&self, longest: Duration) -> Duration {
        let longest = u64::try_from(longest.as_millis()).expect("a simulation lasts no million years");
        Duration::from_millis(self.with(|rng| rng.random_range(0..=longest)))
    }

    fn with<T>(&self, draw: impl FnOnce(&mut StdRng) -> T) -> T {
        draw(&mut self.rng.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
