//! What befalls nodes: they are stopped and woken, killed or drained and started again, cut off, and their clocks jump.

use std::time::Duration;

use env::TaskKind;

use crate::client::Cluster;
use crate::dice::Dice;
use crate::life::Phase;
use crate::node::{Node, Running};
use crate::scene::Scene;

/// Longest time that a node stands still: often shorter than a transaction lives, sometimes long enough to be given up.
const SHORT_STOP: Duration = Duration::from_secs(2);
const LONG_STOP: Duration = Duration::from_secs(45);
/// Longest time until a dead node is started again.
const LONGEST_ABSENCE: Duration = Duration::from_secs(3);
/// What turns are given to end by themselves in a drain, and then to be interrupted.
const GRACE: Duration = Duration::from_secs(2);
/// Longest jump of a clock, either way.
const LONGEST_JUMP: usize = 100_000;

/// Rages until it is dropped.
pub async fn rage(cluster: &Cluster, dice: Dice) {
    let blows = cluster.nodes.iter().enumerate().map(|(number, node)| {
        let dice = dice.split();
        async move {
            loop {
                tokio::time::sleep(dice.up_to(cluster.world.weather.lull)).await;
                strike(cluster, number, node, &dice).await;
            }
        }
    });
    futures::future::join_all(blows).await;
}

/// Ends the storm: every node runs, hears the others, and nothing fails any more.
pub async fn end(cluster: &Cluster) {
    cluster.world.weather.calm_down();
    for (number, node) in cluster.nodes.iter().enumerate() {
        cluster.world.bus.cut_off(number, false);
        if let Some(running) = node.running() {
            running.life.wake();
            if running.tasks.cancelled(TaskKind::Request).is_cancelled() {
                running.life.kill();
            }
        }
        node.start().await;
    }
}

async fn strike(cluster: &Cluster, number: usize, node: &Node, dice: &Dice) {
    let note = |blow: &str| cluster.world.trace.note(format_args!("node {number} {blow}"));
    let Some(running) = node.running() else {
        tokio::time::sleep(dice.up_to(LONGEST_ABSENCE)).await;
        return node.start().await;
    };
    match dice.below(10) {
        0..2 if running.life.phase() == Phase::Awake => {
            note("is killed");
            running.life.kill();
        }
        2..7 => {
            note("is stopped");
            running.life.freeze();
            let longest = if dice.chance(0.3) { LONG_STOP } else { SHORT_STOP };
            tokio::time::sleep(dice.up_to(longest)).await;
            note("is woken");
            running.life.wake();
        }
        7 => {
            note("is drained");
            drain(cluster, &running).await;
        }
        8 => {
            let seconds = dice.below(2 * LONGEST_JUMP) as i64 - LONGEST_JUMP as i64;
            note(&format!("sets its clock by {seconds} s"));
            node.clock.jump(seconds);
        }
        _ => {
            note("is cut off");
            cluster.world.bus.cut_off(number, true);
            tokio::time::sleep(dice.up_to(LONG_STOP)).await;
            note("is heard again");
            cluster.world.bus.cut_off(number, false);
        }
    }
}

/// The node refuses new work, ends what it has begun, and goes. One that does not within the bound is killed.
async fn drain(cluster: &Cluster, running: &Running) {
    if running.tasks.shutdown(GRACE, GRACE).await == 0 {
        cluster.world.witness.play(Scene::Drained);
    }
    running.life.kill();
}
