//! `agentctl invoke` as a process, against a server of stream sessions that echoes.

#![allow(clippy::unwrap_used, reason = "a test that meets a surprise panics")]

#[allow(dead_code, reason = "shared with the tests of the library")]
#[path = "../../../client/tests/client/script.rs"]
mod script;
#[allow(dead_code, reason = "shared with the tests of the library")]
#[path = "../../../client/tests/stream/server.rs"]
mod server;

mod resume;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use client::stream::{ClientReason, Method};
use rustix::process::{Pid, Signal, kill_process};
use script::Script;
use server::{Server, TOKEN};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use wire::{AgentMethod, AgentType};

const BYTE: &str = r#"{"kind":"u8","value":{}}"#;
const STRING: &str = r#"{"kind":"string","value":{}}"#;
const BOUND: Duration = Duration::from_secs(60);

/// A node whose agent `probe` echoes a stream, and a directory to work in.
struct World {
    streams: Server,
    node: String,
    directory: TempDir,
}

impl World {
    async fn of(element: &str) -> Self {
        let described = described(element);
        let parameters = Arc::clone(&Method::of(&described, "echo").unwrap().parameters);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let node = listener.local_addr().unwrap().to_string();
        Script::new(|state| state.agent_types = vec![described]).serve(TcpListenerStream::new(listener));
        Self { streams: Server::start(parameters).await, node, directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.path(name), content).unwrap();
    }

    /// `agentctl invoke probe echo` with these arguments.
    fn invoke(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentctl"));
        command.args(["invoke", "--server", &self.node, "--streams", &self.streams.address, "probe", "echo"]);
        command.args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        command.env("AGENTSESSIONS_TOKEN", TOKEN).env_remove("AGENTSESSIONS_SERVER");
        command
    }
}

