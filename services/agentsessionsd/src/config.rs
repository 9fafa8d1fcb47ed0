//! The configuration of a node: one tree, the same in the file, the environment and the flags.
//!
//! A field is its key in the TOML file. Its comment is its line in `--help`, which also shows its flag, its environment
//! variable and its default.

mod fdb;
mod listeners;
mod load;
mod model;
mod nats;
mod process;
mod streams;
mod tools;
mod values;

use std::collections::BTreeMap;
use std::path::PathBuf;

use ::tools::ExecutorConfig;
use clap::{ArgAction, Args};
use controller::{Powers, TurnLimits};
use env::Env;
use harness::{Directory, DirectoryProblem, RegisteredPlacements, RemoteOptions};
use serde::{Deserialize, Serialize};

pub use fdb::FdbConfig;
pub use load::{Problem, Problems};
pub use model::ModelConfig;
pub use nats::{InvalidNatsCredentials, NatsConfig};
pub use process::{ProcessConfig, ProcessResumability};
pub use streams::StreamsConfig;
pub use tools::{ToolsConfig, ToolsKind};
pub use values::{
    ByteSize, Count, InvalidValue, JournalPlace, ListenAddr, LogFilter, LogFormat, OptionalAddr, OtlpEndpoint, Period,
    RegistryAddr, Retries, StaticHarness, Subspace, Switch,
};

/// Everything an operator can decide about a node. Credentials are not part of it: they come from the environment
/// alone and are never printed.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Node")]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Address of the Sessions service. Port 0 takes a free port, which the log and the ready file then tell
    #[arg(id = "addr", long, value_name = "HOST:PORT")]
    pub addr: ListenAddr,

    /// File of the embedded journal, created if it is not there, which several nodes on one machine may share; or
    /// fdb:CLUSTER_FILE, a FoundationDB cluster, which nodes anywhere may share
    #[arg(id = "journal", long, value_name = "PLACE")]
    pub journal: JournalPlace,

    /// Project of sessions created without one, and of list requests without one
    #[arg(id = "project", long, value_name = "NAME")]
    pub project: String,

    /// A harness outside this process; repeatable, comma-separated in the environment. Needs a model. ADDRESS is
    /// host:port, dns:///host:port or unix:///path
    #[arg(id = "harness", long, value_name = "NAME=ADDRESS", value_delimiter = ',', action = ArgAction::Append)]
    pub harness: Vec<StaticHarness>,

    /// How long live turns may go on after SIGTERM or SIGINT before they are interrupted; an interrupted turn is
    /// recorded as such and can be resumed. The process exits at most 5 s after that
    #[arg(id = "drain_timeout", long = "drain-timeout", value_name = "TIME")]
    pub drain_timeout: Period,

    /// File to write the bound address to once the node serves, and to remove when it stops. Has a second line with the
    /// address of the registry listener, if there is one, and a line `metrics ADDRESS`, if metrics are served
    #[arg(id = "ready_file", long = "ready-file", value_name = "PATH")]
    pub ready_file: Option<PathBuf>,

    /// What the other nodes of a cluster and their operators call this node; the name of the machine, if not given
    #[arg(id = "node_name", long = "node-name", value_name = "NAME")]
    pub node_name: String,

    /// The FoundationDB cluster that the journal is in, if it is in one.
    #[command(flatten)]
    pub fdb: FdbConfig,

    /// Completes model requests.
    #[command(flatten)]
    pub model: ModelConfig,

    /// Harnesses that all nodes on the journal share.
    #[command(flatten)]
    pub registry: RegistryConfig,

    /// How this node talks to the others on the journal.
    #[command(flatten)]
    pub nats: NatsConfig,

    /// What callers may do that they may not do everywhere.
    #[command(flatten)]
    pub powers: PowersConfig,

    /// What callers and harnesses may use up.
    #[command(flatten)]
    pub limits: LimitsConfig,

    /// Where agents are invoked over WebSockets, and by whom.
    #[command(flatten)]
    pub streams: StreamsConfig,

    /// How dead connections are found.
    #[command(flatten)]
    pub keepalive: KeepaliveConfig,

    /// What is logged, and how.
    #[command(flatten)]
    pub log: LogConfig,

    /// What is told to those who watch the node.
    #[command(flatten)]
    pub telemetry: TelemetryConfig,

    /// Harnesses that this node starts as processes, by registry name; none by default. In the file only.
    #[arg(skip)]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub process: BTreeMap<String, ProcessConfig>,

    /// Who runs tool calls for harnesses, by a name of the operator's choice; nobody by default. In the file only.
    #[arg(skip)]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolsConfig>,
}

/// Harnesses that all nodes on the journal share, and the listener for those who register them.
#[derive(Clone, Debug, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Registry")]
#[serde(default, deny_unknown_fields)]
pub struct RegistryConfig {
    /// Address of the HarnessRegistry service; without it there is none. It has no authentication, so it must be a
    /// literal loopback address, with another port than the Sessions service
    #[arg(id = "registry.addr", long = "registry-addr", value_name = "HOST:PORT")]
    pub addr: RegistryAddr,

