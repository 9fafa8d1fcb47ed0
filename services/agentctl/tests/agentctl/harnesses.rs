//! The registry from the command line.

use std::io::Write;
use std::process::Stdio;

use node::Node;
use node::config::Config;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::ctl::{Ctl, Ended, ended};

const SPEC: &str =
    r#"{"capabilities": {"resumability": "RESUMABILITY_STATELESS_REPLAY"}, "remote": {"address": "127.0.0.1:9"}}"#;

/// A node with a registry listener, and `agentctl` that talks to it.
struct Operator {
    ctl: Ctl,
    runtime: Runtime,
    node: Option<Node>,
    server: String,
}

impl Operator {
    fn new() -> Self {
        let ctl = Ctl::new();
        std::fs::write(ctl.path("spec.json"), SPEC).unwrap();
        let mut config =
            Config { addr: "127.0.0.1:0".parse().unwrap(), journal: ctl.path("j.db").into(), ..Config::default() };
        config.registry.addr = "127.0.0.1:0".parse().unwrap();
        config.model.name = "m".to_owned();
        let runtime = Runtime::new().unwrap();
        let node = runtime.block_on(Node::start(&config, env::Env::system())).unwrap();
        let server = node.registry_addr().unwrap().to_string();
        Self { ctl, runtime, node: Some(node), server }
    }

    fn run(&self, args: &[&str]) -> Ended {
        self.ctl.run(&[&["harness"], args, &["--server", &self.server]].concat())
    }

    fn ok(&self, args: &[&str]) -> Value {
        let ended = self.run(args);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{args:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.runtime.block_on(self.node.take().unwrap().stop());
    }
}

#[test]
fn a_harness_is_registered_shown_and_retired() {
    let operator = Operator::new();
    let register = ["register", "--name", "h", "--spec", "spec.json"];
    let registered = operator.ok(&register);
    assert_eq!(registered["outcome"], "REGISTER_OUTCOME_CREATED");
    assert_eq!(registered["harness"]["spec"], serde_json::from_str::<Value>(SPEC).unwrap());
    assert_eq!(operator.ok(&register)["outcome"], "REGISTER_OUTCOME_UNCHANGED");
    assert_eq!(operator.ok(&["get", "--name", "h"]), registered["harness"]);

    let retired = operator.ok(&["retire", "--name", "h", "--reason", "-old-"]);
    assert_eq!((&retired["state"], &retired["retire_reason"]), (&json!("HARNESS_STATE_RETIRED"), &json!("-old-")));
    let observed = operator.ok(&["get", "--name", "h", "--observe"]);
    assert!(observed["observe_error"].as_str().unwrap().starts_with("describe: "), "{observed}");
}

#[test]
fn all_pages_of_a_listing_are_printed_as_one() {
    let operator = Operator::new();
    for name in ["a", "b", "z"] {
        operator.ok(&["register", "--name", name, "--spec", "spec.json"]);
    }
    operator.ok(&["retire", "--name", "b"]);
    let names = |args: &[&str]| {
        let listed = operator.ok(&[&["list"], args].concat());
        let names = listed["harnesses"].as_array().unwrap().iter();
        names.map(|harness| harness["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--page-size", "1"]), ["a", "chat", "echo", "z"]);
    assert_eq!(names(&["--page-size", "9999", "--include-retired"]), ["a", "b", "chat", "echo", "z"]);
    let refused = operator.run(&["list", "--page-size", "-1"]);
    assert!(refused.code == 1 && refused.stderr.starts_with("agentctl: INVALID_ARGUMENT: "), "{refused:?}");
}

#[test]
fn a_spec_comes_from_standard_input_too() {
    let operator = Operator::new();
    let args = ["harness", "register", "--name", "h", "--spec", "-", "--server", &operator.server];
    let mut child = operator.ctl.command(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(SPEC.as_bytes()).unwrap();
    assert_eq!(ended(&child.wait_with_output().unwrap()).code, 0);
}

#[test]
fn a_spec_with_a_member_that_is_not_known_is_not_sent() {
    let ctl = Ctl::new();
    std::fs::write(ctl.path("spec.json"), r#"{"zone": "b"}"#).unwrap();
    let operator = Operator::new();
    let args = ["harness", "register", "--name", "h", "--spec", "spec.json", "--server", &operator.server];
    let refused = ctl.run(&args);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("spec.json is not a harness spec") && refused.stderr.contains("zone"),
        "{refused:?}"
    );
}

#[test]
fn harness_commands_need_a_server() {
    let ctl = Ctl::new();
    let refused = ctl.run(&["harness", "list"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.starts_with("agentctl: harness commands need --server"), "{}", refused.stderr);
    assert!(!ctl.path("agentsessions.db").exists());
    assert_eq!(ctl.run(&["harness"]).code, 2);
}
