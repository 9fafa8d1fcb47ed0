//! A user of the client library, who notes what it is told.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use client::{Addresses, Client, Update};
use futures::TryStreamExt;
use support::{Api, kinds, text};
use tokio::time::Instant;
use wire::EventKind::{EventError, EventLifecycle};
use wire::{EventKind, ExecRequest, LogRecord, Session};

use crate::worker::TURN;

/// Longest time that a turn of these tests may take, whatever happens to its nodes.
const BOUND: Duration = Duration::from_secs(120);

pub struct User {
    client: Client,
    pub session: String,
    /// Everything that was told, in order.
    pub records: Vec<LogRecord>,
    pub turns: usize,
    /// From the last sign of a node that was lost to the first record of the next one.
    pub pauses: Vec<Duration>,
    /// Nodes that were lost, and when the first record that another one wrote for them was there.
    pub successions: Vec<(Arc<str>, Instant)>,
}

impl User {
    pub async fn of(addresses: &Addresses, session: String) -> Self {
        let client = Client::connect(addresses).await.unwrap();
        Self { client, session, records: Vec::new(), turns: 0, pauses: Vec::new(), successions: Vec::new() }
    }

    /// Runs a turn to its end.
    pub async fn turn(&mut self) {
        let input = format!("turn {} of {}", self.turns, self.session);
        let request =
            ExecRequest { session: self.session.clone(), inputs: vec![text(&input)], ..ExecRequest::default() };
        let mut updates = self.client.exec(request);
        let (mut last_sign, mut lost, mut lost_node) = (Instant::now(), None, None);
        let told = async {
            while let Some(update) = updates.try_next().await? {
                match update {
                    Update::Moved(moved) => (lost, lost_node) = (Some(last_sign), Some(moved.lost)),
                    Update::Record(record) => {
                        if self.records.last().is_none_or(|last| last.fence < record.fence) {
                            self.successions.extend(lost_node.take().map(|node| (node, Instant::now())));
                        }
                        self.records.push(*record);
                        self.pauses.extend(lost.take().map(|lost: Instant| lost.elapsed()));
                    }
                    Update::Session(_) | Update::Delta(_) => {}
                }
                last_sign = Instant::now();
            }
            Ok::<_, client::Error>(())
        };
        let ended = tokio::time::timeout(BOUND, told).await.expect("a turn ends");
        ended.unwrap_or_else(|error| panic!("{input}: {error}"));
        self.turns += 1;
    }

    /// What was told is the log: every turn once, whole and in order, each record once.
    pub async fn check(&self, api: &mut Api) {
        assert!(self.records.is_sorted_by_key(|record| record.seq), "{}: told out of order", self.session);
        let log = api.log(&self.session).await;
        assert_eq!(of_turns(&self.records), of_turns(&log), "{}", self.session);
        let executions: BTreeSet<_> = of_turns(&log).into_iter().map(execution).collect();
        assert_eq!(executions.len(), self.turns);
        for execution_id in executions {
            let turn = of_turns(&log).into_iter().filter(|record| execution(record) == execution_id).cloned();
            let effects: Vec<_> = kinds(&turn.collect::<Vec<_>>()).into_iter().filter(is_effect).collect();
            assert_eq!(effects, TURN, "{} of {}", execution_id, self.session);
        }
    }
}

/// The records without the markers of nodes that took over: one that follows the end of a turn may come too late for its
/// caller.
fn of_turns(records: &[LogRecord]) -> Vec<&LogRecord> {
    records.iter().filter(|record| record.event.as_ref().unwrap().kind() != EventLifecycle).collect()
}

fn execution(record: &LogRecord) -> &str {
    &record.event.as_ref().unwrap().execution_id
}

fn is_effect(kind: &EventKind) -> bool {
    *kind != EventError
}

/// So many sessions of `harness`, made by a node that then goes away.
pub async fn sessions(builder: &support::NodeBuilder, harness: &str, count: usize) -> Vec<String> {
    let node = builder.start().await;
    let client = Client::connect(&node.address().parse().unwrap()).await.unwrap();
    let mut uids = Vec::new();
    for _ in 0..count {
        let session = Session { harness: harness.into(), ..Session::default() };
        uids.push(client.create(session).await.unwrap().metadata.unwrap().uid);
    }
    uids
}

/// Says how long the users' pauses were.
pub fn report(what: &str, users: &[User]) {
    let mut pauses: Vec<_> = users.iter().flat_map(|user| user.pauses.clone()).collect();
    pauses.sort();
    let of = |percent: usize| pauses.get((pauses.len() * percent / 100).min(pauses.len().saturating_sub(1)));
    let turns: usize = users.iter().map(|user| user.turns).sum();
    println!("{what}: {turns} turns, {} pauses, p50 {:?}, p99 {:?}", pauses.len(), of(50), of(99));
}
