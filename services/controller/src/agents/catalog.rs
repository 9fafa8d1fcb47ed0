//! What all harnesses of a host offer, as they described it last. Harnesses are asked when somebody looks for an agent: what
//! nobody invokes costs nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::FutureExt;
use futures::stream::{self, StreamExt};
use journal::NewOn;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use uuid::Uuid;
use wire::HarnessDescriptor;

use super::read::{self, Origin};
use super::{Agent, AgentType, plain};
use crate::ports::{DESCRIBE_TIMEOUT, HarnessDirectory, HarnessSource, Registered, ServedHarness};

/// How old a description may be that is used without asking again. Until the answer is there the old one serves.
const FRESH: Duration = Duration::from_secs(5);
/// How often the harnesses are asked at most because somebody looks for what is not there.
const PAUSE: Duration = Duration::from_secs(1);
/// Harnesses that are asked at the same time.
const AT_ONCE: usize = 8;

/// The agent types of a host. Cheap to clone; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct AgentCatalog {
    known: Arc<RwLock<Arc<Known>>>,
    /// Held by whoever asks the harnesses.
    asking: Arc<Mutex<()>>,
}

#[derive(Default)]
struct Known {
    /// The first harness in the order of the directory has the name.
    by_name: HashMap<String, Arc<AgentType>>,
    by_harness: BTreeMap<String, Arc<Described>>,
    asked: Option<Instant>,
}

/// What a harness says of itself, and what is made of it.
struct Described {
    source: NewOn,
    version: String,
    agent_types: Vec<wire::AgentType>,
    sound: Vec<Arc<AgentType>>,
}

/// How a look into the catalog goes on.
pub(crate) enum Found<T> {
    /// Here it is.
    Fresh(T),
    /// Here it is, and the harnesses should be asked again.
    Old(T),
    /// It is unknown.
    Missing,
}

impl AgentCatalog {
    /// Looks for a method without asking anybody.
    pub(crate) fn find(&self, agent_type: &str, method: &str) -> Found<Agent> {
        self.look(agent_type, |found| {
            let method = Arc::clone(found.method(method)?);
            Some(Agent { agent_type: Arc::clone(found), method })
        })
    }

    /// Looks for an agent type without asking anybody.
    pub(crate) fn find_type(&self, agent_type: &str) -> Found<Arc<AgentType>> {
        self.look(agent_type, |found| Some(Arc::clone(found)))
    }

    fn look<T>(&self, agent_type: &str, of: impl FnOnce(&Arc<AgentType>) -> Option<T>) -> Found<T> {
        let known = self.known();
        match known.by_name.get(agent_type).and_then(of) {
            Some(found) if known.is_younger_than(FRESH) => Found::Fresh(found),
            Some(found) => Found::Old(found),
            None => Found::Missing,
        }
    }

    /// Asks every harness what it offers, unless that was done a moment ago. One that does not answer is taken to offer what
    /// it did before.
    pub(crate) async fn refresh(&self, directory: &dyn HarnessDirectory) {
        let _asking = self.asking.lock().await;
        let before = self.known();
        if before.is_younger_than(PAUSE) {
            return;
        }
        let served = directory.names().into_iter().filter_map(|name| {
            let harness = directory.find(&name)?;
            let source = new_on(&harness.source)?;
            Some(Arc::clone(&before).describe(name, source, harness).boxed())
        });
        let described = stream::iter(served.collect::<Vec<_>>())
            .buffered(AT_ONCE)
            .filter_map(std::future::ready)
            .collect::<Vec<_>>()
            .await;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Known::of(described));
    }

    fn known(&self) -> Arc<Known> {
        // What is known is replaced as a whole, so a poisoned lock is still good.
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Known {
    /// What these harnesses offer, the first of them before the others.
    fn of(described: Vec<(String, Arc<Described>)>) -> Self {
        let mut by_name = HashMap::new();
        for agent_type in described.iter().flat_map(|(_, described)| &described.sound) {
            by_name.entry(agent_type.name.clone()).or_insert_with(|| Arc::clone(agent_type));
        }
        Self { by_name, by_harness: described.into_iter().collect(), asked: Some(Instant::now()) }
    }

    fn is_younger_than(&self, age: Duration) -> bool {
        self.asked.is_some_and(|asked| asked.elapsed() < age)
    }

    /// What a harness offers: what it says, or what it said before.
    async fn describe(
        self: Arc<Self>,
        name: String,
        source: NewOn,
        harness: ServedHarness,
    ) -> Option<(String, Arc<Described>)> {
        let before = self.by_harness.get(&name).filter(|before| before.source == source);
        let answer = timeout(DESCRIBE_TIMEOUT, harness.describe()).await;
        let expected = |said: &HarnessDescriptor| harness.descriptor_id.is_empty() || harness.descriptor_id == said.id;
        let described = match answer.ok().and_then(Result::ok).filter(expected) {
            Some(said) => match before {
                Some(before) if before.says(&said) => Arc::clone(before),
                _ => Arc::new(Described::read(&name, source, said)),
            },
            None => Arc::clone(before?),
        };
        Some((name, described))
    }
}

impl Described {
    fn read(harness: &str, source: NewOn, said: HarnessDescriptor) -> Self {
        let origin = Origin { harness, source, component: component(harness), revision: revision(&said.version) };
        let offered = match said.agent_types.is_empty() {
            true => vec![plain::described(harness)],
            false => said.agent_types.clone(),
        };
        let sound = offered.iter().filter_map(|described| match read::agent_type(&origin, described) {
            Ok(agent_type) => Some(Arc::new(agent_type)),
            Err(problem) => {
                // Said once for each description, which is only read again when it has changed.
                tracing::warn!(harness, agent_type = described.name, %problem, "agent type is left out");
                None
            }
        });
        let sound = sound.collect();
        Self { source, version: said.version, agent_types: said.agent_types, sound }
    }

    fn says(&self, said: &HarnessDescriptor) -> bool {
        self.version == said.version && self.agent_types == said.agent_types
    }
}

/// Where sessions on a harness are created; `None` for one that takes none.
fn new_on(source: &HarnessSource) -> Option<NewOn> {
    match source {
        HarnessSource::Static => Some(NewOn::Static),
        HarnessSource::Registered(Registered::Loaded) => Some(NewOn::Registered),
        HarnessSource::Contested | HarnessSource::Registered(Registered::Isolated(_)) => None,
    }
}

/// The component that a harness is: its name on every host, and nothing else.
fn component(harness: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("agentsessions:harness:{harness}").as_bytes())
}

/// The revision that a version is: versions are opaque, revisions numbers.
fn revision(version: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(version.as_bytes()).into();
    digest.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}
