//! Whoever watches a node: its metrics and probes over HTTP.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::BOUND;

/// Asks one node.
#[derive(Clone, Debug)]
pub struct Watcher {
    address: String,
}

/// The metrics of a moment.
#[derive(Clone, Debug)]
pub struct Scrape(pub String);

impl Watcher {
    /// A watcher of the node whose metrics are at `host:port`.
    #[must_use]
    pub fn new(address: &str) -> Self {
        Self { address: address.to_owned() }
    }

    /// Status and body of an answer to GET, with its head.
    pub async fn get(&self, path: &str) -> (u16, String, String) {
        let asked = async {
            let mut stream = TcpStream::connect(&self.address).await?;
            let request = format!("GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.map(|_| answer)
        };
        let answer = timeout(BOUND, asked).await.expect("the node answers in time").expect("the node answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("an answer has a status");
        (status, head.to_owned(), body.to_owned())
    }

    /// The node's metrics.
    pub async fn scrape(&self) -> Scrape {
        let (status, _, text) = self.get("/metrics").await;
        assert_eq!(status, 200, "{text}");
        Scrape(text)
    }

    /// Waits for metrics of which `holds` is true.
    pub async fn until(&self, holds: impl Fn(&Scrape) -> bool) -> Scrape {
        let deadline = Instant::now() + BOUND;
        loop {
            let scrape = self.scrape().await;
            if holds(&scrape) {
                return scrape;
            }
            assert!(Instant::now() < deadline, "not within {BOUND:?}: {}", scrape.0);
            sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

impl Scrape {
    /// The value of a sample, written as it is in the text: `name` or `name{label="value"}`.
    #[must_use]
    pub fn value(&self, sample: &str) -> Option<f64> {
        let line = self.0.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '))?;
        line.parse().ok()
    }

    /// Names of all samples, without labels.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let samples = self.0.lines().filter(|line| !line.starts_with('#'));
        samples.filter_map(|line| line.split(['{', ' ']).next())
    }
}
