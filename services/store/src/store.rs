//! The retry loop over an engine.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use env::Env;
use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::metrics::{METRICS, Retry};
use crate::{
    AtomicOp, CommitError, Engine, EngineTransaction, Isolation, KeyRange, Page, RangeRead, StoreError, TransactError,
    Watch,
};

#[cfg(test)]
mod tests;

/// The bound on the growth of the pause between attempts.
const MAX_PAUSES: u32 = 100;

/// Attempts that are made however long they take: a process that was stopped, or a machine that stood still, must not
/// fail the transactions that it had begun.
const LEAST_ATTEMPTS: u32 = 3;

/// Longest time that a database whose servers have died may take to come back: what it held up goes on then. Half of what a
/// client bears by default before it gives up a turn.
const RECOVERY: Duration = Duration::from_secs(30);

/// How long [`Store::transact`] keeps trying. A policy ends with whichever bound is met first, but not on time alone before
/// the third attempt.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Most attempts.
    pub attempts: u32,
    /// Most time from the first attempt's start to the last one's start.
    pub time: Duration,
    /// Longest pause before the third attempt (the second follows at once); it doubles with each further one, up to
    /// 100 times this. The actual pause is a random part of it.
    pub pause: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 100, time: RECOVERY, pause: Duration::from_millis(1) }
    }
}

/// Which attempt of a transaction this is.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// 0 for the first.
    pub number: u32,
    /// An earlier attempt may have been committed: look for its effect before repeating it.
    pub maybe_committed: bool,
}

impl Attempt {
    /// Whether this is the first attempt, which may [`presume`](Transaction::presume) what it believes to know.
    #[must_use]
    pub fn is_first(self) -> bool {
        self.number == 0
    }

    /// What the caller is told when this attempt fails for good.
    fn settle<E>(self, error: TransactError<E>) -> TransactError<E> {
        match error {
            TransactError::Store(_) | TransactError::Exhausted { .. } if self.maybe_committed => TransactError::Unknown,
            // The closure knows that an earlier attempt may have been committed, and has decided.
            error => error,
        }
    }
}

/// An engine and how to retry on it. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
    env: Env,
    policy: RetryPolicy,
    background: bool,
}

impl Store {
    /// A store over `engine` with the default retry policy.
    pub fn new(engine: impl Engine, env: Env) -> Self {
        Self { engine: Arc::new(engine), env, policy: RetryPolicy::default(), background: false }
    }

    /// The same store with another retry policy.
    #[must_use]
    pub fn with_policy(self, policy: RetryPolicy) -> Self {
        Self { policy, ..self }
    }

    /// The same store for work that nobody waits for. Its transactions stand back for others where the engine can let them,
    /// and may be put off for as long as the policy allows.
    #[must_use]
    pub fn background(&self) -> Self {
        Self { background: true, ..self.clone() }
    }

