//! Every row of registry.md §3.5.

use support::remote_spec;
use wire::{HarnessRegistration, HarnessSource, HarnessState, ResourceMetadata};

use crate::world::World;

#[tokio::test]
async fn a_static_harness_has_a_name_and_little_else() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let expected = HarnessRegistration {
        metadata: Some(ResourceMetadata { name: "echo".into(), ..ResourceMetadata::default() }),
        state: HarnessState::Active.into(),
        source: HarnessSource::Static.into(),
        ..HarnessRegistration::default()
    };
    assert_eq!(operator.get("echo").await.unwrap(), expected);
}

#[tokio::test]
async fn a_registered_harness_has_everything_but_project_and_version() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let created = operator.create("h", remote_spec("h:1")).await;
    let metadata = created.metadata.clone().unwrap();
    assert_eq!((metadata.name.as_str(), metadata.project.as_str(), metadata.version), ("h", "", 0));
    assert!(!metadata.uid.is_empty() && metadata.create_time.is_some() && metadata.update_time.is_some());
    assert_eq!(created.spec, Some(remote_spec("h:1")));
    assert_eq!(created.spec_digest, wire::spec_digest(&remote_spec("h:1")).unwrap());
    assert_eq!((created.state(), created.source()), (HarnessState::Active, HarnessSource::Registered));
    assert_eq!((created.retire_time, created.retire_reason.as_str()), (None, ""), "only while retired");
    assert_eq!(created.unservable_reason, "");

    let retired = operator.retire("h", "old").await.unwrap();
    assert!(retired.state() == HarnessState::Retired && retired.retire_time.is_some());
    assert_eq!(retired.retire_reason, "old");
}

#[tokio::test]
async fn an_unservable_harness_says_why_and_keeps_its_spec() {
    let world = World::new().await;
    let created = world.operator.clone().create("h", world.spec()).await;
    let node = world.node_without_model().await;
    let mut operator = node.operator().await;
    let view = operator.get("h").await.unwrap();
    assert!(view.unservable_reason.contains("model"), "{view:?}");
    assert_eq!(HarnessRegistration { unservable_reason: String::new(), ..view }, created);
}
