//! Backups of whole journals: `agentctl export --all`, and its import into an empty journal.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{Agentctl, Api, NodeBuilder, remote_spec};
use tempfile::TempDir;
use tonic::Code;
use wire::{DeleteSessionRequest, ForkRequest, ListSessionsRequest, LogRecord, Session};

const BACKUP: &str = "backup.jsonl";

/// A directory with a journal that has a bit of everything, and a backup of it.
struct World {
    directory: TempDir,
    ctl: Agentctl,
    /// The logs of all sessions, by uid.
    logs: BTreeMap<String, Vec<LogRecord>>,
    /// All sessions, newest first.
    sessions: Vec<Session>,
    parent: String,
    grandchild: String,
    deleted: String,
}

fn builder(directory: &Path) -> NodeBuilder {
    NodeBuilder::new(directory).switch("--enable-delete-session").operated()
}

/// Registers harnesses through a node that could run them.
async fn register(directory: &Path) {
    let mut node = builder(directory).harness("local", "127.0.0.1:9").start().await;
    let mut operator = node.operator().await;
    for name in ["registered", "retired"] {
        operator.create(name, remote_spec("127.0.0.1:9")).await;
    }
    operator.retire("retired", "old").await.unwrap();
    node.terminate();
    assert!(node.wait(support::BOUND).await.success());
}

async fn fork(api: &mut Api, session: &str, at_seq: i64) -> String {
    let request = ForkRequest { session: session.into(), at_seq, ..ForkRequest::default() };
    api.fork(request).await.unwrap()[0].metadata.clone().unwrap().uid
}

async fn delete(api: &mut Api, session: &str) -> Session {
    let request = DeleteSessionRequest { uid: session.into(), reason: "asked to".into(), ..Default::default() };
    api.client.delete_session(request).await.unwrap().into_inner()
}

async fn sessions(api: &mut Api) -> Vec<Session> {
    api.client.list_sessions(ListSessionsRequest::default()).await.unwrap().into_inner().sessions
}

async fn logs(api: &mut Api, sessions: &[Session]) -> BTreeMap<String, Vec<LogRecord>> {
    let mut logs = BTreeMap::new();
    for session in sessions {
        let uid = session.metadata.clone().unwrap().uid;
        logs.insert(uid.clone(), api.log(&uid).await);
    }
    logs
}

impl World {
    async fn begin() -> Self {
        let directory = tempfile::tempdir().unwrap();
        register(directory.path()).await;
        let mut node = builder(directory.path()).start().await;
        let mut api = node.api().await;
        let parent = api.create("echo").await.metadata.unwrap().uid;
        for turn in 0..3 {
            api.turn(&parent, &format!("turn {turn}")).await;
        }
        let child = fork(&mut api, &parent, 10).await;
        api.turn(&child, "of the child").await;
        let grandchild = fork(&mut api, &child, 16).await;
        api.turn(&grandchild, &"large ".repeat(60_000)).await;
        // Forks of the past: inside of what the child inherits, and of a session that is gone since.
        fork(&mut api, &child, 5).await;
        let deleted = api.create("echo").await.metadata.unwrap().uid;
        api.turn(&deleted, "kept by a fork").await;
        api.turn(&deleted, "kept by nobody").await;
        let orphan = fork(&mut api, &deleted, 5).await;
        api.turn(&orphan, "on its own").await;
        delete(&mut api, &deleted).await;
        api.create("echo").await;

        let sessions = sessions(&mut api).await;
        let logs = logs(&mut api, &sessions).await;
        let ctl = Agentctl::new(directory.path());
        // While the node runs.
        ctl.ok(&["export", "--all", "--file", BACKUP]);
        node.terminate();
        assert!(node.wait(support::BOUND).await.success());
        Self { directory, ctl, logs, sessions, parent, grandchild, deleted }
    }

    fn backup(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.path().join(BACKUP)).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn write(&self, lines: &[String]) {
        fs::write(self.directory.path().join(BACKUP), lines.concat()).unwrap();
    }

