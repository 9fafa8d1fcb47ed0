//! Prints durable commits per second beside what the disk and a bare SQLite loop do in the same run.
//!
//! `cargo run --release -p agentsessions-store --example commits [-- ROUNDS [DIRECTORY]]`
//!
//! The files go below the target directory, unless another is named. Every round gives each candidate a slice of time,
//! so that all of them meet the same disk; what is printed are medians over the rounds.

use std::cell::Cell;
use std::error::Error;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use env::{Env, TaskKind, Tasks};
use futures::FutureExt;
use rusqlite::Connection;
use store::embedded::{Embedded, EmbeddedOptions};
use store::{Store, TransactError};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

const SLICE: Duration = Duration::from_millis(400);
const VALUE: [u8; 200] = [b'v'; 200];

/// Something that is measured for a slice of time.
trait Candidate {
    fn name(&self) -> String;
    fn run(&self) -> Outcome<Slice>;
}

/// What one slice gave.
#[derive(Default)]
struct Slice {
    commits: usize,
    elapsed: Duration,
    /// Commits per fsync; 0 where nobody counts.
    shared: f64,
    cpu: Duration,
    latencies: Vec<Duration>,
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().map_or(Ok(7), |text| text.parse())?;
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench");
    let target = arguments.next().map_or(target, PathBuf::from);
    fs::create_dir_all(&target)?;
    let directory = tempfile::tempdir_in(&target)?;
    let runtime = Arc::new(tokio::runtime::Builder::new_multi_thread().enable_all().build()?);

    let mut candidates: Vec<Box<dyn Candidate>> = vec![
        Box::new(Bare::open(&directory)?),
        Box::new(Probe::create(&directory, true)?),
        Box::new(Probe::create(&directory, false)?),
    ];
    for (writers, kind) in
        [(1, Kind::Insert), (64, Kind::Insert), (1, Kind::Append), (8, Kind::Append), (64, Kind::Append)]
    {
        candidates.push(Box::new(Writers::open(&directory, Arc::clone(&runtime), kind, writers)?));
    }
    let mut slices: Vec<Vec<Slice>> = candidates.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (candidate, slices) in candidates.iter().zip(&mut slices) {
            slices.push(candidate.run()?);
        }
    }
    print_table(&candidates, &slices);
    Ok(())
}

