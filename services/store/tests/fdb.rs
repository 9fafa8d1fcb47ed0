//! The FoundationDB engine does what every engine must, on the cluster that `FDB_CLUSTER_FILE` names, and what only it
//! promises. Without a cluster only what needs none is tested.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use env::Env;
use futures::FutureExt;
use futures::future::try_join_all;
use store::fault::{Fault, FaultPlan};
use store::fdb::{Fdb, FdbOptions, OpenError};
use store::{
    CommitError, Engine, EngineTransaction, Isolation, KeyRange, RangeRead, Store, StoreError, Subspace, TransactError,
};
use tokio::time::{Instant, sleep, timeout};

/// Longer than a transaction lives.
const TOO_LONG: Duration = Duration::from_secs(6);

/// A subspace of its own, which is cleared with its last use.
struct Temporary {
    engine: Fdb,
    options: FdbOptions,
}

impl Temporary {
    /// `None` without a cluster.
    async fn new() -> Option<Self> {
        let mut options = FdbOptions::new(std::env::var_os("FDB_CLUSTER_FILE")?);
        options.subspace = format!("test-{:016x}", Env::system().random_u64()).parse().expect("a name");
        Some(Self { engine: open(&options).await, options })
    }

    async fn clear(&self) -> bool {
        let Ok(mut clearing) = self.engine.begin().await else { return false };
        clearing.clear_range(&everything());
        clearing.commit().await.is_ok()
    }
}

async fn open(options: &FdbOptions) -> Fdb {
    Fdb::open(options).await.expect("the cluster opens")
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // A cluster that a failed test has left unreachable keeps a few rows.
        let _ = futures::executor::block_on(self.clear());
    }
}

#[async_trait]
impl Engine for Temporary {
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        self.engine.begin().await
    }
}

store::conformance_tests!(Temporary::new().await);

fn everything() -> KeyRange {
    KeyRange::new(&b""[..], &b"\xff"[..])
}

async fn keys(engine: &dyn Engine) -> Vec<Vec<u8>> {
    let mut transaction = engine.begin().await.expect("begin");
    let page = transaction.get_range(&RangeRead::forward(everything()), Isolation::Snapshot).await.expect("read");
    page.rows.into_iter().map(|row| row.key.to_vec()).collect()
}

/// Writes `value` and the number of this attempt, slowly in the first ones.
async fn write_slowly(store: &Store, slow_attempts: u32) -> Result<u32, TransactError<()>> {
    store
        .transact(move |transaction, attempt| {
            async move {
                transaction.get(b"head").await?;
                if attempt.number < slow_attempts {
                    sleep(TOO_LONG).await;
                }
                transaction.set(b"head", b"1");
                Ok(attempt.number)
            }
            .boxed()
        })
        .await
}

/// Presumes one value of a key and sets it to another.
async fn swap(engine: &dyn Engine, from: &'static [u8], to: &[u8]) -> Result<(), CommitError> {
    let mut transaction = engine.begin().await?;
    transaction.presume(b"head", Some(&Bytes::from_static(from))).await?;
    transaction.set(b"head", to);
    transaction.commit().await.map(drop)
}

#[tokio::test]
async fn a_presumption_from_memory_conflicts_with_whoever_has_written_since() {
    let Some(temporary) = Temporary::new().await else { return };
    let (here, there) = (&temporary.engine, &open(&temporary.options).await);
    let mut first = here.begin().await.expect("begin");
    first.set(b"head", b"1");
    first.commit().await.expect("commit");
    for (from, to) in [(&b"1"[..], b"2"), (b"2", b"3"), (b"3", b"4")] {
        swap(here, from, to).await.expect("the presumption holds");
    }
    swap(there, b"4", b"5").await.expect("the presumption holds");
    assert!(matches!(swap(here, b"4", b"6").await, Err(CommitError::Conflict)));
    swap(there, b"5", b"4").await.expect("nobody else has written");
    swap(here, b"4", b"5").await.expect_err("it is so again, but not since what is remembered");
    sleep(TOO_LONG).await;
    swap(here, b"4", b"5").await.expect("what is old is read");
}

#[tokio::test]
async fn a_transaction_that_takes_too_long_is_made_again() {
    let Some(temporary) = Temporary::new().await else { return };
    let store = Store::new(temporary.engine.clone(), Env::system());
    assert_eq!(write_slowly(&store, 1).await.expect("commit"), 1);
}

