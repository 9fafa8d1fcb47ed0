//! How much of a suite's rounds to run: all with `TEST_SCALE=full`, else about a tenth.

/// `full` rounds, or a tenth of them and at least one.
#[must_use]
pub fn rounds(full: usize) -> usize {
    match std::env::var("TEST_SCALE").as_deref() {
        Ok("full") => full,
        _ => (full / 10).max(1),
    }
}

/// The seeds of `full` seeded runs, scaled like [`rounds`]. `TEST_SEED=n` replays one, `TEST_SEED=n..m` runs those from `n`
/// up to `m`.
///
/// # Panics
/// If `TEST_SEED` is neither.
#[must_use]
pub fn seeds(full: usize) -> Vec<u64> {
    let Ok(chosen) = std::env::var("TEST_SEED") else { return (0..rounds(full) as u64).collect() };
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("TEST_SEED={chosen} is no seed and no range"));
    match chosen.split_once("..") {
        Some((first, end)) => (number(first)..number(end)).collect(),
        None => vec![number(&chosen)],
    }
}
