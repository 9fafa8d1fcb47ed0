//! Every row of registry.md §3.4.

use support::remote_spec;
use tonic::Code;
use wire::HarnessState;

use crate::world::{World, refused};

#[tokio::test]
async fn conditions_and_codes() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    operator.create("h", remote_spec("h:1")).await;
    let long = "r".repeat(1_025);
    let rows = [
        ("name empty", "", "", Code::InvalidArgument),
        ("reason too long", "h", &*long, Code::InvalidArgument),
        ("reason too long, unknown name", "unknown", &*long, Code::InvalidArgument),
        ("static here", "echo", "", Code::FailedPrecondition),
        ("no row", "unknown", "", Code::NotFound),
    ];
    for (row, name, reason, code) in rows {
        assert_eq!(refused(operator.retire(name, reason).await), code, "{row}");
    }
    assert_eq!(operator.get("h").await.unwrap().state(), HarnessState::Active);
}

#[tokio::test]
async fn an_active_harness_is_retired_now_and_a_retired_one_stays_as_it_is() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let created = operator.create("h", remote_spec("h:1")).await;
    let reason = "r".repeat(1_024);
    let retired = operator.retire("h", &reason).await.unwrap();
    assert_eq!((retired.state(), &retired.retire_reason), (HarnessState::Retired, &reason));
    assert_eq!(retired.retire_time, retired.metadata.as_ref().unwrap().update_time);
    assert_ne!(retired.retire_time, created.metadata.unwrap().update_time);
    assert_eq!(operator.retire("h", "another").await.unwrap(), retired);
}

#[tokio::test]
async fn a_harness_that_is_isolated_here_can_be_retired_here() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    operator.create("before", world.spec()).await;
    let node = world.node_without_model().await;
    let mut without_model = node.operator().await;
    operator.create("after", world.spec()).await;
    for name in ["before", "after"] {
        let retired = without_model.retire(name, "").await.unwrap();
        assert!(retired.state() == HarnessState::Retired && !retired.unservable_reason.is_empty(), "{retired:?}");
        assert_eq!(operator.get(name).await.unwrap().state(), HarnessState::Retired);
    }
}
