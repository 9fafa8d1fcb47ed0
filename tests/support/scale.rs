//! How much of a suite's rounds to run: all with `TEST_SCALE=full`, else about a tenth.

/// `full` rounds, or a tenth of them and at least one.
#[must_use]
pub fn rounds(full: usize) -> usize {
    match std::env::var("TEST_SCALE").as_deref() {
        Ok("full") => full,
        _ => (full / 10).max(1),
    }
}

/// The seeds of `full` seeded runs, scaled like [`rounds`]. `TEST_SEED=n` replays one.
#[must_use]
pub fn seeds(full: usize) -> Vec<u64> {
    match std::env::var("TEST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => (0..rounds(full) as u64).collect(),
    }
}
