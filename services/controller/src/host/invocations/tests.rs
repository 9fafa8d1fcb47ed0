//! Invocations on hosts in one process, with a scripted harness.

mod ends;
mod nodes;
mod recovery;
mod running;
mod turns;

use std::sync::Arc;

use env::{Env, Tasks};
use futures::TryStreamExt;
use journal::invocations::{FrameItem, Outcome};
use journal::{Journal, Seq, SeqRange, SessionUid};
use store::memory::Memory;
use store::{Engine, Store};
use wire::{Event, EventKind};

use crate::Host;
use crate::testing::agents::{Agents, echo};
use crate::testing::client::{Client, Kind, text};
use crate::testing::host::host;
use crate::testing::switchboard::Switchboard;

/// A node.
struct Place {
    host: Host,
    journal: Journal,
    tasks: Tasks,
    store: Store,
    board: Switchboard,
}

impl Place {
    /// Node `number` on what `engine` keeps.
    async fn new(engine: impl Engine, board: &Switchboard, number: u64, agents: &Agents) -> Self {
        Self::on(Store::new(engine, Env::seeded(number)), board.clone(), number, agents).await
    }

    async fn on(store: Store, board: Switchboard, number: u64, agents: &Agents) -> Self {
        let env = Env::seeded(number);
        let journal = Journal::open(store.clone(), env.clone()).await.unwrap();
        let tasks = Tasks::default();
        let host = host(&journal, &board, env, tasks.clone(), Arc::new(agents.clone()));
        Self { host, journal, tasks, store, board }
    }

    /// Another node on the same journal.
    async fn beside(&self, agents: &Agents) -> Self {
        Self::on(self.store.clone(), self.board.clone(), 99, agents).await
    }

    /// A single one.
    async fn alone(agents: &Agents) -> Self {
        Self::new(Memory::default(), &Switchboard::default(), 1, agents).await
    }

    /// Has an invocation accepted and driven here.
    async fn start(&self, instance: u8, key: &str, kind: Kind) -> Client {
        let client = Client::start(&self.journal, instance, key, kind).await;
        self.host.drive(&client.session);
        client
    }

    async fn kinds(&self, session: &SessionUid) -> Vec<EventKind> {
        self.log(session).await.iter().map(Event::kind).collect()
    }

    async fn log(&self, session: &SessionUid) -> Vec<Event> {
        let range = SeqRange { from: Seq::FIRST, to: None };
        let records: Vec<_> = self.journal.records(session, range).try_collect().await.unwrap();
        records.into_iter().filter_map(|record| record.event).collect()
    }
}

fn failure() -> Outcome {
    super::finish::failed()
}

fn texts(texts: &[&str]) -> Vec<FrameItem> {
    texts.iter().copied().map(text).collect()
}
