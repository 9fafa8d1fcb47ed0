//! What the journal costs on the embedded engine: durable appends, replay beside a bare scan of the same rows, and forks
//! of a short and of a long log. Run with `cargo bench -p agentsessions-journal`.

use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::ItemsCount;
use env::Env;
use futures::{FutureExt, TryStreamExt};
use journal::{Journal, NewChild, NewOn, NewSession, Seq, SeqRange, SessionUid, Writer};
use store::embedded::{Embedded, EmbeddedOptions};
use store::memory::Memory;
use store::{Isolation, KeyRange, RangeRead, Store, StoreError};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use wire::event::Body;
use wire::{Event, EventKind, ExecutionStart, HarnessEnd, Message, ModelCall};

const LONG: u64 = 100_000;
const SHORT: u64 = 10;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime starts"));

fn main() {
    divan::main();
}

/// A journal in a file of its own, with one session.
struct Fixture {
    store: Store,
    journal: Journal,
    uid: SessionUid,
    _directory: TempDir,
}

impl Fixture {
    /// A session with this many records, in turns as a host writes them. The rows are made in memory and copied, which
    /// takes seconds instead of minutes.
    async fn with_records(records: u64) -> Self {
        let memory = Store::new(Memory::default(), Env::system());
        let uid = fill(&Journal::open(memory.clone(), Env::system()).await.expect("memory opens"), records).await;
        let directory = tempfile::tempdir().expect("a directory is made");
        let engine = Embedded::open(directory.path().join("journal"), EmbeddedOptions::default());
        let store = Store::new(engine.expect("an empty store opens"), Env::system());
        copy(&memory, &store).await.expect("rows are copied");
        let journal = Journal::open(store.clone(), Env::system()).await.expect("the copy opens");
        Self { store, journal, uid, _directory: directory }
    }
}

async fn fill(journal: &Journal, records: u64) -> SessionUid {
    let new = NewSession {
        project: "default".to_owned(),
        name: String::new(),
        harness: "echo".to_owned(),
        harness_source: NewOn::Static,
        model: String::new(),
        labels: [].into(),
        annotations: [].into(),
        origin: None,
        identity: None,
    };
    let uid = journal.create(new).await.expect("a session is created").uid().clone();
    let mut writer = journal.mint(&uid).await.expect("a fence is minted");
    while writer.head().get() < records {
        for events in turn(&format!("{:016x}", writer.head().get())) {
            journal.append(&mut writer, events).await.expect("events are appended");
        }
    }
    uid
}

/// The four appends of a turn; its texts have half a kilobyte.
fn turn(execution: &str) -> [Vec<Event>; 4] {
    let text = "The quick brown fox jumps over it. ".repeat(14);
    let start = ExecutionStart { input_count: Some(1), harness: "echo".to_owned(), ..Default::default() };
    let call =
        ModelCall { model: "echo".to_owned(), input_hash: "0".repeat(64), id: "1".repeat(16), ..Default::default() };
    let end = HarnessEnd { state: "COMPLETED".to_owned(), error: None };
    let event = |kind, body| Event::new(kind, body).of_execution(execution);
    [
        vec![
            event(EventKind::EventExecutionStart, Body::ExecutionStart(start)),
            event(EventKind::EventInput, Body::Message(Message::text("user", &text))),
        ],
        vec![event(EventKind::EventModelCall, Body::Model(call))],
        vec![event(EventKind::EventOutput, Body::Message(Message::text("assistant", &text)))],
        vec![event(EventKind::EventEnd, Body::End(end))],
    ]
}

async fn copy(from: &Store, to: &Store) -> Result<(), store::TransactError<StoreError>> {
    let mut rest = Some(whole_store());
    while let Some(read) = rest {
        let page = read_page(from, &read).await?;
        rest = read.after(&page);
        to.transact::<_, StoreError, _>(|transaction, _| {
            page.rows.iter().for_each(|row| transaction.set(&row.key, &row.value));
            async { Ok(()) }.boxed()
        })
        .await?;
    }
    Ok(())
}

async fn read_page(store: &Store, read: &RangeRead) -> Result<store::Page, store::TransactError<StoreError>> {
    let read_once = store.transact(|transaction, _| {
        let read = read.clone();
        async move { Ok(transaction.get_range(&read, Isolation::Snapshot).await?) }.boxed()
    });
    read_once.await
}

/// In windows as a replay reads them.
fn whole_store() -> RangeRead {
    RangeRead { byte_limit: 128 * 1024, ..RangeRead::forward(KeyRange::new(&[0][..], &[0xfe][..])) }
}

static LONG_SESSION: LazyLock<Fixture> = LazyLock::new(|| RUNTIME.block_on(Fixture::with_records(LONG)));
static SHORT_SESSION: LazyLock<Fixture> = LazyLock::new(|| RUNTIME.block_on(Fixture::with_records(SHORT)));

/// One record, one commit, one fsync.
#[divan::bench]
fn append_one_event(bencher: Bencher) {
    let fixture = RUNTIME.block_on(Fixture::with_records(0));
    let mut writer: Writer = RUNTIME.block_on(fixture.journal.mint(&fixture.uid)).expect("a fence is minted");
    let [_, _, output, _] = turn("0123456789abcdef");
    bencher
        .counter(ItemsCount::new(1_u32))
        .bench_local(|| RUNTIME.block_on(fixture.journal.append(&mut writer, output.clone())).expect("it is appended"));
}

#[divan::bench(sample_count = 10)]
fn replay(bencher: Bencher) {
    let fixture = &*LONG_SESSION;
    bencher.counter(ItemsCount::new(LONG)).bench_local(|| {
        RUNTIME.block_on(async {
            let mut records = fixture.journal.records(&fixture.uid, SeqRange::ALL);
            let mut count = 0;
            while records.try_next().await.expect("records are read").is_some() {
                count += 1;
            }
            assert_eq!(count, LONG);
        });
    });
}

#[divan::bench(sample_count = 10)]
fn bare_scan_of_the_same_rows(bencher: Bencher) {
    let fixture = &*LONG_SESSION;
    bencher.counter(ItemsCount::new(LONG)).bench_local(|| {
        RUNTIME.block_on(async {
            let mut rest = Some(whole_store());
            while let Some(read) = rest {
                let page = read_page(&fixture.store, &read).await.expect("rows are read");
                rest = read.after(&page);
            }
        });
    });
}

#[divan::bench(args = [SHORT, LONG], sample_count = 10)]
fn fork_into_128_children(bencher: Bencher, records: u64) {
    let fixture = if records == SHORT { &*SHORT_SESSION } else { &*LONG_SESSION };
    let at = Seq::from_wire(records as i64 / 2).expect("a seq is not negative");
    bencher.bench_local(|| {
        let children = vec![NewChild::default(); 128];
        RUNTIME.block_on(fixture.journal.fork(&fixture.uid, at, children)).expect("children are made")
    });
}
