//! Small items, there and back: durable as input, through an agent, durable as output, and sent to the client, for one
//! client and for many at once.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures::future::try_join_all;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::socket::{Heard, Socket};
use crate::histogram::{Durations, Summary, millis};

/// Between two items of a client.
const PAUSE: Duration = Duration::from_millis(500);

/// How long items took.
pub struct Report {
    pub one: Clients,
    pub many: Clients,
}

/// How long items of so many clients took.
pub struct Clients {
    count: u32,
    took: Summary,
}

/// Lets `count` clients send an item each, twice a second for `bound`, and wait for it to come back.
pub async fn there_and_back(address: &str, count: u32, bound: Duration) -> anyhow::Result<Clients> {
    let mut sockets = Vec::new();
    for _ in 0..count {
        sockets.push(Socket::start(address, "mirror", "bytes").await?);
    }
    let begun = Instant::now();
    let clients = sockets.into_iter().zip(0..count).map(|(socket, n)| send(socket, begun + PAUSE * n / count, bound));
    let mut durations = Durations::new();
    for took in try_join_all(clients).await?.into_iter().flatten() {
        durations.record(took);
    }
    Ok(Clients { count, took: durations.summary() })
}

async fn send(mut socket: Socket, begin: Instant, bound: Duration) -> anyhow::Result<Vec<Duration>> {
    let mut ticks = interval_at(begin, PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut took = Vec::new();
    while begin.elapsed() < bound {
        ticks.tick().await;
        let sent = Instant::now();
        socket.send(took.len() as u64, &Bytes::from_static(b"x")).await?;
        while !matches!(socket.hear().await?, Heard::Octets) {}
        took.push(sent.elapsed());
    }
    Ok(took)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| clients, two items per s each | items | p50 ms | p99 ms | p99 over one client's, ms |\n|--:|--:|--:|--:|--:|"
        )?;
        let row = |clients: &Clients| {
            let over = clients.took.p99.saturating_sub(self.one.took.p99);
            let Summary { count, p50, p99, .. } = clients.took;
            format!("| {} | {count} | {} | {} | {} |", clients.count, millis(p50), millis(p99), millis(over))
        };
        write!(f, "{}\n{}", row(&self.one), row(&self.many))
    }
}
