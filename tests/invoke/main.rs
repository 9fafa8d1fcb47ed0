//! `agentctl invoke` against real nodes: every kind of method, commands that are killed, and nodes that are.

#![allow(clippy::unwrap_used, reason = "a test that meets a surprise panics")]

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use support::{AgentServer, BOUND, NodeBuilder, NodeProcess, binary, rounds};
use tempfile::TempDir;
use wire::EventKind;

/// The example agents, a journal for nodes, and a directory for commands.
struct World {
    agents: AgentServer,
    directory: TempDir,
}

impl World {
    async fn new() -> Self {
        Self { agents: AgentServer::start().await, directory: tempfile::tempdir().unwrap() }
    }

    async fn node(&self) -> NodeProcess {
        let node = NodeBuilder::new(self.directory.path()).harness("agents", self.agents.address());
        node.streaming().watched().start().await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `agentctl invoke` at these nodes.
    fn invoke(&self, nodes: &[&NodeProcess], arguments: &[&str]) -> Command {
        let addresses = |of: fn(&NodeProcess) -> &str| nodes.iter().map(|node| of(node)).collect::<Vec<_>>().join(",");
        let mut command = Command::new(binary("agentctl"));
        command.args(["invoke", "--server", &addresses(NodeProcess::address)]);
        command.args(["--streams", &addresses(NodeProcess::streams_address)]).args(arguments);
        command.env("AGENTSESSIONS_TOKEN", "anybody").current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end: what it printed, what it complained of, and its exit code.
    async fn run(&self, node: &NodeProcess, arguments: &[&str]) -> (String, String, Option<i32>) {
        ended(self.invoke(&[node], arguments)).await
    }

    /// A pipe with a name, and the end to write to, which keeps it open.
    fn pipe(&self, name: &str) -> File {
        let made = Command::new("mkfifo").arg(self.path(name)).status().unwrap();
        assert!(made.success());
        // For both directions, so that neither end waits for the other to be opened.
        File::options().read(true).write(true).open(self.path(name)).unwrap()
    }

    fn length(&self, name: &str) -> u64 {
        fs::metadata(self.path(name)).map_or(0, |file| file.len())
    }
}

async fn ended(mut command: Command) -> (String, String, Option<i32>) {
    output(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).await
}

/// What a command that runs already has printed, complained of, and its exit code.
async fn output(child: Child) -> (String, String, Option<i32>) {
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let Output { status, stdout, stderr } = tokio::time::timeout(BOUND, ended).await.unwrap().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(stdout), text(stderr), status.code())
}

async fn wait(mut child: Child) -> Option<i32> {
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap());
    tokio::time::timeout(BOUND, ended).await.unwrap().unwrap().code()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let looking = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(BOUND, looking).await.unwrap_or_else(|_| panic!("{what}"));
}

