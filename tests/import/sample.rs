//! A file with a bit of everything.

use std::path::{Path, PathBuf};

use support::records::{Of, gated, marker};
use support::{Agentctl, ReferenceJournal, ReferenceSession, chain};
use tempfile::TempDir;
use wire::event::Body;
use wire::lifecycle::Kind;
use wire::{Event, EventKind, HarnessSpec, Lifecycle, LogRecord, Message, ModelCall};

/// A complete turn under fence 1, then one under fence 2 that was cut after its MODEL_CALL.
pub const TURNS: &str = "sess-a";
/// A fork of it at 5.
pub const FORK: &str = "sess-b";
/// A session on `scripted`, a registered harness, that waits for an approval.
pub const GATED: &str = "sess-c";
/// Where the import finds the file.
pub const FILE: &str = "reference.db";

/// A directory with the file, and `agentctl` in it.
pub struct Sample {
    pub directory: TempDir,
    pub agentctl: Agentctl,
    pub turns: Vec<LogRecord>,
    pub fork: Vec<LogRecord>,
    pub gated: Vec<LogRecord>,
    /// Of the spec of `scripted`.
    pub digest: String,
}

impl Sample {
    /// Writes the file, with `scripted` and a retired harness registered as `spec`.
    pub fn new(spec: &HarnessSpec) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let turns = turns();
        let fork = fork_of(&turns, 5);
        let gate = [
            Of("e3").start(1),
            Of("e3").input("pay"),
            Of("e3").call(gated("c")),
            Of("e3").request("c"),
            marker(Kind::LifecycleSuspend),
        ];
        let gated = chain(None, gate.map(|event| (1, event)));
        let file = ReferenceJournal::create(&directory.path().join(FILE));
        let of = |uid, harness| ReferenceSession { uid, harness, ..ReferenceSession::default() };
        file.session(&ReferenceSession { fence: 2, name: "turns", ..of(TURNS, "echo") });
        let compute_state = "COLD";
        let (parent_uid, fork_seq) = (TURNS, 5);
        file.session(&ReferenceSession { parent_uid, fork_seq, compute_state, ..of(FORK, "echo") });
        file.session(&ReferenceSession {
            compute_state,
            created_at: 1_800_000_000_000_000_000,
            ..of(GATED, "scripted")
        });
        for (uid, records) in [(TURNS, &turns), (FORK, &fork), (GATED, &gated)] {
            file.records(uid, records);
        }
        let digest = file.register("scripted", spec);
        let _ = file.register("old", spec);
        file.execute(
            "UPDATE harnesses SET state = 'retired', retired_at = 13, retire_reason = 'slow' WHERE name = 'old'",
        );
        file.execute("INSERT INTO reserved_harness_names VALUES ('echo', 5), ('counter', 6)");
        let _ = file.close();
        let agentctl = Agentctl::new(directory.path());
        Self { directory, agentctl, turns, fork, gated, digest }
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        self.directory.path().join(FILE)
    }

    /// The journal to import into.
    pub fn journal(&self) -> PathBuf {
        self.directory.path().join("journal.db")
    }

    /// Changes the file.
    pub fn change(&self, sql: &str) {
        rusqlite::Connection::open(self.file()).unwrap().execute_batch(sql).unwrap();
    }

    /// The records of a session.
    pub fn records(&self, session: &str) -> &[LogRecord] {
        match session {
            TURNS => &self.turns,
            FORK => &self.fork,
            _ => &self.gated,
        }
    }
}

fn turns() -> Vec<LogRecord> {
    let question =
        |text| ModelCall { model: "echo".into(), messages: vec![Message::text("user", text)], ..ModelCall::default() };
    let first = [
        Of("e1").start(1),
        Of("e1").input("one"),
        Of("e1").model_call(&question("one")),
        Of("e1").output("echo:one"),
        Of("e1").end(),
    ];
    let second = [Of("e2").start(1), Of("e2").input("two"), Of("e2").model_call(&question("two"))];
    chain(None, first.map(|event| (1, event)).into_iter().chain(second.map(|event| (2, event))))
}

fn fork_of(parent: &[LogRecord], at: usize) -> Vec<LogRecord> {
    let kind = Kind::LifecycleFork.into();
    let lifecycle = Lifecycle { kind, detail: format!("parent@{at}"), ..Lifecycle::default() };
    let marker = Event::new(EventKind::EventLifecycle, Body::Lifecycle(lifecycle));
    [&parent[..at], &chain(parent[..at].last(), [(1, marker)])].concat()
}

/// What lies in a directory, and how large it is: what nobody may have changed.
pub fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}
