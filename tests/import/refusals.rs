//! What is refused, and that nothing is left of the attempt.

use std::fs;

use support::{NodeBuilder, ReferenceJournal, ReferenceSession, chain, records::Of, remote_spec};

use crate::sample::{FILE, Sample, contents};

fn sample() -> Sample {
    Sample::new(&remote_spec("127.0.0.1:9"))
}

/// Imports a file that was damaged, and returns what was said about it.
fn refusal(sample: &Sample) -> String {
    let before = contents(sample.directory.path());
    let refused = sample.agentctl.run(&["import", FILE]);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    assert!(refused.stderr.starts_with("agentctl: reference.db"), "{}", refused.stderr);
    assert_eq!(contents(sample.directory.path()), before, "nothing was written");
    format!("{}{}", refused.stdout, refused.stderr)
}

#[test]
fn a_damaged_file_is_refused_with_the_session_and_the_seq_of_the_damage() {
    let cases = [
        // One byte of a text: "echo:one" becomes "echo:onE".
        (
            "UPDATE events SET event = replace(CAST(event AS TEXT), 'echo:one', 'echo:onE') WHERE session = 'sess-a' AND seq = 4;
             UPDATE events SET event = CAST(event AS BLOB)",
            "session sess-a seq 4: content_hash is not the hash of its content",
        ),
        ("UPDATE events SET event = X'FF' WHERE session = 'sess-c' AND seq = 2", "session sess-c seq 2: event cannot"),
        ("DELETE FROM events WHERE session = 'sess-a' AND seq = 5", "session sess-a seq 5: it has seq 6"),
        (
            "UPDATE events SET prev_hash = hash WHERE session = 'sess-c' AND seq = 3",
            "session sess-c seq 3: prev_hash is not the content_hash of the record before it",
        ),
        ("UPDATE events SET fence = -1 WHERE session = 'sess-c' AND seq = 3", "session sess-c seq 3: its fence is -1"),
        ("UPDATE events SET hash = upper(hash) WHERE session = 'sess-b'", "session sess-b seq 1: content_hash"),
        ("UPDATE sessions SET parent_uid = 'sess-x' WHERE session = 'sess-b'", "session sess-b seq 6: the session is a fork of sess-x"),
        ("UPDATE sessions SET parent_uid = 'sess-c' WHERE session = 'sess-b'", "session sess-b seq 5: it is not what sess-c"),
        ("UPDATE sessions SET fork_seq = 2 WHERE session = 'sess-b'", "session sess-b seq 3: it is not the marker"),
        ("DELETE FROM sessions WHERE session = 'sess-c'", "session sess-c seq 1: there is no such session"),
        ("UPDATE sessions SET fence = 'high' WHERE session = 'sess-c'", "session sess-c: fence cannot be decoded"),
        ("UPDATE sessions SET labels = '[1]' WHERE session = 'sess-c'", "session sess-c: labels cannot be decoded"),
        ("UPDATE sessions SET origin = '{\"zone\": 1}' WHERE session = 'sess-c'", "session sess-c: origin cannot be decoded"),
        ("UPDATE harnesses SET state = 'asleep' WHERE name = 'old'", "harness old: "),
        ("INSERT INTO reserved_harness_names VALUES ('old', 1)", "harness old: it is both registered and reserved"),
        ("PRAGMA user_version = 3", "it has version 3; versions 0 to 2 can be read"),
        ("PRAGMA user_version = -1", "it has version -1"),
        ("ALTER TABLE sessions DROP COLUMN labels", "it has no sessions.labels"),
        ("DROP TABLE harnesses", "it has no harnesses.name"),
    ];
    for (damage, expected) in cases {
        let sample = sample();
        sample.change(damage);
        let said = refusal(&sample);
        assert!(said.contains(expected), "{damage}: {said}");
    }
}

#[test]
fn what_is_refused_is_told_in_json_too() {
    let sample = sample();
    sample.change("DELETE FROM events WHERE session = 'sess-a' AND seq = 5");
    let refused = sample.agentctl.run(&["import", FILE, "--output", "json"]);
    let said: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!((&said["ok"], &said["session"], &said["seq"]), (&false.into(), &"sess-a".into(), &5.into()));
}

