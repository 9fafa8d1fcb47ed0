//! The load: lanes side by side, each with one turn under way at any time.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use client::{Addresses, Client, Options, Update};
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};
use tokio::time::Instant;
use wire::{ExecRequest, Message, Session};

use super::Report;
use crate::check::Seen;
use crate::histogram::Durations;
use crate::target::{Target, Usage};

/// How much of what.
#[derive(Args, Clone, Debug)]
pub struct Load {
    /// Turns under way at any time, each on a session of its own
    #[arg(long, default_value_t = Self::default().in_flight, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub in_flight: u32,

    /// Turns of a session before it is replaced by a new one: a turn costs more the longer its session's history is
    #[arg(long, default_value_t = Self::default().turns, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub turns: u32,

    /// No turn begins later than this many seconds after the first
    #[arg(long, default_value_t = Self::default().seconds, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,

    /// Most turns
    #[arg(long, default_value_t = Self::default().total, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub total: u64,

    /// Connections that the turns share
    #[arg(long, default_value_t = Self::default().connections, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub connections: u32,

    /// Milliseconds that a session is quiet before each turn
    #[arg(long, default_value_t = Self::default().quiet_ms, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub quiet_ms: u64,

    /// Bytes of each turn's input
    #[arg(long, default_value_t = Self::default().input_bytes, value_parser = clap::value_parser!(u32).range(0..=1 << 20))]
    pub input_bytes: u32,

    /// Harness of the sessions; the host's default if not given
    #[arg(long, default_value = "", hide_default_value = true)]
    pub harness: String,
}

/// How long each step took.
pub struct Phases {
    pub create: Durations,
    /// From the call to the first frame of a turn.
    pub first_frame: Durations,
    /// From the call to the end of a turn's stream.
    pub turn: Durations,
    /// Of all records of a session.
    pub replay: Durations,
}

/// A load under way.
struct Run<'a> {
    load: &'a Load,
    deadline: Instant,
    turns_left: Cell<u64>,
    phases: RefCell<Phases>,
}

/// A session and what its client has seen of it.
struct Driven<'a> {
    client: &'a Client,
    uid: String,
    seen: Seen,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            in_flight: 64,
            turns: 10,
            seconds: 10,
            total: 1_000_000,
            connections: 4,
            quiet_ms: 0,
            input_bytes: 64,
            harness: String::new(),
        }
    }
}

impl Load {
    /// Loads `target`, each connection one of its nodes, then replays every session.
    pub async fn run(&self, target: &Target) -> anyhow::Result<Report> {
        let addresses: Vec<Addresses> =
            target.addresses().iter().map(|address| address.parse()).collect::<Result<_, _>>()?;
        // What is measured is a turn as one call.
        let options = Options { turn_patience: Duration::ZERO, ..Options::default() };
        let ends = addresses.iter().cycle().take(self.connections as usize);
        let clients = try_join_all(ends.map(|end| Client::connect_with(end, options.clone()))).await?;

        let before = Usage::of(target)?;
        let begun = Instant::now();
        let run = Run {
            load: self,
            deadline: begun + Duration::from_secs(self.seconds),
            turns_left: Cell::new(self.total),
            phases: RefCell::new(Phases::new()),
        };
        let lanes = clients.iter().cycle().take(self.in_flight as usize).map(|client| run.lane(client));
        let sessions: Vec<_> = try_join_all(lanes).await?.into_iter().flatten().collect();
        let took = begun.elapsed();
        let used = Usage::of(target)?.since(&before);

        let records = sessions.iter().map(|session| session.seen.records()).sum();
        let chains = sessions.len();
        let replays = stream::iter(sessions).map(|session| run.replay(session));
        let () = replays.buffer_unordered(self.in_flight as usize).try_collect().await?;
        Ok(Report { in_flight: self.in_flight, took, records, chains, used, phases: run.phases.into_inner() })
    }
}

impl<'a> Run<'a> {
    /// One session after the other, until the load ends.
    async fn lane(&self, client: &'a Client) -> anyhow::Result<Vec<Driven<'a>>> {
        let input = Message::text("user", "x".repeat(self.load.input_bytes as usize));
        let mut done = Vec::new();
        while !self.is_over() {
            let mut session = self.create(client).await?;
            for _ in 0..self.load.turns {
                if self.is_over() {
                    break;
                }
                self.turns_left.set(self.turns_left.get() - 1);
                tokio::time::sleep(Duration::from_millis(self.load.quiet_ms)).await;
                self.turn(&mut session, &input).await.with_context(|| format!("session {}", session.uid))?;
            }
            done.push(session);
        }
        Ok(done)
    }

    fn is_over(&self) -> bool {
        self.turns_left.get() == 0 || Instant::now() >= self.deadline
    }

    async fn create(&self, client: &'a Client) -> anyhow::Result<Driven<'a>> {
        let begun = Instant::now();
        let session = client.create(Session { harness: self.load.harness.clone(), ..Default::default() }).await?;
        self.phases.borrow_mut().create.record(begun.elapsed());
        let uid = session.metadata.context("a created session has no metadata")?.uid;
        Ok(Driven { client, uid, seen: Seen::default() })
    }

    async fn turn(&self, session: &mut Driven<'a>, input: &Message) -> anyhow::Result<()> {
        let request = ExecRequest { session: session.uid.clone(), inputs: vec![input.clone()], ..Default::default() };
        let records = session.seen.records();
        let begun = Instant::now();
        let mut updates = session.client.exec(request);
        let mut first_frame = None;
        while let Some(update) = updates.try_next().await? {
            first_frame.get_or_insert_with(|| begun.elapsed());
            if let Update::Record(record) = update {
                session.seen.record(&record)?;
            }
        }
        let mut phases = self.phases.borrow_mut();
        phases.turn.record(begun.elapsed());
        phases.first_frame.record(first_frame.context("a turn without a frame")?);
        ensure!(session.seen.records() > records, "a turn without a record");
        Ok(())
    }

    async fn replay(&self, session: Driven<'a>) -> anyhow::Result<()> {
        let begun = Instant::now();
        session.seen.compare(session.client, &session.uid).await?;
        self.phases.borrow_mut().replay.record(begun.elapsed());
        Ok(())
    }
}

impl Phases {
    fn new() -> Self {
        Self {
            create: Durations::new(),
            first_frame: Durations::new(),
            turn: Durations::new(),
            replay: Durations::new(),
        }
    }
}
