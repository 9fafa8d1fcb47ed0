//! Sessions from the command line, with the host in the process.

use crate::ctl::{Ctl, echo_turn};

#[test]
fn a_turn_without_anything_else_prints_a_session_and_its_records() {
    let printed = Ctl::new().ok(&["exec", "--input", "hello world"]);
    let (first, records) = printed.split_once('\n').unwrap();
    let uid = first.strip_prefix("session sess-").unwrap();
    assert!(uid.len() == 24 && uid.bytes().all(|digit| digit.is_ascii_hexdigit()), "{first}");
    assert_eq!(records, echo_turn(1, "hello world"));
}

#[test]
fn the_next_command_finds_what_the_last_one_left() {
    let ctl = Ctl::new();
    let uid = ctl.new_session("one");
    assert_eq!(ctl.ok(&["exec", "--session", &uid, "--input", "two"]), echo_turn(6, "two"));
    assert_eq!(ctl.ok(&["replay", "--session", &uid]), echo_turn(1, "one") + &echo_turn(6, "two"));
    assert_eq!(ctl.ok(&["replay", "--session", &uid, "--from", "6"]), echo_turn(6, "two"));
    let described = format!("session {uid} project=default name= harness=echo last_seq=10 compute=LIVE\n");
    assert_eq!(ctl.ok(&["get", "--session", &uid]), described);
}

#[test]
fn created_sessions_are_listed_in_their_project_newest_first() {
    let ctl = Ctl::new();
    let create =
        |name: &str| ctl.ok(&["create", "--project", "p", "--name", name, "--harness", "echo", "--model", "m"]);
    let (older, newer) = (create("a b"), create("c"));
    let line =
        |uid: &str, name: &str| format!("{}\tlast_seq=0\tcompute=NONE\tharness=echo\tname={name}\n", uid.trim_end());
    assert_eq!(ctl.ok(&["list", "--project", "p"]), line(&newer, "c") + &line(&older, "a b"));
    assert_eq!(ctl.ok(&["list"]), "");
}

#[test]
fn more_sessions_than_fit_on_a_page_are_all_listed() {
    let ctl = Ctl::new();
    let uid = ctl.new_session("x");
    for _ in 0..4 {
        ctl.ok(&["fork", "--session", &uid, "--count", "128"]);
    }
    let listed = ctl.ok(&["list"]);
    let mut uids: Vec<_> = listed.lines().map(|line| line.split('\t').next().unwrap()).collect();
    uids.sort_unstable();
    uids.dedup();
    assert_eq!(uids.len(), 4 * 128 + 1);
}

#[test]
fn children_of_a_fork_go_on_alone() {
    let ctl = Ctl::new();
    let parent = ctl.new_session("shared");
    let printed = ctl.ok(&["fork", "--session", &parent, "--at", "5", "--names", "left,right"]);
    let children: Vec<_> =
        printed.lines().map(|line| line.strip_prefix("child ").unwrap().split_once(' ').unwrap()).collect();
    let named = |name: &str| format!("parent={parent} fork_seq=5 name={name}");
    assert_eq!(children.iter().map(|child| child.1).collect::<Vec<_>>(), [named("left"), named("right")]);

    let child = children[0].0;
    ctl.ok(&["exec", "--session", child, "--input", "alone"]);
    let log = echo_turn(1, "shared") + "seq=6   EVENT_LIFECYCLE  FORK parent@5\n" + &echo_turn(7, "alone");
    assert_eq!(ctl.ok(&["replay", "--session", child]), log);
    assert_eq!(ctl.ok(&["replay", "--session", &parent]), echo_turn(1, "shared"));
}

#[test]
fn suspend_and_resume_say_where_the_session_is() {
    let ctl = Ctl::new();
    let uid = ctl.new_session("x");
    let suspended = format!("session {uid} suspend compute=COMPUTE_COLD last_seq=6\n");
    assert_eq!(ctl.ok(&["suspend", "--session", &uid]), suspended);
    let resumed = format!("session {uid} resume compute=COMPUTE_LIVE last_seq=7\n");
    assert_eq!(ctl.ok(&["resume", "--session", &uid]), resumed);
}

#[test]
fn a_session_is_canceled_and_deleted_where_that_is_granted() {
    let ctl = Ctl::new();
    let uid = ctl.new_session("x");
    for command in ["cancel", "delete"] {
        let refused = ctl.run(&[command, "--session", &uid]);
        assert_eq!(refused.code, 1);
        assert!(refused.stderr.contains("is not supported by this host"), "{}", refused.stderr);
    }
    let left = format!("session {uid} cancel exec=EXEC_COMPLETED last_seq=5\n");
    assert_eq!(ctl.ok(&["cancel", "--enable-cancel", "--session", &uid, "--reason", "none"]), left);

    let delete = ["delete", "--enable-delete-session", "--session", &uid, "--reason", "asked to", "--actor", "ada"];
    let deleted = ctl.ok(&delete);
    assert!(deleted.starts_with(&format!("session {uid} deleted last_seq=5 head=")), "{deleted}");
    assert!(deleted.ends_with(" by=ada reason=asked to\n"), "{deleted}");
    assert_eq!(ctl.run(&["get", "--session", &uid]).code, 1);
    assert_eq!(ctl.ok(&delete), deleted);
    assert_eq!(ctl.ok(&["list"]), "");
}

#[test]
fn a_host_elsewhere_answers_as_the_one_in_the_process_does() {
    let ctl = Ctl::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = node::config::Config {
        addr: "127.0.0.1:0".parse().unwrap(),
        journal: ctl.path("elsewhere.db").into(),
        ..Default::default()
    };
    let node = runtime.block_on(node::Node::start(&config, env::Env::system())).unwrap();
    let server = node.addr().unwrap().to_string();
    let printed = ctl.ok(&["exec", "--server", &server, "--input", "far"]);
    assert!(printed.ends_with(&echo_turn(1, "far")), "{printed}");
    assert!(!ctl.path("agentsessions.db").exists());
    runtime.block_on(node.stop());
}
