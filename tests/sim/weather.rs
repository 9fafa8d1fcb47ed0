//! How rough the world is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use store::RetryPolicy;
use store::fault::{Crash, CrashPoint, FaultPlan};

use crate::dice::Dice;

/// What goes wrong in a run, and how often. Clones are the same weather.
#[derive(Clone)]
pub struct Weather {
    calm: Arc<AtomicBool>,
    /// Share of commits that fail.
    store_faults: f64,
    /// How often a run of a node dies at one of its commits.
    crashes: f64,
    /// How often a model, a tool or a harness fails.
    pub failures: f64,
    /// Longest time between two blows of the storm.
    pub lull: Duration,
    /// Nodes give a transaction up soon, so that unknown outcomes reach their callers.
    impatient: bool,
}

impl Weather {
    /// Draws the weather of a run.
    pub fn draw(dice: &Dice) -> Self {
        Self {
            calm: Arc::default(),
            store_faults: *dice.pick(&[0.0, 0.02, 0.1, 0.3]),
            crashes: *dice.pick(&[0.0, 0.3, 0.8]),
            failures: *dice.pick(&[0.0, 0.05, 0.2]),
            lull: Duration::from_millis(*dice.pick(&[2_000, 8_000, 30_000])),
            impatient: dice.chance(0.5),
        }
    }

    /// Nothing goes wrong from now on.
    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    /// Whether nothing goes wrong any more.
    pub fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Whether a model, a tool or a harness fails now.
    pub fn strikes(&self, dice: &Dice) -> bool {
        !self.is_calm() && dice.chance(self.failures)
    }

    /// What the store does to one run of a node.
    pub fn fault_plan(&self, dice: &Dice) -> FaultPlan {
        let plan = FaultPlan::mixed(dice.number(), self.store_faults);
        if !dice.chance(self.crashes) {
            return plan;
        }
        let point = *dice.pick(&[CrashPoint::Before, CrashPoint::After]);
        FaultPlan { crash: Some(Crash { commit: dice.below(40) as u64, point }), ..plan }
    }

    /// How long a node keeps trying to commit.
    pub fn retry_policy(&self) -> RetryPolicy {
        let patient = RetryPolicy::default();
        if self.impatient { RetryPolicy { attempts: 3, ..patient } } else { patient }
    }
}