    /// Runs `body` in a transaction and commits it, again and again until it commits, refuses, or the policy ends.
    ///
    /// `body` must have no effect but through its transaction, and must recognise its own earlier success when
    /// [`Attempt::maybe_committed`] is set.
    ///
    /// # Errors
    /// See [`TransactError`].
    pub async fn transact<T, E, F>(&self, body: F) -> Result<T, TransactError<E>>
    where
        T: Send,
        E: Send,
        F: for<'t> FnMut(&'t mut Transaction, Attempt) -> BoxFuture<'t, Result<T, TransactError<E>>> + Send,
    {
        let result = self.retried(body).await;
        METRICS.ended(&result);
        result
    }

    async fn retried<T, E, F>(&self, mut body: F) -> Result<T, TransactError<E>>
    where
        F: for<'t> FnMut(&'t mut Transaction, Attempt) -> BoxFuture<'t, Result<T, TransactError<E>>>,
    {
        let started = Instant::now();
        let mut attempt = Attempt { number: 0, maybe_committed: false };
        loop {
            match self.attempt(&mut body, attempt).await {
                Ok(Ended::Committed(value)) => return Ok(value),
                Ok(Ended::Again(retry)) => {
                    METRICS.retried(retry);
                    attempt.maybe_committed |= retry == Retry::Unknown;
                }
                Err(error) => return Err(attempt.settle(error)),
            }
            attempt.number += 1;
            let late = attempt.number >= LEAST_ATTEMPTS && started.elapsed() >= self.policy.time;
            if late || attempt.number >= self.policy.attempts {
                return Err(attempt.settle(TransactError::Exhausted { attempts: attempt.number }));
            }
            self.pause_before(attempt.number).await;
        }
    }

    async fn attempt<T, E, F>(&self, body: &mut F, attempt: Attempt) -> Result<Ended<T>, TransactError<E>>
    where
        F: for<'t> FnMut(&'t mut Transaction, Attempt) -> BoxFuture<'t, Result<T, TransactError<E>>>,
    {
        let begun = if self.background { self.engine.begin_background().await } else { self.engine.begin().await };
        let mut transaction = match begun {
            Ok(inner) => Transaction { inner, writes: false },
            Err(StoreError::TooOld) => return Ok(Ended::Again(Retry::TooOld)),
            Err(error) => return Err(error.into()),
        };
        let value = match body(&mut transaction, attempt).await {
            Ok(value) => value,
            Err(TransactError::Store(StoreError::TooOld)) => return Ok(Ended::Again(Retry::TooOld)),
            Err(error) => return Err(error),
        };
        match transaction.commit().await {
            Ok(()) => Ok(Ended::Committed(value)),
            Err(CommitError::Conflict) => Ok(Ended::Again(Retry::Conflict)),
            Err(CommitError::Store(StoreError::TooOld)) => Ok(Ended::Again(Retry::TooOld)),
            Err(CommitError::Unknown) => Ok(Ended::Again(Retry::Unknown)),
            Err(CommitError::Store(error)) => Err(error.into()),
        }
    }

    async fn pause_before(&self, attempt: u32) {
        // What made the first attempt fail is most often an outdated presumption, which the second does not make.
        let Some(doublings) = attempt.checked_sub(2) else { return };
        let longest = self.policy.pause * 2_u32.saturating_pow(doublings).min(MAX_PAUSES);
        let share = (self.env.random_u64() >> 32) as f64 / f64::from(u32::MAX);
        tokio::time::sleep(longest.mul_f64(share)).await;
    }
}

enum Ended<T> {
    Committed(T),
    Again(Retry),
}

/// What a closure under [`Store::transact`] sees. Methods are those of [`EngineTransaction`].
pub struct Transaction {
    inner: Box<dyn EngineTransaction>,
    /// Whether there is anything to commit.
    writes: bool,
}

impl Transaction {
    /// A serializable read of `key`.
    ///
    /// # Errors
    /// Any [`StoreError`]; return it from the closure.
    pub async fn get(&mut self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key, Isolation::Serializable).await
    }

    /// A read of `key` that does not conflict.
    ///
    /// # Errors
    /// Any [`StoreError`]; return it from the closure.
    pub async fn get_snapshot(&mut self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(key, Isolation::Snapshot).await
    }

    /// One page of a range.
    ///
    /// # Errors
    /// Any [`StoreError`]; return it from the closure.
    pub async fn get_range(&mut self, read: &RangeRead, isolation: Isolation) -> Result<Page, StoreError> {
        self.inner.get_range(read, isolation).await
    }

    /// See [`EngineTransaction::presume`].
    ///
    /// # Errors
    /// Any [`StoreError`]; return it from the closure.
    pub async fn presume(&mut self, key: &[u8], value: Option<&Bytes>) -> Result<(), StoreError> {
        self.inner.presume(key, value).await
    }

    /// Sets `key` to `value`.
    pub fn set(&mut self, key: &[u8], value: &[u8]) {
        self.writes = true;
        self.inner.set(key, value);
    }

    /// Removes `key`.
    pub fn clear(&mut self, key: &[u8]) {
        self.writes = true;
        self.inner.clear(key);
    }

    /// Removes every key of `range`.
    pub fn clear_range(&mut self, range: &KeyRange) {
        self.writes = true;
        self.inner.clear_range(range);
    }

    /// Applies `op` with `operand` to `key` at commit, without conflicting.
    pub fn atomic(&mut self, op: AtomicOp, key: &[u8], operand: u64) {
        self.writes = true;
        self.inner.atomic(op, key, operand);
    }

    /// See [`EngineTransaction::set_versionstamped_key`].
    pub fn set_versionstamped_key(&mut self, prefix: &[u8], suffix: &[u8], value: &[u8]) {
        self.writes = true;
        self.inner.set_versionstamped_key(prefix, suffix, value);
    }

    /// See [`EngineTransaction::watch`].
    pub fn watch(&mut self, key: &[u8]) -> Watch {
        self.inner.watch(key)
    }

    async fn commit(self) -> Result<(), CommitError> {
        let begun = Instant::now();
        let committed = self.inner.commit().await;
        if self.writes && committed.is_ok() {
            METRICS.committed(begun.elapsed());
        }
        committed.map(drop)
    }
}