fn sample(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n % 253) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn methods_of_every_shape_are_called_with_plain_json() {
    let world = World::new().await;
    let node = world.node().await;
    fs::write(world.path("text"), "one\ntwo\nthree").unwrap();
    fs::write(world.path("lines"), "\"a b\"\n\"c\"\n").unwrap();
    for (arguments, printed) in [
        (&["lines", "count", "text=@text"][..], "{\"lines\":2,\"bytes\":13}\n"),
        (&["mirror", "nothing"], ""),
        (&["mirror", "value", r#"value={"u64":18446744073709551615}"#], "{\"u64\":18446744073709551615}\n"),
        (&["lines", "first", "lines=@lines"], "\"a b\"\n"),
        (&["transcoder", "encode", "data=@text"], "b25lCnR3bwp0aHJlZQ=="),
    ] {
        let (stdout, stderr, code) = world.run(&node, arguments).await;
        assert_eq!((stdout.as_str(), code), (printed, Some(0)), "{arguments:?}: {stderr}");
    }
    let (stdout, stderr, code) =
        world.run(&node, &["fan-out", "split", "--constructor", r#"separator=" ""#, "lines=@lines"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    for line in [
        r#"{"line":"a b","parts":"result.0.parts"}"#,
        r#"{"stream":"result.0.parts","value":"a"}"#,
        r#"{"stream":"result.0.parts","value":"b"}"#,
        r#"{"stream":"result.1.parts","value":"c"}"#,
    ] {
        assert!(stdout.lines().any(|found| found == line), "{line} in {stdout}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_shows_what_was_invoked_and_what_it_came_to() {
    let world = World::new().await;
    let node = world.node().await;
    fs::write(world.path("text"), "one\ntwo").unwrap();
    world.run(&node, &["lines", "count", "text=@text"]).await;
    let printed = async |arguments: &[&str]| {
        let mut command = Command::new(binary("agentctl"));
        command.args(["--server", node.address()]).args(arguments);
        ended(command).await.0
    };
    let listed = printed(&["list"]).await;
    let replayed = printed(&["replay", "--session", listed.split('\t').next().unwrap()]).await;
    let lines: Vec<_> = replayed.lines().collect();
    assert!(lines[1].contains("EVENT_INPUT  user: agentType=lines idempotencyKey="), "{replayed}");
    assert!(lines[1].contains(" method=count methodParameters={"), "{replayed}");
    assert!(lines[2].contains("EVENT_OUTPUT  assistant: result={"), "{replayed}");
    assert!(lines[3].contains("EVENT_OUTPUT  assistant: input=stream:"), "{replayed}");
    assert!(lines[3].ends_with(" itemCount=7"), "{replayed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r5_failures_have_their_exit_code_and_what_came_before_them_is_printed() {
    let world = World::new().await;
    let node = world.node().await;
    fs::write(world.path("lines"), "\"one\"\n\"two\"\n").unwrap();
    for (method, reason) in [("fail", "invocation-failed"), ("break", "producer-error")] {
        let (stdout, stderr, code) = world.run(&node, &["half-way", method, "lines=@lines", "after=1"]).await;
        assert_eq!((stdout.as_str(), code), ("\"one\"\n", Some(1)), "{method}: {stderr}");
        assert!(stderr.contains(reason), "{method}: {stderr}");
    }
    fs::write(world.path("bad"), "\"one\"\ntwo\n").unwrap();
    let (_, stderr, code) = world.run(&node, &["lines", "count-strings", "lines=@bad"]).await;
    assert!(code == Some(1) && stderr.contains("lines: bad: line 2"), "what the agent failed of: {stderr}");
    let (_, stderr, code) = world.run(&node, &["nobody", "count"]).await;
    assert!(code == Some(1) && stderr.contains("NOT_FOUND"), "{stderr}");
    let (_, stderr, code) = world.run(&node, &["lines", "sort"]).await;
    assert!(code == Some(1) && stderr.contains("it has count"), "{stderr}");
}

/// START, INPUT, the account of the streams, the result and END, also when all of it happens at once.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_recorded_of_an_invocation_is_recorded_once() {
    const KINDS: [EventKind; 5] = [
        EventKind::EventExecutionStart,
        EventKind::EventInput,
        EventKind::EventOutput,
        EventKind::EventOutput,
        EventKind::EventEnd,
    ];
    let world = World::new().await;
    let node = world.node().await;
    fs::write(world.path("empty"), "").unwrap();
    let rounds = rounds(50);
    for _ in 0..rounds {
        let (stdout, stderr, code) = world.run(&node, &["lines", "count", "text=@empty"]).await;
        assert_eq!((stdout.as_str(), code), ("{\"lines\":0,\"bytes\":0}\n", Some(0)), "{stderr}");
    }
    let records = node.api().await.only_log("default").await;
    let kinds: Vec<_> = records.into_iter().map(|record| record.event.unwrap().kind()).collect();
    assert_eq!(kinds, KINDS.repeat(rounds));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_turn_has_not_come_says_so_while_it_waits() {
    let world = World::new().await;
    let node = world.node().await;
    let mut source = world.pipe("source");
    source.write_all(b"one\n").unwrap();
    let first = world.invoke(&[&node], &["lines", "count", "text=@source"]).stdout(Stdio::piped()).spawn().unwrap();
    let watcher = node.watcher();
    watcher.until(|scrape| scrape.value("agentsessions_invocations_running") == Some(1.0)).await;
    let mut second = world.invoke(&[&node], &["lines", "count", "text=-"]);
    let complaints = File::create(world.path("complaints")).unwrap();
    let second = second.stdout(Stdio::piped()).stderr(complaints).spawn().unwrap();
    watcher.until(|scrape| scrape.value("agentsessions_invocations_queued") == Some(1.0)).await;
    let complained = || fs::read_to_string(world.path("complaints")).unwrap();
    until("the second says that it waits", || complained().contains("run one after the other")).await;
    drop(source);
    for (child, printed) in [(first, "{\"lines\":1,\"bytes\":4}\n"), (second, "{\"lines\":0,\"bytes\":0}\n")] {
        let (stdout, stderr, code) = output(child).await;
        assert_eq!((stdout.as_str(), code), (printed, Some(0)), "{stderr}");
    }
    assert_eq!(complained().lines().count(), 1, "{}", complained());
    watcher.until(|scrape| scrape.value("agentsessions_invocations_queued") == Some(0.0)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_was_killed_goes_on_at_another_node() {
    let world = World::new().await;
    let (one, other) = (world.node().await, world.node().await);
    let bytes = sample(600_000);
    fs::write(world.path("whole"), &bytes).unwrap();
    let mut source = world.pipe("source");
    let to = ["--to", "result=out"];
    let first = [&["transcoder", "encode", "data=@source", "--save", "session"], &to[..]].concat();
    let child = world.invoke(&[&one], &first).spawn().unwrap();
    for part in bytes[..300_000].chunks(3_000) {
        source.write_all(part).unwrap();
    }
    until("half of it is back", || world.length("out") >= 300_000).await;
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    wait(child).await;

    let again = [&["transcoder", "encode", "data=@whole", "--resume", "session"], &to[..]].concat();
    let (_, stderr, code) = ended(world.invoke(&[&other], &again)).await;
    assert_eq!(code, Some(0), "{stderr}");
    let (_, stderr, code) = world.run(&one, &["transcoder", "encode", "data=@whole", "--to", "result=expected"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(fs::read(world.path("out")).unwrap() == fs::read(world.path("expected")).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_outlives_the_node_that_it_talks_to() {
    let world = World::new().await;
    let (mut one, other) = (world.node().await, world.node().await);
    let bytes = sample(600_000);
    let mut source = world.pipe("source");
    let arguments = ["mirror", "bytes", "items=@source", "--to", "result=out"];
    let child = world.invoke(&[&one, &other], &arguments).stderr(Stdio::piped()).spawn().unwrap();
    for part in bytes[..300_000].chunks(3_000) {
        source.write_all(part).unwrap();
    }
    until("half of it is back", || world.length("out") >= 200_000).await;
    one.kill();
    for part in bytes[300_000..].chunks(3_000) {
        source.write_all(part).unwrap();
    }
    until("all of it is back", || world.length("out") == bytes.len() as u64).await;
    drop(source);
    let (_, stderr, code) = output(child).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("trying again") && stderr.contains("going on at"), "{stderr}");
    assert!(fs::read(world.path("out")).unwrap() == bytes);
}
