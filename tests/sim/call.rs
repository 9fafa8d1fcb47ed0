//! Calls of clients to nodes: they take time, and break when the node dies or the client loses patience.

use std::fmt;
use std::time::Duration;

use controller::{CallContext, Classified, ErrorClass, Host, HostError};
use futures::StreamExt;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use wire::exec_update::Update;
use wire::{ExecRequest, ExecUpdate, LogRecord};

use crate::dice::Dice;
use crate::node::{Node, Running};

/// Longest time on the way to a node.
const LONGEST_WAY: Duration = Duration::from_millis(10);
/// How long most clients wait for a call to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a call did not succeed.
pub enum Failed {
    /// The node says so.
    Answer(HostError),
    /// The node is down.
    Unreachable,
    /// The node died, or the client gave up: it does not know what became of the call.
    Broken,
}

impl Failed {
    /// Whether the caller was told that nothing was recorded.
    pub fn is_refusal(&self) -> bool {
        use ErrorClass::{Aborted, AlreadyExists, FailedPrecondition, InvalidArgument, NotFound, Unavailable};
        match self {
            // Another writer may have gone on from what was recorded.
            Self::Answer(HostError::Fenced) => false,
            Self::Answer(error) => {
                matches!(
                    error.class(),
                    Aborted | AlreadyExists | FailedPrecondition | InvalidArgument | NotFound | Unavailable
                )
            }
            Self::Unreachable => true,
            Self::Broken => false,
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(error) => error.fmt(f),
            Self::Unreachable => f.write_str("node is down"),
            Self::Broken => f.write_str("call is broken"),
        }
    }
}

/// The way of one client to the nodes.
pub struct Caller {
    pub dice: Dice,
}

/// The two ends of a call.
struct Connection {
    running: Running,
    until: Instant,
}

impl Caller {
    /// Calls a node.
    pub async fn call<T, F>(&self, node: &Node, work: impl FnOnce(Host, CallContext) -> F) -> Result<T, Failed>
    where
        F: Future<Output = Result<T, HostError>>,
    {
        let connection = self.connect(node).await?;
        let work = work(connection.running.host.clone(), self.context());
        connection.wait(work).await?.map_err(Failed::Answer)
    }

    /// Runs a turn and hands on each record that the client hears of.
    pub async fn exec(&self, node: &Node, request: ExecRequest, heard: impl FnMut(LogRecord)) -> Result<(), Failed> {
        let connection = self.connect(node).await?;
        let updates = connection.running.host.exec(request, self.context());
        connection.read(updates, heard).await
    }

    /// Watches a session for some time and hands on each record that the client hears of.
    pub async fn watch(&self, node: &Node, session: &str, heard: impl FnMut(LogRecord)) -> Result<(), Failed> {
        let connection = self.connect(node).await?;
        let request = wire::WatchRequest { session: session.to_owned(), after_seq: 0 };
        connection.read(connection.running.host.watch(request), heard).await
    }

    async fn connect(&self, node: &Node) -> Result<Connection, Failed> {
        tokio::time::sleep(self.dice.up_to(LONGEST_WAY)).await;
        let running = node.running().ok_or(Failed::Unreachable)?;
        let patience = if self.dice.chance(0.1) { self.dice.up_to(PATIENCE / 20) } else { PATIENCE };
        Ok(Connection { running, until: Instant::now() + patience })
    }

    fn context(&self) -> CallContext {
        let deadline = self.dice.chance(0.05).then(|| Instant::now() + self.dice.up_to(PATIENCE / 20));
        CallContext { request_id: String::new(), deadline, cancelled: CancellationToken::new() }
    }
}

impl Connection {
    /// Waits for the node to do some work and to say so.
    async fn wait<T>(&self, work: impl Future<Output = T>) -> Result<T, Failed> {
        let life = &self.running.life;
        let answer = async {
            life.awake().await;
            let done = work.await;
            life.awake().await;
            done
        };
        tokio::select! {
            biased;
            () = life.death() => Err(Failed::Broken),
            answer = timeout_at(self.until, answer) => answer.map_err(|_elapsed| Failed::Broken),
        }
    }

    async fn read(
        &self,
        mut updates: futures::stream::BoxStream<'static, Result<ExecUpdate, HostError>>,
        mut heard: impl FnMut(LogRecord),
    ) -> Result<(), Failed> {
        while let Some(update) = self.wait(updates.next()).await? {
            if let Some(Update::Record(record)) = update.map_err(Failed::Answer)?.update {
                heard(record);
            }
        }
        Ok(())
    }
}
