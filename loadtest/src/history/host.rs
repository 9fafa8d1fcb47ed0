//! A host in this process whose store counts what is read, and one session on it.

use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cluster::{Local, Node};
use controller::ports::{HarnessDirectory, HarnessSource, Runtime, ServedHarness};
use controller::{CallContext, Host, HostParts, Powers, TurnLimits};
use env::{Env, TaskKind, Tasks};
use futures::TryStreamExt;
use harness::{InProcess, Remote, RemoteOptions};
use journal::{Journal, SeqRange, SessionUid};
use sdk::{Failure, Harness, Sink, Turn};
use store::Store;
use store::counted::Counted;
use store::embedded::{Embedded, EmbeddedOptions};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wire::{Capabilities, ExecRequest, HarnessDescriptor, Message, Resumability};

use super::Cost;

/// The harness that runs in the host.
pub const IN_PROCESS: &str = "in process";
/// The same one, behind gRPC: it is sent the whole history at the start of every turn.
pub const OVER_THE_WIRE: &str = "over the wire";

/// A session that grows. Its host can be restarted.
pub struct Session {
    engine: Embedded,
    store: Counted<Embedded>,
    harnesses: Arc<Harnesses>,
    host: Host,
    journal: Journal,
    uid: SessionUid,
    turns: u32,
}

impl Session {
    pub async fn create(path: &Path) -> anyhow::Result<Self> {
        let engine = Embedded::open(path, EmbeddedOptions::default())?;
        let store = Counted::new(engine.clone());
        let harnesses = Arc::new(Harnesses::serve().await?);
        let (journal, host) = start(&store, &harnesses).await?;
        let created = host.create(wire::Session::default()).await?;
        let uid = SessionUid::parse(&created.metadata.unwrap_or_default().uid)?;
        Ok(Self { engine, store, harnesses, host, journal, uid, turns: 0 })
    }

    /// Runs turns until it has had this many.
    pub async fn grow(&mut self, turns: u32) -> anyhow::Result<()> {
        while self.turns < turns {
            self.turn(IN_PROCESS).await?;
        }
        Ok(())
    }

    /// Puts a host that knows nothing in the place of this one.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        (self.journal, self.host) = start(&self.store, &self.harnesses).await?;
        Ok(())
    }

    /// Runs the next turn.
    pub async fn turn(&mut self, harness: &str) -> anyhow::Result<Cost> {
        let request = ExecRequest {
            session: self.uid.to_string(),
            inputs: vec![Message::text("user", "What is next?")],
            harness: harness.to_owned(),
            ..ExecRequest::default()
        };
        let call = CallContext { request_id: String::new(), deadline: None, cancelled: CancellationToken::new() };
        let (before, begun) = (self.store.reads(), Instant::now());
        let updates = self.host.exec(request, call).try_fold(0, async |count, _| Ok(count + 1)).await?;
        let (after, time) = (self.store.reads(), begun.elapsed());
        anyhow::ensure!(updates == 5, "a turn of four records came in {updates} updates");
        self.turns += 1;
        let (requests, rows) = (after.requests - before.requests, after.rows - before.rows);
        Ok(Cost { reads: store::counted::Reads { requests, rows }, time })
    }

    /// Encoded size of all events so far.
    pub async fn history_bytes(&self) -> anyhow::Result<usize> {
        let records = self.journal.records(&self.uid, SeqRange::ALL);
        let size = |record: wire::LogRecord| record.event.map_or(0, |event| prost::Message::encoded_len(&event));
        Ok(records.try_fold(0, async |bytes, record| Ok(bytes + size(record))).await?)
    }

    pub async fn close(self) {
        self.engine.close().await;
    }
}

async fn start(store: &Counted<Embedded>, harnesses: &Arc<Harnesses>) -> anyhow::Result<(Journal, Host)> {
    let env = Env::system();
    let journal = Journal::open(Store::new(store.clone(), env.clone()), env.clone()).await?;
    let node = Node { name: "loadtest".to_owned(), incarnation: journal.incarnation() };
    let host = Host::new(HostParts {
        journal: journal.clone(),
        coordinator: Arc::new(Local::new(node)),
        env,
        tasks: Tasks::default(),
        harnesses: Arc::clone(harnesses) as Arc<dyn HarnessDirectory>,
        models: Arc::new(model::Echo),
        tools: None,
        powers: Powers::default(),
        default_project: "loadtest".to_owned(),
        history_cache: 256 << 20,
        history_memory: 1 << 30,
        turn_limits: TurnLimits { idle_timeout: Duration::from_secs(60), max_events: 1_000 },
    });
    Ok((journal, host))
}

/// One harness in both placements.
struct Harnesses {
    in_process: Arc<dyn Runtime>,
    over_the_wire: Arc<dyn Runtime>,
}

impl Harnesses {
    async fn serve() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        Tasks::default().spawn("harness", TaskKind::Background, async move {
            // If it cannot serve, the first turn fails and says so.
            let _ = sdk::serve(Forgetful, listener, pending()).await;
        });
        let address = address.parse().context("a bound address is one that can be dialled")?;
        Ok(Self {
            in_process: Arc::new(InProcess::new(Forgetful)),
            over_the_wire: Arc::new(Remote::new(address, RemoteOptions::default())),
        })
    }
}

impl HarnessDirectory for Harnesses {
    fn default_name(&self) -> &str {
        IN_PROCESS
    }

    fn find(&self, name: &str) -> Option<ServedHarness> {
        let runtime = match name {
            IN_PROCESS => &self.in_process,
            OVER_THE_WIRE => &self.over_the_wire,
            _ => return None,
        };
        Some(ServedHarness {
            source: HarnessSource::Static,
            descriptor_id: String::new(),
            resumability: Resumability::StatelessReplay,
            runtime: Arc::clone(runtime),
        })
    }

    fn names(&self) -> Vec<String> {
        [IN_PROCESS, OVER_THE_WIRE].map(str::to_owned).into()
    }
}

/// Says the same in every turn, whatever came before.
struct Forgetful;

#[sdk::async_trait]
impl Harness for Forgetful {
    fn describe(&self) -> HarnessDescriptor {
        let resumability = Resumability::StatelessReplay.into();
        HarnessDescriptor {
            id: "forgetful".into(),
            version: "1".into(),
            capabilities: Some(Capabilities { resumability, ..Capabilities::default() }),
            ..HarnessDescriptor::default()
        }
    }

    async fn run(&self, _: Turn, sink: &mut Sink) -> Result<(), Failure> {
        sink.output(Message::text("assistant", "That I cannot say.")).await?;
        Ok(())
    }
}
