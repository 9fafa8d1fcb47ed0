//! JSON for machines, and readers that go away.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::ctl::{Ctl, ended};

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
}

#[test]
fn a_reader_that_has_read_enough_ends_the_command_quietly() {
    let ctl = Ctl::new();
    // More than any pipe holds.
    let uid = ctl.new_session(&"x".repeat(100_000));
    for _ in 0..20 {
        ctl.ok(&["exec", "--session", &uid, "--input", &"y".repeat(100_000)]);
    }
    for command in ["replay", "export"] {
        let mut command = ctl.command(&[command, "--session", &uid]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut head = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut head).unwrap();
        let ended = ended(&child.wait_with_output().unwrap());
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{head}");
    }
}