#[tokio::test]
async fn a_watch_outlives_its_transaction() {
    let Some(temporary) = Temporary::new().await else { return };
    let mut watching = temporary.begin().await.expect("begin");
    let watch = watching.watch(b"a");
    watching.commit().await.expect("commit");
    sleep(TOO_LONG).await;
    let mut writing = temporary.begin().await.expect("begin");
    writing.set(b"a", b"1");
    writing.commit().await.expect("commit");
    timeout(Duration::from_secs(5), watch).await.expect("the watch did not fire").expect("the watch failed");
}

#[tokio::test]
async fn a_watch_too_many_fails_at_once_and_a_dropped_one_makes_room() {
    let Some(temporary) = Temporary::new().await else { return };
    let mut transaction = temporary.begin().await.expect("begin");
    let mut watches: Vec<_> = (0..10_000).map(|_| transaction.watch(b"a")).collect();
    let refused = transaction.watch(b"a").now_or_never();
    assert!(matches!(refused, Some(Err(StoreError::Unavailable(_)))), "{refused:?}");
    watches.pop();
    assert!(transaction.watch(b"a").now_or_never().is_none());
}

#[tokio::test]
async fn subspaces_do_not_see_each_other() {
    let (Some(one), Some(other)) = (Temporary::new().await, Temporary::new().await) else { return };
    for (engine, key) in [(&one, b"a"), (&other, b"b")] {
        let mut transaction = engine.begin().await.expect("begin");
        transaction.set(key, b"");
        transaction.commit().await.expect("commit");
    }
    assert!(other.clear().await);
    assert_eq!((keys(&one).await, keys(&other).await), (vec![b"a".to_vec()], vec![]));
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
                transaction.set(&own, &count.to_be_bytes());
                Ok(())
            }
            .boxed()
        })
        .await
}

#[tokio::test]
async fn every_append_happens_exactly_once_though_a_third_of_the_outcomes_is_not_told() {
    const WRITERS: u8 = 4;
    const APPENDS: u32 = 50;
    let Some(temporary) = Temporary::new().await else { return };
    let plan = FaultPlan { unknown_committed: 0.15, unknown_lost: 0.15, ..FaultPlan::none(1) };
    let fault = Fault::new(temporary.engine.clone(), plan);
    let store = Store::new(fault.clone(), Env::system());
    let writers = (0..WRITERS).map(|writer| {
        let store = &store;
        async move {
            for number in 0..APPENDS {
                append(store, writer, number).await?;
            }
            Ok::<_, TransactError<()>>(())
        }
    });
    try_join_all(writers).await.expect("append");
    assert!(fault.faults() > 20, "only {} faults", fault.faults());

    let mut transaction = temporary.begin().await.expect("begin");
    let read = RangeRead::forward(KeyRange::prefix(b"r"));
    let rows = transaction.get_range(&read, Isolation::Snapshot).await.expect("read").rows;
    let mut places: Vec<u32> =
        rows.iter().map(|row| u32::from_be_bytes(row.value[..].try_into().expect("four bytes"))).collect();
    places.sort_unstable();
    assert_eq!(places, (0..u32::from(WRITERS) * APPENDS).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_cluster_file_that_is_not_there_is_named() {
    let error = Fdb::open(&FdbOptions::new("/does/not/exist.cluster")).await.err().expect("an error");
    assert!(error.to_string().starts_with("/does/not/exist.cluster cannot be read: "), "{error}");
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_given_up_and_its_file_is_named() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let file = directory.path().join("fdb.cluster");
    // Nobody listens on this port, which only root could.
    std::fs::write(&file, "nobody:nobody@127.0.0.1:1\n").expect("write");
    let begun = Instant::now();
    let error = Fdb::open(&FdbOptions::new(&file)).await.err().expect("an error");
    assert!(matches!(&error, OpenError::NoAnswer { cluster_file, .. } if *cluster_file == file), "{error}");
    assert!(error.to_string().contains(file.to_str().expect("a text")), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn one_process_has_one_client_with_one_set_of_tls_options() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let file = directory.path().join("some.file");
    std::fs::write(&file, "nobody:nobody@127.0.0.1:1\n").expect("write");
    let mut options = FdbOptions::new(&file);
    options.subspace = Subspace::default();
    assert!(matches!(Fdb::open(&options).await.err(), Some(OpenError::NoAnswer { .. })));
    options.tls.verify_peers = Some("Check.Valid=1".into());
    assert!(matches!(Fdb::open(&options).await.err(), Some(OpenError::OtherTls)));
}
