//! Small items, there and back: durable as input, through an agent, durable as output, and sent to the client. As many a
//! second for one client as for many together, in turn, so that what the disk does disturbs both alike.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures::future::try_join_all;
use tokio::time::{Instant, interval_at};

use super::socket::{Heard, Socket};
use crate::histogram::{Durations, Summary, millis};

/// Between two items of one of many clients.
const PAUSE: Duration = Duration::from_millis(500);
/// How often it is the turn of either.
const TURNS: u32 = 5;

/// How long items took.
pub struct Report {
    one: Clients,
    many: Clients,
}

/// How long items of so many clients took.
struct Clients {
    count: u32,
    /// Between two items of each.
    pause: Duration,
    took: Summary,
}

/// Lets one client, and `count` of them, send items for `bound`, and wait for them to come back.
pub async fn there_and_back(address: &str, count: u32, bound: Duration) -> anyhow::Result<Report> {
    let mut one = Group::start(address, 1, PAUSE / count).await?;
    let mut many = Group::start(address, count, PAUSE).await?;
    for _ in 0..TURNS {
        one.send(bound / TURNS).await?;
        many.send(bound / TURNS).await?;
    }
    Ok(Report { one: one.report(), many: many.report() })
}

/// Clients that send at the same pace, one after the other.
struct Group {
    clients: Vec<Client>,
    pause: Duration,
    took: Durations,
}

impl Group {
    async fn start(address: &str, count: u32, pause: Duration) -> anyhow::Result<Self> {
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(Client { socket: Socket::start(address, "mirror", "bytes").await?, sent: 0 });
        }
        Ok(Self { clients, pause, took: Durations::new() })
    }

    async fn send(&mut self, bound: Duration) -> anyhow::Result<()> {
        let (begin, pause, count) = (Instant::now(), self.pause, self.clients.len() as u32);
        let begins = (0..count).map(|n| begin + pause * n / count);
        let clients = self.clients.iter_mut().zip(begins).map(|(client, begin)| client.send(begin, pause, bound));
        for took in try_join_all(clients).await?.into_iter().flatten() {
            self.took.record(took);
        }
        Ok(())
    }

    fn report(&self) -> Clients {
        Clients { count: self.clients.len() as u32, pause: self.pause, took: self.took.summary() }
    }
}

struct Client {
    socket: Socket,
    /// How many items, each a byte.
    sent: u64,
}

impl Client {
    /// Sends an item every `pause`, whether the one before has come back or not, and returns how long each took from when it
    /// was due.
    async fn send(&mut self, begin: Instant, pause: Duration, bound: Duration) -> anyhow::Result<Vec<Duration>> {
        let mut ticks = interval_at(begin, pause);
        let (mut under_way, mut took) = (VecDeque::new(), Vec::new());
        while begin.elapsed() < bound || !under_way.is_empty() {
            tokio::select! {
                due = ticks.tick(), if begin.elapsed() < bound => {
                    self.socket.send(self.sent, &Bytes::from_static(b"x")).await?;
                    self.sent += 1;
                    under_way.push_back(due);
                }
                heard = self.socket.hear() => {
                    let Heard::Octets(count) = heard? else { continue };
                    took.extend(under_way.drain(..count).map(|due| due.elapsed()));
                }
            }
        }
        Ok(took)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| clients | items/s of each | items | p50 ms | p99 ms | p99 over one client's, ms |\n|--:|--:|--:|--:|--:|--:|"
        )?;
        let row = |clients: &Clients| {
            let over = clients.took.p99.saturating_sub(self.one.took.p99);
            let (Summary { count, p50, p99, .. }, each) = (clients.took, 1.0 / clients.pause.as_secs_f64());
            format!(
                "| {} | {each:.0} | {count} | {} | {} | {} |",
                clients.count,
                millis(p50),
                millis(p99),
                millis(over)
            )
        };
        write!(f, "{}\n{}", row(&self.one), row(&self.many))
    }
}
