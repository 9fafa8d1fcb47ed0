//! Random interleavings of transactions, compared with a serial model.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::future::BoxFuture;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::{AtomicOp, CommitError, Engine, EngineTransaction, Isolation, KeyRange, Page, RangeRead};

const KEYS: u8 = 8;
const TRANSACTIONS: usize = 4;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Get(u8, bool),
    Scan { from: u8, to: u8, reverse: bool, limit: usize, serializable: bool },
    Set(u8, u8),
    Clear(u8),
    ClearRange(u8, u8),
    Add(u8, u8),
    Max(u8, u8),
    Commit,
}

impl Step {
    fn writes(&self) -> bool {
        match self {
            Self::Get(..) | Self::Scan { .. } | Self::Commit => false,
            // An empty range is nothing.
            Self::ClearRange(from, to) => from < to,
            Self::Set(..) | Self::Clear(_) | Self::Add(..) | Self::Max(..) => true,
        }
    }
}

/// What a read step answered.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Value(Option<Vec<u8>>),
    Rows(Vec<(Vec<u8>, Vec<u8>)>),
}

/// One running transaction and what is known about it.
struct Running {
    transaction: Box<dyn EngineTransaction>,
    steps: Vec<Step>,
    seen: Vec<Seen>,
    /// The state that it sees.
    snapshot: Model,
    /// How many commits there had been.
    started: usize,
}

/// Runs random interleavings on one engine and checks each:
///
/// * every read answers from the transaction's snapshot, overlaid with own writes;
/// * a commit that succeeds could have run alone at that point: its serializable reads would answer the same;
/// * a transaction during which nobody committed does not conflict.
pub fn interleavings_are_serializable<E: Engine, F: Future<Output = Option<E>>>(make: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let Some(engine) = runtime.block_on(make()) else { return };
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(200) });
    let schedule = prop::collection::vec((0..TRANSACTIONS, step()), 1..60);
    let outcome = runner.run(&schedule, |schedule| runtime.block_on(check(&engine, schedule)));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..KEYS;
    prop_oneof![
        3 => (key.clone(), any::<bool>()).prop_map(|(key, serializable)| Step::Get(key, serializable)),
        3 => (key.clone(), key.clone(), any::<bool>(), 1..6_usize, any::<bool>()).prop_map(
            |(a, b, reverse, limit, serializable)| {
                Step::Scan { from: a.min(b), to: a.max(b), reverse, limit, serializable }
            }
        ),
        3 => (key.clone(), any::<u8>()).prop_map(|(key, value)| Step::Set(key, value)),
        1 => key.clone().prop_map(Step::Clear),
        1 => (key.clone(), key.clone()).prop_map(|(a, b)| Step::ClearRange(a.min(b), a.max(b))),
        1 => (key.clone(), any::<u8>()).prop_map(|(key, value)| Step::Add(key, value)),
        1 => (key, any::<u8>()).prop_map(|(key, value)| Step::Max(key, value)),
        2 => Just(Step::Commit),
    ]
}

async fn check(engine: &dyn Engine, schedule: Vec<(usize, Step)>) -> Result<(), TestCaseError> {
    let mut wipe = engine.begin().await.map_err(fail)?;
    wipe.clear_range(&range(0, u8::MAX));
    wipe.commit().await.map_err(fail)?;

    let mut model = Model::new();
    let mut commits = 0;
    let mut running: [Option<Running>; TRANSACTIONS] = std::array::from_fn(|_| None);
    for (who, step) in schedule {
        let mut current = match running[who].take() {
            Some(running) => running,
            None => Running::begin(engine, &model, commits).await?,
        };
        if let Step::Commit = step {
            commits += usize::from(current.finish(&mut model, commits).await?);
        } else {
            current.step(step).await?;
            running[who] = Some(current);
        }
    }
    Ok(())
}

impl Running {
    async fn begin(engine: &dyn Engine, model: &Model, commits: usize) -> Result<Self, TestCaseError> {
        let mut transaction = engine.begin().await.map_err(fail)?;
        // A read that own writes cannot answer fixes the snapshot.
        transaction.get(b"none", Isolation::Snapshot).await.map_err(fail)?;
        Ok(Self { transaction, steps: Vec::new(), seen: Vec::new(), snapshot: model.clone(), started: commits })
    }

