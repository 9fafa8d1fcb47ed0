//! The retry loop, over an engine whose commits answer from a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use env::Env;
use futures::FutureExt;
use tokio::time::Instant;

use super::{Attempt, RetryPolicy, Store, Transaction};
use crate::limits::TRANSACTION_LIFE;
use crate::{
    AtomicOp, CommitError, Engine, EngineTransaction, Isolation, KeyRange, Page, RangeRead, StoreError, TransactError,
    Versionstamp, Watch,
};

type Outcome = Result<Option<Versionstamp>, CommitError>;

/// Answers each commit with the next outcome, and conflicts once there is none left.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<VecDeque<Outcome>>>);

#[async_trait]
impl Engine for Scripted {
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl EngineTransaction for Scripted {
    async fn get(&mut self, _: &[u8], _: Isolation) -> Result<Option<Bytes>, StoreError> {
        Ok(None)
    }
    async fn get_range(&mut self, _: &RangeRead, _: Isolation) -> Result<Page, StoreError> {
        Ok(Page::default())
    }
    async fn presume(&mut self, _: &[u8], _: Option<&Bytes>) -> Result<(), StoreError> {
        Ok(())
    }
    fn set(&mut self, _: &[u8], _: &[u8]) {}
    fn clear(&mut self, _: &[u8]) {}
    fn clear_range(&mut self, _: &KeyRange) {}
    fn atomic(&mut self, _: AtomicOp, _: &[u8], _: u64) {}
    fn set_versionstamped_key(&mut self, _: &[u8], _: &[u8], _: &[u8]) {}
    fn watch(&mut self, _: &[u8]) -> Watch {
        std::future::pending().boxed()
    }
    async fn commit(self: Box<Self>) -> Outcome {
        self.0.lock().expect("script").pop_front().unwrap_or(Err(CommitError::Conflict))
    }
}

fn store(script: impl IntoIterator<Item = Outcome>) -> Store {
    let script = Scripted(Arc::new(Mutex::new(script.into_iter().collect())));
    Store::new(script, Env::seeded(1))
}

/// Commits nothing; returns how the attempts looked and what came of them.
async fn run(store: &Store) -> (Vec<Attempt>, Result<u32, TransactError<&'static str>>) {
    run_with(store, |attempt| Ok(attempt.number)).await
}

async fn run_with(
    store: &Store,
    body: impl Fn(Attempt) -> Result<u32, TransactError<&'static str>> + Sync,
) -> (Vec<Attempt>, Result<u32, TransactError<&'static str>>) {
    let mut attempts = Vec::new();
    let result = store
        .transact(|_: &mut Transaction, attempt| {
            attempts.push(attempt);
            std::future::ready(body(attempt)).boxed()
        })
        .await;
    (attempts, result)
}

#[tokio::test(start_paused = true)]
async fn success_ends_the_loop() {
    let (attempts, result) = run(&store([Ok(None)])).await;
    assert_eq!((attempts.len(), result.expect("commit")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn conflict_and_old_age_are_retried() {
    let script = [Err(CommitError::Conflict), Err(CommitError::Store(StoreError::TooOld)), Ok(None)];
    let (attempts, result) = run(&store(script)).await;
    assert_eq!(result.expect("commit"), 2);
    assert!(attempts[0].is_first() && !attempts[1].is_first());
    assert!(attempts.iter().all(|attempt| !attempt.maybe_committed));
}

#[tokio::test(start_paused = true)]
async fn old_age_in_the_closure_is_retried() {
    let (attempts, result) = run_with(&store([Ok(None)]), |attempt| {
        if attempt.is_first() { Err(StoreError::TooOld.into()) } else { Ok(attempt.number) }
    })
    .await;
    assert_eq!((attempts.len(), result.expect("commit")), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn every_attempt_after_an_unknown_commit_is_told() {
    let script = [Err(CommitError::Conflict), Err(CommitError::Unknown), Err(CommitError::Conflict), Ok(None)];
    let (attempts, _) = run(&store(script)).await;
    assert_eq!(attempts.iter().map(|attempt| attempt.maybe_committed).collect::<Vec<_>>(), [false, false, true, true]);
}

#[tokio::test(start_paused = true)]
async fn refusal_ends_the_loop() {
    let (attempts, result) = run_with(&store([]), |_| Err(TransactError::Aborted("no"))).await;
    assert_eq!(attempts.len(), 1);
    assert!(matches!(result, Err(TransactError::Aborted("no"))));
}

#[tokio::test(start_paused = true)]
async fn failure_of_the_store_is_not_retried() {
    let script = [Err(CommitError::Store(StoreError::Engine("broken".into())))];
    let (attempts, result) = run(&store(script)).await;
    assert_eq!(attempts.len(), 1);
    assert!(matches!(result, Err(TransactError::Store(StoreError::Engine(_)))));
}

#[tokio::test(start_paused = true)]
async fn failure_after_an_unknown_commit_leaves_the_outcome_unknown() {
    let script = [Err(CommitError::Unknown), Err(CommitError::Store(StoreError::Unavailable("closed".into())))];
    let (_, result) = run(&store(script)).await;
    assert!(matches!(result, Err(TransactError::Unknown)));
}

#[tokio::test(start_paused = true)]
async fn refusal_after_an_unknown_commit_is_the_closures_word() {
    let (_, result) = run_with(&store([Err(CommitError::Unknown)]), |attempt| {
        if attempt.maybe_committed { Err(TransactError::Aborted("it was mine")) } else { Ok(0) }
    })
    .await;
    assert!(matches!(result, Err(TransactError::Aborted("it was mine"))));
}

#[tokio::test(start_paused = true)]
async fn attempts_are_bounded() {
    let policy = RetryPolicy { attempts: 5, ..RetryPolicy::default() };
    let (attempts, result) = run(&store([]).with_policy(policy)).await;
    assert_eq!(attempts.len(), 5);
    assert!(matches!(result, Err(TransactError::Exhausted { attempts: 5 })));
    let (_, result) = run(&store([Err(CommitError::Unknown)]).with_policy(policy)).await;
    assert!(matches!(result, Err(TransactError::Unknown)));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_stood_still_fails_no_transaction_on_its_first_attempt() {
    let store = store([Err(CommitError::Conflict), Ok(None)]);
    let result = store
        .transact::<_, &str, _>(|_, attempt| {
            async move {
                if attempt.is_first() {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
                Ok(attempt.number)
            }
            .boxed()
        })
        .await;
    assert!(matches!(result, Ok(1)), "{result:?}");
}

#[tokio::test(start_paused = true)]
async fn a_database_that_is_away_for_twenty_seconds_is_a_pause() {
    let away = Duration::from_secs(20);
    let begun = Instant::now();
    let store = store([Err(CommitError::Unknown), Err(CommitError::Unknown), Err(CommitError::Unknown), Ok(None)]);
    let result = store
        .transact::<_, &str, _>(|_, attempt| {
            async move {
                tokio::time::sleep(TRANSACTION_LIFE).await;
                Ok(attempt.maybe_committed)
            }
            .boxed()
        })
        .await;
    assert!(matches!(result, Ok(true)), "{result:?}");
    assert!(begun.elapsed() >= away, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn time_is_bounded() {
    let policy = RetryPolicy { attempts: u32::MAX, time: Duration::from_secs(2), pause: Duration::from_millis(1) };
    let started = Instant::now();
    let (_, result) = run(&store([]).with_policy(policy)).await;
    assert!(matches!(result, Err(TransactError::Exhausted { .. })));
    // The last pause may begin just before the bound.
    assert!((2_000..2_200).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_second_attempt_follows_at_once() {
    let started = Instant::now();
    run(&store([Err(CommitError::Conflict), Ok(None)])).await.1.expect("commit");
    assert_eq!(started.elapsed(), Duration::ZERO);
}
