//! A connection whose session is attached: drives its state machine (protocol.md sections 9 to 16).
//!
//! One task does it all. It takes what the client sends into the journal and what the runner of the invocation writes
//! there to the client, a write and a read of the journal at a time, while it listens to the socket.

mod deliver;
mod times;
mod writes;

use std::future::pending;
use std::sync::Arc;

use cluster::Follower;
use controller::Notes;
use futures::FutureExt;
use futures::future::BoxFuture;
use journal::JournalError;
use journal::invocations::{
    Frame, Invocation, Lease, LeaseError, Outcome, Role, Standing, StreamId, StreamState, Terminal,
};
use stream_session::ErrorCode;
use stream_session::graph::Graph;
use stream_session::message::{INVOCATION_FAILED, InvocationOutcome, ServerReason};
use stream_session::server::{Action, Connection, Cut, Event};

use super::Endpoint;
use super::inbox::{Change, Done, Inbox, Queues, Request};
use super::metrics::METRICS;
use super::outputs::{Due, Outputs};
use super::socket::{Heard, Socket};
use super::tokens::SessionTokens;
use times::{Askable, Overdue, Times};
use writes::Purpose;

/// Bytes that wait to be sent, above which no output is read from the journal.
const OUTPUT_AHEAD: usize = 256 << 10;
/// Bytes that wait to be sent, above which nothing is read from the client: it does not read its acknowledgements.
const ANSWERS_AHEAD: usize = 1 << 20;
/// Bytes of output that are read from the journal at once.
const OUTPUT_READ: usize = 256 << 10;
/// Bytes of output that may be sent before it is noted that they were.
const UNNOTED_BYTES: usize = 1 << 20;

/// What a connection is attached to.
pub(super) struct Attached {
    pub(super) lease: Lease,
    pub(super) tokens: SessionTokens,
    /// The graph that the types of inputs are defined in, if there are any.
    pub(super) parameters: Option<Arc<Graph>>,
    pub(super) outputs: Outputs,
    /// How far its inputs were when it was attached.
    pub(super) queues: Queues,
}

/// An attached connection.
pub(super) struct Session {
    endpoint: Arc<Endpoint>,
    socket: Socket,
    connection: Connection,
    attached: Attached,
    news: Follower,
    inbox: Inbox,
    /// The write of the journal that is under way.
    writing: Option<BoxFuture<'static, Written>>,
    /// The read of the journal that is under way.
    reading: Option<BoxFuture<'static, Read>>,
    times: Times,
    /// What the client was not yet told of the invocation.
    result: Telling<()>,
    outcome: Telling<InvocationOutcome>,
    /// What the client was sent of outputs, and that is not noted yet.
    unnoted: Notes<u64>,
    /// Nothing is read from the client any more, nor done for it.
    detaching: bool,
    is_gone: bool,
    close: Option<u16>,
}

/// Something that the client is told once.
#[derive(Debug, PartialEq)]
enum Telling<T> {
    Unknown,
    Known(T),
    Told,
}

/// What a write of the journal has come to.
enum Written {
    Requests(Done),
    Noted(Result<(), LeaseError>),
    Detached,
}

/// Something, and the streams in it.
type WithStreams<T> = (T, Vec<StreamState>);

/// What a read of the journal has come to.
enum Read {
    Standing(Result<Option<Standing>, JournalError>),
    /// Frames of a stream, and the streams that they introduce.
    Frames(StreamId, Result<WithStreams<Vec<Frame>>, JournalError>),
    /// The invocation, and its streams.
    Returned(Result<Option<Box<WithStreams<Invocation>>>, JournalError>),
}

/// What happens to a session.
enum Happened {
    Heard(Heard),
    Written(Written),
    Read(Read),
    News,
    Due,
    Draining,
}

impl Session {
    pub(super) fn new(endpoint: Arc<Endpoint>, socket: Socket, connection: Connection, mut attached: Attached) -> Self {
        // Followed before it is read, so that nothing falls in between.
        let news = endpoint.host.follow(attached.lease.session());
        let times = Times::new(&endpoint.options);
        let inbox = Inbox::new(std::mem::take(&mut attached.queues));
        Self {
            endpoint,
            socket,
            connection,
            attached,
            news,
            inbox,
            writing: None,
            reading: None,
            times,
            result: Telling::Unknown,
            outcome: Telling::Unknown,
            unnoted: Notes::every(UNNOTED_BYTES),
            detaching: false,
            is_gone: false,
            close: None,
        }
    }

