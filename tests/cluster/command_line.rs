//! `agentctl` on several nodes.

use std::path::Path;

use support::{Agentctl, Cluster, Ended, Failpoint, NodeBuilder};
use wire::ExecUpdate;
use wire::exec_update::Update;

use crate::user::sessions;

/// The commits of an echo turn.
const COMMITS: u32 = 4;

/// Runs a turn through a node that dies at `failpoint`, with another one beside it. Returns how the command ended, the two
/// addresses, and what a replay of the session prints.
async fn exec_into(failpoint: Failpoint, output: &str) -> (Ended, String, String) {
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let uid = sessions(&builder, "echo", 1).await.remove(0);
    let cluster = Cluster::start([builder.clone().failpoint(failpoint), builder]).await;
    let addresses = cluster.addresses(0);
    let server = ["--server", &addresses, "--output", output, "--session", &uid];
    let ended = run(directory.path(), [&["exec", "--input", "hi"], &server[..]].concat()).await;
    let replayed = run(directory.path(), [&["replay"], &server[..]].concat()).await;
    (ended, addresses, replayed.stdout)
}

async fn run(directory: &Path, arguments: Vec<&str>) -> Ended {
    let agentctl = Agentctl::new(directory);
    let arguments: Vec<_> = arguments.into_iter().map(str::to_owned).collect();
    let run = move || agentctl.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

fn is_told_once(ended: &Ended, addresses: &str) {
    let (lost, to) = addresses.split_once(',').unwrap();
    let line = format!("agentctl: node {lost} lost, going on at {to}\n");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), line.as_str()), "{}", ended.stdout);
}

fn cuts() -> impl Iterator<Item = Failpoint> {
    (1..=COMMITS).flat_map(|commit| [Failpoint::BeforeCommit(commit), Failpoint::AfterCommit(commit)])
}

#[tokio::test]
async fn a_node_that_dies_is_one_line_on_standard_error_and_the_output_is_the_log() {
    for failpoint in cuts() {
        let (ended, addresses, replayed) = exec_into(failpoint, "text").await;
        is_told_once(&ended, &addresses);
        assert_eq!(ended.stdout, replayed, "{failpoint:?}");
    }
}

#[tokio::test]
async fn json_has_each_record_once_and_nothing_of_the_pause() {
    for failpoint in cuts() {
        let (ended, addresses, replayed) = exec_into(failpoint, "json").await;
        is_told_once(&ended, &addresses);
        let updates = ended.stdout.lines().map(|line| serde_json::from_str::<ExecUpdate>(line).unwrap());
        let records = updates.filter_map(|update| match update.update {
            Some(Update::Record(record)) => Some(serde_json::to_string(&record).unwrap() + "\n"),
            _ => None,
        });
        assert_eq!(records.collect::<String>(), replayed, "{failpoint:?}");
    }
}