    async fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        let seen = apply(&mut self.transaction, &step).await?;
        self.steps.push(step);
        if let Some(seen) = seen {
            self.seen.push(seen);
            prop_assert_eq!(&replay(&self.steps, &mut self.snapshot.clone(), true), &self.seen);
        }
        Ok(())
    }

    /// Commits; returns whether that changed the store.
    async fn finish(self, model: &mut Model, commits: usize) -> Result<bool, TestCaseError> {
        let writes = self.steps.iter().any(Step::writes);
        match self.transaction.commit().await {
            Ok(_) if !writes => Ok(false),
            Ok(_) => {
                let serializable: Vec<_> = self
                    .seen
                    .iter()
                    .zip(reads(&self.steps))
                    .filter(|(_, strict)| *strict)
                    .map(|(seen, _)| seen.clone())
                    .collect();
                prop_assert_eq!(replay(&self.steps, model, false), serializable, "not serializable");
                Ok(true)
            }
            Err(CommitError::Conflict) => {
                prop_assert!(writes && self.started < commits, "conflict without a cause");
                Ok(false)
            }
            Err(error) => Err(fail(error)),
        }
    }
}

/// Whether each read step is serializable.
fn reads(steps: &[Step]) -> impl Iterator<Item = bool> {
    steps.iter().filter_map(|step| match step {
        Step::Get(_, serializable) | Step::Scan { serializable, .. } => Some(*serializable),
        _ => None,
    })
}

fn apply<'t>(
    transaction: &'t mut Box<dyn EngineTransaction>,
    step: &'t Step,
) -> BoxFuture<'t, Result<Option<Seen>, TestCaseError>> {
    let isolation = |serializable| if serializable { Isolation::Serializable } else { Isolation::Snapshot };
    Box::pin(async move {
        match *step {
            Step::Get(key, serializable) => {
                let value = transaction.get(&[key], isolation(serializable)).await.map_err(fail)?;
                return Ok(Some(Seen::Value(value.map(|value| value.to_vec()))));
            }
            Step::Scan { from, to, reverse, limit, serializable } => {
                let read = RangeRead { reverse, limit, ..RangeRead::forward(range(from, to)) };
                let page = transaction.get_range(&read, isolation(serializable)).await.map_err(fail)?;
                return Ok(Some(Seen::Rows(rows(page))));
            }
            Step::Set(key, value) => transaction.set(&[key], &[value]),
            Step::Clear(key) => transaction.clear(&[key]),
            Step::ClearRange(from, to) => transaction.clear_range(&range(from, to)),
            Step::Add(key, operand) => transaction.atomic(AtomicOp::Add, &[key], operand.into()),
            Step::Max(key, operand) => transaction.atomic(AtomicOp::Max, &[key], operand.into()),
            Step::Commit => {}
        }
        Ok(None)
    })
}

/// Runs `steps` alone on `model`. Returns what the reads see: all of them, or the serializable ones.
fn replay(steps: &[Step], model: &mut Model, all: bool) -> Vec<Seen> {
    let mut seen = Vec::new();
    for step in steps {
        match *step {
            Step::Get(key, serializable) if all || serializable => {
                seen.push(Seen::Value(model.get(&vec![key]).cloned()));
            }
            Step::Scan { from, to, reverse, limit, serializable } if all || serializable => {
                let rows = model.range(vec![from]..vec![to]).map(|(key, value)| (key.clone(), value.clone()));
                let rows = if reverse { rows.rev().take(limit).collect() } else { rows.take(limit).collect() };
                seen.push(Seen::Rows(rows));
            }
            Step::Set(key, value) => drop(model.insert(vec![key], vec![value])),
            Step::Clear(key) => drop(model.remove(&vec![key])),
            Step::ClearRange(from, to) => model.retain(|key, _| key[0] < from || key[0] >= to),
            Step::Add(key, operand) => change(model, key, |value| value.wrapping_add(operand.into())),
            Step::Max(key, operand) => change(model, key, |value| value.max(operand.into())),
            Step::Get(..) | Step::Scan { .. } | Step::Commit => {}
        }
    }
    seen
}

fn change(model: &mut Model, key: u8, change: impl FnOnce(u64) -> u64) {
    let mut bytes = [0; 8];
    if let Some(value) = model.get(&vec![key]) {
        bytes[..value.len()].copy_from_slice(value);
    }
    model.insert(vec![key], change(u64::from_le_bytes(bytes)).to_le_bytes().to_vec());
}

fn range(from: u8, to: u8) -> KeyRange {
    KeyRange::new(Bytes::copy_from_slice(&[from]), Bytes::copy_from_slice(&[to]))
}

fn rows(page: Page) -> Vec<(Vec<u8>, Vec<u8>)> {
    page.rows.into_iter().map(|row| (row.key.to_vec(), row.value.to_vec())).collect()
}

#[allow(clippy::needless_pass_by_value, reason = "fits map_err")]
fn fail(error: impl ToString) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}