    /// How often to look for harnesses registered through other nodes
    #[arg(id = "registry.refresh", long = "registry-refresh", value_name = "TIME")]
    pub refresh: Period,
}

/// What callers may do that they may not do everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Powers")]
#[serde(default, deny_unknown_fields)]
pub struct PowersConfig {
    /// Whether Cancel ends turns for good; without it it is UNIMPLEMENTED
    #[arg(id = "powers.cancel", long = "enable-cancel", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub cancel: Switch,

    /// Whether DeleteSession removes sessions and their records; without it it is UNIMPLEMENTED
    #[arg(
        id = "powers.delete_session",
        long = "enable-delete-session",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub delete_session: Switch,
}

/// What callers and harnesses may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Limits")]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Largest message accepted and sent. Larger requests are refused with RESOURCE_EXHAUSTED
    #[arg(id = "limits.max_message_size", long = "max-message-size", value_name = "SIZE")]
    pub max_message_size: ByteSize,

    /// Most calls at once; a stream counts until it ends. More are refused with RESOURCE_EXHAUSTED
    #[arg(id = "limits.max_calls", long = "max-calls", value_name = "N")]
    pub max_calls: Count,

    /// Most connections at once; more wait to be accepted
    #[arg(id = "limits.max_connections", long = "max-connections", value_name = "N")]
    pub max_connections: Count,

    /// How long a turn may wait for its harness to send its next event or to read an answer. A harness that works longer
    /// than that on its own fails its turn, which can be resumed; model and tool calls of the node do not count
    #[arg(id = "limits.turn_idle_timeout", long = "turn-idle-timeout", value_name = "TIME")]
    pub turn_idle_timeout: Period,

    /// Most events of its harness that a turn reads, those that have no effect included; one more fails the turn
    #[arg(id = "limits.max_turn_events", long = "max-turn-events", value_name = "N")]
    pub max_turn_events: Count,

    /// Memory for the logs of sessions that are kept between their turns. What does not fit is read anew, and a log that alone
    /// is larger for each turn
    #[arg(id = "limits.history_cache", long = "history-cache", value_name = "SIZE")]
    pub history_cache: ByteSize,

    /// Memory for the logs of the turns that run, those of up to 4 MiB not counted. A turn whose log does not fit waits for up
    /// to 10 s and is refused then; a log that alone is larger runs alone
    #[arg(id = "limits.history_memory", long = "history-memory", value_name = "SIZE")]
    pub history_memory: ByteSize,
}

/// HTTP/2 pings on connections of clients that are silent. A harness that is silent is bounded by
/// `limits.turn_idle_timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Keepalive")]
#[serde(default, deny_unknown_fields)]
pub struct KeepaliveConfig {
    /// How long the connection of a client may be silent before it is pinged
    #[arg(id = "keepalive.interval", long = "keepalive-interval", value_name = "TIME")]
    pub interval: Period,

    /// How long the answer may take before that connection is dropped and the turns of its calls are interrupted
    #[arg(id = "keepalive.timeout", long = "keepalive-timeout", value_name = "TIME")]
    pub timeout: Period,
}

/// Logs go to standard error.
#[derive(Clone, Debug, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Logs")]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// auto (text on a terminal, JSON otherwise), text, or json
    #[arg(id = "log.format", long = "log-format", value_name = "FORMAT")]
    pub format: LogFormat,

    /// Least level logged, or a list of target=level, such as info,agentsessions::call=warn
    #[arg(id = "log.filter", long = "log-filter", value_name = "FILTER")]
    pub filter: LogFilter,
}

/// Metrics, probes and traces, see docs/operations.md.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Telemetry")]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// Address of /metrics (Prometheus), /healthz and /readyz, over HTTP; without it there are none. A bare port is one of
    /// the loopback interface. It has no authentication and tells nothing of what is in sessions
    #[arg(id = "telemetry.metrics_addr", long = "metrics-addr", value_name = "[HOST:]PORT")]
    pub metrics_addr: OptionalAddr,

    /// Where traces go, over OTLP/gRPC without TLS, such as http://127.0.0.1:4317: a collector nearby, which may pass them on.
    /// OTEL_EXPORTER_OTLP_ENDPOINT if not given; without either there are none
    #[arg(id = "telemetry.otlp_endpoint", long = "otlp-endpoint", value_name = "URL")]
    pub otlp_endpoint: OtlpEndpoint,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            addr: ListenAddr::loopback(8080),
            journal: PathBuf::from("agentsessions.db").into(),
            project: "default".to_owned(),
            harness: Vec::new(),
            drain_timeout: Period::seconds(10),
            ready_file: None,
            node_name: String::new(),
            fdb: FdbConfig::default(),
            model: ModelConfig::default(),
            registry: RegistryConfig::default(),
            nats: NatsConfig::default(),
            powers: PowersConfig::default(),
            limits: LimitsConfig::default(),
            streams: StreamsConfig::default(),
            keepalive: KeepaliveConfig::default(),
            log: LogConfig::default(),
            telemetry: TelemetryConfig::default(),
            process: BTreeMap::new(),
            tools: BTreeMap::new(),
        }
    }
}

