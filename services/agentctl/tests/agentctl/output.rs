//! JSON for machines, and readers that go away.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::ctl::{Ctl, echo_turn, ended};

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_line_of_json_output_is_an_object_with_proto_names() {
    let ctl = Ctl::new();
    let turn = objects(&ctl.ok(&["exec", "--output", "json", "--input", "x"]));
    let uid = turn[0]["session"]["metadata"]["uid"].as_str().unwrap();
    let kinds: Vec<_> = turn[1..].iter().map(|update| update["record"]["event"]["kind"].as_str().unwrap()).collect();
    assert_eq!((kinds.len(), kinds[4]), (5, "EVENT_END"));

    let json = |args: &[&str]| objects(&ctl.ok(&[args, &["--output", "json", "--session", uid]].concat()));
    assert_eq!(json(&["replay"])[4]["seq"], "5");
    assert_eq!(json(&["get"])[0]["last_seq"], "5");
    assert_eq!(json(&["suspend"])[0]["compute_state"], "COMPUTE_COLD");
    assert_eq!(json(&["fork"])[0]["parent_uid"], uid);
    assert_eq!(json(&["verify"])[0]["records"], 6);
    assert_eq!(objects(&ctl.ok(&["list", "--output=json"])).len(), 2);
    assert!(objects(&ctl.ok(&["version", "--output=json"]))[0]["version"].is_string());
}

#[test]
fn export_writes_to_what_is_no_file_and_through_a_link() {
    let ctl = Ctl::new();
    let uid = ctl.new_session("hi");
    let export = |path: &Path| ctl.ok(&["export", "--session", &uid, "--file", path.to_str().unwrap()]);

    let (link, target) = (ctl.path("link"), ctl.path("target"));
    std::fs::write(&target, "older").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    export(&link);
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_to_string(&target).unwrap().lines().count(), 5);

    let pipe = ctl.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    export(&pipe);
    assert_eq!(reader.wait_with_output().unwrap().stdout, std::fs::read(&target).unwrap());
    assert!(std::fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());

    // As /dev/stdout is one: a link to something that has no path.
    let (stdout, missing) = (ctl.path("stdout"), ctl.path("missing"));
    std::os::unix::fs::symlink("/proc/self/fd/1", &stdout).unwrap();
    assert_eq!(export(&stdout), std::fs::read_to_string(&target).unwrap());
    assert!(stdout.is_symlink());
    assert_eq!(export(Path::new("-")), std::fs::read_to_string(&target).unwrap());
    std::os::unix::fs::symlink(&missing, ctl.path("dangling")).unwrap();
    export(&ctl.path("dangling"));
    assert_eq!(std::fs::read(&missing).unwrap(), std::fs::read(&target).unwrap());
}

/// Runs a command whose output nobody reads.
fn unread(ctl: &Ctl, args: &[&str]) -> i32 {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    ctl.command(args).stdout(writer).output().unwrap().status.code().unwrap()
}

#[test]
fn a_chain_that_does_not_verify_is_a_failure_even_if_nobody_reads_so() {
    let ctl = Ctl::new();
    std::fs::write(ctl.path("bad"), "{\"seq\":\"1\"}\n").unwrap();
    assert_eq!(unread(&ctl, &["verify", "--file", "bad"]), 1);
}

#[test]
fn a_turn_goes_on_to_its_end_when_nobody_reads_on() {
    let ctl = Ctl::new();
    let uid = ctl.new_session("first");
    assert_eq!(unread(&ctl, &["exec", "--session", &uid, "--input", "second"]), 0);
    assert!(ctl.ok(&["replay", "--session", &uid]).ends_with(&echo_turn(6, "second")));
}

#[test]
fn a_journal_that_cannot_be_read_is_told_with_its_cause_and_how_far_it_was_good() {
    let ctl = Ctl::new();
    let uid = ctl.new_session(&"x".repeat(2_000));
    let journal = rusqlite::Connection::open(ctl.path("agentsessions.db")).unwrap();
    let last = "(SELECT max(id) FROM large)";
    let changed = journal.execute(&format!("UPDATE large SET value = x'ff' WHERE id = {last}"), []).unwrap();
    assert_eq!(changed, 1);
    drop(journal);
    let ended = ctl.run(&["verify", "--session", &uid]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.stderr.contains("records that fit") && ended.stderr.contains("cannot be decoded"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_row_that_cannot_be_read_is_told_with_its_session() {
    let ctl = Ctl::new();
    // Too long to be stored beside its key, unlike everything else.
    let broken = ctl.new_session(&"x".repeat(2_000));
    ctl.new_session("sound");
    let journal = rusqlite::Connection::open(ctl.path("agentsessions.db")).unwrap();
    let told = |args: &[&str]| {
        let ended = ctl.run(args);
        assert_eq!(ended.code, 1, "{args:?}");
        ended.stderr
    };

    assert_ne!(journal.execute("UPDATE large SET value = x'ff'", []).unwrap(), 0);
    let record = format!("session {broken}: a record batch row of the journal cannot be decoded\n");
    assert_eq!(told(&["export", "--all"]), format!("agentctl: {record}"));
    assert_eq!(told(&["replay", "--session", &broken]), format!("agentctl: INTERNAL: journal failed: {record}"));

    let rows = "UPDATE entries SET value = x'ff' WHERE instr(key, CAST(?1 AS BLOB)) AND length(value) > 0";
    assert_ne!(journal.execute(rows, [&broken]).unwrap(), 0);
    let session = format!("session {broken}: a session row of the journal cannot be decoded\n");
    assert_eq!(told(&["list"]), format!("agentctl: INTERNAL: journal failed: {session}"));
    assert_eq!(told(&["get", "--session", &broken]), format!("agentctl: INTERNAL: journal failed: {session}"));
    assert_eq!(told(&["export", "--all"]), format!("agentctl: {session}"));
}

#[test]
fn a_reader_that_has_read_enough_ends_the_command_quietly() {
    let ctl = Ctl::new();
    // More than any pipe holds.
    let uid = ctl.new_session(&"x".repeat(100_000));
    for _ in 0..20 {
        ctl.ok(&["exec", "--session", &uid, "--input", &"y".repeat(100_000)]);
    }
    for arguments in [&["replay", "--session", &uid][..], &["export", "--session", &uid], &["export", "--all"]] {
        let mut command = ctl.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut head = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut head).unwrap();
        let ended = ended(&child.wait_with_output().unwrap());
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{head}");
    }
}
