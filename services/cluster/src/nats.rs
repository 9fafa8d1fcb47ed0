//! Nodes that talk over NATS. A connection that breaks is made anew for ever; without one, a node works on alone and learns
//! of the others' changes by polling.

mod connection;
mod directory;
mod follows;
mod link;
mod message;
mod outbox;
mod settings;
mod subjects;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use async_nats::{Client, Event, Message, PublishError, Request, Subject};
use async_trait::async_trait;
use env::{Env, TaskKind, Tasks};
use journal::{Incarnation, SessionUid};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

pub use directory::NodeInfo;
pub use settings::{NatsCredentials, NatsProblem, NatsSettings, NatsTls};

use crate::{Coordinator, Follower, News, Newsroom, NoAnswer, Node, Peer, Question};
use connection::{Pauses, Troubles};
use directory::Directory;
use follows::Follows;
use link::Link;
use message::{Errand, Undecodable};
use outbox::{Letter, Outbox};
use subjects::Subjects;

/// Longest wait for the answer of another node.
const ANSWER_BOUND: Duration = Duration::from_secs(1);

/// Most errands of others that are attended to at once. One more question is answered with "cannot tell".
const MAX_ERRANDS: usize = 64;

/// Longest time for an errand. Nobody waits for the answer so long, but what has begun may end.
const ERRAND_BOUND: Duration = Duration::from_secs(10);

/// A connection that lasts so long was good: the next one is made without delay.
const GOOD: Duration = Duration::from_secs(5);

/// Coordination over NATS. Cheap to clone; clones are the same.
#[derive(Clone)]
pub struct Nats {
    shared: Arc<Shared>,
}

/// What a connection and those who use it have in common.
struct Shared {
    node: Node,
    heartbeat: Duration,
    subjects: Subjects,
    tasks: Tasks,
    newsroom: Newsroom,
    follows: Follows,
    outbox: Outbox,
    directory: Mutex<Directory>,
    /// That of the connection in use.
    client: Mutex<Option<Client>>,
    registry: Notify,
    peer: OnceLock<Arc<dyn Peer>>,
    address: OnceLock<String>,
    errands: Arc<Semaphore>,
    undecodable: AtomicU64,
}

/// How a node stands with the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsStatus {
    /// Whether there is a connection.
    pub connected: bool,
    /// The other nodes that are there, as far as this one has heard.
    pub nodes: Vec<NodeInfo>,
    /// How often something could not be sent since the start.
    pub lost: u64,
    /// Messages that could not be decoded since the start.
    pub undecodable: u64,
}

impl Nats {
    /// The coordinator of `node`, which connects in the background and leaves when the background tasks are cancelled. It
    /// starts whether NATS can be reached or not.
    ///
    /// # Errors
    /// [`NatsProblem`], the first one, if the settings cannot be used.
    pub fn start(node: Node, settings: NatsSettings, env: Env, tasks: &Tasks) -> Result<Self, NatsProblem> {
        if let Some(problem) = settings.problems().into_iter().next() {
            return Err(problem);
        }
        settings.check_files()?;
        let shared = Arc::new(Shared {
            node,
            heartbeat: settings.heartbeat,
            subjects: Subjects::under(&settings.prefix),
            tasks: tasks.clone(),
            newsroom: Newsroom::default(),
            follows: Follows::default(),
            outbox: Outbox::default(),
            directory: Mutex::new(Directory::new(settings.silence(), Instant::now())),
            client: Mutex::new(None),
            registry: Notify::new(),
            peer: OnceLock::new(),
            address: OnceLock::new(),
            errands: Arc::new(Semaphore::new(MAX_ERRANDS)),
            undecodable: AtomicU64::new(0),
        });
        let stop = tasks.cancelled(TaskKind::Background);
        tasks.spawn("nats", TaskKind::Background, Arc::clone(&shared).stay_connected(settings, env, stop));
        Ok(Self { shared })
    }

    /// Lets the others know where this node serves sessions. Only the first call counts.
    pub fn set_address(&self, address: impl Into<String>) {
        let _ = self.shared.address.set(address.into());
    }

    /// How this node stands with the others.
    #[must_use]
    pub fn status(&self) -> NatsStatus {
        NatsStatus {
            connected: self.shared.client().is_some(),
            nodes: self.shared.directory().live().cloned().collect(),
            lost: self.shared.outbox.lost(),
            undecodable: self.shared.undecodable.load(Ordering::Relaxed),
        }
    }
}

#[async_trait]
impl Coordinator for Nats {
    fn node(&self) -> &Node {
        &self.shared.node
    }

    fn serve(&self, peer: Arc<dyn Peer>) {
        let _ = self.shared.peer.set(peer);
    }

    async fn ask(&self, owner: Incarnation, question: Question) -> Result<bool, NoAnswer> {
        if self.shared.directory().is_gone(owner) {
            return Err(NoAnswer);
        }
        let client = self.shared.client().ok_or(NoAnswer)?;
        let payload = message::encode_errand(Errand::Question(question));
        if payload.len() > message::MAX_BYTES {
            return Err(NoAnswer);
        }
        // With an inbox of its own: the client never forgets a request without an answer that uses the common one.
        let request = Request::new().payload(payload.into()).inbox(client.new_inbox()).timeout(None);
        let answer = client.send_request(self.shared.subjects.run(owner), request);
        let answer = timeout(ANSWER_BOUND, answer).await.ok().and_then(Result::ok).ok_or(NoAnswer)?;
        self.shared.decoded(message::decode_answer(&answer.payload)).flatten().ok_or(NoAnswer)
    }

