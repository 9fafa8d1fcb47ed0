//! Every decoder on what is nearly right: mutations of sound messages, values, graphs, tokens and files, and of the
//! contract's vectors where they are at hand. Nothing panics, what is read comes out again as it was read, and refusals are
//! worded beforehand, so that none quotes what it refuses. And both state machines, whatever the other side says and
//! whatever happens meanwhile.
//!
//! A target runs for two seconds, with `TEST_SCALE=full` for ten minutes; `TEST_SEED` replays a run.

mod client;
mod corpus;
mod mutation;
mod script;
mod server;
mod targets;

use std::env;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use mutation::{Change, change, changed};

/// Runs between two looks at the clock.
const BATCH: u32 = 20;

/// Feeds `holds` with mutations of `seeds` until the time is up.
fn fuzz(seeds: &[Vec<u8>], holds: impl Fn(&[u8])) {
    assert!(!seeds.is_empty(), "there is nothing to begin with");
    seeds.iter().for_each(|seed| holds(seed));
    let recipe = (any::<prop::sample::Index>(), prop::collection::vec(change(), 1..6));
    let mutant = |(seed, changes): &(prop::sample::Index, Vec<Change>)| {
        let seed: &Vec<u8> = seed.get(seeds);
        changed(seed, seeds, changes)
    };
    run(&recipe, |recipe| holds(&mutant(recipe)), |recipe| format!("b\"{}\"", mutant(recipe).escape_ascii()));
}

/// Feeds `holds` with scripts of such steps until the time is up.
fn fuzz_scripts<S: Strategy<Value: Clone>>(step: S, holds: impl Fn(&[S::Value])) {
    let script = prop::collection::vec(step, 1..80);
    run(&script, |script| holds(script), |script| format!("{script:#?}"));
}

/// Tries values of `strategy` until the time is up. One that fails is shown, as small as it can be made.
fn run<S: Strategy>(strategy: &S, holds: impl Fn(&S::Value), shown: impl Fn(&S::Value) -> String) {
    let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed());
    let until = tokio::time::Instant::now() + time_for_one();
    let mut cases = 0_u64;
    while tokio::time::Instant::now() < until {
        let config = Config { cases: BATCH, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, rng);
        let outcome = runner.run(strategy, |value| {
            holds(&value);
            Ok(())
        });
        if let Err(TestError::Fail(reason, value)) = outcome {
            panic!("{reason}, TEST_SEED={}, on {}", chosen_seed(), shown(&value));
        }
        cases += u64::from(BATCH);
        rng = runner.new_rng();
    }
    println!("{cases} cases");
}

fn time_for_one() -> Duration {
    match env::var("TEST_SCALE").as_deref() {
        Ok("full") => Duration::from_secs(600),
        _ => Duration::from_secs(2),
    }
}

fn chosen_seed() -> u64 {
    env::var("TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_default()
}

fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&chosen_seed().to_le_bytes());
    seed
}
