//! What a node tells those who watch it.

use support::{NodeBuilder, text};
use tonic::Code;
use wire::{CancelRequest, ExecRequest};

use crate::gate::{Gate, LiveTurn};
use crate::operations::channel;
use crate::raw;

const COMPLETED: &str = r#"agentsessions_turns_total{outcome="completed",reason=""}"#;

/// The number of calls of a method with a code.
fn calls(method: &str, code: &str) -> String {
    format!(r#"agentsessions_calls_total{{method="{method}",code="{code}"}}"#)
}

#[tokio::test]
async fn calls_turns_and_commits_are_measured_without_anything_of_what_is_in_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).watched().start().await;
    let before = node.watcher().scrape().await;
    for zero in [COMPLETED, &calls("Exec", "Ok"), r#"agentsessions_appends_total{outcome="fenced"}"#] {
        assert_eq!(before.value(zero), Some(0.0), "{zero}: what may happen is there before it does");
    }
    let mut api = node.api().await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    api.turn(&session, "contents of a message").await;
    let _ = api.client.cancel(CancelRequest { session: session.clone(), ..CancelRequest::default() }).await;

    let scrape = node.watcher().until(|now| now.value(&calls("Cancel", "Unimplemented")) == Some(1.0)).await;
    let expected = [
        (COMPLETED, 1.0),
        (&calls("CreateSession", "Ok"), 1.0),
        (&calls("Exec", "Ok"), 1.0),
        (r#"agentsessions_call_duration_seconds_count{method="Exec"}"#, 1.0),
        (r#"agentsessions_turn_duration_seconds_count{outcome="completed"}"#, 1.0),
        (r#"agentsessions_model_call_duration_seconds_count{outcome="answered"}"#, 1.0),
        (r#"agentsessions_appends_total{outcome="recorded"}"#, 4.0),
        ("agentsessions_records_total", 5.0),
        ("agentsessions_turns_live", 0.0),
        ("agentsessions_calls_live", 0.0),
        ("agentsessions_draining", 0.0),
    ];
    for (sample, value) in expected {
        assert_eq!(scrape.value(sample), Some(value), "{sample}: {}", scrape.0);
    }
    for positive in [
        "agentsessions_store_commit_duration_seconds_count",
        "agentsessions_store_groups_total",
        "agentsessions_history_cache_bytes",
        "process_resident_memory_bytes",
        concat!(r#"agentsessions_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#""}"#),
    ] {
        assert!(scrape.value(positive).is_some_and(|value| value > 0.0), "{positive}: {}", scrape.0);
    }
    assert!(!scrape.0.contains(&session) && !scrape.0.contains("contents of a message"), "{}", scrape.0);
}

#[tokio::test]
async fn what_callers_choose_becomes_no_label() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).watched().start().await;
    for _ in 0..2 {
        let refused = raw::send(channel(&node).await, "/agentsessions.v1.Sessions/Invented", Vec::new().into()).await;
        assert_eq!(refused.unwrap_err().code(), Code::Unimplemented);
    }
    let unknown = calls("unknown", "Unimplemented");
    let scrape = node.watcher().until(|now| now.value(&unknown) == Some(2.0)).await;
    assert!(!scrape.0.contains("Invented"), "{}", scrape.0);
}

#[tokio::test]
async fn a_turn_that_another_node_has_taken_over_is_counted_as_lost() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::start().await;
    let builder = gate.node(NodeBuilder::new(directory.path())).watched();
    let (first, second) = (builder.start().await, builder.start().await);
    let mut turn = LiveTurn::begin(&mut first.api().await).await;
    assert_eq!(first.watcher().scrape().await.value("agentsessions_turns_live"), Some(1.0));

    let mut api = second.api().await;
    let session = turn.session.clone();
    let resumed = async { api.resume(&session).await.unwrap() };
    let opened = async {
        gate.started(2).await;
        gate.open(2);
    };
    tokio::join!(resumed, opened);
    while let Ok(Some(_)) = turn.updates.message().await {}

    let lost = |outcome: &str| format!(r#"agentsessions_turns_total{{outcome="lost",reason="{outcome}"}}"#);
    let count = |now: &support::Scrape| -> f64 {
        ["conflict", "fenced"].iter().filter_map(|reason| now.value(&lost(reason))).sum()
    };
    let scrape = first.watcher().until(|now| count(now) > 0.0).await;
    assert_eq!(scrape.value(COMPLETED), Some(0.0), "{}", scrape.0);
    assert_eq!(second.watcher().scrape().await.value(COMPLETED), Some(1.0));
}

#[tokio::test]
async fn probes_tell_a_node_that_drains_from_one_that_serves() {
    let directory = tempfile::tempdir().unwrap();
    let gate = Gate::start().await;
    let mut node = gate.node(NodeBuilder::new(directory.path())).watched().start().await;
    let watcher = node.watcher();
    let _turn = LiveTurn::begin(&mut node.api().await).await;
    for probe in ["/healthz", "/readyz"] {
        assert_eq!(watcher.get(probe).await.0, 200, "{probe}");
    }
    assert_eq!(watcher.get("/else").await.0, 404);
    let (_, head, _) = watcher.get("/metrics").await;
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");

    node.terminate();
    watcher.until(|now| now.value("agentsessions_draining") == Some(1.0)).await;
    assert_eq!(watcher.get("/readyz").await.0, 503);
    assert_eq!(watcher.get("/healthz").await.0, 200);
    gate.open(1);
    assert!(node.wait(support::BOUND).await.success());
}

#[tokio::test]
async fn failures_of_harnesses_and_models_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let node = NodeBuilder::new(directory.path()).harness("gone", "127.0.0.1:9").watched().start().await;
    let mut api = node.api().await;
    for (harness, code) in [("gone", Code::Unavailable), ("chat", Code::Internal)] {
        let session = api.create(harness).await.metadata.unwrap().uid;
        let exec = ExecRequest { session, inputs: vec![text("hello")], ..ExecRequest::default() };
        assert_eq!(api.exec(exec).await.1.map(|status| status.code()), Some(code), "{harness}");
    }
    let failed = r#"agentsessions_turns_total{outcome="failed",reason="model"}"#;
    let scrape = node.watcher().until(|now| now.value(failed) == Some(1.0)).await;
    for sample in [
        r#"agentsessions_harness_describe_failures_total{reason="unavailable"}"#,
        r#"agentsessions_model_call_duration_seconds_count{outcome="failed"}"#,
    ] {
        assert_eq!(scrape.value(sample), Some(1.0), "{sample}: {}", scrape.0);
    }
}
