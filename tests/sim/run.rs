//! One run of the simulation: everything that happens in it follows from its seed.

use std::sync::Arc;

use env::Env;
use journal::Journal;
use store::Store;
use store::memory::Memory;

use crate::bus::Bus;
use crate::client::{Client, Cluster};
use crate::dice::Dice;
use crate::node::{Node, World};
use crate::scene::Scenes;
use crate::trace::Trace;
use crate::weather::Weather;
use crate::witness::Witness;
use crate::{settle, storm};

const NODES: usize = 3;
const CLIENTS: usize = 4;
/// Things that a client does.
const ACTIONS: usize = 16;

/// How a run went.
#[derive(Debug)]
pub struct Outcome {
    /// The first broken promise, if there is one.
    pub verdict: Result<(), String>,
    /// A hash of everything that happened, in order.
    pub digest: String,
    /// Everything that happened, if it was to be kept.
    pub trace: Vec<String>,
    /// Records written.
    pub records: usize,
    /// The scenes that were played.
    pub scenes: Scenes,
}

/// Runs the simulation from a seed.
pub fn run(seed: u64, keep_trace: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without I/O needs nothing of the system").block_on(simulate(seed, keep_trace))
}

async fn simulate(seed: u64, keep_trace: bool) -> Outcome {
    let dice = Dice::new(seed);
    let cluster = cluster(&dice, Arc::new(Trace::new(keep_trace))).await;
    let witness = &cluster.world.witness;
    // What follows a broken promise teaches nothing.
    tokio::select! {
        biased;
        () = witness.broken() => {}
        () = live(&cluster, &dice) => {}
    }
    Outcome {
        verdict: witness.verdict(),
        digest: cluster.world.trace.digest(),
        trace: cluster.world.trace.lines(),
        records: witness.records_written(),
        scenes: cluster.world.trace.scenes(),
    }
}

async fn cluster(dice: &Dice, trace: Arc<Trace>) -> Cluster {
    let memory = Memory::default();
    let env = Env::seeded(dice.number());
    let journal = Journal::open(Store::new(memory.clone(), env.clone()), env).await.expect("memory does not fail");
    let witness = Arc::new(Witness::new(journal, Arc::clone(&trace)));
    let weather = Weather::draw(&dice.split());
    let bus = Bus::new(weather.clone(), dice.split());
    let world = World { memory, witness, trace, weather, bus };
    let nodes: Vec<Node> = (0..NODES).map(|number| Node::new(number, world.clone(), dice.split())).collect();
    for node in &nodes {
        node.start().await;
    }
    Cluster::new(world, nodes)
}

async fn live(cluster: &Cluster, dice: &Dice) {
    let clients = (0..CLIENTS).map(|number| {
        let client = Client::new(format!("client {number}"), cluster.clone(), dice.split());
        client.live(ACTIONS)
    });
    tokio::select! {
        biased;
        _ = futures::future::join_all(clients) => {}
        () = storm::rage(cluster, dice.split()) => {}
    }
    storm::end(cluster).await;
    settle::settle(cluster, &dice.split()).await;
    cluster.world.witness.check_all().await;
}
