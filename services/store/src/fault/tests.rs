//! The faults themselves, and the retry loop under them.

use env::Env;
use futures::FutureExt;

use super::{CrashPoint, Fault, FaultPlan};
use crate::memory::Memory;
use crate::{CommitError, Engine, Isolation, KeyRange, RangeRead, Store, StoreError, TransactError};

async fn set(engine: &dyn Engine, key: &[u8]) -> Result<(), CommitError> {
    let mut transaction = engine.begin().await?;
    transaction.set(key, b"v");
    transaction.commit().await.map(drop)
}

async fn exists(engine: &dyn Engine, key: &[u8]) -> bool {
    let mut transaction = engine.begin().await.expect("begin");
    transaction.get(key, Isolation::Snapshot).await.expect("get").is_some()
}

#[tokio::test(start_paused = true)]
async fn each_commit_fault_has_the_effect_that_it_names() {
    let none = FaultPlan::none(1);
    for (plan, took_effect) in [
        (FaultPlan { conflict: 1.0, ..none }, false),
        (FaultPlan { unknown_committed: 1.0, ..none }, true),
        (FaultPlan { unknown_lost: 1.0, ..none }, false),
        (FaultPlan { too_old_commit: 1.0, ..none }, false),
        (FaultPlan { crash_before_commit: 1.0, ..none }, false),
        (FaultPlan { crash_after_commit: 1.0, ..none }, true),
    ] {
        let memory = Memory::default();
        let fault = Fault::new(memory.clone(), plan);
        let outcome = set(&fault, b"k").await;
        let as_planned = match outcome {
            Err(CommitError::Conflict) => plan.conflict > 0.0,
            Err(CommitError::Store(StoreError::TooOld)) => plan.too_old_commit > 0.0,
            Err(CommitError::Unknown) => plan.conflict + plan.too_old_commit == 0.0,
            _ => false,
        };
        assert!(as_planned, "{plan:?} gave {outcome:?}");
        assert_eq!(exists(&memory, b"k").await, took_effect, "{plan:?}");
        assert_eq!(fault.faults(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn reads_may_be_too_old() {
    let fault = Fault::new(Memory::default(), FaultPlan { too_old_read: 1.0, ..FaultPlan::none(1) });
    let mut transaction = fault.begin().await.expect("begin");
    assert!(matches!(transaction.get(b"k", Isolation::Snapshot).await, Err(StoreError::TooOld)));
    let read = RangeRead::forward(KeyRange::prefix(b"k"));
    assert!(matches!(transaction.get_range(&read, Isolation::Snapshot).await, Err(StoreError::TooOld)));
}

#[tokio::test(start_paused = true)]
async fn a_crash_lasts_until_it_is_revived() {
    for (point, kept) in [(CrashPoint::Before, 2), (CrashPoint::After, 3)] {
        let fault = Fault::new(Memory::default(), FaultPlan::crash_at(1, 2, point));
        let mut running = fault.begin().await.expect("begin");
        for number in 0..2_u8 {
            set(&fault, &[number]).await.expect("commit");
        }
        assert!(matches!(set(&fault, &[2]).await, Err(CommitError::Unknown)));
        assert!(fault.is_crashed());
        assert!(matches!(fault.begin().await.err(), Some(StoreError::Unavailable(_))));
        assert!(matches!(running.get(b"k", Isolation::Snapshot).await, Err(StoreError::Unavailable(_))));
        running.set(b"k", b"v");
        assert!(matches!(running.commit().await, Err(CommitError::Store(StoreError::Unavailable(_)))));
        fault.revive();
        let mut found = 0;
        for number in 0..3_u8 {
            found += usize::from(exists(&fault, &[number]).await);
        }
        assert_eq!(found, kept);
    }
}

#[tokio::test(start_paused = true)]
async fn one_seed_gives_one_run() {
    async fn run(seed: u64) -> Vec<String> {
        let fault = Fault::new(Memory::default(), FaultPlan::mixed(seed, 0.5));
        let mut outcomes = Vec::new();
        for number in 0..200_u8 {
            outcomes.push(format!("{:?}", set(&fault, &[number]).await));
        }
        outcomes
    }
    assert_eq!(run(7).await, run(7).await);
    assert_ne!(run(7).await, run(8).await);
}

/// Appends one to a log as the journal does: in order, once, looking for an earlier success when one is possible.
async fn append(store: &Store, writer: u8, number: u32) -> Result<(), TransactError<()>> {
    store
        .transact(move |transaction, attempt| {
            async move {
                let own = [&[b'r', writer][..], &number.to_be_bytes()].concat();
                if attempt.maybe_committed && transaction.get(&own).await?.is_some() {
                    return Ok(());
                }
                let head = transaction.get(b"head").await?;
                let count = head.map_or(0, |head| head[..].try_into().map_or(0, u32::from_be_bytes));
                transaction.set(b"head", &(count + 1).to_be_bytes());
                transaction.set(&[&b"log"[..], &count.to_be_bytes()].concat(), &own);
                transaction.set(&own, b"");
                Ok(())
            }
            .boxed()
        })
        .await
}

#[tokio::test(start_paused = true)]
async fn every_append_happens_exactly_once_under_faults() {
    for seed in 0..20 {
        let memory = Memory::default();
        let fault = Fault::new(memory.clone(), FaultPlan::mixed(seed, 0.3));
        let store = Store::new(fault.clone(), Env::seeded(seed));
        let writers = (0..5).map(|writer| {
            let store = &store;
            async move {
                for number in 0..100 {
                    append(store, writer, number).await.expect("append");
                }
            }
        });
        futures::future::join_all(writers).await;
        assert!(fault.faults() > 100, "only {} faults", fault.faults());

        let mut transaction = memory.begin().await.expect("begin");
        let read = RangeRead::forward(KeyRange::prefix(b"log"));
        let log = transaction.get_range(&read, Isolation::Snapshot).await.expect("read").rows;
        let mut appended: Vec<_> = log.iter().map(|row| row.value.clone()).collect();
        appended.sort();
        appended.dedup();
        assert_eq!((log.len(), appended.len()), (500, 500), "seed {seed}");
    }
}
