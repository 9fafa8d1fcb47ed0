//! Many runs, spread over the processors.

use std::cell::Cell;
use std::io::Write as _;
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use crate::run::{Outcome, run};

/// Longest time that a seed may take of the real clock, some thousands of times what it needs.
const BOUND: Duration = Duration::from_secs(120);
/// How often it is looked whether one has taken longer.
const LOOK: Duration = Duration::from_millis(100);

/// Lines of a failed run that are printed.
const LAST_LINES: usize = 60;

thread_local! {
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

/// The seed that a thread runs, and since when.
type Running = Mutex<Option<(u64, Instant)>>;

/// Runs every seed. One that does not end is named, and ends the process.
///
/// # Panics
/// If a run fails: names its seed and prints the end of its trace.
pub fn run_all(seeds: &[u64]) {
    count_panics();
    let (next, records) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (stop, failed) = (AtomicBool::new(false), Mutex::new(None));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let running: Vec<Running> = (0..threads).map(|_| Running::default()).collect();
    let work = |running: &Running| {
        while !stop.load(Ordering::Relaxed)
            && let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed))
        {
            note(running, Some(seed));
            let outcome = run_one(seed, false);
            note(running, None);
            records.fetch_add(outcome.records, Ordering::Relaxed);
            if outcome.verdict.is_err() {
                stop.store(true, Ordering::Relaxed);
                *failed.lock().expect("nobody panics with it") = Some(seed);
            }
        }
    };
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = running.iter().map(|running| scope.spawn(move || work(running))).collect();
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            running.iter().for_each(end_if_it_hangs);
            thread::sleep(LOOK);
        }
    });
    if let Some(seed) = failed.into_inner().expect("nobody panics with it") {
        fail(seed);
    }
    println!("{} seeds, {} records", seeds.len(), records.into_inner());
}

fn note(running: &Running, seed: Option<u64>) {
    *running.lock().expect("nobody panics with it") = seed.map(|seed| (seed, Instant::now()));
}

/// A thread that hangs can be neither stopped nor left behind.
fn end_if_it_hangs(running: &Running) {
    let Some((seed, since)) = *running.lock().expect("nobody panics with it") else { return };
    if since.elapsed() > BOUND {
        // Not by a macro whose output is kept until a test ends.
        let _ = writeln!(std::io::stderr(), "seed {seed} does not end within {BOUND:?}\nTEST_SEED={seed} replays it");
        std::process::abort();
    }
}

/// Runs one seed; a panic of any task of it is a failure.
pub fn run_one(seed: u64, keep_trace: bool) -> Outcome {
    let before = PANICS.get();
    let mut outcome = run(seed, keep_trace);
    if PANICS.get() != before && outcome.verdict.is_ok() {
        outcome.verdict = Err("a task panicked".to_owned());
    }
    outcome
}

/// Runs a seed that has failed again, and says what happened.
fn fail(seed: u64) -> ! {
    let outcome = run_one(seed, true);
    let first = outcome.trace.len().saturating_sub(LAST_LINES);
    for line in &outcome.trace[first..] {
        println!("{line}");
    }
    match outcome.verdict {
        Err(broken) => panic!("seed {seed}: {broken}\nTEST_SEED={seed} replays it"),
        Ok(()) => panic!("seed {seed} failed and, replayed, did not: something in it does not follow from the seed"),
    }
}

/// Counts the panics of each thread, besides reporting them.
fn count_panics() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        PANICS.set(PANICS.get() + 1);
        report(info);
    }));
}
