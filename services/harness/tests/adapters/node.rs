//! The stand-alone process.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use clap::Parser;
use controller::ports::HarnessPlacement;
use harness::node::{Args, Node};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::actors::{Gates, play, start, turn};
use super::network;

async fn node(flags: &[&str]) -> Node {
    let args = ["harnessnode", "--readyz", "127.0.0.1:0"].iter().chain(flags);
    Node::bind(Args::parse_from(args)).await.expect("a node")
}

async fn get(address: std::net::SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.expect("the probe");
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await.expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

#[tokio::test]
async fn serves_its_harness_with_health_and_readiness_until_it_is_stopped() {
    let node = node(&["--addr", "127.0.0.1:0", "--kind", "chat", "--model", "gpt"]).await;
    let address = node.address().expect("TCP").to_string();
    let readyz = node.readyz().expect("an address");
    let (stop, stopped) = (CancellationToken::new(), CancellationToken::new());
    let (stopping, done) = (stop.clone().cancelled_owned(), stopped.clone());
    network::background(async move {
        node.serve(stopping).await.expect("a good end");
        done.cancel();
    });

    let mut channel = network::remote(&address).acquire().await.expect("a channel");
    assert_eq!(channel.describe().await.expect("a descriptor").models, ["gpt"]);
    drop(channel);
    let answer = get(readyz).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nok"), "{answer}");
    let connection = Endpoint::from_shared(format!("http://{address}")).expect("a uri").connect().await;
    let mut health = HealthClient::new(connection.expect("a connection"));
    let request = HealthCheckRequest { service: "agentsessions.v1.Harness".into() };
    let status = health.check(request).await.expect("a status").into_inner().status();
    assert_eq!(status, ServingStatus::Serving);
    drop(health);

    stop.cancel();
    timeout(Duration::from_secs(5), stopped.cancelled()).await.expect("it stops at once when nothing runs");
}

#[tokio::test]
async fn serves_on_a_unix_socket_that_goes_away_with_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("h.sock");
    let address = format!("unix://{}", path.display());
    let node = node(&["--addr", &address]).await;
    let stop = CancellationToken::new();
    let serving = node.serve(stop.clone().cancelled_owned());
    let using = async {
        assert_eq!(play(start(&network::remote(&address), turn()).await, Gates::Park).await.len(), 2);
        stop.cancel();
    };
    tokio::join!(async { serving.await.expect("a good end") }, using);
    assert!(!path.exists());
}

fn run(environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_harnessnode"))
        .env_clear()
        .envs(environment.iter().copied())
        .output()
        .expect("the process")
}

#[test]
fn bad_configuration_is_one_line_on_standard_error() {
    let output = run(&[("HARNESS_KIND", "chat"), ("HARNESS_ADDR", "127.0.0.1:0")]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(text, "harnessnode: kind chat needs a model: set HARNESS_MODEL\n");
}

#[test]
fn process_ends_well_on_sigterm() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("h.sock");
    let mut child = Command::new(env!("CARGO_BIN_EXE_harnessnode"))
        .env_clear()
        .env("HARNESS_ADDR", format!("unix://{}", path.display()))
        .env("HARNESS_READYZ", "127.0.0.1:0")
        .stderr(Stdio::piped())
        .spawn()
        .expect("the process");
    let mut log = String::new();
    let mut stderr = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    std::io::BufRead::read_line(&mut stderr, &mut log).expect("a line");
    assert!(log.contains("serving"), "{log}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a running process");
    assert!(child.wait().expect("an end").success());
    assert!(!path.exists());
}
