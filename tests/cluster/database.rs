//! A database that is in trouble, under the turns of many users whose nodes are killed, too.

use support::{Failpoint, seeds};

use crate::crowd::Crowd;
use crate::takeover::kill_nodes;
use crate::user::report;

async fn turns_on_a_database_that_fails(failpoint: Failpoint) {
    for seed in seeds(1) {
        let mut crowd = Crowd::gather(|builder| builder.failpoint(failpoint)).await;
        let kills = crowd.work_during(async |cluster, builder| kill_nodes(cluster, builder, seed).await).await;
        crowd.check().await;
        report(&format!("{failpoint}, seed {seed}: {} kills of nodes", kills.len()), &crowd.users);
    }
}

#[tokio::test]
async fn turns_go_on_once_though_a_third_of_the_outcomes_is_not_told() {
    turns_on_a_database_that_fails(Failpoint::UnknownOutcomes(30)).await;
}

#[tokio::test]
async fn turns_go_on_once_though_transactions_outlive_what_they_may() {
    turns_on_a_database_that_fails(Failpoint::SlowCalls(2)).await;
}

#[cfg(feature = "fdb")]
#[tokio::test]
async fn turns_go_on_once_though_the_servers_of_the_database_are_killed() {
    use std::time::Duration;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use support::{FdbServer, rounds};

    /// Longest time between a server that is back and its next end.
    const CALM: Duration = Duration::from_secs(5);

    for seed in seeds(1) {
        let Some(mut server) = FdbServer::start().await else { return };
        let cluster_file = server.cluster_file();
        let mut crowd = Crowd::gather(|builder| builder.in_cluster(&cluster_file)).await;
        let mut random = StdRng::seed_from_u64(seed);
        let kills = rounds(30).max(5);
        crowd
            .work_during(async |_, _| {
                for _ in 0..kills {
                    tokio::time::sleep(CALM.mul_f64(random.random())).await;
                    server.kill().await;
                }
            })
            .await;
        crowd.check().await;
        report(&format!("seed {seed}: {kills} kills of the database's server"), &crowd.users);
    }
}