#[test]
fn a_truncated_file_is_refused_where_it_ends() {
    let sample = sample();
    let path = sample.file();
    fs::remove_file(&path).unwrap();
    let file = ReferenceJournal::create(&path);
    file.session(&ReferenceSession::default());
    let text = "x".repeat(2_000);
    file.records("sess-0", &chain(None, (0..200).map(|_| (1, Of("e").output(&text)))));
    let _ = file.close();
    let whole = fs::metadata(&path).unwrap().len();
    fs::File::options().write(true).open(&path).unwrap().set_len(whole / 2).unwrap();
    let said = refusal(&sample);
    assert!(said.contains("bad journal session sess-0 seq "), "{said}");
}

#[test]
fn what_is_no_journal_of_the_reference_host_is_refused() {
    let sample = sample();
    fs::write(sample.file(), "a text that is long enough to be mistaken for the header of a database, but is none")
        .unwrap();
    assert!(refusal(&sample).contains("it is no SQLite file"));
    fs::remove_file(sample.file()).unwrap();
    rusqlite::Connection::open(sample.file()).unwrap().execute_batch("CREATE TABLE photos (id)").unwrap();
    assert!(refusal(&sample).contains("it is another SQLite database"));
    fs::remove_file(sample.file()).unwrap();
    assert!(refusal(&sample).contains("No such file"));
}

/// What is imported is read more than once, which a pipe does not allow.
#[test]
fn what_is_no_file_is_refused_and_told_how_to_become_one() {
    let sample = sample();
    for (path, said) in [("/dev/null", "it is not a file, "), ("/", "it is a directory")] {
        let refused = sample.agentctl.run(&["import", path]);
        assert_eq!(refused.code, Some(1), "{path}: {}", refused.stdout);
        assert!(refused.stderr.starts_with(&format!("agentctl: {path}: {said}")), "{}", refused.stderr);
    }
}

#[test]
fn a_journal_that_contradicts_the_file_stays_as_it_is() {
    let cases = [
        // Another session of the same uid, and names that mean something else here.
        "UPDATE sessions SET name = 'renamed' WHERE session = 'sess-a'",
        "UPDATE harnesses SET uid = 'harness-other' WHERE name = 'old'",
        "DELETE FROM harnesses WHERE name = 'old'; INSERT INTO reserved_harness_names VALUES ('old', 1)",
        "DELETE FROM reserved_harness_names WHERE name = 'echo'; UPDATE harnesses SET name = 'echo' WHERE name = 'old'",
    ];
    let sample = sample();
    let _ = sample.agentctl.ok(&["import", FILE]);
    let whole = fs::read(sample.file()).unwrap();
    let listed = sample.agentctl.ok(&["list"]);
    for change in cases {
        sample.change(&format!(
            "{change}; UPDATE sessions SET session = 'sess-new' WHERE session = 'sess-c';
            UPDATE events SET session = 'sess-new' WHERE session = 'sess-c'"
        ));
        let refused = sample.agentctl.run(&["import", FILE]);
        assert_eq!(refused.code, Some(1), "{change}: {}", refused.stdout);
        assert!(refused.stderr.contains("nothing was imported"), "{change}: {}", refused.stderr);
        assert_eq!(sample.agentctl.ok(&["list"]), listed, "{change}");
        fs::write(sample.file(), &whole).unwrap();
    }
}

#[test]
fn a_host_is_no_place_to_import_into_and_neither_is_the_file_itself() {
    let sample = sample();
    let said = sample.agentctl.run(&["import", FILE, "--server", "127.0.0.1:9"]);
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("leave --server out"), "{}", said.stderr);
    let said = sample.agentctl.run(&["import", FILE, "--journal", FILE]);
    assert!(said.stderr.contains("cannot be imported into itself"), "{}", said.stderr);
    assert_eq!(sample.agentctl.run(&["import"]).code, Some(2));
}

#[tokio::test]
async fn starting_on_a_journal_of_the_reference_host_names_the_command_and_changes_nothing() {
    let sample = sample();
    fs::rename(sample.file(), sample.journal()).unwrap();
    let file = fs::read(sample.journal()).unwrap();
    let node = NodeBuilder::new(sample.directory.path()).refusal().await;
    let command = sample.agentctl.run(&["list"]);
    assert_eq!(command.code, Some(1));
    for said in [node, command.stderr] {
        assert!(said.contains("journal.db is a journal of the reference host; `agentctl import "), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!(fs::read(sample.journal()).unwrap(), file);
    let beside = contents(sample.directory.path());
    assert_eq!(beside.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>(), [sample.journal()]);
}
