//! The records of a session, read across broken connections.

use futures::Stream;
use tonic::Streaming;
use wire::{LogRecord, ReplayRequest};

use crate::client::sessions;
use crate::nodes::Node;
use crate::retry::{Attempts, Repeat};
use crate::{Client, Error};

/// Which records of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeqRange {
    /// The first; 0 and below mean 1.
    pub from: i64,
    /// The last; 0 means the head at the time of reading.
    pub to: i64,
}

impl SeqRange {
    /// From the first record to the head.
    pub const ALL: Self = Self { from: 1, to: 0 };
}

/// A replay. When its node is lost it goes on at its cursor, at the next one, under the client's [`crate::Retry`]; each
/// record that arrives is progress.
pub struct Replay {
    client: Client,
    session: String,
    cursor: i64,
    to: i64,
    open: Option<OpenStream>,
    attempts: Attempts,
    ended: bool,
}

struct OpenStream {
    records: Streaming<LogRecord>,
    node: Node,
    request_id: String,
}

impl Replay {
    pub(crate) fn new(client: Client, session: &str, range: SeqRange) -> Self {
        Self {
            client,
            session: session.to_owned(),
            cursor: range.from.max(1),
            to: range.to,
            open: None,
            attempts: Attempts::new(Repeat::Always),
            ended: false,
        }
    }

    /// The seq of the record that [`Self::next`] asks for: everything before it has been handed out.
    #[must_use]
    pub fn cursor(&self) -> i64 {
        self.cursor
    }

    /// The next record; `None` after the last.
    ///
    /// # Errors
    /// [`Error`], when it is not a broken connection, or the connection could not be had again. Calling again goes on
    /// at the cursor.
    pub async fn next(&mut self) -> Result<Option<LogRecord>, Error> {
        while !self.is_complete() {
            match self.read().await {
                Ok(Some(record)) => {
                    self.attempts.progressed();
                    self.cursor = record.seq.saturating_add(1).max(self.cursor);
                    return Ok(Some(record));
                }
                Ok(None) => self.ended = true,
                Err(error) => {
                    self.open = None;
                    let caller = self.client.caller();
                    self.attempts.after(error, &caller.options().retry, caller.env()).await?;
                }
            }
        }
        Ok(None)
    }

    /// The same as a stream. It ends after an error.
    pub fn into_stream(self) -> impl Stream<Item = Result<LogRecord, Error>> + Send + 'static {
        futures::stream::try_unfold(self, |mut replay| async move {
            Ok(replay.next().await?.map(|record| (record, replay)))
        })
    }

    /// Whether the host has nothing more to say: also when the last record came just before the connection broke.
    fn is_complete(&self) -> bool {
        self.ended || (self.open.is_none() && self.to != 0 && self.cursor > self.to)
    }

    async fn read(&mut self) -> Result<Option<LogRecord>, Error> {
        let open = match &mut self.open {
            Some(open) => open,
            closed => closed.insert(OpenStream::open(&self.client, &self.session, self.cursor, self.to).await?),
        };
        let nodes = self.client.caller().nodes();
        open.records.message().await.map_err(|status| nodes.failed(&open.node, &status, &open.request_id))
    }
}

impl OpenStream {
    async fn open(client: &Client, session: &str, from_seq: i64, to_seq: i64) -> Result<Self, Error> {
        let caller = client.caller();
        let node = caller.nodes().chosen();
        let (request, request_id) = caller.request(ReplayRequest { session: session.to_owned(), from_seq, to_seq });
        match sessions(node.channel()).replay(request).await {
            Ok(records) => Ok(Self { records: records.into_inner(), node, request_id }),
            Err(status) => Err(caller.nodes().failed(&node, &status, &request_id)),
        }
    }
}
