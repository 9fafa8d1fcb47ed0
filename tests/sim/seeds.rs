//! Many runs, spread over the processors.

use std::cell::Cell;
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::run::{Outcome, run};

/// Lines of a failed run that are printed.
const LAST_LINES: usize = 60;

thread_local! {
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

/// Runs every seed.
///
/// # Panics
/// If a run fails: names its seed and prints the end of its trace.
pub fn run_all(seeds: &[u64]) {
    count_panics();
    let (next, records) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (stop, failed) = (AtomicBool::new(false), Mutex::new(None));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed)
                    && let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let outcome = run_one(seed, false);
                    records.fetch_add(outcome.records, Ordering::Relaxed);
                    if outcome.verdict.is_err() {
                        stop.store(true, Ordering::Relaxed);
                        *failed.lock().expect("nobody panics with it") = Some(seed);
                    }
                }
            });
        }
    });
    if let Some(seed) = failed.into_inner().expect("nobody panics with it") {
        fail(seed);
    }
    println!("{} seeds, {} records", seeds.len(), records.into_inner());
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
