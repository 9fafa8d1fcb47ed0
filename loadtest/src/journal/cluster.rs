//! The journal on a FoundationDB cluster, beside bare transactions of the same size on the same cluster.

mod bare;

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use env::Env;
use futures::FutureExt;
use journal::Journal;
use store::fdb::{Fdb, FdbOptions};
use store::{KeyRange, Store, TransactError};
use tokio::runtime::Runtime;

use super::report::Sorted;
use super::{WRITERS, appends};
use bare::Bare;

/// The medians of the rounds.
pub struct Report {
    one: Pair,
    many: Pair,
}

/// What a cluster commits of either kind per second, with as many under way at once.
#[derive(Clone, Copy)]
struct Pair {
    bare: f64,
    journal: f64,
}

/// Measures everything in turn, as often as `rounds` says, each figure for `bound`.
pub async fn measure(cluster_file: &Path, rounds: u32, bound: Duration) -> anyhow::Result<Report> {
    let mut options = FdbOptions::new(cluster_file);
    options.subspace = format!("loadtest-{:016x}", Env::system().random_u64()).parse()?;
    // A runtime with a thread per core, as a node has.
    let measured = tokio::task::spawn_blocking(move || {
        Runtime::new()?.block_on(async {
            let engine = Fdb::open(&options).await?;
            let report = measure_rounds(&engine, &options, rounds, bound).await;
            clear(&engine).await?;
            report
        })
    });
    measured.await?
}

async fn measure_rounds(engine: &Fdb, options: &FdbOptions, rounds: u32, bound: Duration) -> anyhow::Result<Report> {
    let env = Env::system();
    let journal = Journal::open(Store::new(engine.clone(), env.clone()), env).await?;
    let bare = Bare::open(options)?;
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        one.push(Pair::measure(&bare, &journal, 1, bound).await?);
        many.push(Pair::measure(&bare, &journal, WRITERS, bound).await?);
    }
    Ok(Report { one: Pair::median(&one), many: Pair::median(&many) })
}

/// Removes what was written.
async fn clear(engine: &Fdb) -> Result<(), TransactError<Infallible>> {
    let everything = KeyRange::new([0_u8; 0].as_slice(), [0xff_u8].as_slice());
    Store::new(engine.clone(), Env::system())
        .transact(|transaction, _| {
            transaction.clear_range(&everything);
            async { Ok(()) }.boxed()
        })
        .await
}

impl Pair {
    async fn measure(bare: &Bare, journal: &Journal, at_once: usize, bound: Duration) -> anyhow::Result<Self> {
        let bare = bare.per_second(at_once, bound).await?;
        let idle = appends::idle_writers(journal, at_once).await?;
        Ok(Self { bare, journal: appends::per_second(journal, idle, bound).await? })
    }

    fn median(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| Sorted::of(rounds.iter().map(figure)).median();
        Self { bare: of(|pair| pair.bare), journal: of(|pair| pair.journal) }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| durable, this cluster | at once | per s | ms each | x bare per s | x bare time |")?;
        write!(f, "|---|--:|--:|--:|--:|--:|")?;
        for (pair, at_once) in [(self.one, 1), (self.many, WRITERS)] {
            for (name, rate) in [("bare transaction", pair.bare), ("append", pair.journal)] {
                let milliseconds = at_once as f64 * 1_000.0 / rate;
                let (rates, times) = (rate / pair.bare, pair.bare / rate);
                write!(f, "\n| {name} | {at_once} | {rate:.0} | {milliseconds:.2} | {rates:.2} | {times:.2} |")?;
            }
        }
        Ok(())
    }
}
