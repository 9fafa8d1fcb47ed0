//! Every row of registry.md §5.

use env::Env;
use journal::{Journal, NewRegistration};
use store::Store;
use support::{JournalPlace, NodeBuilder, remote_spec};
use tonic::Code;
use wire::{CreateSessionRequest, HarnessSource, ListHarnessesRequest, RegisterOutcome, Session};

use crate::world::{World, name, refused, with_model};

/// What a host of a newer version registers.
async fn register_newer(journal: &JournalPlace, name: &str, spec: &str, digest: &str) {
    let store = Store::new(journal.open().await, Env::system());
    let opened = Journal::open(store, Env::system()).await.unwrap();
    let new = NewRegistration { name: name.into(), spec: spec.into(), spec_digest: digest.into() };
    opened.register_harness(new).await.unwrap();
}

fn session(harness: &str) -> CreateSessionRequest {
    CreateSessionRequest { session: Some(Session { harness: harness.into(), ..Session::default() }) }
}

#[tokio::test]
async fn a_host_whose_static_name_is_registered_refuses_to_start() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    operator.create("active", world.spec()).await;
    operator.create("retired", world.spec()).await;
    operator.retire("retired", "").await.unwrap();
    for taken in ["active", "retired"] {
        let said = with_model(&world.directory)
            .flag("--harness", format!("free={}", world.harness.address()))
            .flag("--harness", format!("{taken}={}", world.harness.address()))
            .refusal()
            .await;
        assert!(said.starts_with("agentsessionsd: ") && said.contains(taken), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    operator.create("free", world.spec()).await;
}

#[tokio::test]
async fn static_names_are_reserved_once_and_for_all() {
    let world = World::new().await;
    let mine = with_model(&world.directory).flag("--harness", format!("mine={}", world.harness.address()));
    for _ in 0..2 {
        mine.start().await.kill();
    }
    let mut operator = world.operator.clone();
    for name in ["mine", "echo", "chat"] {
        assert_eq!(refused(operator.register(name, world.spec()).await), Code::AlreadyExists, "{name}");
    }
}

#[tokio::test]
async fn registrations_are_loaded_whether_or_not_operators_are_listened_to() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    operator.create("active", world.spec()).await;
    operator.create("retired", world.spec()).await;
    let on_retired = world.node.api().await.create("retired").await.metadata.unwrap().uid;
    operator.retire("retired", "").await.unwrap();

    let unattended = NodeBuilder::new(world.directory.path()).flag("--model", "m").start().await;
    let mut api = unattended.api().await;
    let on_active = api.create("active").await.metadata.unwrap().uid;
    api.turn(&on_active, "x").await;
    api.turn(&on_retired, "retired ones, too").await;
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_isolated_alone() {
    let directory = tempfile::tempdir().unwrap();
    let harness = support::HarnessServer::start("scripted").await;
    let builder = with_model(&directory);
    let good = remote_spec(harness.address());
    builder.start().await.operator().await.create("good", good.clone()).await;
    let rows = [
        ("unknown-field", r#"{"remote":{"address":"h:1","zone":"b"},"capabilities":{"resumability":1}}"#),
        ("unknown-enum", r#"{"remote":{"address":"h:1"},"capabilities":{"resumability":7}}"#),
        ("invalid", r#"{"remote":{"address":""},"capabilities":{"resumability":1}}"#),
    ];
    for (name, spec) in rows {
        register_newer(builder.journal(), name, spec, &format!("sha256:{name}")).await;
    }
    let unplaceable = r#"{"substrate":{"atespace":"a","template":"t"},"capabilities":{"resumability":1}}"#;
    let spec: wire::HarnessSpec = serde_json::from_str(unplaceable).unwrap();
    let digest = wire::spec_digest(&spec).unwrap();
    register_newer(builder.journal(), "unplaceable", unplaceable, &digest).await;

    let node = builder.start().await;
    let (mut operator, mut api) = (node.operator().await, node.api().await);
    for (name, _) in rows {
        let view = operator.get(name).await.unwrap();
        assert_eq!((view.spec, view.spec_digest), (None, format!("sha256:{name}")), "{name}");
        assert!(view.unservable_reason.contains("newer version"), "{name}: {}", view.unservable_reason);
        assert_eq!(view.source, i32::from(HarnessSource::Registered));
        assert_eq!(
            refused(operator.register(name, good.clone()).await),
            Code::AlreadyExists,
            "{name}: the name is kept"
        );
        assert_eq!(refused(api.client.create_session(session(name)).await), Code::FailedPrecondition, "{name}");
    }
    let view = operator.get("unplaceable").await.unwrap();
    assert!(view.spec == Some(spec.clone()) && view.unservable_reason.contains("substrate"), "{view:?}");
    let again = operator.register("unplaceable", spec).await.unwrap();
    assert_eq!(again.outcome(), RegisterOutcome::Unchanged);
    assert!(!again.harness.unwrap().unservable_reason.is_empty());
    assert_eq!(refused(api.client.create_session(session("unplaceable")).await), Code::FailedPrecondition);

    let listed = operator.list(ListHarnessesRequest::default()).await.unwrap().harnesses;
    let names: Vec<_> = listed.iter().map(name).collect();
    assert_eq!(names, ["chat", "echo", "good", "invalid", "unknown-enum", "unknown-field", "unplaceable"]);
    let uid = api.create("good").await.metadata.unwrap().uid;
    api.turn(&uid, "the others load normally").await;
}

#[tokio::test]
async fn a_newer_host_serves_what_an_older_one_isolates() {
    let world = World::new().await;
    world.operator.clone().create("h", world.spec()).await;
    let isolating = world.node_without_model().await;
    let mut api = world.node.api().await;
    let uid = api.create("h").await.metadata.unwrap().uid;
    let there = isolating.api().await.client.create_session(session("h")).await;
    assert_eq!(refused(there), Code::FailedPrecondition);
    api.turn(&uid, "x").await;
}

#[tokio::test]
async fn one_registration_serves_every_host_at_once() {
    let world = World::new().await;
    // Neither would hear of it by itself in the time of the test.
    let builder = with_model(&world.directory).flag("--registry-refresh", "1h");
    let nodes = [builder.start().await, builder.start().await];
    world.operator.clone().create("h", world.spec()).await;
    for node in &nodes {
        let mut api = node.api().await;
        let uid = api.create("h").await.metadata.unwrap().uid;
        api.turn(&uid, "x").await;
    }
}

#[tokio::test]
async fn a_host_hears_of_registrations_by_itself() {
    let world = World::new().await;
    let listening = tempfile::tempdir_in(world.directory.path()).unwrap();
    let log = listening.path().join("node.log");
    // A log of its own over the same journal.
    let builder = NodeBuilder::new(listening.path())
        .journal_of(world.directory.path())
        .flag("--model", "m")
        .flag("--registry-refresh", "50ms");
    let _node = builder.start().await;
    world.operator.clone().create("heard-of", world.spec()).await;
    let deadline = tokio::time::Instant::now() + support::BOUND;
    while !std::fs::read_to_string(&log).unwrap().contains("heard-of") {
        assert!(tokio::time::Instant::now() < deadline, "nothing was heard");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
