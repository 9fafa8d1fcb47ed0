//! A deterministic simulation of a cluster: nodes, clients, a store and a bus in one thread, on virtual time.
//!
//! docs/simulation.md says what is simulated and how to replay a run.

mod bus;
mod call;
mod client;
mod dice;
mod life;
mod link;
mod node;
mod outside;
mod run;
mod scene;
mod script;
mod seeds;
mod settle;
mod storm;
mod trace;
mod weather;
mod witness;

use scene::{Scene, Scenes};
use seeds::{run_all, run_one};

/// Seeds of a full run.
const SEEDS: usize = 50_000;

#[test]
fn every_seed_keeps_every_promise() {
    run_all(&support::seeds(SEEDS));
}

#[test]
fn one_seed_gives_one_run() {
    for seed in 0..5 {
        let (one, two) = (run_one(seed, false), run_one(seed, false));
        assert_eq!(one.digest, two.digest, "seed {seed}");
        assert_ne!(one.digest, run_one(seed + 1, false).digest);
    }
}

#[test]
fn every_scene_is_played() {
    let mut played = Scenes::new();
    for seed in 0..60 {
        for (scene, times) in run_one(seed, false).scenes {
            *played.entry(scene).or_default() += times;
        }
    }
    let missing: Vec<Scene> = Scene::ALL.into_iter().filter(|scene| !played.contains_key(scene)).collect();
    assert!(missing.is_empty(), "never played: {missing:?}; played: {played:?}");
}
