//! JSON for machines, and readers that go away.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

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