    /// Serves the connection to its end, beginning with what is to be done because it was accepted. Returns the socket and
    /// the code that it is to be closed with, unless the client is gone.
    pub(super) async fn run(mut self, accepted: Vec<Action<'static>>) -> Option<(Socket, u16)> {
        METRICS.attached.inc();
        self.perform(accepted);
        while self.close.is_none() {
            self.begin();
            let happened = self.happens().await;
            self.handle(happened);
        }
        METRICS.attached.dec();
        if let Some(code) = self.connection.refused() {
            METRICS.refused(code);
        }
        self.close.filter(|_| !self.is_gone).map(|code| (self.socket, code))
    }

    /// Begins what the journal is to be asked next.
    fn begin(&mut self) {
        if self.writing.is_none() {
            self.writing = self.next_write();
        }
        if self.reading.is_none() && !self.detaching {
            self.reading = self.next_read();
        }
    }

    async fn happens(&mut self) -> Happened {
        let reads = self.hears_client();
        let askable = self.askable();
        let due = self.times.next(&self.socket, (reads, self.inbox.held_since()), askable);
        tokio::select! {
            heard = self.socket.turn(reads), if !self.is_gone => Happened::Heard(heard),
            written = ready(&mut self.writing) => Happened::Written(written),
            read = ready(&mut self.reading) => Happened::Read(read),
            _ = self.news.next(), if !self.detaching => Happened::News,
            () = self.endpoint.draining.cancelled(), if !self.detaching => Happened::Draining,
            () = tokio::time::sleep_until(due) => Happened::Due,
        }
    }

    fn askable(&self) -> Askable {
        let note = self.unnoted.due().filter(|_| self.writing.is_none());
        Askable { look: self.reading.is_none(), note }
    }

    /// Whether there is room for what the client may send (L1).
    fn hears_client(&self) -> bool {
        !self.inbox.is_full() && self.socket.waiting() < ANSWERS_AHEAD
    }

    fn handle(&mut self, happened: Happened) {
        match happened {
            Happened::Heard(heard) => self.heard(heard),
            Happened::Written(written) => self.written(written),
            Happened::Read(read) => self.has_read(read),
            Happened::News => self.times.hear_news(),
            Happened::Draining => self.on(Event::Draining),
            Happened::Due => self.overdue(),
        }
    }

    fn heard(&mut self, heard: Heard) {
        match heard {
            Heard::Text(_) | Heard::Binary(_) if self.detaching => {}
            Heard::Text(text) => {
                METRICS.received(text.len());
                let actions = self.connection.text(&text);
                self.perform(actions);
            }
            Heard::Binary(message) => {
                METRICS.received(message.len());
                let actions = self.connection.binary(&message);
                self.perform(actions);
            }
            Heard::Sign | Heard::Sent => {}
            Heard::TooLarge => self.stop_hearing(Cut::TooLarge),
            Heard::Broken => self.stop_hearing(Cut::Protocol),
            Heard::Gone => {
                self.is_gone = true;
                self.on(Event::Lost);
            }
        }
    }

    fn stop_hearing(&mut self, cut: Cut) {
        METRICS.cut(cut);
        self.on(Event::Cut(cut));
    }

    fn overdue(&mut self) {
        match self.times.overdue(self.askable()) {
            Some(Overdue::Ping) => self.socket.ping(),
            // A client that does not answer is not there: nothing that is sent now would reach it (H6).
            Some(Overdue::Silent) => {
                METRICS.silent.inc();
                self.is_gone = true;
                self.on(Event::Lost);
            }
            Some(Overdue::Stuck) => self.stop_hearing(Cut::Failed),
            Some(Overdue::Unread) => {
                METRICS.unread.inc();
                self.stop_hearing(Cut::Failed);
            }
            Some(Overdue::Detach) => self.detach_later(),
            // Reads and notes are begun before the next wait.
            Some(Overdue::Look | Overdue::Note) | None => {}
        }
    }

    fn on(&mut self, event: Event) {
        let actions = self.connection.on(event);
        self.perform(actions);
    }

    fn perform(&mut self, actions: Vec<Action<'_>>) {
        for action in actions {
            match action {
                Action::Send(text) => {
                    METRICS.sent(text.len());
                    self.socket.text(text);
                }
                Action::SendBinary(head, payload) => {
                    let message = [&head[..], &payload].concat();
                    METRICS.sent(message.len());
                    self.socket.binary(message);
                }
                Action::Store { stream, sequence, item } => self.take(stream, sequence, item, Purpose::Store),
                Action::Compare { stream, sequence, item } => self.take(stream, sequence, item, Purpose::Compare),
                Action::End { stream, sequence } => {
                    self.inbox.push(Request::Change(Change::end(StreamId::new(stream), sequence)));
                }
                Action::CancelInput { stream, reason } => {
                    self.inbox.push(Request::Change(Change::cancel(StreamId::new(stream), reason)));
                }
                Action::CancelOutput { stream, reason } => {
                    self.attached.outputs.cancel(StreamId::new(stream));
                    self.inbox.push(Request::CancelOutput(StreamId::new(stream), reason));
                }
                Action::Detach => {
                    // What has not been begun is not acknowledged, and so need not be done.
                    self.inbox.clear();
                    self.detaching = true;
                    self.times.detaching();
                }
                Action::Close(code) => self.close = Some(code),
                // Only a first message asks for these.
                Action::Start(_) | Action::Attach(_) => {}
            }
        }
    }

