//! A journal file as the reference host writes it (journal.md §12).

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use wire::canonical::Canonical;
use wire::{ContentHash, Event, HarnessSpec, LogRecord};

/// The tables of version 2.
const TABLES: &str = "
    CREATE TABLE sessions (
        session TEXT PRIMARY KEY, fence INTEGER NOT NULL, project TEXT, name TEXT, harness TEXT, model TEXT,
        parent_uid TEXT, fork_seq INTEGER, compute_state TEXT, created_at INTEGER, updated_at INTEGER,
        labels TEXT, annotations TEXT, origin TEXT, identity TEXT);
    CREATE TABLE events (
        session TEXT, seq INTEGER, prev_hash TEXT, hash TEXT, fence INTEGER, event BLOB, PRIMARY KEY (session, seq));
    CREATE TABLE harnesses (
        name TEXT PRIMARY KEY, uid TEXT, spec TEXT, spec_digest TEXT, state TEXT, retire_reason TEXT,
        retired_at INTEGER, created_at INTEGER, updated_at INTEGER);
    CREATE TABLE reserved_harness_names (name TEXT PRIMARY KEY, reserved_at INTEGER);
    PRAGMA user_version = 2;
";

/// The tables of the first version.
const FIRST_TABLES: &str = "
    CREATE TABLE sessions (session TEXT PRIMARY KEY, fence INTEGER NOT NULL);
    CREATE TABLE events (
        session TEXT, seq INTEGER, prev_hash TEXT, hash TEXT, fence INTEGER, event BLOB, PRIMARY KEY (session, seq));
";

/// A file, open for writing.
pub struct ReferenceJournal {
    path: PathBuf,
    connection: Connection,
}

/// The row of a session.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the columns of journal.md §12")]
pub struct ReferenceSession<'a> {
    pub uid: &'a str,
    pub fence: i64,
    pub name: &'a str,
    pub harness: &'a str,
    pub parent_uid: &'a str,
    pub fork_seq: i64,
    pub compute_state: &'a str,
    pub created_at: i64,
}

impl Default for ReferenceSession<'_> {
    fn default() -> Self {
        Self {
            uid: "sess-0",
            fence: 1,
            name: "",
            harness: "echo",
            parent_uid: "",
            fork_seq: 0,
            compute_state: "LIVE",
            created_at: 1_700_000_000_000_000_001,
        }
    }
}

impl ReferenceJournal {
    /// Creates the file.
    #[must_use]
    pub fn create(path: &Path) -> Self {
        Self::with(path, TABLES)
    }

    /// Creates a file of the first version, whose sessions are nothing but a uid and a fence.
    #[must_use]
    pub fn create_first_version(path: &Path) -> Self {
        Self::with(path, FIRST_TABLES)
    }

    fn with(path: &Path, tables: &str) -> Self {
        let connection = Connection::open(path).expect("a new file");
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;").expect("pragmas");
        connection.execute_batch(tables).expect("tables");
        Self { path: path.into(), connection }
    }

    /// Adds a session whose records follow. Its last change was a second after its creation.
    pub fn session(&self, session: &ReferenceSession<'_>) {
        let sql = "INSERT INTO sessions VALUES (?1, ?2, 'default', ?3, ?4, 'some-model', ?5, ?6, ?7, ?8, ?9, ?10, NULL, ?11, ?12)";
        let labels = r#"{"team": "<blue> & co"}"#;
        let origin = r#"{"source": "ticket", "attributes": {"Id": "7"}}"#;
        let identity = r#"{"Principal": "ada", "Issuer": "", "Subject": ""}"#;
        let ReferenceSession { uid, fence, name, harness, parent_uid, fork_seq, compute_state, created_at } = *session;
        let updated_at = created_at + 1_000_000_000;
        let row = params![
            uid,
            fence,
            name,
            harness,
            parent_uid,
            fork_seq,
            compute_state,
            created_at,
            updated_at,
            labels,
            origin,
            identity
        ];
        self.connection.execute(sql, row).expect("a session");
    }

    /// Adds a session to a file of the first version.
    pub fn first_version_session(&self, uid: &str, fence: i64) {
        self.connection.execute("INSERT INTO sessions VALUES (?1, ?2)", (uid, fence)).expect("a session");
    }

    /// Adds records as they are.
    pub fn records(&self, session: &str, records: &[LogRecord]) {
        self.connection.execute_batch("BEGIN").expect("a transaction");
        for record in records {
            let event = record.event.as_ref().map(prost::Message::encode_to_vec);
            let row = params![session, record.seq, record.prev_hash, record.content_hash, record.fence, event];
            self.connection.execute("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6)", row).expect("a record");
        }
        self.connection.execute_batch("COMMIT").expect("a commit");
    }

    /// Adds an active registration, and returns the digest of its spec.
    #[must_use]
    pub fn register(&self, name: &str, spec: &HarnessSpec) -> String {
        let text = spec.canonical_json().expect("a spec has a canonical form");
        let digest = wire::spec_digest(spec).expect("a spec has a canonical form");
        let sql = "INSERT INTO harnesses VALUES (?1, 'harness-' || ?1, ?2, ?3, 'active', '', NULL, 11, 12)";
        self.connection.execute(sql, (name, text, &digest)).expect("a registration");
        digest
    }

    /// Runs statements: what a host would not write, say.
    pub fn execute(&self, sql: &str) {
        self.connection.execute_batch(sql).expect("statements that SQLite accepts");
    }

    /// Closes the file, as a host that stops does, and returns its path.
    #[must_use]
    pub fn close(self) -> PathBuf {
        self.connection.close().map_err(|(_, error)| error).expect("a file that closes");
        self.path
    }
}

/// Records of events, each with its fence, that follow `last`.
#[must_use]
pub fn chain(last: Option<&LogRecord>, events: impl IntoIterator<Item = (i64, Event)>) -> Vec<LogRecord> {
    let mut seq = last.map_or(0, |last| last.seq);
    let mut prev_hash = last.map_or_else(String::new, |last| last.content_hash.clone());
    let record = |(fence, event): (i64, Event)| {
        seq += 1;
        let prev = ContentHash::parse_prev(&prev_hash).expect("a hash");
        let hash = wire::content_hash(&event, seq.unsigned_abs(), prev.as_ref()).expect("a canonical form").hex();
        let prev_hash = std::mem::replace(&mut prev_hash, hash.clone());
        LogRecord { seq, prev_hash, content_hash: hash, fence, event: Some(event) }
    };
    events.into_iter().map(record).collect()
}
