//! An endpoint on loopback, over a journal in memory, and whoever stands on both sides of it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentsessions_frontend::{StreamFrontend, StreamOptions, StreamSecurity, tcp_incoming};
use async_trait::async_trait;
use auth::{Authenticator, KeyRings, Policy};
use cluster::{Local, Node};
use controller::ports::{
    Completion, DeltaSink, DescribeError, HarnessChannel, HarnessConnection, HarnessDirectory, HarnessFailure,
    HarnessPlacement, HarnessSource, HarnessUnavailable, ModelError, ModelProvider, ServedHarness, TurnStart,
};
use controller::{Host, HostParts, Powers, TurnLimits};
use env::{Env, Tasks};
use journal::invocations::{
    Frame, FrameItem, InvocationId, NewOutput, Outcome, OutputChange, OutputWrite, Owner, Run, Standing, StreamId,
    Terminal,
};
use journal::{Journal, SessionUid};
use sha2::{Digest, Sha256};
use store::Store;
use store::memory::Memory;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use wire::{HarnessDescriptor, ModelCall, Resumability};

/// Longest wait for anything that must happen.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

/// Keys of callers, by what they present.
const KEYS: [(&str, &str); 4] = [("alice", "acme"), ("bob", "acme"), ("carol", "acme"), ("mallory", "evil")];

const POLICY: &str = r#"
    [[rule]]
    principals = ["user:alice", "user:carol", "user:mallory"]
    applications = ["lab"]
    environments = ["dev"]
    agent_types = ["probe"]
    methods = ["*"]
"#;

/// An endpoint with what it stands on.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) front: StreamFrontend,
    pub(crate) journal: Journal,
    pub(crate) files: tempfile::TempDir,
    agents: Probe,
    _tasks: Tasks,
}

/// How a world is started.
pub(crate) struct Settings {
    pub(crate) options: StreamOptions,
    /// The active key of its tokens, and one that is still good.
    pub(crate) keys: (&'static str, Option<&'static str>),
}

impl Default for Settings {
    fn default() -> Self {
        let options = StreamOptions {
            max_connections: 100,
            first_message_timeout: BOUND,
            ping_interval: BOUND,
            idle_timeout: BOUND * 2,
        };
        Self { options, keys: ("a", None) }
    }
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        Self::on(Store::new(Memory::default(), Env::system()), settings).await
    }

    /// A node on a store that others may share.
    pub(crate) async fn on(store: Store, settings: Settings) -> Self {
        let (env, tasks) = (Env::system(), Tasks::default());
        let journal = Journal::open(store, env.clone()).await.unwrap();
        let agents = Probe(Arc::new(Semaphore::new(0)));
        let node = Node { name: "node".into(), incarnation: journal.incarnation() };
        let host = Host::new(HostParts {
            coordinator: Arc::new(Local::new(node)),
            journal,
            env: env.clone(),
            tasks: tasks.clone(),
            harnesses: Arc::new(agents.clone()),
            models: Arc::new(NoModel),
            tools: None,
            powers: Powers { cancel: false, delete_session: false },
            default_project: "default".into(),
            history_cache: 1 << 20,
            history_memory: 256 << 20,
            turn_limits: TurnLimits { idle_timeout: BOUND * 10, max_events: 1000 },
        });
        let files = tempfile::tempdir().unwrap();
        let security = security(&files, settings.keys);
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        // The observed one: what the runner writes is news to the connections.
        let journal = host.journal().clone();
        let front = StreamFrontend::start(tcp_incoming(socket), host, security, env, &tasks, settings.options);
        Self { address, front, journal, files, agents, _tasks: tasks }
    }

    /// Changes the keys of tokens.
    pub(crate) fn rotate(&self, keys: (&str, Option<&str>)) {
        std::fs::write(self.files.path().join("ring.toml"), ring(keys)).unwrap();
    }

    /// The runner of the only invocation that is under way.
    pub(crate) async fn runner(&self) -> Runner {
        // The host's own runner has begun, and waits for the harness.
        let begun = tokio::time::timeout(BOUND, self.agents.0.acquire()).await.expect("the harness is called");
        begun.unwrap().forget();
        let [session] = &self.journal.due_runs(None).await.unwrap()[..] else { panic!("not one instance") };
        let run = self.journal.claim_run(session).await.unwrap().expect("this node drives it");
        let invocation = self.journal.next_invocation(&run).await.unwrap().expect("it is queued");
        Runner { journal: self.journal.clone(), run, invocation }
    }
}

fn security(files: &tempfile::TempDir, keys: (&str, Option<&str>)) -> StreamSecurity {
    let write = |name: &str, text: String| -> PathBuf {
        let path = files.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let key = |(key, account): &(&str, &str)| {
        let digest = hex::encode(Sha256::digest(key));
        format!("[[key]]\nsha256 = {digest:?}\naccount = {account:?}\nprincipal = \"user:{key}\"\n")
    };
    StreamSecurity {
        authenticator: Authenticator::open(&write("auth.toml", KEYS.iter().map(key).collect())).unwrap(),
        policy: Policy::open(&write("policy.toml", POLICY.into())).unwrap(),
        rings: Arc::new(KeyRings::open(&write("ring.toml", ring(keys))).unwrap()),
    }
}

fn ring((active, other): (&str, Option<&str>)) -> String {
    use base64::Engine;
    let key = |id: &str| {
        let secret = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(id));
        format!("id = {id:?}\nsecret = {secret:?}\n")
    };
    let other = other.map(|other| format!("[[verify_only]]\n{}", key(other)));
    format!("issuer = \"test\"\n[active]\n{}{}", key(active), other.unwrap_or_default())
}

