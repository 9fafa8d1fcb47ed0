//! Clients: each does one thing after the other, through any node, and tries again elsewhere when that goes wrong.

mod approvals;
mod looks;
mod turns;

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use wire::{ForkRequest, Session, SuspendRequest};

use crate::call::{Caller, Failed};
use crate::dice::Dice;
use crate::node::{Node, World};

/// Longest time between two things that a client does.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);
/// How often a client tries.
const ATTEMPTS: usize = 4;

/// What clients know of: the nodes, and the sessions that they have made.
#[derive(Clone)]
pub struct Cluster {
    pub world: World,
    pub nodes: Arc<Vec<Node>>,
    sessions: Arc<Mutex<Vec<String>>>,
}

/// A client.
pub struct Client {
    name: String,
    cluster: Cluster,
    dice: Dice,
    caller: Caller,
    orders: usize,
}

impl Cluster {
    /// These nodes, and no session.
    pub fn new(world: World, nodes: Vec<Node>) -> Self {
        Self { world, nodes: Arc::new(nodes), sessions: Arc::default() }
    }

    fn know(&self, session: &Session) {
        let uid = uid_of(session).to_owned();
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).push(uid);
    }

    fn any_session(&self, dice: &Dice) -> Option<String> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        (!sessions.is_empty()).then(|| dice.pick(&sessions).clone())
    }
}

impl Client {
    /// A client that acts as `dice` say.
    pub fn new(name: String, cluster: Cluster, dice: Dice) -> Self {
        let caller = Caller { dice: dice.split() };
        Self { name, cluster, dice, caller, orders: 0 }
    }

    /// Does so many things.
    pub async fn live(mut self, actions: usize) {
        for _ in 0..actions {
            tokio::time::sleep(self.dice.up_to(LONGEST_PAUSE)).await;
            match self.cluster.any_session(&self.dice) {
                Some(session) => self.act(&session).await,
                None => self.create().await,
            }
        }
    }

    async fn act(&mut self, session: &str) {
        // Boxed, as one of them is much larger than the others.
        match self.dice.below(100) {
            0..5 => self.create().boxed_local().await,
            5..50 => self.exec(session).boxed_local().await,
            50..58 => self.resume(session).boxed_local().await,
            58..76 => self.decide().boxed_local().await,
            76..80 => self.suspend(session).boxed_local().await,
            80..84 => self.fork(session).boxed_local().await,
            84..87 => self.cancel(session).boxed_local().await,
            87..92 => self.get(session).boxed_local().await,
            92..96 => self.replay(session).boxed_local().await,
            _ => self.watch(session).boxed_local().await,
        }
    }

    async fn create(&self) {
        let created = self.caller.call(self.any_node(), |host, _| async move { host.create(Session::default()).await });
        let created = created.await;
        self.note("creates a session", &created);
        if let Ok(session) = created {
            self.cluster.know(&session);
            self.cluster.world.witness.answered(&session, 0);
        }
    }

    async fn suspend(&self, session: &str) {
        let asked = self.cluster.world.witness.head(session);
        let request = SuspendRequest { session: session.to_owned() };
        let suspended = self.caller.call(self.any_node(), |host, _| async move { host.suspend(request).await }).await;
        self.note(&format!("suspends {session}"), &suspended);
        if let Ok(session) = suspended {
            self.cluster.world.witness.answered(&session, asked + 1);
        }
    }

    async fn fork(&self, session: &str) {
        let head = self.cluster.world.witness.head(session);
        let at_seq = self.dice.below(head + 1) as i64;
        let request =
            ForkRequest { session: session.to_owned(), at_seq, count: self.dice.below(3) as i32, ..Default::default() };
        let forked =
            self.caller.call(self.any_node(), |host, call| async move { host.fork(request, call).await }).await;
        self.note(&format!("forks {session} at {at_seq}"), &forked);
        for child in forked.map(|forked| forked.children).unwrap_or_default() {
            self.cluster.know(&child);
            self.cluster.world.witness.answered(&child, at_seq as usize + 1);
        }
    }

    fn any_node(&self) -> &Node {
        self.dice.pick(&self.cluster.nodes)
    }

    fn note<T>(&self, what: &str, outcome: &Result<T, Failed>) {
        let outcome: &dyn Display = match outcome {
            Ok(_) => &"done",
            Err(failed) => failed,
        };
        self.cluster.world.trace.note(format_args!("{} {what}: {outcome}", self.name));
    }
}

/// The uid of a session in an answer.
fn uid_of(session: &Session) -> &str {
    session.metadata.as_ref().map_or("", |metadata| &metadata.uid)
}
