//! Every row of registry.md §3.1.

use std::time::Duration;

use support::remote_spec;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tonic::Code;
use wire::{HarnessSpec, HarnessState, RegisterHarnessRequest, RegisterOutcome};

use crate::world::{World, refused, with_model};

#[tokio::test]
async fn outcomes_by_what_was_stored_before() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let created = operator.create("h", remote_spec("h:1")).await;
    let metadata = created.metadata.clone().unwrap();
    let digits = metadata.uid.strip_prefix("harness-").unwrap();
    assert!(digits.len() == 24 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')), "{digits}");
    assert_eq!((created.state(), metadata.create_time), (HarnessState::Active, metadata.update_time));

    let again = operator.register("h", remote_spec("h:1")).await.unwrap();
    assert_eq!(again.outcome(), RegisterOutcome::Unchanged);
    assert_eq!(again.harness.unwrap(), created, "the row is untouched");

    let retired = operator.retire("h", "old").await.unwrap();
    let back = operator.register("h", remote_spec("h:1")).await.unwrap();
    assert_eq!(back.outcome(), RegisterOutcome::Reactivated);
    let back = back.harness.unwrap();
    assert_eq!((back.state(), back.retire_time, back.retire_reason.as_str()), (HarnessState::Active, None, ""));
    let moved = back.metadata.unwrap();
    assert_eq!((&moved.uid, moved.create_time), (&metadata.uid, metadata.create_time));
    let order = |time: Option<wire::protobuf::Timestamp>| time.map(|time| (time.seconds, time.nanos));
    assert!(order(moved.update_time) > order(retired.metadata.unwrap().update_time), "update_time moves");
}

#[tokio::test]
async fn another_digest_under_a_stored_name_is_refused_active_or_retired() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    operator.create("h", remote_spec("h:1")).await;
    assert_eq!(refused(operator.register("h", remote_spec("h:2")).await), Code::AlreadyExists);
    operator.retire("h", "").await.unwrap();
    assert_eq!(refused(operator.register("h", remote_spec("h:2")).await), Code::AlreadyExists);
    assert_eq!(operator.get("h").await.unwrap().state(), HarnessState::Retired, "a refusal changes nothing");
}

#[tokio::test]
async fn static_and_reserved_names_are_refused_here_and_through_other_hosts() {
    let world = World::new().await;
    let mine = with_model(&world.directory).flag("--harness", format!("mine={}", world.harness.address()));
    let mut here = mine.start().await;
    assert_eq!(refused(here.operator().await.register("mine", world.spec()).await), Code::AlreadyExists);
    // `chat` is not configured on a node without a model, and reserved all the same.
    let node = world.node_without_model().await;
    let mut without_model = node.operator().await;
    for name in ["echo", "chat"] {
        assert_eq!(refused(without_model.register(name, world.spec()).await), Code::AlreadyExists, "{name}");
    }
    // The reservation outlives the host that made it.
    here.kill();
    let mut elsewhere = world.operator;
    assert_eq!(refused(elsewhere.register("mine", remote_spec("h:1")).await), Code::AlreadyExists);
}

/// Each request has two faults that follow one another in the order of §3.1: the first decides.
#[tokio::test]
async fn faults_are_told_in_the_order_of_the_contract() {
    let world = World::new().await;
    let mine = with_model(&world.directory).flag("--harness", format!("mine={}", world.harness.address()));
    let _reserves = mine.start().await;
    let mut operator = world.operator.clone();
    operator.create("taken", remote_spec("h:1")).await;
    let no_placement = HarnessSpec { placement: None, ..remote_spec("h:1") };
    let unservable = remote_spec("nowhere");
    let rows = [
        ("1 name, then 3 spec", "Bad", Some(no_placement.clone()), Code::InvalidArgument),
        ("1 name, then 5 placement", "Bad", Some(unservable.clone()), Code::InvalidArgument),
        ("2 static, then 3 no spec", "echo", None, Code::AlreadyExists),
        ("2 static, then 3 spec", "chat", Some(no_placement.clone()), Code::AlreadyExists),
        ("3 spec, then 4 digest", "taken", Some(no_placement), Code::InvalidArgument),
        ("4 digest, then 5 placement", "taken", Some(unservable.clone()), Code::AlreadyExists),
        ("5 placement, then 6 reserved", "mine", Some(unservable), Code::FailedPrecondition),
        ("6 reserved", "mine", Some(remote_spec("h:1")), Code::AlreadyExists),
    ];
    for (row, name, spec, code) in rows {
        let request = RegisterHarnessRequest { name: name.into(), spec };
        assert_eq!(refused(operator.client.register_harness(request).await), code, "{row}");
    }
}

#[tokio::test]
async fn registering_never_dials_the_harness_nor_checks_its_descriptor() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    operator.create("silent", remote_spec(&listener.local_addr().unwrap().to_string())).await;
    operator.retire("silent", "").await.unwrap();
    assert!(timeout(Duration::from_millis(100), listener.accept()).await.is_err(), "somebody dialed");
    let misnamed = HarnessSpec { descriptor_id: "somebody else".into(), ..world.spec() };
    operator.create("misnamed", misnamed).await;
}

#[tokio::test]
async fn what_is_registered_is_loaded_at_once() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    operator.create("h", world.spec()).await;
    let mut api = world.node.api().await;
    let session = api.create("h").await.metadata.unwrap().uid;
    assert_eq!(api.turn(&session, "x").await.len(), 4);
}

#[tokio::test]
async fn an_isolated_registration_is_left_isolated_by_an_identical_one() {
    let world = World::new().await;
    world.operator.clone().create("h", world.spec()).await;
    let node = world.node_without_model().await;
    let mut operator = node.operator().await;
    for outcome in [RegisterOutcome::Unchanged, RegisterOutcome::Reactivated] {
        let response = operator.register("h", world.spec()).await.unwrap();
        assert_eq!(response.outcome(), outcome);
        let harness = response.harness.unwrap();
        assert!(harness.unservable_reason.contains("model"), "{harness:?}");
        assert_eq!(harness.state(), HarnessState::Active);
        operator.retire("h", "").await.unwrap();
    }
    operator.register("h", world.spec()).await.unwrap();
    let create =
        wire::CreateSessionRequest { session: Some(wire::Session { harness: "h".into(), ..Default::default() }) };
    assert_eq!(refused(node.api().await.client.create_session(create).await), Code::FailedPrecondition);
}