    fn next_read(&mut self) -> Option<BoxFuture<'static, Read>> {
        if self.result == Telling::Known(()) {
            return Some(self.read_returned());
        }
        while self.socket.waiting() < OUTPUT_AHEAD {
            match self.attached.outputs.next() {
                Some(Due::Items(stream, from)) => return Some(self.read_frames(stream, from)),
                Some(Due::End(stream, items, terminal)) => self.ended(stream, items, terminal),
                None => break,
            }
        }
        self.finish_if_told();
        (!self.detaching && self.times.take_look()).then(|| self.read_standing())
    }

    fn read_standing(&self) -> BoxFuture<'static, Read> {
        let (journal, lease) = (self.endpoint.host.journal().clone(), self.attached.lease.clone());
        async move { Read::Standing(journal.standing(lease.session(), lease.invocation()).await) }.boxed()
    }

    fn has_read(&mut self, read: Read) {
        match read {
            _ if self.detaching => {}
            Read::Standing(Ok(Some(standing))) => self.stands(standing),
            Read::Standing(Ok(None)) | Read::Returned(Ok(None)) => self.deleted(),
            Read::Frames(stream, Ok((frames, introduced))) => self.deliver(stream, frames, &introduced),
            Read::Returned(Ok(Some(read))) => self.returned(*read),
            Read::Standing(Err(error)) | Read::Frames(_, Err(error)) | Read::Returned(Err(error)) => {
                self.failed(&error)
            }
        }
    }

    /// Takes note of what the other side did.
    fn stands(&mut self, standing: Standing) {
        let us = (self.endpoint.host.journal().incarnation(), self.attached.lease.holder());
        match standing.attachment.holder {
            Some(holder) if holder == us => {}
            Some(_) => return self.on(Event::Replaced),
            // Whoever thought this node dead has detached the session.
            None => return self.on(Event::Cut(Cut::Failed)),
        }
        for progress in standing.streams {
            match (progress.role, progress.terminal.as_ref()) {
                (Role::Output, _) => self.attached.outputs.advance(&progress),
                (Role::Input, Some(Terminal::CancelledByServer(reason))) => {
                    self.inbox.drop_held(progress.id);
                    let reason = ServerReason::parse(reason).unwrap_or(ServerReason::ConsumerDrop);
                    self.on(Event::InputDropped { stream: progress.id.as_uuid(), reason });
                }
                (Role::Input, _) => self.inbox.hand(progress.id, progress.handed),
            }
        }
        if standing.returned && self.result == Telling::Unknown {
            self.result = Telling::Known(());
        }
        if let (Some(outcome), Telling::Unknown) = (standing.outcome, &self.outcome) {
            self.outcome = Telling::Known(told(outcome));
        }
    }

    /// Tells how the invocation ended, once everything before that is told.
    fn finish_if_told(&mut self) {
        if self.result == Telling::Known(()) || !self.attached.outputs.all_ended() {
            return;
        }
        if let Telling::Known(outcome) = &self.outcome {
            let finished = Event::Finished(outcome.clone());
            self.outcome = Telling::Told;
            self.on(finished);
        }
    }

    /// Nothing is left of the session (Q7).
    fn deleted(&mut self) {
        for (stream, items) in self.attached.outputs.end_all() {
            self.ended(stream, items, Terminal::CancelledByServer(ServerReason::ProducerDeleted.as_str().to_owned()));
        }
        let (code, message) = (ErrorCode::InvocationFailed, INVOCATION_FAILED.to_owned());
        self.on(Event::Deleted(InvocationOutcome::Failure { code, message }));
    }

    fn failed(&mut self, error: &dyn std::error::Error) {
        tracing::warn!(error = %error, session = %self.attached.lease.session(), "a connection cannot be served");
        self.on(Event::Cut(Cut::Failed));
    }
}

/// The result of a future, if there is one; it is done with then. Cancel safe.
async fn ready<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    let done = match future.as_mut() {
        Some(running) => running.await,
        None => pending().await,
    };
    *future = None;
    done
}

fn told(outcome: Outcome) -> InvocationOutcome {
    match outcome {
        Outcome::Success => InvocationOutcome::Success,
        Outcome::Failure { code, message } => {
            InvocationOutcome::Failure { code: ErrorCode::parse(&code).unwrap_or(ErrorCode::InternalError), message }
        }
    }
}