    fn dispossess(&self, owner: Incarnation, session: &SessionUid) {
        self.shared.outbox.put(Letter::Dispossessed { owner, session: session.clone() });
    }

    fn tell(&self, session: &SessionUid, news: News) {
        self.shared.newsroom.tell(session, news.clone());
        self.shared.outbox.put(Letter::News(session.clone(), news));
    }

    fn follow(&self, session: &SessionUid) -> Follower {
        let shared = Arc::clone(&self.shared);
        let (follower, first) = self.shared.newsroom.follow(session, move |left| shared.follows.note(left, false));
        if first {
            self.shared.follows.note(session, true);
        }
        follower
    }

    fn registry_changed(&self) {
        self.shared.outbox.put(Letter::RegistryChanged);
    }

    async fn registry_change(&self) {
        self.shared.registry.notified().await;
    }
}

impl Shared {
    async fn stay_connected(self: Arc<Self>, settings: NatsSettings, env: Env, stop: CancellationToken) {
        let mut pauses = Pauses::new(env);
        let mut troubles = Troubles::default();
        while !stop.is_cancelled() {
            let broken = Arc::new(Notify::new());
            let connected = tokio::select! {
                () = stop.cancelled() => return,
                connected = connection::connect(&settings, &self.subjects, &self.node.name, self.ear(&broken)) => connected,
            };
            match connected {
                Ok(client) => {
                    troubles.end(&client);
                    let begun = Instant::now();
                    let ended = Link::new(Arc::clone(&self), client, broken).run(&stop).await;
                    self.link_ends();
                    if begun.elapsed() >= GOOD {
                        pauses.reset();
                    }
                    if let Err(end) = ended {
                        troubles.begin(&end);
                    }
                }
                Err(error) => troubles.tell(&error),
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(pauses.next()) => {}
            }
        }
    }

    /// What listens to the events of a connection.
    fn ear(self: &Arc<Self>, broken: &Arc<Notify>) -> impl Fn(Event) + Send + Sync + 'static {
        let (shared, broken) = (Arc::clone(self), Arc::clone(broken));
        let refused = AtomicBool::new(false);
        move |event| match event {
            Event::Disconnected | Event::Closed => broken.notify_one(),
            // A subscription was full.
            Event::SlowConsumer(_) => shared.missed(),
            // One line for a connection: what is refused once may be refused with every message.
            Event::ServerError(error) if !refused.swap(true, Ordering::Relaxed) => {
                tracing::warn!(%error, "NATS refuses something that this node needs");
            }
            _ => {}
        }
    }

    fn link_begins(&self, client: &Client) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client.clone());
        self.outbox.open();
        // Before it, nothing was heard.
        self.missed();
    }

    fn link_ends(&self) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.outbox.close();
        self.follows.end();
        self.directory().forget(Instant::now());
    }

    /// Something that was told may not have been heard.
    fn missed(&self) {
        self.newsroom.missed();
        self.registry.notify_one();
    }

    /// Does what another node asks or tells, in a task of its own.
    async fn attend(self: &Arc<Self>, client: &Client, message: Message) -> Result<(), PublishError> {
        let Some(errand) = self.decoded(message::decode_errand(&message.payload)) else { return Ok(()) };
        let permit = Arc::clone(&self.errands).try_acquire_owned();
        let (Some(errand), Some(peer), Ok(permit)) = (errand, self.peer.get().cloned(), permit) else {
            return answer(client, message.reply, None).await;
        };
        let client = client.clone();
        let stop = self.tasks.cancelled(TaskKind::Background);
        self.tasks.spawn("errand", TaskKind::Background, async move {
            let _permit = permit;
            let done = tokio::select! {
                () = stop.cancelled() => None,
                done = timeout(ERRAND_BOUND, run_errand(&*peer, errand)) => done.ok().flatten(),
            };
            // Whoever gets no answer goes on without.
            let _ = answer(&client, message.reply, done).await;
        });
        Ok(())
    }

    fn decoded<T>(&self, decoded: Result<T, Undecodable>) -> Option<T> {
        if decoded.is_err() {
            self.undecodable.fetch_add(1, Ordering::Relaxed);
        }
        decoded.ok()
    }

    /// This node, as it tells of itself.
    fn info(&self) -> NodeInfo {
        NodeInfo {
            node: self.node.clone(),
            address: self.address.get().cloned().unwrap_or_default(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn client(&self) -> Option<Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn directory(&self) -> MutexGuard<'_, Directory> {
        // Its entries are whole whenever the lock is free.
        self.directory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer, if there is one.
async fn run_errand(peer: &dyn Peer, errand: Errand) -> Option<bool> {
    match errand {
        Errand::Question(question) => peer.answer(question).await,
        Errand::Dispossessed(session) => {
            peer.dispossessed(&session).await;
            None
        }
    }
}

/// Answers whoever waits for it.
async fn answer(client: &Client, reply: Option<Subject>, yes: Option<bool>) -> Result<(), PublishError> {
    match reply {
        Some(reply) => client.publish(reply, message::encode_answer(yes).into()).await,
        None => Ok(()),
    }
}
