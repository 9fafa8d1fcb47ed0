//! Text that a model streams.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::ctl::{Ctl, echo_turn, ended};

/// Longest wait for anything.
const BOUND: Duration = Duration::from_secs(30);

/// Takes one request and answers with the head of a stream.
fn begin_answer(listener: TcpListener) -> TcpStream {
    let (accepted, connections) = sync_channel(1);
    thread::spawn(move || accepted.send(listener.accept().unwrap().0));
    let mut connection = connections.recv_timeout(BOUND).expect("agentctl calls the model");
    connection.set_read_timeout(Some(BOUND)).unwrap();
    let mut request = BufReader::new(connection.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        request.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    request.take(length).read_to_end(&mut Vec::new()).unwrap();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    connection.write_all(head.as_bytes()).unwrap();
    connection
}

fn chunk(text: &str) -> String {
    let delta = serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    format!("data: {delta}\n\n")
}

#[test]
fn streamed_text_appears_as_it_arrives_and_records_start_on_their_own_line() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let ctl = Ctl::new();
    let args = ["exec", "--harness", "chat", "--input", "hi", "--model", "m", "--model-base-url", &url];
    let mut child = ctl.command(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());

    let mut model = begin_answer(listener);
    model.write_all(chunk("one, ").as_bytes()).unwrap();
    let mut shown = String::new();
    while !shown.ends_with("EVENT_MODEL_CALL\n") {
        assert_ne!(stdout.read_line(&mut shown).unwrap(), 0, "{shown}");
    }
    let mut text = [0; 5];
    stdout.read_exact(&mut text).unwrap();
    assert_eq!(&text, b"one, ", "the model has not finished");

    model.write_all((chunk("two") + "data: [DONE]\n\n").as_bytes()).unwrap();
    drop(model);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "two\nseq=4   EVENT_OUTPUT  assistant: one, two\nseq=5   EVENT_END\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_watch_shows_what_is_there_and_what_comes_until_it_is_interrupted() {
    let ctl = Ctl::new();
    let session = ctl.new_session("one");
    let mut child =
        ctl.command(&["watch", "--session", &session, "--from", "3"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut shown = |lines: &str| {
        let mut read = vec![0; lines.len()];
        stdout.read_exact(&mut read).unwrap();
        assert_eq!(String::from_utf8(read).unwrap(), lines);
    };
    let first = echo_turn(1, "one");
    shown(&first[first.find("seq=3").unwrap()..]);
    ctl.ok(&["exec", "--session", &session, "--input", "two"]);
    shown(&echo_turn(6, "two"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_watch_ends_quietly_when_its_reader_goes_away_though_nothing_happens() {
    let ctl = Ctl::new();
    let session = ctl.new_session("one");
    let mut watch = ctl.command(&["watch", "--session", &session]);
    let mut child = watch.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut shown = vec![0; echo_turn(1, "one").len()];
    child.stdout.take().unwrap().read_exact(&mut shown).unwrap();
    let (watcher, (done, endings)) = (Pid::from_child(&child), sync_channel(1));
    thread::spawn(move || done.send(child.wait_with_output().unwrap()));
    let output = endings.recv_timeout(BOUND).unwrap_or_else(|_| {
        kill_process(watcher, Signal::KILL).unwrap();
        panic!("nobody reads, and it goes on");
    });
    let ended = ended(&output);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
}

#[test]
fn an_interrupted_turn_is_recorded_as_such_before_the_command_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let ctl = Ctl::new();
    let session = ctl.ok(&["create", "--harness", "chat", "--model", "m"]);
    let args = ["exec", "--session", session.trim(), "--input", "hi", "--model", "m", "--model-base-url", &url];
    let child = ctl.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();

    let _unfinished = begin_answer(listener);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = ended(&child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (130, "agentctl: interrupted\n"));
    let log = ctl.ok(&["replay", "--session", session.trim()]);
    assert!(log.contains("seq=3   EVENT_MODEL_CALL\nseq=4   EVENT_ERROR  turn was interrupted"), "{log}");
}
