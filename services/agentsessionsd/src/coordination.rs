//! Who this node is to the others on the journal, and how it talks to them.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use cluster::{Coordinator, Local, Nats, NatsSettings, Node};
use env::{Env, Tasks};
use journal::Incarnation;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::StartError;
use crate::config::Config;
use crate::telemetry::write;

/// What ties a node to the others.
pub(crate) enum Coordination {
    /// Nothing: it learns of them by polling.
    Local(Arc<Local>),
    /// NATS.
    Nats(Arc<Nats>),
}

impl Coordination {
    /// What `config` says, with credentials from the environment.
    pub(crate) fn start(
        config: &Config,
        incarnation: Incarnation,
        env: &Env,
        tasks: &Tasks,
    ) -> Result<Self, StartError> {
        let node = Node { name: name(config), incarnation };
        Ok(match configured(config)? {
            Some(settings) => Self::Nats(Arc::new(Nats::start(node, settings, env.clone(), tasks)?)),
            None => Self::Local(Arc::new(Local::new(node))),
        })
    }

    /// The same for those who need not know what it is.
    pub(crate) fn coordinator(&self) -> Arc<dyn Coordinator> {
        match self {
            Self::Local(local) => Arc::clone(local) as Arc<dyn Coordinator>,
            Self::Nats(nats) => Arc::clone(nats) as Arc<dyn Coordinator>,
        }
    }

    /// Lets the others know where this node serves sessions.
    pub(crate) fn set_address(&self, addr: SocketAddr) {
        match self {
            Self::Local(_) => {}
            Self::Nats(nats) => nats.set_address(addr.to_string()),
        }
    }

    /// Has `registry` tell how this node stands with the others.
    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        match self {
            Self::Local(_) => {}
            Self::Nats(nats) => registry.register_collector(Box::new(NatsCollector(Arc::clone(nats)))),
        }
    }
}

/// What is looked up when somebody asks.
struct NatsCollector(Arc<Nats>);

impl Collector for NatsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let status = self.0.status();
        let connected = ConstGauge::new(u64::from(status.connected));
        write(&mut encoder, ("nats_connected", "1 while there is a connection to NATS, else 0", None), &connected)?;
        let nodes = ConstGauge::new(status.nodes.len() as u64);
        write(&mut encoder, ("nats_nodes", "Other nodes that are heard", None), &nodes)?;
        let lost = ConstCounter::new(status.lost);
        write(&mut encoder, ("nats_losses", "Times that something could not be told to the others", None), &lost)?;
        let undecodable = ConstCounter::new(status.undecodable);
        let help = "Messages that could not be decoded";
        write(&mut encoder, ("nats_undecodable_messages", help, None), &undecodable)
    }
}

impl fmt::Debug for NatsCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NatsCollector").finish_non_exhaustive()
    }
}

/// What is needed to reach NATS, if this node is to, looked at as far as it can be without reaching it.
pub(crate) fn configured(config: &Config) -> Result<Option<NatsSettings>, StartError> {
    let settings = config.nats.settings(&|name| std::env::var(name))?;
    settings.iter().try_for_each(NatsSettings::check_files)?;
    Ok(settings)
}

/// The configured name, else that of the machine.
fn name(config: &Config) -> String {
    if config.node_name.is_empty() {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    } else {
        config.node_name.clone()
    }
}
