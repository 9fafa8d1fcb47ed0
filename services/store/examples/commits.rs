//! Prints durable commits per second beside what the disk and a bare SQLite loop do in the same run.
//!
//! `cargo run --release -p agentsessions-store --example commits [-- ROUNDS [DIRECTORY]]`; the files go below the
//! target directory, unless another is named.

use std::error::Error;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use env::Env;
use futures::FutureExt;
use rusqlite::Connection;
use store::embedded::{Embedded, EmbeddedOptions, Stats};
use store::{Store, TransactError};
use tempfile::TempDir;
use tokio::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

const VALUE: [u8; 200] = [b'v'; 200];
const BARE_COMMITS: u32 = 4_000;
const ONE_WRITER_COMMITS: u32 = 4_000;
const MANY_WRITERS_COMMITS: u32 = 1_000;

/// One run over a store.
struct Measured {
    commits: u32,
    elapsed: Duration,
    cpu: Duration,
    stats: Stats,
}

#[derive(Clone, Copy)]
enum Shape {
    /// Sets one new key.
    Insert,
    /// Presumes a head, sets a record and the head, as the journal's append does.
    Append,
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds: u32 = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench");
    let target = arguments.next().map_or(target, PathBuf::from);
    fs::create_dir_all(&target)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("{:34} {:>10} {:>8} {:>14} {:>14}", "", "per second", "ratio", "commits/fsync", "CPU µs/commit");
    for round in 1..=rounds {
        let directory = tempfile::tempdir_in(&target)?;
        println!("round {round}");
        report("fdatasync of 4 KiB, overwriting", probe(&directory, true)?);
        report("fdatasync of 4 KiB, appending", probe(&directory, false)?);
        let bare = bare_loop(&directory)?;
        report("bare SQLite loop", bare);
        for (shape, name) in [(Shape::Insert, "insert"), (Shape::Append, "append")] {
            for (writers, commits) in [(1, ONE_WRITER_COMMITS), (8, MANY_WRITERS_COMMITS), (64, MANY_WRITERS_COMMITS)] {
                let measured = runtime.block_on(store_loop(&directory, shape, writers, commits))?;
                measured.report(&format!("store, {name}, {writers} writers"), bare);
            }
        }
    }
    Ok(())
}

fn report(what: &str, rate: f64) {
    println!("{what:34} {rate:>10.0}");
}

impl Measured {
    fn report(&self, what: &str, bare: f64) {
        let rate = per_second(self.commits, self.elapsed);
        let shared = self.stats.commits as f64 / self.stats.groups as f64;
        let cpu = self.cpu.as_secs_f64() * 1e6 / f64::from(self.commits);
        println!("{what:34} {rate:>10.0} {:>7.2}x {shared:>14.1} {cpu:>14.1}   {:?}", rate / bare, self.stats);
    }
}

/// What this process has used, in both modes, to the hundredth of a second.
fn cpu_time() -> Outcome<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks = fields.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 10))
}

fn per_second(count: u32, elapsed: Duration) -> f64 {
    f64::from(count) / elapsed.as_secs_f64()
}

fn probe(directory: &TempDir, overwrite: bool) -> Outcome<f64> {
    let file = File::create(directory.path().join("probe"))?;
    if overwrite {
        file.write_all_at(&vec![0; 4 << 20], 0)?;
        file.sync_all()?;
    }
    let count = 1_000;
    let started = Instant::now();
    for page in 0..count {
        file.write_all_at(&[1; 4_096], u64::from(page) * 4_096)?;
        file.sync_data()?;
    }
    Ok(per_second(count, started.elapsed()))
}

fn bare_loop(directory: &TempDir) -> Outcome<f64> {
    let connection = Connection::open(directory.path().join("bare"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, value BLOB)")?;
    let mut insert = connection.prepare("INSERT INTO rows (value) VALUES (?1)")?;
    let started = Instant::now();
    for _ in 0..BARE_COMMITS {
        insert.execute([&VALUE[..]])?;
    }
    Ok(per_second(BARE_COMMITS, started.elapsed()))
}

async fn store_loop(directory: &TempDir, shape: Shape, writers: u32, commits: u32) -> Outcome<Measured> {
    let path = directory.path().join(format!("store-{}-{writers}", shape as u8));
    let engine = Embedded::open(path, EmbeddedOptions::default())?;
    let store = Store::new(engine.clone(), Env::system());
    let tasks = env::Tasks::default();
    let (started, cpu_before) = (Instant::now(), cpu_time()?);
    for writer in 0..writers {
        let store = store.clone();
        tasks.spawn("writer", env::TaskKind::Request, async move {
            for number in 0..commits {
                commit(&store, shape, writer, number).await.expect("commit");
            }
        });
    }
    tasks.shutdown(Duration::from_secs(600), Duration::ZERO).await;
    let (elapsed, cpu) = (started.elapsed(), cpu_time()? - cpu_before);
    let stats = engine.stats();
    engine.close().await;
    Ok(Measured { commits: writers * commits, elapsed, cpu, stats })
}

async fn commit(store: &Store, shape: Shape, writer: u32, number: u32) -> Result<(), TransactError<()>> {
    store
        .transact(move |transaction, attempt| {
            async move {
                let record = [&b"r"[..], &writer.to_be_bytes(), &number.to_be_bytes()].concat();
                if let Shape::Append = shape {
                    let head = [&b"h"[..], &writer.to_be_bytes()].concat();
                    let before = number.checked_sub(1).map(|last| Bytes::from(last.to_be_bytes().repeat(50)));
                    assert!(attempt.is_first(), "an append conflicted");
                    transaction.presume(&head, before.as_ref()).await?;
                    transaction.set(&head, &number.to_be_bytes().repeat(50));
                }
                transaction.set(&record, &VALUE);
                Ok(())
            }
            .boxed()
        })
        .await
}
