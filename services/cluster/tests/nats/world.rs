//! Nodes, and what they answer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cluster::{Coordinator, Follower, Nats, NatsSettings, News, Node, Peer, Question};
use env::{Env, Tasks};
use journal::{Incarnation, Seq, SessionUid};
use support::BOUND;
use tokio::time::{Instant, timeout};

/// Between two heartbeats in these tests.
pub const HEARTBEAT: Duration = Duration::from_millis(100);

/// A node of a cluster. Stops, without a farewell, when the test's runtime ends.
pub struct TestNode {
    pub nats: Nats,
    pub peer: Arc<Clerk>,
    pub incarnation: Incarnation,
    tasks: Tasks,
}

/// Answers after the session's name, and writes down what it is told.
#[derive(Default)]
pub struct Clerk {
    heard: Mutex<Vec<String>>,
}

/// Settings for the server at `url`.
pub fn settings(url: &str) -> NatsSettings {
    NatsSettings { servers: vec![url.to_owned()], heartbeat: HEARTBEAT, ..NatsSettings::default() }
}

pub fn start(name: &str, settings: NatsSettings) -> TestNode {
    let (env, tasks) = (Env::system(), Tasks::default());
    let incarnation = Incarnation::mint(&env);
    let node = Node { name: name.to_owned(), incarnation };
    let nats = Nats::start(node, settings, env, &tasks).unwrap();
    let peer = Arc::new(Clerk::default());
    nats.serve(Arc::clone(&peer) as Arc<dyn Peer>);
    TestNode { nats, peer, incarnation, tasks }
}

/// Two nodes that know each other.
pub async fn pair(settings: &NatsSettings) -> (TestNode, TestNode) {
    let (one, two) = (start("one", settings.clone()), start("two", settings.clone()));
    until("the nodes know each other", || one.sees() == ["two"] && two.sees() == ["one"]).await;
    (one, two)
}

impl TestNode {
    /// The names of the other nodes.
    pub fn sees(&self) -> Vec<String> {
        let mut names: Vec<_> = self.nats.status().nodes.into_iter().map(|info| info.node.name).collect();
        names.sort();
        names
    }

    pub fn is_connected(&self) -> bool {
        self.nats.status().connected
    }

    pub async fn ask_busy(&self, other: &TestNode, session: &str) -> Option<bool> {
        self.nats.ask(other.incarnation, Question::Busy { session: uid(session) }).await.ok()
    }

    /// Stops as a node does.
    pub async fn stop(self) {
        assert_eq!(self.tasks.shutdown(Duration::ZERO, Duration::from_secs(1)).await, 0);
    }
}

impl Clerk {
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn note(&self, text: String) {
        self.heard.lock().unwrap().push(text);
    }
}

#[async_trait]
impl Peer for Clerk {
    async fn answer(&self, question: Question) -> Option<bool> {
        let session = match &question {
            Question::Busy { session } => session.clone(),
            Question::Cancel { session, execution, reason } => {
                self.note(format!("cancel {session} {execution:?} {reason}"));
                session.clone()
            }
        };
        match session.as_str() {
            "busy" => Some(true),
            "idle" => Some(false),
            "endless" => std::future::pending().await,
            _ => None,
        }
    }

    async fn dispossessed(&self, session: &SessionUid) {
        self.note(format!("dispossessed {session}"));
    }
}

pub fn uid(text: &str) -> SessionUid {
    SessionUid::parse(text).unwrap()
}

pub fn appended(seq: i64) -> News {
    News::Appended { last_seq: Seq::from_wire(seq).unwrap() }
}

/// Waits until it holds.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + BOUND;
    while !holds() {
        assert!(Instant::now() < deadline, "it does not happen: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Tells news of the session until the follower hears some of it: it takes a moment until news come through.
pub async fn until_heard(teller: &TestNode, session: &str, follower: &mut Follower) {
    let deadline = Instant::now() + BOUND;
    loop {
        teller.nats.tell(&uid(session), appended(1));
        if let Ok(Some(_)) = timeout(Duration::from_millis(20), follower.next()).await {
            break;
        }
        assert!(Instant::now() < deadline, "news do not come through");
    }
    // What is still on its way.
    while timeout(Duration::from_millis(100), follower.next()).await.is_ok() {}
}

/// The next news, which must come.
pub async fn next(follower: &mut Follower) -> Option<News> {
    timeout(BOUND, follower.next()).await.expect("there is something to hear")
}
