//! Exit codes and flags.

use crate::ctl::Ctl;

#[test]
fn no_command_and_an_unknown_command_are_wrong_usage() {
    let ctl = Ctl::new();
    for args in [&[][..], &["frobnicate"], &["list", "--frobnicate"]] {
        let ended = ctl.run(args);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ended.stderr.contains("Usage: agentctl"), "{args:?}: {}", ended.stderr);
    }
    assert!(!ctl.path("agentsessions.db").exists(), "nothing was opened");
}

#[test]
fn help_goes_to_standard_output() {
    let help = Ctl::new().ok(&["--help"]);
    for command in [
        "create", "list", "get", "exec", "replay", "fork", "suspend", "resume", "verify", "export", "harness",
        "version",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
    }
}

#[test]
fn version_is_one_line() {
    let version = Ctl::new().ok(&["version"]);
    assert!(version.starts_with(concat!("agentctl ", env!("CARGO_PKG_VERSION"))), "{version}");
    assert_eq!(version.lines().count(), 1);
}

#[test]
fn a_failure_is_one_line_on_standard_error() {
    let ended = Ctl::new().run(&["get", "--session", "sess-nowhere"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""));
    assert!(ended.stderr.starts_with("agentctl: NOT_FOUND: "), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn an_address_that_is_none_is_a_failure_with_the_reason() {
    let ended = Ctl::new().run(&["list", "--server", "127.0.0.1:1,nowhere"]);
    assert_eq!((ended.code, ended.stderr.lines().count()), (1, 1));
    assert!(ended.stderr.contains("\"nowhere\" is not an address: the port is missing"), "{}", ended.stderr);
}

#[test]
fn a_host_that_is_not_there_is_named() {
    let ended = Ctl::new().run(&["list", "--server", "unix:nothing.sock"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.starts_with("agentctl: no connection to unix:nothing.sock: "), "{}", ended.stderr);
}

#[test]
fn nodes_may_stand_in_the_environment_and_all_that_are_not_there_are_named() {
    let ctl = Ctl::new();
    let output = ctl.command(&["list"]).env("AGENTSESSIONS_SERVER", "unix:a.sock,unix:b.sock").output().unwrap();
    let ended = crate::ctl::ended(&output);
    assert_eq!(ended.code, 1);
    for socket in ["a.sock", "b.sock"] {
        assert!(ended.stderr.contains(&format!("no connection to unix:{socket}: ")), "{}", ended.stderr);
    }
    assert!(!ctl.path("agentsessions.db").exists(), "no host in this process");
}

#[test]
fn flags_may_have_one_dash_and_values_may_look_like_flags() {
    let ctl = Ctl::new();
    let printed = ctl.ok(&["exec", "-journal=other.db", "-input", "-project"]);
    assert!(printed.contains("user: -project\n"), "{printed}");
    assert!(ctl.path("other.db").exists() && !ctl.path("agentsessions.db").exists());
}
