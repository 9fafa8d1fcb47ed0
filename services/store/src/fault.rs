//! An engine around an engine that fails on purpose, as decided by a seed.

mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

pub use plan::{Crash, CrashPoint, FaultPlan};

use crate::{
    AtomicOp, CommitError, Engine, EngineTransaction, Isolation, KeyRange, Page, RangeRead, StoreError, Versionstamp,
    Watch,
};

/// An engine with faults. Clones share the engine, the plan and whether it has crashed.
#[derive(Clone)]
pub struct Fault<E> {
    engine: E,
    state: Arc<State>,
}

struct State {
    plan: FaultPlan,
    crashed: AtomicBool,
    transactions: AtomicU64,
    commits: AtomicU64,
    faults: AtomicU64,
    at_crash: fn(),
}

/// What happens to a commit.
#[derive(Clone, Copy)]
enum Fate {
    Undisturbed,
    Conflict,
    UnknownCommitted,
    UnknownLost,
    TooOld,
    Crash(CrashPoint),
}

impl<E: Engine> Fault<E> {
    /// Lets `engine` fail according to `plan`.
    pub fn new(engine: E, plan: FaultPlan) -> Self {
        Self::with_crash(engine, plan, || {})
    }

    /// Like [`new`](Self::new), and runs `at_crash` at every crash, before anyone can learn of it: a test that wants the
    /// process itself to die ends it there.
    pub fn with_crash(engine: E, plan: FaultPlan, at_crash: fn()) -> Self {
        let state = State {
            plan,
            crashed: AtomicBool::new(false),
            transactions: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            at_crash,
        };
        Self { engine, state: Arc::new(state) }
    }

    /// Whether a crash has happened and the store has not been revived: every call fails until then.
    #[must_use]
    pub fn is_crashed(&self) -> bool {
        self.state.crashed.load(Ordering::SeqCst)
    }

    /// Ends the time after a crash, as a restart would.
    pub fn revive(&self) {
        self.state.crashed.store(false, Ordering::SeqCst);
    }

    /// How many faults there have been, delays not counted.
    #[must_use]
    pub fn faults(&self) -> u64 {
        self.state.faults.load(Ordering::SeqCst)
    }
}

impl State {
    fn check_alive(&self) -> Result<(), StoreError> {
        if self.crashed.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("crashed as planned".into()));
        }
        Ok(())
    }

    fn disturb(self: &Arc<Self>, inner: Box<dyn EngineTransaction>) -> Box<dyn EngineTransaction> {
        // One generator a transaction, so that what happens to it depends little on what runs beside it.
        let number = self.transactions.fetch_add(1, Ordering::SeqCst);
        let rng = StdRng::seed_from_u64(self.plan.seed.wrapping_add(number.wrapping_mul(SEED_STEP)));
        Box::new(Faulty { inner, state: Arc::clone(self), rng, writes: false })
    }

    fn count_fault(&self) {
        self.faults.fetch_add(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl<E: Engine> Engine for Fault<E> {
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        self.state.check_alive()?;
        Ok(self.state.disturb(self.engine.begin().await?))
    }

    async fn begin_background(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        self.state.check_alive()?;
        Ok(self.state.disturb(self.engine.begin_background().await?))
    }
}
/// Any large odd number keeps the generators of neighbouring seeds and transactions apart.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A transaction with faults.
struct Faulty {
    inner: Box<dyn EngineTransaction>,
    state: Arc<State>,
    rng: StdRng,
    writes: bool,
}

impl Faulty {
    async fn before_read(&mut self) -> Result<(), StoreError> {
        self.delay().await;
        self.state.check_alive()?;
        if self.happens(self.state.plan.too_old_read) {
            self.state.count_fault();
            return Err(StoreError::TooOld);
        }
        Ok(())
    }

    async fn delay(&mut self) {
        if self.happens(self.state.plan.delay) {
            tokio::time::sleep(self.state.plan.longest_delay.mul_f64(self.rng.random())).await;
        }
    }

    fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.rng.random::<f64>() < probability
    }

    fn fate(&mut self) -> Fate {
        if !self.writes {
            // No engine refuses a transaction that only reads, except for its age.
            return if self.happens(self.state.plan.too_old_commit) { Fate::TooOld } else { Fate::Undisturbed };
        }
        let plan = &self.state.plan;
        let number = self.state.commits.fetch_add(1, Ordering::SeqCst);
        if let Some(crash) = plan.crash
            && crash.commit == number
        {
            return Fate::Crash(crash.point);
        }
        let mut draw: f64 = self.rng.random();
        let fates = [
            (plan.conflict, Fate::Conflict),
            (plan.unknown_committed, Fate::UnknownCommitted),
            (plan.unknown_lost, Fate::UnknownLost),
            (plan.too_old_commit, Fate::TooOld),
            (plan.crash_before_commit, Fate::Crash(CrashPoint::Before)),
            (plan.crash_after_commit, Fate::Crash(CrashPoint::After)),
        ];
        for (probability, fate) in fates {
            if draw < probability {
                return fate;
            }
            draw -= probability;
        }
        Fate::Undisturbed
    }
}

#[async_trait]
impl EngineTransaction for Faulty {
    async fn get(&mut self, key: &[u8], isolation: Isolation) -> Result<Option<Bytes>, StoreError> {
        self.before_read().await?;
        self.inner.get(key, isolation).await
    }

    async fn get_range(&mut self, read: &RangeRead, isolation: Isolation) -> Result<Page, StoreError> {
        self.before_read().await?;
        self.inner.get_range(read, isolation).await
    }

    async fn presume(&mut self, key: &[u8], value: Option<&Bytes>) -> Result<(), StoreError> {
        self.before_read().await?;
        self.inner.presume(key, value).await
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        self.writes = true;
        self.inner.set(key, value);
    }

    fn clear(&mut self, key: &[u8]) {
        self.writes = true;
        self.inner.clear(key);
    }

    fn clear_range(&mut self, range: &KeyRange) {
        self.writes = true;
        self.inner.clear_range(range);
    }

    fn atomic(&mut self, op: AtomicOp, key: &[u8], operand: u64) {
        self.writes = true;
        self.inner.atomic(op, key, operand);
    }

    fn set_versionstamped_key(&mut self, prefix: &[u8], suffix: &[u8], value: &[u8]) {
        self.writes = true;
        self.inner.set_versionstamped_key(prefix, suffix, value);
    }

    fn watch(&mut self, key: &[u8]) -> Watch {
        self.inner.watch(key)
    }

    async fn commit(mut self: Box<Self>) -> Result<Option<Versionstamp>, CommitError> {
        self.delay().await;
        self.state.check_alive()?;
        let fate = self.fate();
        let Self { inner, state, .. } = *self;
        if !matches!(fate, Fate::Undisturbed) {
            state.count_fault();
        }
        match fate {
            Fate::Undisturbed => inner.commit().await,
            Fate::Conflict => Err(CommitError::Conflict),
            Fate::TooOld => Err(StoreError::TooOld.into()),
            Fate::UnknownLost => Err(CommitError::Unknown),
            Fate::UnknownCommitted => inner.commit().await.and(Err(CommitError::Unknown)),
            Fate::Crash(point) => {
                if point == CrashPoint::After {
                    // Whoever crashed does not learn how it went.
                    let _ = inner.commit().await;
                }
                (state.at_crash)();
                state.crashed.store(true, Ordering::SeqCst);
                Err(CommitError::Unknown)
            }
        }
    }
}
