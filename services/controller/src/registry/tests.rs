//! What a registry keeps of what it has seen. The rpcs are tested over the wire.

use cluster::{Local, Node};
use env::Env;
use journal::NewRegistration;
use store::Store;
use store::memory::Memory;
use wire::harness_spec::Placement;

use super::*;
use crate::ports::{
    HarnessChannel, HarnessPlacement, HarnessSource, HarnessUnavailable, Registered, Runtime, Unservable,
};

const SPEC: &str = r#"{"capabilities":{"resumability":"RESUMABILITY_STATELESS_REPLAY"},"remote":{"address":"h:1"}}"#;

/// Serves `own` itself, but has not reserved it: as if a version that does not reserve names were running.
struct Own;

impl HarnessDirectory for Own {
    fn default_name(&self) -> &str {
        "own"
    }

    fn find(&self, name: &str) -> Option<ServedHarness> {
        (name == "own").then(|| ServedHarness {
            source: HarnessSource::Static,
            descriptor_id: String::new(),
            resumability: wire::Resumability::StatelessReplay,
            runtime: Arc::new(Nowhere),
        })
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

impl StaticHarnesses for Own {
    fn reserved_names(&self) -> Vec<String> {
        vec!["reserved".to_owned()]
    }
}

struct Everywhere;

impl Placements for Everywhere {
    fn place(&self, _: &Placement) -> Result<Arc<dyn Runtime>, Unservable> {
        Ok(Arc::new(Nowhere))
    }
}

struct Nowhere;

#[async_trait]
impl HarnessPlacement for Nowhere {
    async fn acquire(&self) -> Result<Box<dyn HarnessChannel>, HarnessUnavailable> {
        Err(HarnessUnavailable("nowhere".to_owned()))
    }
}

async fn empty_journal() -> Journal {
    let env = Env::seeded(1);
    Journal::open(Store::new(Memory::default(), env.clone()), env).await.unwrap()
}

async fn open(journal: &Journal) -> Result<Registry, RegistryOpenError> {
    let alone = Local::new(Node { name: String::new(), incarnation: journal.incarnation() });
    let parts = RegistryParts {
        journal: journal.clone(),
        statics: Arc::new(Own),
        placements: Arc::new(Everywhere),
        coordinator: Arc::new(alone),
    };
    Registry::open(parts).await
}

/// What another host does.
async fn register(journal: &Journal, name: &str, spec: &str) {
    let spec_digest = match serde_json::from_str(spec) {
        Ok(spec) => wire::spec_digest(&spec).unwrap(),
        Err(_) => "sha256:unreadable".to_owned(),
    };
    let new = NewRegistration { name: name.to_owned(), spec: spec.to_owned(), spec_digest };
    journal.register_harness(new).await.unwrap();
}

fn source(registry: &Registry, name: &str) -> Option<HarnessSource> {
    registry.find(name).map(|found| found.source)
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_isolated_and_the_others_are_loaded() {
    let journal = empty_journal().await;
    register(&journal, "a", r#"{"zone":"b"}"#).await;
    register(&journal, "b", SPEC).await;
    journal.retire_harness("b", "").await.unwrap();
    let registry = open(&journal).await.unwrap();
    assert!(matches!(source(&registry, "a"), Some(HarnessSource::Registered(Registered::Isolated(_)))));
    assert_eq!(source(&registry, "b"), Some(HarnessSource::Registered(Registered::Loaded)));
}

#[tokio::test]
async fn what_another_host_registers_is_found_after_a_refresh_or_when_asked_for() {
    let journal = empty_journal().await;
    let registry = open(&journal).await.unwrap();
    register(&journal, "a", SPEC).await;
    register(&journal, "b", SPEC).await;
    assert_eq!(source(&registry, "a"), None);
    registry.learn("a").await.unwrap();
    registry.learn("nowhere").await.unwrap();
    assert!(source(&registry, "a").is_some() && source(&registry, "b").is_none());
    registry.refresh().await.unwrap();
    assert!(source(&registry, "b").is_some());
}

#[tokio::test]
async fn more_registrations_than_are_read_at_once_are_all_loaded() {
    let journal = empty_journal().await;
    for n in 0..501 {
        register(&journal, &format!("h{n:03}"), SPEC).await;
    }
    let registry = open(&journal).await.unwrap();
    assert!(source(&registry, "h000").is_some() && source(&registry, "h500").is_some());
}

#[tokio::test]
async fn a_static_name_that_another_host_has_registered_runs_nothing() {
    let journal = empty_journal().await;
    let registry = open(&journal).await.unwrap();
    assert_eq!(source(&registry, "own"), Some(HarnessSource::Static));
    register(&journal, "own", SPEC).await;
    registry.refresh().await.unwrap();
    assert_eq!(source(&registry, "own"), Some(HarnessSource::Contested));
}

#[tokio::test]
async fn a_host_does_not_start_on_a_journal_where_its_names_are_registered() {
    let journal = empty_journal().await;
    register(&journal, "reserved", SPEC).await;
    let refused = open(&journal).await.err().unwrap();
    assert!(matches!(&refused, RegistryOpenError::Collision(names) if names == &["reserved"]), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn following_finds_registrations_within_its_period() {
    let journal = empty_journal().await;
    let registry = open(&journal).await.unwrap();
    let tasks = env::Tasks::default();
    registry.follow(&tasks, std::time::Duration::from_secs(1));
    register(&journal, "a", SPEC).await;
    tokio::time::sleep(std::time::Duration::from_millis(1_001)).await;
    assert!(source(&registry, "a").is_some());
    tasks.shutdown(std::time::Duration::ZERO, std::time::Duration::from_secs(1)).await;
    assert_eq!(tasks.running(env::TaskKind::Background), 0);
}
