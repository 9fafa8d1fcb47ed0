//! Transactions that read one key and write three, through the client alone.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use foundationdb::{Database, FdbError, FdbResult};
use futures::future::try_join_all;
use store::Subspace;
use store::fdb::FdbOptions;
use tokio::time::Instant;

use crate::journal::appends::start;

/// As much as an append of a record of 100 bytes writes into each of its rows, about.
const VALUE: [u8; 130] = [0x5a; 130];

/// The cluster by itself.
pub struct Bare {
    database: Arc<Database>,
    subspace: Subspace,
}

impl Bare {
    /// Opens the cluster of `options`, which must be open in this process already: that started the client.
    pub fn open(options: &FdbOptions) -> anyhow::Result<Self> {
        let cluster_file = options.cluster_file.to_str().context("the cluster file's path is not UTF-8")?;
        let database = Arc::new(Database::from_path(cluster_file)?);
        Ok(Self { database, subspace: options.subspace.clone() })
    }

    /// How many commit per second while `lanes` do so for `bound`, one after the other, each on keys of its own.
    pub async fn per_second(&self, lanes: usize, bound: Duration) -> anyhow::Result<f64> {
        let begun = Instant::now();
        let lanes = (0..lanes).map(|lane| {
            // As long as the keys of a session.
            let keys = [0, 1, 2].map(|row| self.subspace.key(format!("bare/{lane:032}/{row}").as_bytes()));
            start(run(Arc::clone(&self.database), keys, begun + bound))
        });
        let counts = try_join_all(lanes.collect::<Vec<_>>()).await?;
        let took = begun.elapsed();
        let total: u64 = counts.into_iter().sum::<FdbResult<u64>>()?;
        Ok(total as f64 / took.as_secs_f64())
    }
}

async fn run(database: Arc<Database>, [head, left, right]: [Vec<u8>; 3], deadline: Instant) -> FdbResult<u64> {
    let mut count = 0_u64;
    while Instant::now() < deadline {
        let transaction = database.create_trx()?;
        transaction.get(&head, false).await?;
        transaction.set(&head, &VALUE);
        // As records are, these are new each time.
        for key in [&left, &right] {
            transaction.set(&[key, &count.to_be_bytes()[..]].concat(), &VALUE);
        }
        transaction.commit().await.map_err(FdbError::from)?;
        count += 1;
    }
    Ok(count)
}