fn described(element: &str) -> AgentType {
    let record = |fields: &str| format!(r#"{{"root":{{"kind":"record","value":{{"fields":[{fields}]}}}}}}"#);
    let stream = format!(r#"{{"kind":"stream","value":{{"inner":{element}}}}}"#);
    let echo = AgentMethod {
        name: "echo".into(),
        parameters_schema: record(&format!(r#"{{"body":{stream},"name":"items"}}"#)),
        result_schema: format!(r#"{{"root":{stream}}}"#),
        ..AgentMethod::default()
    };
    AgentType { name: "probe".into(), constructor_schema: record(""), methods: vec![echo], ..AgentType::default() }
}

/// What a command printed, complained of, and its exit code.
async fn run(mut command: Command) -> (String, String, Option<i32>) {
    output(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).await
}

/// The same of a command that runs already.
async fn output(child: Child) -> (String, String, Option<i32>) {
    let output = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let Output { status, stdout, stderr } = tokio::time::timeout(BOUND, output).await.unwrap().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(stdout), text(stderr), status.code())
}

async fn wait(mut child: Child) -> Option<i32> {
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap());
    tokio::time::timeout(BOUND, ended).await.unwrap().unwrap().code()
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let looking = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(BOUND, looking).await.unwrap_or_else(|_| panic!("{what}"));
}

/// A pipe with a name, and the end to write to, which keeps it open.
fn pipe(world: &World, name: &str) -> File {
    let made = Command::new("mkfifo").arg(world.path(name)).status().unwrap();
    assert!(made.success());
    // For both directions, so that neither end waits for the other to be opened.
    File::options().read(true).write(true).open(world.path(name)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_lines_of_json() {
    let world = World::of(STRING).await;
    world.streams.journal.lock().unwrap().cuts = [2, 3].into();
    world.write("lines", b"\"one\"\n\"\"\r\n\"three\"");
    let (stdout, stderr, code) = run(world.invoke(&["items=@lines"])).await;
    assert_eq!((stdout.as_str(), code), ("\"one\"\n\"\"\n\"three\"\n", Some(0)), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_go_through_as_they_are() {
    let world = World::of(BYTE).await;
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    world.write("in", &bytes);
    let mut command = world.invoke(&["items=-"]);
    command.stdin(File::open(world.path("in")).unwrap()).stdout(File::create(world.path("out")).unwrap());
    let (_, stderr, code) = output(command.stderr(Stdio::piped()).spawn().unwrap()).await;
    assert_eq!((stderr.as_str(), code), ("", Some(0)));
    assert!(fs::read(world.path("out")).unwrap() == bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn r6_events_are_lines_of_json_without_tokens() {
    let world = World::of(STRING).await;
    world.write("lines", b"\"one\"\n");
    let (stdout, _, code) = run(world.invoke(&["items=@lines", "--output", "json"])).await;
    let lines = [
        r#"{"event":"accepted"}"#,
        r#"{"event":"result","value":"result"}"#,
        r#"{"event":"item","sequence":"0","stream":"result","value":"one"}"#,
        r#"{"event":"end","stream":"result"}"#,
        r#"{"event":"finished","outcome":"success"}"#,
    ];
    assert_eq!((stdout, code), (lines.map(|line| line.to_owned() + "\n").concat(), Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_said_with_its_reason() {
    for (arguments, reason) in [
        (&["items=@bad"][..], "items: "),
        (&["items=@nowhere"], "nowhere"),
        (&["items=1"], "items is a stream"),
        (&[], "items is a stream"),
        (&["items=-", "more=1"], "there is no parameter more; there are: items"),
        (&["items=-", "--constructor", "a=1"], "there is no parameter a"),
        (&["items=-", "--stdout-format", "raw"], "can be raw"),
        (&["items=-", "--resume", "nowhere"], "nowhere"),
    ] {
        let world = World::of(STRING).await;
        world.write("bad", b"\"one\"\n2\n");
        let (stdout, stderr, code) = run(world.invoke(arguments)).await;
        assert_eq!(code, Some(1), "{arguments:?}: {stdout}{stderr}");
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
    }
    let world = World::of(STRING).await;
    let usage = run(world.invoke(&["items=-", "--save", "a", "--resume", "b"])).await;
    assert_eq!(usage.2, Some(2), "F1: {}", usage.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_opened_are_told_before_anything_is_invoked() {
    let world = World::of(STRING).await;
    world.write("lines", b"\"one\"\n");
    for (arguments, reason) in [
        (&["items=@nowhere"][..], "items: nowhere: No such file"),
        (&["items=@."], "items: .: "),
        (&["items=@lines", "--to", "result=nowhere/out"], "nowhere/out: No such file"),
    ] {
        let (stdout, stderr, code) = run(world.invoke(arguments)).await;
        assert!(code == Some(1) && stderr.contains(reason), "{arguments:?}: {stdout}{stderr}");
    }
    assert_eq!(world.streams.journal.lock().unwrap().connections, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_for_a_stream_that_there_is_not_is_told() {
    let world = World::of(STRING).await;
    world.write("lines", b"\"one\"\n");
    let (stdout, stderr, code) = run(world.invoke(&["items=@lines", "--to", "resul=out"])).await;
    assert_eq!((stdout.as_str(), code), ("\"one\"\n", Some(1)), "{stderr}");
    assert!(stderr.contains("--to: there was no stream resul"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_needed_and_never_shown() {
    let world = World::of(BYTE).await;
    let mut none = world.invoke(&["items=-"]);
    none.env_remove("AGENTSESSIONS_TOKEN");
    let (_, stderr, code) = run(none).await;
    assert!(code == Some(1) && stderr.contains("--token-file"), "{stderr}");

    world.write("wrong", b"not-the-secret\n");
    let (_, stderr, code) = run(world.invoke(&["items=-", "--token-file", "wrong"])).await;
    assert!(code == Some(1) && stderr.contains("authentication-failed"), "{stderr}");
    assert!(!stderr.contains("not-the-secret"), "{stderr}");

    world.write("right", TOKEN.as_bytes());
    let mut right = world.invoke(&["items=-", "--token-file", "right"]);
    right.env_remove("AGENTSESSIONS_TOKEN");
    assert_eq!(run(right).await, (String::new(), String::new(), Some(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_an_interrupt_cancels_every_stream() {
    let world = World::of(BYTE).await;
    let mut source = pipe(&world, "source");
    source.write_all(b"some").unwrap();
    let child = world.invoke(&["items=@source"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the agent has it", || world.streams.journal.lock().unwrap().high_water() == 4).await;
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(wait(child).await, Some(130));
    let journal = world.streams.journal.lock().unwrap();
    assert_eq!(
        (journal.cancelled, journal.output_cancelled),
        (Some(ClientReason::Cancelled), Some(ClientReason::Cancelled))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r4_an_output_that_nobody_reads_any_more_is_dropped() {
    let world = World::of(BYTE).await;
    let mut source = pipe(&world, "source");
    source.write_all(b"some").unwrap();
    let mut child = world.invoke(&["items=@source"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut read = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut read).unwrap();
    assert_eq!(&read, b"some");
    drop(child.stdout.take());
    source.write_all(b"more").unwrap();
    until("it is dropped", || world.streams.journal.lock().unwrap().output_cancelled.is_some()).await;
    assert_eq!(world.streams.journal.lock().unwrap().output_cancelled, Some(ClientReason::ConsumerDrop));
    child.kill().unwrap();
    wait(child).await;
}
