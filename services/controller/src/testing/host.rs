//! A host of one harness on a scripted runtime, over a journal in memory.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use env::{Env, Tasks};
use futures::{StreamExt, TryStreamExt};
use journal::{Journal, Seq, SeqRange, SessionUid, Writer};
use store::Store;
use store::memory::Memory;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wire::event::Body;
use wire::exec_update::Update;
use wire::{Event, EventKind, ExecRequest, Lifecycle, Message, ModelCall, ResumeRequest, Session, SuspendRequest};

use super::runtime::ScriptedRuntime;
use super::switchboard::Switchboard;
use crate::ports::{Completion, DeltaSink, HarnessDirectory, HarnessSource, ModelError, ModelProvider, ServedHarness};
use crate::{CallContext, Host, HostError, HostParts, Powers, TurnLimits};

/// A host, what is behind it, and one session. Clones are the same.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) host: Host,
    /// What ties it to others.
    pub(crate) board: Switchboard,
    store: Store,
    pub(crate) journal: Journal,
    pub(crate) runtime: ScriptedRuntime,
    pub(crate) session: SessionUid,
}

impl World {
    pub(crate) async fn new() -> Self {
        let store = Store::new(Memory::default(), Env::seeded(1));
        let board = Switchboard::default();
        let (host, journal, runtime) = assemble(&store, &board, Env::seeded(1)).await;
        let session = host.create(Session::default()).await.unwrap();
        let session = SessionUid::parse(&session.metadata.unwrap().uid).unwrap();
        Self { host, board, store, journal, runtime, session }
    }

    /// Another host on the same journal, with a runtime of its own.
    pub(crate) async fn beside(&self) -> Self {
        let (host, journal, runtime) = assemble(&self.store, &self.board, Env::seeded(2)).await;
        Self { host, journal, runtime, ..self.clone() }
    }

    /// Runs a turn of a session and returns what its harness said.
    pub(crate) async fn turn(&self, session: &SessionUid) -> Result<String, HostError> {
        let request = ExecRequest {
            session: session.to_string(),
            inputs: vec![Message::text("user", "go on")],
            ..ExecRequest::default()
        };
        let mut updates = self.host.exec(request, call(None));
        let mut said = String::new();
        while let Some(update) = updates.next().await {
            if let Some(Update::Record(record)) = update?.update
                && let Some(Event { body: Some(Body::Message(message)), .. }) = record.event
            {
                said = message.text_content();
            }
        }
        Ok(said)
    }

    pub(crate) async fn suspend(&self, session: &SessionUid) -> Result<Session, HostError> {
        self.host.suspend(SuspendRequest { session: session.to_string() }).await
    }

    pub(crate) async fn resume(&self, session: &SessionUid) -> Result<Session, HostError> {
        let request = ResumeRequest { session: session.to_string(), ..ResumeRequest::default() };
        self.host.resume(request, call(None)).await
    }

    /// The session as its clients see it.
    pub(crate) async fn state(&self, session: &SessionUid) -> Session {
        self.journal.session(session).await.unwrap().unwrap().to_wire()
    }

    /// The events of a session.
    pub(crate) async fn log(&self, session: &SessionUid) -> Vec<Event> {
        let records: Vec<_> =
            self.journal.records(session, SeqRange { from: Seq::FIRST, to: None }).try_collect().await.unwrap();
        records.into_iter().filter_map(|record| record.event).collect()
    }

    pub(crate) async fn kinds(&self, session: &SessionUid) -> Vec<EventKind> {
        self.log(session).await.iter().map(Event::kind).collect()
    }

    /// The body of the session's last record.
    pub(crate) async fn last_lifecycle(&self, session: &SessionUid) -> Lifecycle {
        match self.log(session).await.pop().and_then(|event| event.body) {
            Some(Body::Lifecycle(lifecycle)) => lifecycle,
            body => panic!("the last record is no LIFECYCLE: {body:?}"),
        }
    }

    /// Whether nobody has minted a fence since `writer` did.
    pub(crate) async fn is_unfenced(&self, mut writer: Writer) -> bool {
        self.journal.append(&mut writer, vec![super::events::Of("probe").error()]).await.is_ok()
    }
}

async fn assemble(store: &Store, board: &Switchboard, env: Env) -> (Host, Journal, ScriptedRuntime) {
    let journal = Journal::open(store.clone(), env.clone()).await.unwrap();
    let runtime = ScriptedRuntime::new();
    let harnesses = Arc::new(Counter(runtime.clone()));
    (host(&journal, board, env, Tasks::default(), harnesses), journal, runtime)
}

/// A host of these harnesses, with a slow model and without tools.
pub(crate) fn host(
    journal: &Journal,
    board: &Switchboard,
    env: Env,
    tasks: Tasks,
    harnesses: Arc<dyn HarnessDirectory>,
) -> Host {
    Host::new(HostParts {
        coordinator: Arc::new(board.line(journal.incarnation())),
        journal: journal.clone(),
        env,
        tasks,
        harnesses,
        models: Arc::new(SlowModel),
        tools: None,
        powers: Powers { cancel: true, delete_session: true },
        default_project: "default".into(),
        history_cache: 64 << 20,
        history_memory: 256 << 20,
        turn_limits: TurnLimits { idle_timeout: Duration::from_secs(60), max_events: 1000 },
    })
}

/// A call with this deadline.
pub(crate) fn call(deadline: Option<Instant>) -> CallContext {
    CallContext { request_id: String::new(), deadline, cancelled: CancellationToken::new() }
}

/// The only harness, whatever its name.
struct Counter(ScriptedRuntime);

impl HarnessDirectory for Counter {
    fn default_name(&self) -> &str {
        "counter"
    }

    fn find(&self, _: &str) -> Option<ServedHarness> {
        Some(ServedHarness {
            source: HarnessSource::Static,
            descriptor_id: String::new(),
            resumability: self.0.script().resumability,
            runtime: Arc::new(self.0.clone()),
        })
    }

    fn names(&self) -> Vec<String> {
        vec![self.default_name().to_owned()]
    }
}

/// Thinks for a while about each request.
struct SlowModel;

/// How long.
pub(crate) const THINKS: Duration = Duration::from_secs(100);

#[async_trait]
impl ModelProvider for SlowModel {
    async fn complete(&self, _: &ModelCall, _: &mut dyn DeltaSink) -> Result<Completion, ModelError> {
        tokio::time::sleep(THINKS).await;
        Ok(Completion { message: Message::text("assistant", "well"), streamed: false })
    }
}
