//! What a stream costs on the embedded engine: batches of u8 put as input and read again, beside a bare write of the same
//! bytes in as many commits. Run with `cargo bench -p agentsessions-journal --bench streams`.

use std::sync::LazyLock;

use bytes::Bytes;
use divan::Bencher;
use divan::counter::BytesCount;
use env::Env;
use futures::FutureExt;
use journal::invocations::{
    Accepted, Attempt, Frame, FrameItem, Holder, InputChange, InputWrite, Invocation, InvocationStart, Lease, NewInput,
    NewInvocation, StreamId,
};
use journal::{Journal, NewOn, NewSession};
use store::embedded::{Embedded, EmbeddedOptions};
use store::{Store, StoreError, limits};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use uuid::Uuid;

const SIZES: [usize; 4] = [4 << 10, 64 << 10, 256 << 10, 1 << 20];

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime starts"));

fn main() {
    divan::main();
}

/// A journal in a file of its own, with one invocation.
struct Fixture {
    store: Store,
    journal: Journal,
    invocation: Invocation,
    lease: Lease,
    next: u64,
    _directory: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory is made");
        let engine = Embedded::open(directory.path().join("journal"), EmbeddedOptions::default());
        let store = Store::new(engine.expect("an empty store opens"), Env::system());
        let journal = Journal::open(store.clone(), Env::system()).await.expect("an empty store opens");
        let accepted = journal.accept_invocation(new_invocation()).await.expect("it is accepted");
        let Accepted::New(invocation, lease) = accepted else { unreachable!("a journal of its own knows no attempt") };
        Self { store, journal, invocation: *invocation, lease, next: 0, _directory: directory }
    }

    fn stream(&self) -> StreamId {
        StreamId::input(self.invocation.id, Uuid::nil())
    }

    async fn put(&mut self, batch: Bytes) {
        let (item, charge) = (FrameItem::Octets(batch.clone()), 2 * batch.len() as u64);
        let change = InputChange::Put { first: self.next, item, charge, streams: Vec::new() };
        let write = InputWrite { stream: self.stream(), change };
        self.journal.put_inputs(&self.lease, vec![write]).await.expect("it is put");
        self.next += batch.len() as u64;
    }

    /// The same bytes in rows of the same size, in one commit.
    async fn write(&mut self, batch: Bytes) {
        let from = self.next;
        let written = self.store.transact::<_, StoreError, _>(|transaction, _| {
            for (index, part) in batch.chunks(limits::VALUE_BYTES).enumerate() {
                let key = [&b"bare"[..], &from.to_be_bytes(), &[index as u8]].concat();
                transaction.set(&key, part);
            }
            async { Ok(()) }.boxed()
        });
        written.await.expect("it is written");
        self.next += batch.len() as u64;
    }

    /// Everything, as whoever follows the stream reads it.
    async fn read(&self, from: u64) -> u64 {
        let Invocation { session, id, .. } = &self.invocation;
        let frames = self.journal.frames(session, *id, self.stream(), from, 1 << 20).await.expect("it is read");
        frames.last().map_or(from, Frame::end)
    }
}

fn new_invocation() -> NewInvocation {
    let session = NewSession {
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
    NewInvocation {
        session,
        instance: [0; 32],
        agent_id: "instance".to_owned(),
        start: InvocationStart::default(),
        attempt: Attempt { account: String::new(), id: Uuid::nil(), digest: [0; 32] },
        holder: Holder::mint(&Env::system()),
        streams: vec![NewInput { provisional: Uuid::nil(), element: "{}".to_owned(), fingerprint: [0; 32] }],
    }
}

#[divan::bench(args = SIZES)]
fn put_u8_batch(bencher: Bencher, size: usize) {
    let mut fixture = RUNTIME.block_on(Fixture::new());
    let batch = Bytes::from(vec![7; size]);
    bencher.counter(BytesCount::new(size)).bench_local(|| RUNTIME.block_on(fixture.put(batch.clone())));
}

#[divan::bench(args = SIZES)]
fn bare_write_of_the_same_bytes(bencher: Bencher, size: usize) {
    let mut fixture = RUNTIME.block_on(Fixture::new());
    let batch = Bytes::from(vec![7; size]);
    bencher.counter(BytesCount::new(size)).bench_local(|| RUNTIME.block_on(fixture.write(batch.clone())));
}

#[divan::bench(args = SIZES)]
fn read_u8_batches(bencher: Bencher, size: usize) {
    let mut fixture = RUNTIME.block_on(Fixture::new());
    let batches = (8 << 20) / size;
    RUNTIME.block_on(async {
        for _ in 0..batches {
            fixture.put(Bytes::from(vec![7; size])).await;
        }
    });
    bencher.counter(BytesCount::new(fixture.next)).bench_local(|| {
        RUNTIME.block_on(async {
            let mut from = 0;
            while from < fixture.next {
                from = fixture.read(from).await;
            }
        });
    });
}