    /// What is said of a backup that is refused.
    fn refusal(&self, lines: &[String]) -> Value {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        self.write(&lines);
        let new = format!("refused-{}.db", fs::read_dir(self.directory.path()).unwrap().count());
        let ended = self.ctl.run(&["import", BACKUP, "--journal", &new, "--output", "json"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.contains("cannot be imported; nothing was"), "{ended:?}");
        assert!(!self.directory.path().join(new).exists(), "not even an empty journal");
        serde_json::from_str(&ended.stdout).unwrap()
    }
}

/// The place of the n-th record of a session in a backup, from 0.
fn record_of(lines: &[String], session: &str, n: usize) -> usize {
    let begin = lines.iter().position(|line| line.starts_with(&format!("{{\"session\":{{\"uid\":\"{session}\"")));
    begin.expect("the session is in the backup") + 1 + n
}

#[tokio::test]
async fn a_restored_journal_is_the_one_that_was_backed_up_and_goes_on() {
    let world = World::begin().await;
    let restored = world.directory.path().join("restored");
    fs::create_dir(&restored).unwrap();
    Agentctl::new(&restored).ok(&["import", "../backup.jsonl"]);

    let node = builder(&restored).start().await;
    let mut api = node.api().await;
    assert_eq!(sessions(&mut api).await, world.sessions);
    assert_eq!(logs(&mut api, &world.sessions).await, world.logs);
    assert!(node.operator().await.get("registered").await.unwrap().retire_time.is_none());
    assert!(node.operator().await.get("retired").await.unwrap().retire_time.is_some());
    for session in [&world.parent, &world.grandchild] {
        let fence = world.logs[session].last().unwrap().fence;
        let records = api.turn(session, "after the restore").await;
        assert!(records[0].fence > fence, "{} after {fence}", records[0].fence);
    }
    let child = fork(&mut api, &world.grandchild, 10).await;
    api.turn(&child, "of a fork after the restore").await;
    api.log(&child).await;
    // A session that was deleted does not come back, and its fork does not need it.
    assert_eq!(api.get(&world.deleted).await.unwrap_err().code(), Code::NotFound);
    assert!(delete(&mut api, &world.deleted).await.deletion.is_some(), "its audit record is there");
}

#[tokio::test]
async fn a_backup_of_a_restored_journal_is_the_same_backup() {
    let world = World::begin().await;
    world.ctl.ok(&["import", BACKUP, "--journal", "restored.db"]);
    world.ctl.ok(&["export", "--all", "--file", "again.jsonl", "--journal", "restored.db"]);
    let again = fs::read_to_string(world.directory.path().join("again.jsonl")).unwrap();
    let (first, second) = (world.backup(), again.lines().map(str::to_owned).collect::<Vec<_>>());
    // The first line has the time, which the digest in the last one covers.
    assert_eq!(first[1..first.len() - 1], second[1..second.len() - 1]);

    let manifest: Value = serde_json::from_str(first.last().unwrap()).unwrap();
    let manifest = &manifest["manifest"];
    assert_eq!(manifest["sessions"], world.sessions.len());
    assert_eq!((&manifest["remains"], &manifest["deleted"], &manifest["harnesses"]), (&1.into(), &1.into(), &2.into()));
    let records = first.iter().filter(|line| line.starts_with("{\"record\"")).count();
    assert_eq!(manifest["records"], records);
    let inherited = world.logs.values().map(Vec::len).sum::<usize>();
    assert!(records < inherited, "what forks inherit is there once: {records} of {inherited}");
}

#[tokio::test]
async fn importing_again_finds_everything_there() {
    let world = World::begin().await;
    let import = ["import", BACKUP, "--journal", "restored.db", "--output", "json"];
    let first: Value = serde_json::from_str(&world.ctl.ok(&import)).unwrap();
    let second: Value = serde_json::from_str(&world.ctl.ok(&import)).unwrap();
    assert_eq!(first["sessions"], world.sessions.len());
    assert_eq!((&second["sessions"], &second["present_sessions"]), (&0.into(), &world.sessions.len().into()));
}

#[tokio::test]
async fn damage_is_named_by_session_and_seq_and_nothing_is_imported() {
    let world = World::begin().await;
    let good = world.backup();
    // What was said in the second turn.
    let at = record_of(&good, &world.parent, 6);
    let named = |refusal: &Value, seq: u64| {
        assert_eq!(
            (refusal["session"].as_str(), refusal["seq"].as_u64()),
            (Some(&*world.parent), Some(seq)),
            "{refusal}"
        );
    };

    let mut changed = good.clone();
    changed[at] = changed[at].replace("turn 1", "turn 2");
    assert_ne!(changed, good, "{}", good[at]);
    named(&world.refusal(&changed), 7);

    let mut broken = good.clone();
    broken[at].truncate(30);
    named(&world.refusal(&broken), 7);

    let mut missing = good.clone();
    missing.remove(at);
    named(&world.refusal(&missing), 7);

    let cut = &good[..at];
    named(&world.refusal(cut), 7);

    let last = record_of(&good, &world.parent, world.logs[&world.parent].len() - 1);
    let mut short = good.clone();
    short.remove(last);
    named(&world.refusal(&short), world.logs[&world.parent].len() as u64);
}

#[tokio::test]
async fn what_no_record_tells_is_found_by_the_manifest() {
    let world = World::begin().await;
    let good = world.backup();
    let problem = |lines: &[String]| world.refusal(lines)["problem"].as_str().unwrap().to_owned();

    let mut renamed = good.clone();
    let session = record_of(&good, &world.parent, 0) - 1;
    renamed[session] = renamed[session].replace("\"project\":\"default\"", "\"project\":\"another\"");
    assert!(problem(&renamed).contains("digest"));

    // A whole session, without a trace in any other.
    let begin = record_of(&good, &world.grandchild, 0) - 1;
    let end = begin + 1 + good[begin + 1..].iter().position(|line| !line.starts_with("{\"record\"")).unwrap();
    let mut without = good.clone();
    without.drain(begin..end);
    assert!(problem(&without).contains("manifest counts"));

    // One that forks go on from.
    let begin = record_of(&good, &world.parent, 0) - 1;
    let end = begin + 1 + good[begin + 1..].iter().position(|line| !line.starts_with("{\"record\"")).unwrap();
    let mut without = good.clone();
    without.drain(begin..end);
    assert!(problem(&without).contains("was forked after it, and it is missing"));

    let mut longer = good.clone();
    longer.push(good[1].clone());
    assert!(problem(&longer).contains("after the manifest"));
    assert!(problem(&good[..good.len() - 1]).contains("without its manifest"));
}

#[tokio::test]
async fn a_journal_that_holds_something_else_of_the_same_uid_is_left_as_it_is() {
    let world = World::begin().await;
    world.ctl.ok(&["import", BACKUP, "--journal", "restored.db"]);
    // The same sessions, one of them with another end.
    world.ctl.ok(&["exec", "--session", &world.parent, "--input", "only there"]);
    world.ctl.ok(&["exec", "--session", &world.parent, "--input", "only here", "--journal", "restored.db"]);
    world.ctl.ok(&["export", "--all", "--file", BACKUP]);
    let ended = world.ctl.run(&["import", BACKUP, "--journal", "restored.db"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains(&world.parent) && ended.stderr.contains("nothing was imported"), "{ended:?}");
}
