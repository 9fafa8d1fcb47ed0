//! Watch: follows a session, whichever node runs it. An additive call of this host.

use std::time::Duration;

use cluster::{Follower, News};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use journal::{JournalError, Seq, SeqRange, SessionUid};
use tokio::time::timeout;
use wire::exec_update::Update;
use wire::{Delta, ExecUpdate, LogRecord, WatchRequest};

use super::{Host, HostError};

/// How often the journal is asked while nothing is heard: news may be lost.
const POLL: Duration = Duration::from_secs(1);

/// A watch in progress.
struct Watch {
    host: Host,
    session: SessionUid,
    /// The first record that has not been sent.
    next: Seq,
    /// Records on their way.
    records: Option<BoxStream<'static, Result<LogRecord, JournalError>>>,
    news: Follower,
}

impl Host {
    /// Streams the session as it is, its records after `after_seq`, and then each record once it is durable, with the
    /// text deltas of its turns in between. Every record comes once and in order; deltas may be lost. Ends only with an
    /// error, [`HostError::UnknownSession`] if the session is deleted.
    #[must_use]
    pub fn watch(&self, request: WatchRequest) -> BoxStream<'static, Result<ExecUpdate, HostError>> {
        let host = self.clone();
        let begun = async move {
            // Followed before it is read, so that nothing falls in between.
            let known = host.session(&request.session).await?;
            let news = host.parts.coordinator.follow(known.uid());
            let opening = Update::Session(host.state(known.uid()).await?.to_wire());
            let next = Seq::from_wire(request.after_seq).unwrap_or_default().next();
            let mut watch = Watch { host, session: known.uid().clone(), next, records: None, news };
            watch.read_on();
            let going_on =
                stream::try_unfold(watch, |mut watch| async move { Ok(Some((watch.update().await?, watch))) });
            Ok::<_, HostError>(stream::iter([Ok(opening)]).chain(going_on))
        };
        stream::once(begun).try_flatten().map_ok(|update| ExecUpdate { update: Some(update) }).boxed()
    }
}

impl Watch {
    /// The next thing to send.
    async fn update(&mut self) -> Result<Update, HostError> {
        loop {
            if let Some(records) = &mut self.records {
                if let Some(record) = records.try_next().await? {
                    self.next = Seq::from_wire(record.seq).unwrap_or_default().next();
                    return Ok(Update::Record(record));
                }
                self.records = None;
            }
            if let Some(delta) = self.listen().await? {
                return Ok(Update::Delta(delta));
            }
        }
    }

    /// Waits until there are records to read, or a delta to pass on.
    async fn listen(&mut self) -> Result<Option<Delta>, HostError> {
        match timeout(POLL, self.news.next()).await {
            Ok(Some(News::Delta { execution, text, last })) => {
                let execution_id = execution.as_str().to_owned();
                return Ok(Some(Delta { execution_id, part_index: 0, chunk: text, done: last }));
            }
            Ok(Some(News::Appended { last_seq })) => {
                if last_seq >= self.next {
                    self.read_on();
                }
            }
            Ok(Some(News::Streamed)) => {}
            Ok(None) | Err(_) => {
                if self.host.state(&self.session).await?.last_seq() >= self.next {
                    self.read_on();
                }
            }
        }
        Ok(None)
    }

    fn read_on(&mut self) {
        self.records = Some(self.host.journal().records(&self.session, SeqRange::from(self.next)));
    }
}
