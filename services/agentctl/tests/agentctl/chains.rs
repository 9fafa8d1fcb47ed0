//! Exports and the check of their chain.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::ctl::{Ctl, Ended, ended};

/// A session of two turns, exported to `export.jsonl`.
fn exported(ctl: &Ctl) -> String {
    let uid = ctl.new_session("first");
    ctl.ok(&["exec", "--session", &uid, "--input", "second"]);
    assert_eq!(ctl.ok(&["export", "--session", &uid, "--file", "export.jsonl"]), "");
    uid
}

fn verify_with(ctl: &Ctl, change: impl FnOnce(&str) -> String) -> Ended {
    let text = fs::read_to_string(ctl.path("export.jsonl")).unwrap();
    fs::write(ctl.path("changed.jsonl"), change(&text)).unwrap();
    ctl.run(&["verify", "--file", "changed.jsonl"])
}

#[test]
fn a_good_chain_verifies_alike_online_and_offline() {
    let ctl = Ctl::new();
    let uid = exported(&ctl);
    let last = fs::read_to_string(ctl.path("export.jsonl")).unwrap();
    let last: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    let head = last["content_hash"].as_str().unwrap();
    let verified = |subject: &str| format!("ok {subject} records=10 head={head}\n");
    assert_eq!(ctl.ok(&["verify", "--session", &uid]), verified(&format!("session={uid}")));
    assert_eq!(ctl.ok(&["verify", "--file", "export.jsonl"]), verified("file=export.jsonl"));

    let mut piped = ctl.command(&["verify", "--file", "-"]);
    let input = fs::File::open(ctl.path("export.jsonl")).unwrap();
    let ended = ended(&piped.stdin(Stdio::from(input)).output().unwrap());
    assert_eq!((ended.code, ended.stdout), (0, verified("file=-")));
}

#[test]
fn one_changed_byte_is_found_at_its_record() {
    let ctl = Ctl::new();
    exported(&ctl);
    let changed = verify_with(&ctl, |text| text.replace("user\"", "User\"").replacen("User\"", "user\"", 1));
    assert_eq!(changed.code, 1);
    assert_eq!(changed.stdout, "bad record seq=7: content_hash is not the hash of its content\n");
    assert_eq!(changed.stderr, "agentctl: file=changed.jsonl does not verify\n");
}

#[test]
fn a_broken_line_is_not_taken_for_tampering() {
    let ctl = Ctl::new();
    exported(&ctl);
    let broken = verify_with(&ctl, |text| text.replacen("\"EVENT_MODEL_CALL\"", "\"EVENT_MODEL_CALL", 1));
    assert_eq!(broken.code, 1);
    assert!(broken.stdout.starts_with("bad record seq=3: line 3 cannot be decoded: "), "{}", broken.stdout);
}

#[test]
fn a_missing_record_is_found_where_it_was() {
    let ctl = Ctl::new();
    exported(&ctl);
    let short = verify_with(&ctl, |text| {
        let lines: Vec<_> = text.lines().enumerate().filter(|(index, _)| *index != 4).map(|(_, line)| line).collect();
        lines.join("\n")
    });
    assert_eq!((short.code, short.stdout.as_str()), (1, "bad record seq=5: it has seq 6\n"));
}

#[test]
fn an_export_goes_to_standard_output_when_no_file_is_named() {
    let ctl = Ctl::new();
    let uid = exported(&ctl);
    assert_eq!(ctl.ok(&["export", "--session", &uid]), fs::read_to_string(ctl.path("export.jsonl")).unwrap());
}

#[test]
fn a_failed_export_leaves_the_old_file_and_nothing_else() {
    let ctl = Ctl::new();
    exported(&ctl);
    let before = fs::read_to_string(ctl.path("export.jsonl")).unwrap();
    let failed = ctl.run(&["export", "--session", "sess-nowhere", "--file", "export.jsonl"]);
    assert_eq!(failed.code, 1);
    assert_eq!(fs::read_to_string(ctl.path("export.jsonl")).unwrap(), before);
    let names = fs::read_dir(ctl.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with(".export")));
}

#[test]
fn an_empty_file_is_no_export_and_a_session_without_records_verifies() {
    let ctl = Ctl::new();
    let uid = ctl.ok(&["create", "--harness", "echo"]);
    assert_eq!(ctl.ok(&["verify", "--session", uid.trim()]), format!("ok session={} records=0 head=\n", uid.trim()));
    fs::write(ctl.path("empty.jsonl"), "").unwrap();
    let ended = ctl.run(&["verify", "--file", "empty.jsonl"]);
    assert_eq!(ended.code, 1);
    assert_eq!(ended.stdout, "bad record seq=1: it is missing; the export has no record\n");
    assert_eq!(ended.stderr, "agentctl: file=empty.jsonl does not verify\n");
}

#[test]
fn an_export_that_is_not_there_is_named() {
    let ended = Ctl::new().run(&["verify", "--file", "nothing.jsonl"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.starts_with("agentctl: nothing.jsonl: "), "{}", ended.stderr);
}
