//! The endpoint of stream sessions.

use std::path::PathBuf;

use clap::Args;
use frontend::StreamOptions;
use serde::{Deserialize, Serialize};

use super::load::Problem;
use super::{Count, OptionalAddr, Period, Switch};

/// The endpoint where agents are invoked over WebSockets, see docs/streams.md.
#[derive(Clone, Debug, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Stream sessions")]
#[serde(default, deny_unknown_fields)]
pub struct StreamsConfig {
    /// Address of the endpoint; without it there is none. A bare port is one of the loopback interface. It speaks plain
    /// WebSocket: whatever is reached from other machines belongs behind something that speaks TLS
    #[arg(id = "streams.addr", long = "streams-addr", value_name = "[HOST:]PORT")]
    pub addr: OptionalAddr,

    /// File of the keys and issuers of those who may connect; read again when it changes
    #[arg(id = "streams.auth_file", long = "streams-auth-file", value_name = "PATH")]
    pub auth_file: Option<PathBuf>,

    /// File of the rules that say who may invoke what; read again when it changes
    #[arg(id = "streams.policy_file", long = "streams-policy-file", value_name = "PATH")]
    pub policy_file: Option<PathBuf>,

    /// File of the keys that sign the tokens of sessions, the same on all nodes; read again when it changes. Without it the
    /// journal keeps a key of its own
    #[arg(id = "streams.key_ring_file", long = "streams-key-ring-file", value_name = "PATH")]
    pub key_ring_file: Option<PathBuf>,

    /// Whether everybody who connects may invoke everything, for development; only on a literal loopback address
    #[arg(
        id = "streams.development",
        long = "streams-development",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub development: Switch,

    /// Most connections at once; more wait to be accepted
    #[arg(id = "streams.max_connections", long = "streams-max-connections", value_name = "N")]
    pub max_connections: Count,

    /// Longest wait for the first message of a connection
    #[arg(id = "streams.first_message_timeout", long = "streams-first-message-timeout", value_name = "TIME")]
    pub first_message_timeout: Period,

    /// How long a client may be silent before it is pinged
    #[arg(id = "streams.ping_interval", long = "streams-ping-interval", value_name = "TIME")]
    pub ping_interval: Period,

    /// How long a client may be silent before its connection is given up; its session goes on and can be resumed
    #[arg(id = "streams.idle_timeout", long = "streams-idle-timeout", value_name = "TIME")]
    pub idle_timeout: Period,

    /// How long invocations are kept that have ended: as long they can be resumed, and their results be had again
    #[arg(id = "streams.retention", long = "streams-retention", value_name = "TIME")]
    pub retention: Period,
}

impl Default for StreamsConfig {
    fn default() -> Self {
        Self {
            addr: OptionalAddr::default(),
            auth_file: None,
            policy_file: None,
            key_ring_file: None,
            development: Switch::OFF,
            max_connections: Count::at_least_one(4096),
            first_message_timeout: Period::seconds(30),
            ping_interval: Period::seconds(20),
            idle_timeout: Period::seconds(60),
            retention: Period::seconds(7 * 24 * 3600),
        }
    }
}

impl StreamsConfig {
    /// How connections are served.
    pub(crate) fn options(&self) -> StreamOptions {
        StreamOptions {
            max_connections: self.max_connections.get(),
            first_message_timeout: self.first_message_timeout.get(),
            ping_interval: self.ping_interval.get(),
            idle_timeout: self.idle_timeout.get(),
        }
    }

    /// What each value alone does not show to be wrong.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let periods = [
            ("streams.first_message_timeout", self.first_message_timeout),
            ("streams.ping_interval", self.ping_interval),
            ("streams.retention", self.retention),
        ];
        let periods = periods.into_iter().filter(|(_, period)| period.get().is_zero());
        let periods = periods.map(|(key, _)| Problem::new(key, "must be longer than zero"));
        let pings = self.idle_timeout.get() <= self.ping_interval.get();
        let pings = pings.then(|| Problem::new("streams.idle_timeout", "must be longer than streams.ping_interval"));
        periods.chain(pings).chain(self.access_problems()).collect()
    }

    fn access_problems(&self) -> Vec<Problem> {
        let Some(addr) = self.addr.get() else { return Vec::new() };
        let files = [("streams.auth_file", &self.auth_file), ("streams.policy_file", &self.policy_file)];
        let mut problems: Vec<_> = match self.development.is_on() {
            true => {
                let given = files.iter().filter(|(_, file)| file.is_some());
                given.map(|(key, _)| Problem::new(*key, "means nothing with streams.development")).collect()
            }
            false => {
                let missing = files.iter().filter(|(_, file)| file.is_none());
                missing.map(|(key, _)| Problem::new(*key, "is needed unless streams.development is on")).collect()
            }
        };
        if self.development.is_on() && !addr.is_loopback() {
            problems.push(Problem::new("streams.development", "needs a literal loopback address in streams.addr"));
        }
        problems
    }
}
