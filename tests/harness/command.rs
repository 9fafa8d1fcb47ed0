//! `agentctl conformance` as a program.

use std::process::Output;

use serde_json::Value;
use support::{binary, serve_harness, serve_raw};
use tokio::process::Command;

use super::example::Conformance;

async fn conformance(address: &str, flags: &[&str]) -> Output {
    let mut command = Command::new(binary("agentctl"));
    command.args(["conformance", "--harness", address]).args(flags).output().await.unwrap()
}

fn lines(report: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&report.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn report_on_the_example_harness_has_every_check_passed_and_exits_with_0() {
    let address = serve_harness(Conformance).await;
    let report = conformance(&address, &["--output", "json"]).await;
    assert_eq!(report.status.code(), Some(0), "{report:?}");
    let lines = lines(&report);
    let checks = harness::conformance::checks().count();
    assert_eq!(lines.len(), checks + 2);
    assert_eq!(lines[0]["harness"], "conformance");
    assert!(lines[1..=checks].iter().all(|line| line["verdict"] == "passed"), "{lines:#?}");
    assert_eq!(lines[checks + 1]["passed"], checks);
}

#[tokio::test]
async fn finding_is_reported_by_name_and_exits_with_1() {
    let address = serve_raw(|mut talk| Box::pin(async move { talk.end("FAILED").await })).await;
    let report = conformance(&address, &["--patience", "1"]).await;
    assert_eq!(report.status.code(), Some(1), "{report:?}");
    let text = String::from_utf8_lossy(&report.stdout);
    assert!(text.contains("FAILED  turn-completes"), "{text}");
    assert!(text.contains("skipped park "), "{text}");
}

#[tokio::test]
async fn answers_of_the_model_come_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let answers = directory.path().join("answers.jsonl");
    std::fs::write(&answers, "{\"role\":\"assistant\",\"parts\":[{\"text\":{\"text\":\"yes\"}}]}\n").unwrap();
    let address = serve_harness(harness::Echo).await;
    let report = conformance(&address, &["--answers", answers.to_str().unwrap()]).await;
    assert_eq!(report.status.code(), Some(0), "{report:?}");

    std::fs::write(&answers, "{}\nnonsense\n").unwrap();
    let report = conformance(&address, &["--answers", answers.to_str().unwrap()]).await;
    assert_eq!(report.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&report.stderr).contains("line 2"), "{report:?}");
}

#[tokio::test]
async fn harness_that_keeps_memory_need_not_repeat_itself() {
    let address = serve_harness(harness::Counter::default()).await;
    let report = conformance(&address, &[]).await;
    let text = String::from_utf8_lossy(&report.stdout);
    assert_eq!(report.status.code(), Some(0), "{text}");
    assert!(text.contains("skipped replay "), "{text}");
}

#[tokio::test]
async fn bad_address_is_wrong_usage_and_exits_with_2() {
    assert_eq!(conformance("nonsense", &[]).await.status.code(), Some(2));
}