fn print_table(candidates: &[Box<dyn Candidate>], slices: &[Vec<Slice>]) {
    let head = ["per second", "of bare", "per fsync", "CPU µs", "p50 µs", "p99 µs", "max ms"];
    println!("{:32} {}", "medians over the rounds", head.map(|title| format!("{title:>10}")).join(" "));
    for (candidate, own) in candidates.iter().zip(slices) {
        let ratios = own.iter().zip(&slices[0]).map(|(slice, bare)| slice.rate() / bare.rate());
        let mut latencies: Vec<Duration> = own.iter().flat_map(|slice| slice.latencies.iter().copied()).collect();
        latencies.sort();
        let at = |share: f64| latencies.get((latencies.len() as f64 * share) as usize).copied().unwrap_or_default();
        let cells = [
            format!("{:.0}", median(own.iter().map(Slice::rate))),
            format!("{:.2}", median(ratios)),
            format!("{:.1}", median(own.iter().map(|slice| slice.shared))),
            format!("{:.1}", median(own.iter().map(|slice| slice.cpu.as_secs_f64() * 1e6 / slice.commits as f64))),
            at(0.5).as_micros().to_string(),
            at(0.99).as_micros().to_string(),
            format!("{:.1}", latencies.last().copied().unwrap_or_default().as_secs_f64() * 1e3),
        ];
        println!("{:32} {}", candidate.name(), cells.map(|cell| format!("{cell:>10}")).join(" "));
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

impl Slice {
    fn rate(&self) -> f64 {
        self.commits as f64 / self.elapsed.as_secs_f64()
    }

    /// Repeats `commit` for the time of a slice.
    fn repeat(mut commit: impl FnMut() -> Outcome<()>) -> Outcome<Self> {
        let (started, cpu_before) = (Instant::now(), cpu_time()?);
        let mut latencies = Vec::new();
        while started.elapsed() < SLICE {
            let before = Instant::now();
            commit()?;
            latencies.push(before.elapsed());
        }
        let (elapsed, cpu) = (started.elapsed(), cpu_time()? - cpu_before);
        Ok(Self { commits: latencies.len(), elapsed, cpu, latencies, shared: 0.0 })
    }
}

/// What this process has used, in both modes, to the hundredth of a second.
fn cpu_time() -> Outcome<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks = fields.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

/// What the disk can do.
struct Probe {
    file: File,
    overwrite: bool,
    page: Cell<u64>,
}

impl Probe {
    const PAGES: u64 = 1_024;

    fn create(directory: &TempDir, overwrite: bool) -> Outcome<Self> {
        let file = File::create(directory.path().join(format!("probe-{overwrite}")))?;
        if overwrite {
            file.write_all_at(&vec![0; 4_096 * Self::PAGES as usize], 0)?;
            file.sync_all()?;
        }
        Ok(Self { file, overwrite, page: Cell::new(0) })
    }
}

impl Candidate for Probe {
    fn name(&self) -> String {
        format!("fdatasync of 4 KiB, {}", if self.overwrite { "overwriting" } else { "appending" })
    }

    fn run(&self) -> Outcome<Slice> {
        Slice::repeat(|| {
            let page = self.page.replace(self.page.get() + 1);
            let page = if self.overwrite { page % Self::PAGES } else { page };
            self.file.write_all_at(&[1; 4_096], page * 4_096)?;
            Ok(self.file.sync_data()?)
        })
    }
}

/// One insert a transaction, in write-ahead mode and synced in full.
struct Bare {
    connection: Connection,
}

impl Bare {
    fn open(directory: &TempDir) -> Outcome<Self> {
        let connection = Connection::open(directory.path().join("bare"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, value BLOB)")?;
        Ok(Self { connection })
    }
}

impl Candidate for Bare {
    fn name(&self) -> String {
        "bare SQLite loop".into()
    }

    fn run(&self) -> Outcome<Slice> {
        let mut insert = self.connection.prepare("INSERT INTO rows (value) VALUES (?1)")?;
        Slice::repeat(|| Ok(insert.execute([&VALUE[..]]).map(drop)?))
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Sets one new key.
    Insert,
    /// Presumes a head, sets a record and the head, as the journal's append does.
    Append,
}

/// Tasks that commit to one store.
struct Writers {
    runtime: Arc<Runtime>,
    engine: Embedded,
    store: Store,
    kind: Kind,
    /// What each writer has committed.
    counts: Vec<Arc<Mutex<u64>>>,
}

impl Writers {
    fn open(directory: &TempDir, runtime: Arc<Runtime>, kind: Kind, writers: usize) -> Outcome<Self> {
        let path = directory.path().join(format!("store-{kind:?}-{writers}"));
        let engine = Embedded::open(path, EmbeddedOptions::default())?;
        let store = Store::new(engine.clone(), Env::system());
        let counts = (0..writers).map(|_| Arc::default()).collect();
        Ok(Self { runtime, engine, store, kind, counts })
    }

    async fn slice(&self, end: Instant) -> Vec<Duration> {
        let tasks = Tasks::default();
        let latencies: Arc<Mutex<Vec<Duration>>> = Arc::default();
        for (writer, count) in self.counts.iter().enumerate() {
            let (store, kind, count, latencies) =
                (self.store.clone(), self.kind, Arc::clone(count), Arc::clone(&latencies));
            tasks.spawn("writer", TaskKind::Request, async move {
                let mut own = Vec::new();
                let mut number = *count.lock().unwrap_or_else(PoisonError::into_inner);
                while Instant::now() < end {
                    let before = Instant::now();
                    commit(&store, kind, writer as u64, number).await.expect("commit");
                    own.push(before.elapsed());
                    number += 1;
                }
                *count.lock().unwrap_or_else(PoisonError::into_inner) = number;
                latencies.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
            });
        }
        tasks.shutdown(Duration::from_secs(600), Duration::ZERO).await;
        std::mem::take(&mut *latencies.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Candidate for Writers {
    fn name(&self) -> String {
        format!("store, {:?}, {} writers", self.kind, self.counts.len())
    }

    fn run(&self) -> Outcome<Slice> {
        let (started, cpu_before, before) = (Instant::now(), cpu_time()?, self.engine.stats());
        let latencies = self.runtime.block_on(self.slice(started + SLICE));
        let (elapsed, cpu, after) = (started.elapsed(), cpu_time()? - cpu_before, self.engine.stats());
        let shared = (after.commits - before.commits) as f64 / (after.groups - before.groups) as f64;
        Ok(Slice { commits: latencies.len(), elapsed, shared, cpu, latencies })
    }
}

async fn commit(store: &Store, kind: Kind, writer: u64, number: u64) -> Result<(), TransactError<()>> {
    let head_value = |number: u64| Bytes::from(number.to_be_bytes().repeat(25));
    store
        .transact(move |transaction, attempt| {
            async move {
                if let Kind::Append = kind {
                    assert!(attempt.is_first(), "an append conflicted");
                    let head = [&b"head"[..], &writer.to_be_bytes()].concat();
                    transaction.presume(&head, number.checked_sub(1).map(head_value).as_ref()).await?;
                    transaction.set(&head, &head_value(number));
                }
                transaction.set(&[&b"record"[..], &writer.to_be_bytes(), &number.to_be_bytes()].concat(), &VALUE);
                Ok(())
            }
            .boxed()
        })
        .await
}
