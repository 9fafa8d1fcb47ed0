//! Bytes that become durable: written to the journal at once, and sent by a client to an agent that counts them.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use bytes::Bytes;
use env::Env;
use journal::invocations::{
    Accepted, Attempt, FrameItem, Holder, InputChange, InputOutcome, InputWrite, InvocationStart, NewInput,
    NewInvocation, StreamId,
};
use tokio::time::Instant;
use uuid::Uuid;

use super::socket::{Heard, Socket};
use crate::local::{LocalJournal, new_session};

/// What a client lets be on its way.
const UNACKNOWLEDGED: u64 = 8 << 20;

/// Bytes per second.
pub struct Report {
    pub batch: usize,
    pub bare: f64,
    pub end_to_end: f64,
}

/// Writes batch after batch to an input in a journal in this process, each durable before the next.
pub async fn bare(directory: &Path, batch: usize, bound: Duration) -> anyhow::Result<f64> {
    let directory = tempfile::tempdir_in(directory)?;
    let local = LocalJournal::open(&directory.path().join("bare.db")).await?;
    let provisional = Uuid::from_u128(1);
    let Accepted::New(invocation, lease) = local.journal.accept_invocation(invocation(provisional)).await? else {
        bail!("the journal is not empty");
    };
    let stream = StreamId::input(invocation.id, provisional);
    let bytes = Bytes::from(vec![b'x'; batch]);
    let (begun, mut first) = (Instant::now(), 0);
    while begun.elapsed() < bound {
        let (item, charge) = (FrameItem::Octets(bytes.clone()), 2 * batch as u64);
        let put = InputChange::Put { first, item, charge, streams: Vec::new() };
        let outcomes = local.journal.put_inputs(&lease, vec![InputWrite { stream, change: put }]).await?;
        let [InputOutcome::Stored { .. }] = outcomes.as_slice() else { bail!("a batch is not stored: {outcomes:?}") };
        first += batch as u64;
    }
    let rate = first as f64 / begun.elapsed().as_secs_f64();
    local.close().await;
    Ok(rate)
}

fn invocation(provisional: Uuid) -> NewInvocation {
    let account = "loadtest".to_owned();
    let start = InvocationStart { account: account.clone(), idempotency_key: "k".into(), ..InvocationStart::default() };
    let element = r#"{"kind":"u8","value":{}}"#.to_owned();
    NewInvocation {
        session: new_session(),
        instance: [1; 32],
        agent_id: "loadtest".into(),
        start,
        attempt: Attempt { account, id: Uuid::from_u128(2), digest: [2; 32] },
        holder: Holder::mint(&Env::system()),
        streams: vec![NewInput { provisional, element, fingerprint: [3; 32] }],
    }
}

/// Sends batch after batch to an agent on a node, and counts what is acknowledged.
pub async fn end_to_end(address: &str, batch: usize, bound: Duration) -> anyhow::Result<f64> {
    let mut socket = Socket::start(address, "lines", "count").await?;
    let bytes = Bytes::from(vec![b'x'; batch]);
    let (begun, mut sent, mut durable) = (Instant::now(), 0, 0);
    while begun.elapsed() < bound || durable < sent {
        if begun.elapsed() < bound && sent - durable < UNACKNOWLEDGED {
            socket.send(sent, &bytes).await?;
            sent += batch as u64;
        } else if let Heard::Acknowledged(count) = socket.hear().await? {
            durable = count;
        }
    }
    Ok(durable as f64 / begun.elapsed().as_secs_f64())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch, bare, end_to_end } = self;
        writeln!(f, "| durable bytes, batches of {} KiB | MB/s | x bare |\n|---|--:|--:|", batch >> 10)?;
        writeln!(f, "| the journal alone | {:.1} | 1.00 |", bare / 1e6)?;
        write!(f, "| from a client to its agent | {:.1} | {:.2} |", end_to_end / 1e6, end_to_end / bare)
    }
}
