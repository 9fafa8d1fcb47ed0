//! The operations of a session host, one file each, over the journal and the [ports](crate::ports).

mod admission;
mod agent;
mod approve;
mod cancel;
mod compute;
mod context;
mod create;
mod delete;
mod driver;
mod error;
mod exchange;
mod exec;
mod fork;
mod guard;
mod invocations;
mod limits;
mod live;
mod logs;
mod peers;
mod query;
mod resume;
mod routing;
mod run;
mod suspend;
mod updates;
mod watch;

use std::sync::Arc;

use cluster::Coordinator;
use env::{Env, TaskKind, Tasks};
use journal::{InvalidUid, Journal, SessionState, SessionUid};
use tokio::sync::oneshot;

pub use context::CallContext;
pub use error::{Classified, ErrorClass, HostError, InvalidDecision, InvalidFork};
pub use limits::TurnLimits;

use crate::agents::AgentCatalog;
use crate::ports::{HarnessDirectory, ModelProvider, ToolExecutor};
use context::Bounds;
use guard::Guards;
use invocations::Drives;
use logs::Logs;
use peers::{Announcer, PeerDesk};

/// What operators may allow beyond what every host does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Powers {
    /// Cancel ends turns for good.
    pub cancel: bool,
    /// DeleteSession removes sessions and their records.
    pub delete_session: bool,
}

/// What a host is made of.
pub struct HostParts {
    /// Where sessions live.
    pub journal: Journal,
    /// Clock and randomness.
    pub env: Env,
    /// Runs the turns; its request cancellation interrupts them when the node drains.
    pub tasks: Tasks,
    /// What ties this host to the others on the journal.
    pub coordinator: Arc<dyn Coordinator>,
    /// The harnesses served here.
    pub harnesses: Arc<dyn HarnessDirectory>,
    /// Completes model requests.
    pub models: Arc<dyn ModelProvider>,
    /// Runs tool calls, if the operator configured an executor.
    pub tools: Option<Arc<dyn ToolExecutor>>,
    /// What callers may do here that they may not do everywhere.
    pub powers: Powers,
    /// Project of sessions created without one, and of list requests without one.
    pub default_project: String,
    /// What a harness may take in one run of a turn.
    pub turn_limits: TurnLimits,
    /// Most bytes of memory for the logs of sessions that are kept between their turns. A log that alone is larger is
    /// read anew for each turn.
    pub history_cache: usize,
    /// Most bytes of memory for the logs of the turns that run, those of up to 4 MiB not counted. A turn whose log does
    /// not fit waits, and is refused after ten seconds; a log that alone is larger runs alone.
    pub history_memory: usize,
}

/// A session host: everything behind the Sessions service. Cheap to clone; clones are the same host.
#[derive(Clone)]
pub struct Host {
    parts: Arc<HostParts>,
    guards: Guards,
    logs: Logs,
    agents: AgentCatalog,
    drives: Drives,
}

impl Host {
    /// A host of these parts, which answers the questions of others from now on.
    #[must_use]
    pub fn new(mut parts: HostParts) -> Self {
        let announcer = Announcer(Arc::clone(&parts.coordinator));
        parts.journal = parts.journal.observed_by(Arc::new(announcer));
        let logs = Logs::new(parts.journal.clone(), parts.history_cache, parts.history_memory);
        let (guards, agents, drives) = (Guards::default(), AgentCatalog::default(), Drives::default());
        let host = Self { parts: Arc::new(parts), guards, logs, agents, drives };
        host.parts.coordinator.serve(PeerDesk::of(&host));
        host
    }

    /// The memory that logs of sessions take which are kept between their turns, about, in bytes.
    #[must_use]
    pub fn history_cache_bytes(&self) -> usize {
        self.logs.bytes()
    }

    /// The journal, as this host uses it: what is written through it is told to whoever follows.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.parts.journal
    }

    fn harnesses(&self) -> &dyn HarnessDirectory {
        &*self.parts.harnesses
    }

    /// What may end a call early.
    fn bounds(&self, call: &CallContext) -> Bounds {
        Bounds::new(call, self.parts.tasks.cancelled(TaskKind::Request))
    }

    /// Does `work` in a task of its own, which goes on if the future is dropped, and learns of that from its call.
    async fn detached<T, F>(
        &self,
        name: &'static str,
        call: CallContext,
        work: impl FnOnce(Self, CallContext) -> F,
    ) -> Result<T, HostError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, HostError>> + Send + 'static,
    {
        let call = CallContext { cancelled: call.cancelled.child_token(), ..call };
        let _client_gone = call.cancelled.clone().drop_guard();
        let (outcome, ended) = oneshot::channel();
        let work = work(self.clone(), call);
        self.parts.tasks.spawn(name, TaskKind::Request, async move {
            // A caller that is gone does not want to know.
            let _ = outcome.send(work.await);
        });
        ended.await.unwrap_or(Err(HostError::Draining))
    }

    /// The session named by a request.
    async fn session(&self, uid: &str) -> Result<SessionState, HostError> {
        let uid = session_uid(uid)?;
        self.state(&uid).await
    }

    /// The session's present state.
    async fn state(&self, uid: &SessionUid) -> Result<SessionState, HostError> {
        self.journal().session(uid).await?.ok_or(HostError::UnknownSession)
    }
}

/// Reads the uid in a request.
fn session_uid(text: &str) -> Result<SessionUid, HostError> {
    SessionUid::parse(text).map_err(|invalid| match invalid {
        InvalidUid::Empty => HostError::EmptySession,
        InvalidUid::Impossible => HostError::UnknownSession,
    })
}
