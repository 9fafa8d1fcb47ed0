//! Every row of registry.md §3.2.

use std::time::Duration;

use support::remote_spec;
use tokio::net::TcpListener;
use tonic::{Code, Request};
use wire::{GetHarnessRequest, HarnessSource, HarnessState};

use crate::world::{World, name, refused, with_model};

#[tokio::test]
async fn results_by_name() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    assert_eq!(refused(operator.get("").await), Code::InvalidArgument);
    for unknown in ["unknown", "no name at all"] {
        assert_eq!(refused(operator.get(unknown).await), Code::NotFound, "{unknown}");
    }
    let echo = operator.get("echo").await.unwrap();
    assert_eq!((name(&echo), echo.state(), echo.source()), ("echo", HarnessState::Active, HarnessSource::Static));

    let created = operator.create("h", world.spec()).await;
    assert_eq!(operator.get("h").await.unwrap(), created);
    let retired = operator.retire("h", "old").await.unwrap();
    assert_eq!(operator.get("h").await.unwrap(), retired, "also when it is retired");

    // Reserved, but not configured on a node without a model.
    let node = world.node_without_model().await;
    let mut without_model = node.operator().await;
    assert_eq!(refused(without_model.get("chat").await), Code::NotFound);
    assert_eq!(operator.get("chat").await.unwrap().source(), HarnessSource::Static);
}

#[tokio::test]
async fn what_was_registered_through_another_host_is_visible_at_once() {
    let world = World::new().await;
    let node = with_model(&world.directory).start().await;
    let mut elsewhere = node.operator().await;
    let created = world.operator.clone().create("h", world.spec()).await;
    assert_eq!(elsewhere.get("h").await.unwrap(), created);
}

#[tokio::test]
async fn observed_is_what_the_harness_says_and_is_not_kept() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    operator.create("h", world.spec()).await;
    let observed = operator.observe("h").await.unwrap();
    assert_eq!(observed.observed.unwrap().id, "scripted");
    assert_eq!(observed.observe_error, "");
    assert_eq!(operator.get("h").await.unwrap().observed, None, "not without observe");
    assert_eq!(operator.observe("echo").await.unwrap().observed.unwrap().id, "echo", "static names too");
    operator.retire("h", "").await.unwrap();
    assert_eq!(operator.observe("h").await.unwrap().observed.unwrap().id, "scripted", "retired ones too");
}

#[tokio::test]
async fn a_harness_that_cannot_be_asked_is_told_in_a_good_answer() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    operator.create("down", remote_spec(&free.to_string())).await;
    let view = operator.observe("down").await.unwrap();
    assert!(view.observed.is_none() && view.observe_error.starts_with("describe: "), "{view:?}");
    assert_eq!(operator.get("down").await.unwrap().observe_error, "", "not without observe");
}

#[tokio::test]
async fn a_harness_that_does_not_answer_is_waited_for_until_the_callers_deadline() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    // Its backlog takes the connection; nobody ever answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    operator.create("silent", remote_spec(&silent.local_addr().unwrap().to_string())).await;
    let observe = |timeout| {
        let mut request = Request::new(GetHarnessRequest { name: "silent".into(), observe: true });
        if let Some(timeout) = timeout {
            request.set_timeout(timeout);
        }
        request
    };
    let begun = tokio::time::Instant::now();
    let answer = operator.client.get_harness(observe(Some(Duration::from_millis(300)))).await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    // The answer and the deadline come at the same time; the client may see either.
    if let Ok(answer) = answer {
        assert!(answer.into_inner().observe_error.starts_with("describe: "));
    }
    let bounded = operator.client.get_harness(observe(None)).await.unwrap().into_inner();
    assert!(bounded.observe_error.starts_with("describe: "), "{bounded:?}");
    assert!(begun.elapsed() < Duration::from_secs(15), "10 s at most");
}

#[tokio::test]
async fn an_isolated_harness_is_never_dialed() {
    let world = World::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let spec = remote_spec(&listener.local_addr().unwrap().to_string());
    world.operator.clone().create("h", spec).await;
    let node = world.node_without_model().await;
    let view = node.operator().await.observe("h").await.unwrap();
    assert!(!view.unservable_reason.is_empty());
    assert_eq!(view.observe_error, view.unservable_reason);
    assert!(tokio::time::timeout(Duration::from_millis(100), listener.accept()).await.is_err(), "somebody dialed");
}