/// What the runner of an invocation does to the journal.
pub(crate) struct Runner {
    journal: Journal,
    run: Run,
    invocation: InvocationId,
}

impl Runner {
    pub(crate) fn session(&self) -> &SessionUid {
        self.run.session()
    }

    pub(crate) async fn standing(&self) -> Standing {
        self.journal.standing(self.session(), self.invocation).await.unwrap().expect("it is retained")
    }

    /// Waits until the invocation is so.
    pub(crate) async fn until(&self, what: &str, mut holds: impl FnMut(&Standing) -> bool) {
        let waited = tokio::time::timeout(BOUND, async {
            while !holds(&self.standing().await) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        waited.await.unwrap_or_else(|_| panic!("{what} did not come about"));
    }

    /// The method returns a stream, whose id is returned.
    pub(crate) async fn returns_stream(&self) -> StreamId {
        let stream = StreamId::output(self.invocation, &Owner::Result, 0);
        let value = format!(r#"{{"kind":"stream","value":{{"streamToken":"{stream}"}}}}"#);
        let output = NewOutput { element: "{}".into(), fingerprint: [7; 32] };
        self.journal.set_returned(&self.run, self.invocation, Some(&value), vec![output]).await.unwrap();
        stream
    }

    /// The method returns nothing.
    pub(crate) async fn returns(&self) {
        self.journal.set_returned(&self.run, self.invocation, None, vec![]).await.unwrap();
    }

    pub(crate) async fn puts(&self, stream: StreamId, first: u64, item: FrameItem) {
        self.writes(stream, OutputChange::Put { first, item, streams: vec![] }).await;
    }

    pub(crate) async fn says(&self, stream: StreamId, first: u64, text: &str) {
        self.puts(stream, first, FrameItem::Value(format!(r#"{{"kind":"string","value":{text:?}}}"#))).await;
    }

    pub(crate) async fn ends(&self, stream: StreamId) {
        self.writes(stream, OutputChange::End(Terminal::Ended)).await;
    }

    pub(crate) async fn drops(&self, input: StreamId) {
        self.writes(input, OutputChange::Drop("consumer-drop".into())).await;
    }

    pub(crate) async fn writes(&self, stream: StreamId, change: OutputChange) {
        let write = OutputWrite { stream, change };
        self.journal.put_outputs(&self.run, self.invocation, vec![write]).await.unwrap();
    }

    /// It ends as the client wished.
    pub(crate) async fn cancels(&self, stream: StreamId) {
        self.writes(stream, OutputChange::End(Terminal::CancelledByClient("cancelled".into()))).await;
    }

    /// What was put into a stream, from an item on.
    pub(crate) async fn frames(&self, stream: StreamId, from: u64) -> Vec<Frame> {
        self.journal.frames(self.session(), self.invocation, stream, from, usize::MAX).await.unwrap()
    }

    /// The method returns a stream that ends at once, and that is all.
    pub(crate) async fn returns_and_finishes(&self) {
        let output = self.returns_stream().await;
        self.ends(output).await;
        self.finishes().await;
    }

    pub(crate) async fn finishes(&self) {
        self.journal.finish_invocation(&self.run, self.invocation, Outcome::Success).await.unwrap();
    }

    pub(crate) fn input(&self, reference: &str) -> StreamId {
        StreamId::input(self.invocation, reference.parse().unwrap())
    }
}

/// A harness with typed agents, which never gets beyond being called.
#[derive(Clone)]
struct Probe(Arc<Semaphore>);

impl HarnessDirectory for Probe {
    fn default_name(&self) -> &str {
        "probe"
    }

    fn find(&self, _: &str) -> Option<ServedHarness> {
        Some(ServedHarness {
            source: HarnessSource::Static,
            descriptor_id: String::new(),
            resumability: Resumability::StatelessReplay,
            runtime: Arc::new(self.clone()),
        })
    }

    fn names(&self) -> Vec<String> {
        vec!["probe".into()]
    }
}

#[async_trait]
impl HarnessPlacement for Probe {
    async fn acquire(&self) -> Result<Box<dyn HarnessChannel>, HarnessUnavailable> {
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl HarnessChannel for Probe {
    async fn describe(&mut self) -> Result<HarnessDescriptor, DescribeError> {
        let schema = |root: &str| format!(r#"{{"root":{root}}}"#);
        let record = |fields: &str| schema(&format!(r#"{{"kind":"record","value":{{"fields":[{fields}]}}}}"#));
        let stream = |of: &str| format!(r#"{{"kind":"stream","value":{{"inner":{{"kind":"{of}","value":{{}}}}}}}}"#);
        let method = |name: &str, of: &str| wire::AgentMethod {
            name: name.into(),
            description: String::new(),
            parameters_schema: record(&format!(r#"{{"name":"in","body":{}}}"#, stream(of))),
            result_schema: schema(&stream(of)),
        };
        let rest =
            wire::AgentMethod { result_schema: String::new(), parameters_schema: record(""), ..method("rest", "u8") };
        let probe = wire::AgentType {
            name: "probe".into(),
            description: String::new(),
            constructor_schema: record(""),
            methods: vec![method("echo", "string"), method("bytes", "u8"), rest],
        };
        Ok(HarnessDescriptor { version: "1".into(), agent_types: vec![probe], ..HarnessDescriptor::default() })
    }

    async fn connect(self: Box<Self>, _: TurnStart) -> Result<Box<dyn HarnessConnection>, HarnessFailure> {
        self.0.add_permits(1);
        std::future::pending().await
    }
}

struct NoModel;

#[async_trait]
impl ModelProvider for NoModel {
    async fn complete(&self, _: &ModelCall, _: &mut dyn DeltaSink) -> Result<Completion, ModelError> {
        Err(ModelError("there is none".into()))
    }
}