impl Default for RegistryConfig {
    fn default() -> Self {
        Self { addr: RegistryAddr::default(), refresh: Period::seconds(1) }
    }
}

impl Default for PowersConfig {
    fn default() -> Self {
        Self { cancel: Switch::OFF, delete_session: Switch::OFF }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            max_message_size: ByteSize::mebibytes(64),
            max_calls: Count::at_least_one(4096),
            max_connections: Count::at_least_one(4096),
            turn_idle_timeout: Period::seconds(600),
            max_turn_events: Count::at_least_one(100_000),
            history_cache: ByteSize::mebibytes(256),
            history_memory: ByteSize::mebibytes(1024),
        }
    }
}

impl Default for KeepaliveConfig {
    fn default() -> Self {
        Self { interval: Period::seconds(20), timeout: Period::seconds(20) }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::Auto, filter: LogFilter::default() }
    }
}

impl Config {
    /// The harnesses that this configuration names.
    ///
    /// # Errors
    /// Every contradiction between names, addresses and the model.
    pub fn directory(&self) -> Result<Directory, Vec<DirectoryProblem>> {
        let model = self.has_model().then_some(self.model.name.as_str());
        let remotes = self.harness.iter().map(|harness| harness.get().clone()).collect();
        let processes = self.process.iter().map(|(name, process)| process.harness(name)).collect();
        Directory::new(model, remotes, processes, &self.remote_options())
    }

    /// What this node can run of what is registered.
    pub(crate) fn placements(&self) -> RegisteredPlacements {
        RegisteredPlacements::new(self.has_model(), self.remote_options())
    }

    fn has_model(&self) -> bool {
        !self.model.name.is_empty()
    }

    fn remote_options(&self) -> RemoteOptions {
        RemoteOptions { max_message_bytes: self.limits.max_message_size.get(), ..RemoteOptions::default() }
    }

    /// The configuration as a TOML file that means the same. It holds no credentials.
    ///
    /// # Errors
    /// A path that is not UTF-8.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// What the executors of tools need.
    pub(crate) fn executors(&self) -> Vec<ExecutorConfig> {
        self.tools.iter().map(|(name, executor)| executor.executor(name)).collect()
    }

    /// What the host grants its callers.
    pub(crate) fn powers(&self) -> Powers {
        Powers { cancel: self.powers.cancel.is_on(), delete_session: self.powers.delete_session.is_on() }
    }

    /// What the listener needs.
    pub(crate) fn listener(&self) -> frontend::Options {
        frontend::Options {
            max_message_size: self.limits.max_message_size.get(),
            max_calls: self.limits.max_calls.get(),
            max_connections: self.limits.max_connections.get(),
            keepalive_interval: self.keepalive.interval.get(),
            keepalive_timeout: self.keepalive.timeout.get(),
        }
    }

    /// What a harness may take of the node.
    pub(crate) fn turn_limits(&self) -> TurnLimits {
        TurnLimits { idle_timeout: self.limits.turn_idle_timeout.get(), max_events: self.limits.max_turn_events.get() }
    }

    /// What each value alone does not show to be wrong.
    fn contradictions(&self) -> Vec<Problem> {
        let harnesses = self.directory().err().unwrap_or_default();
        let harnesses = harnesses.into_iter().map(|problem| Problem::new("harness", problem.to_string()));
        // Neither key nor randomness is looked at until there is a request.
        let model = ::model::provider(&self.model.named(), None, Env::system()).err();
        let model = model.into_iter().flat_map(|invalid| invalid.problems);
        let model = model.map(|problem| Problem::new("model", problem.to_string()));
        let tools = ::tools::problems(&self.executors()).into_iter();
        let tools = tools.map(|problem| Problem::new(format!("tools.{}", problem.executor), problem.fault.to_string()));
        let periods = [
            ("keepalive.interval", self.keepalive.interval),
            ("keepalive.timeout", self.keepalive.timeout),
            ("registry.refresh", self.registry.refresh),
            ("limits.turn_idle_timeout", self.limits.turn_idle_timeout),
        ];
        let periods = periods.into_iter().filter(|(_, period)| period.get().is_zero());
        let periods = periods.map(|(key, _)| Problem::new(key, "must be longer than zero"));
        let (listeners, nats, streams) = (self.listener_problems(), self.nats.problems(), self.streams.problems());
        harnesses.chain(model).chain(tools).chain(periods).chain(listeners).chain(nats).chain(streams).collect()
    }
}
