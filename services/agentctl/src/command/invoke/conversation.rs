//! A session, from the side of the command line: what its streams are fed with, and what becomes of what it says.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::pending;
use std::time::Duration;

use anyhow::{anyhow, bail};
use client::stream::{
    ClientReason, Error, InvocationOutcome, Item, Output as Stream, OutputOutcome, Returned, ServerReason, Session,
    StreamRef, Update, plain,
};
use futures::StreamExt;
use futures::future::LocalBoxFuture;
use futures::stream::FuturesUnordered;
use stream_session::server::Element;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::arguments::Source;
use super::sink::{FileSink, Targets};
use super::{StreamForm, feed, form};
use crate::ending::Interrupted;
use crate::output::{Output, OutputError};
use crate::progress::Progress;

/// Name of an output that is the whole result.
const RESULT: &str = "result";
/// How long the invocation may be silent, once it is accepted, before the user is told what it may wait for: the protocol does
/// not tell.
const SILENCE: Duration = Duration::from_secs(5);
/// How long an interrupted command waits for the end of its streams.
const FAREWELL: Duration = Duration::from_secs(3);

/// What a session is told and tells. Everything happens in one task.
pub struct Conversation {
    output: RefCell<Output>,
    targets: Targets,
    stdout_form: Option<StreamForm>,
    stdin_form: Option<StreamForm>,
    resumed: bool,
    progress: Progress,
    /// What values call the streams that they name, by token.
    names: RefCell<HashMap<String, String>>,
    named: Notify,
    /// Nobody reads standard output any more.
    closed: Cell<bool>,
    /// Streams that came to a bad end.
    failures: RefCell<Vec<String>>,
    /// The last connection was lost.
    lost: Cell<bool>,
    heard: Cell<Heard>,
}

/// What was heard of the invocation.
#[derive(Clone, Copy)]
enum Heard {
    /// Not even that it was accepted.
    Nothing,
    /// That it was accepted: at this time the user is told that there is nothing else.
    Accepted(Instant),
    /// Something, or there is no more to tell the user about its silence.
    Enough,
}

type Streaming<'c> = FuturesUnordered<LocalBoxFuture<'c, anyhow::Result<()>>>;

impl Conversation {
    pub fn new(
        output: Output,
        targets: Targets,
        stdout_form: Option<StreamForm>,
        stdin_form: Option<StreamForm>,
        resumed: bool,
    ) -> Self {
        let progress = Progress::new("items", None, output.is_interactive());
        Self {
            output: RefCell::new(output),
            targets,
            stdout_form,
            stdin_form,
            resumed,
            progress,
            names: RefCell::default(),
            named: Notify::new(),
            closed: Cell::new(false),
            failures: RefCell::default(),
            lost: Cell::new(false),
            heard: Cell::new(Heard::Nothing),
        }
    }

    /// To the end of the session.
    pub async fn hold(self, mut session: Session, sources: Vec<Source>) -> anyhow::Result<()> {
        let interrupted = self.converse(&mut session, sources).await?;
        if interrupted {
            // Whatever still comes is of no interest.
            let _ = tokio::time::timeout(FAREWELL, async { while session.next().await.is_some() {} }).await;
            let _ = tokio::time::timeout(FAREWELL, session.saved()).await;
            return Err(Interrupted.into());
        }
        session.saved().await?;
        self.conclude(session.outcome())
    }

    /// Whether the user has interrupted it.
    async fn converse(&self, session: &mut Session, sources: Vec<Source>) -> anyhow::Result<bool> {
        let inputs = session.take_inputs();
        let feed = |(source, input)| feed::feed(source, input, self.stdin_form, self.resumed);
        let mut feeds: Streaming<'_> =
            sources.into_iter().zip(inputs).map(|fed| Box::pin(feed(fed)) as LocalBoxFuture<'_, _>).collect();
        let mut readers: Streaming<'_> = FuturesUnordered::new();
        let ended = self.pass(session, &mut feeds, &mut readers).await;
        match ended {
            Ok(false) => {}
            Ok(true) => session.cancel(ClientReason::Cancelled),
            // What is dropped here is not given up: a later process may go on with it.
            Err(_) => session.leave(),
        }
        ended
    }

    async fn pass<'c>(
        &'c self,
        session: &mut Session,
        feeds: &mut Streaming<'c>,
        readers: &mut Streaming<'c>,
    ) -> anyhow::Result<bool> {
        // One for all rounds: between two of them nobody would hear it.
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut goes_on = true;
        while goes_on || !readers.is_empty() {
            tokio::select! {
                update = session.next(), if goes_on => match update {
                    Some(Update::Output(stream)) => {
                        self.heard.set(Heard::Enough);
                        readers.push(Box::pin(self.read(stream)));
                    }
                    Some(update) => self.tell(update)?,
                    None => goes_on = false,
                },
                () = self.silence(), if goes_on => {
                    self.heard.set(Heard::Enough);
                    eprintln!("agentctl: accepted, and nothing has come yet; invocations of an instance run one after the other");
                }
                Some(fed) = feeds.next(), if goes_on => if let Err(error) = fed {
                    self.note_failure(format!("{error:#}"));
                },
                Some(read) = readers.next() => read?,
                Some(()) = interrupts.recv() => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Ends when the invocation has been silent for long.
    async fn silence(&self) {
        match self.heard.get() {
            Heard::Accepted(told) => sleep_until(told).await,
            Heard::Nothing | Heard::Enough => pending().await,
        }
    }

    fn tell(&self, update: Update) -> anyhow::Result<()> {
        match update {
            Update::Lost { endpoint, cause } => {
                if !self.lost.replace(true) {
                    eprintln!("agentctl: {endpoint}: {cause}; trying again");
                }
                Ok(())
            }
            Update::Accepted { endpoint } => {
                if self.lost.replace(false) {
                    eprintln!("agentctl: going on at {endpoint}");
                }
                if matches!(self.heard.get(), Heard::Nothing) {
                    self.heard.set(Heard::Accepted(Instant::now() + SILENCE));
                }
                self.event("accepted", |_| {})
            }
            Update::Returned(returned) => {
                self.heard.set(Heard::Enough);
                self.returned(returned)
            }
            Update::InputCancelled { reason, .. } => {
                self.heard.set(Heard::Enough);
                if is_failure(reason) {
                    self.note_failure(format!("an input stream was cancelled: {}", reason.as_str()));
                }
                Ok(())
            }
            Update::Output(_) => Ok(()),
        }
    }

    /// Prints what the method returned, unless that is a stream, and learns the names of the streams in it.
    fn returned(&self, returned: Option<Returned>) -> anyhow::Result<()> {
        let Some(Returned { graph, value }) = returned else { return self.event("result", |_| {}) };
        let root = graph.root();
        let text = plain::write(&graph, root, &value, &mut |path, stream| self.name(RESULT, path, stream));
        self.named.notify_waiters();
        let is_stream = graph.resolve(root).is_some_and(|root| root.shape.kind() == "stream");
        if !self.output.borrow().is_json() && !is_stream {
            return self.print(&text);
        }
        self.event("result", |to| {
            to.name("value");
            to.raw(&text);
        })
    }

    /// What a stream is called that stands at `path` within something: by its place in the result, or behind the place of the
    /// item that it is in.
    fn name(&self, within: &str, path: &[String], stream: &StreamRef) -> String {
        let name = match (within, path) {
            (RESULT, []) => RESULT.to_owned(),
            (RESULT, path) => path.join("."),
            (within, path) => [&[within.to_owned()], path].concat().join("."),
        };
        if let StreamRef::Stable(token) = stream {
            self.names.borrow_mut().insert(token.clone(), name.clone());
        }
        name
    }

    /// Reads an output to its end.
    async fn read(&self, mut stream: Stream) -> anyhow::Result<()> {
        let Some(name) = self.name_of(stream.token()).await else { return Ok(()) };
        let element = stream.element();
        let mut file = self.targets.open(&name, &element, self.stdout_form)?;
        let form = match file {
            Some(_) => None,
            None => Some(form::form(self.stdout_form.filter(|_| name == RESULT), element.lane)?),
        };
        loop {
            let (sequence, item) = match stream.next().await {
                Ok(Some(item)) => item,
                Ok(None) => break,
                // It is told where the session is.
                Err(_) => return Ok(()),
            };
            match &mut file {
                Some(file) => self.keep(file, &name, (sequence, &item))?,
                None => self.show(&name, &element, form, (sequence, &item))?,
            }
            if file.is_none() && self.closed.get() {
                // Nobody reads it (R4).
                return Ok(());
            }
            self.progress.step();
            stream.confirm();
        }
        self.ended(&name, stream.outcome())?;
        stream.confirm();
        Ok(())
    }

    /// The name of a stream, once what names it was shown; `None` if nothing is shown any more.
    async fn name_of(&self, token: &str) -> Option<String> {
        loop {
            let named = self.named.notified();
            if self.closed.get() {
                return None;
            }
            if let Some(name) = self.names.borrow().get(token) {
                return Some(name.clone());
            }
            named.await;
        }
    }

    fn keep(&self, file: &mut FileSink, name: &str, (sequence, item): (u64, &Item)) -> anyhow::Result<()> {
        let within = format!("{name}.{sequence}");
        let written = file.write(sequence, item, &mut |path, stream| self.name(&within, path, stream));
        self.named.notify_waiters();
        written
    }

    /// Prints an item of a stream of this form.
    fn show(
        &self,
        name: &str,
        element: &Element,
        form: Option<StreamForm>,
        (sequence, item): (u64, &Item),
    ) -> anyhow::Result<()> {
        let within = format!("{name}.{sequence}");
        let mut namer = |path: &[String], stream: &StreamRef| self.name(&within, path, stream);
        let is_json = self.output.borrow().is_json() && self.stdout_form != Some(StreamForm::Raw);
        let shown = match (form, item) {
            _ if is_json => {
                let value = form::member(element, item, &mut namer);
                self.event("item", |to| {
                    to.text_member("sequence", &sequence.to_string());
                    to.text_member("stream", name);
                    to.name("value");
                    to.raw(&value);
                })
            }
            (_, item) if name != RESULT => self.print(&form::labelled(name, &form::member(element, item, &mut namer))),
            (Some(StreamForm::Raw), Item::Binary(items)) => self.put(|output| output.bytes(items.payload())),
            (_, item) => form::values(element, item, &mut namer).iter().try_for_each(|value| self.print(value)),
        };
        self.named.notify_waiters();
        shown
    }

    fn ended(&self, name: &str, outcome: Option<&OutputOutcome>) -> anyhow::Result<()> {
        match outcome {
            // An end that an earlier process has told.
            None => Ok(()),
            Some(OutputOutcome::Ok) => self.event("end", |to| to.text_member("stream", name)),
            Some(OutputOutcome::Error { code, message }) => {
                self.note_failure(format!("{name}: {code}: {message}"));
                self.event("stream-error", |to| {
                    to.text_member("code", code.as_str());
                    to.text_member("message", message);
                    to.text_member("stream", name);
                })
            }
            Some(OutputOutcome::Cancelled(reason)) => {
                if is_failure(*reason) {
                    self.note_failure(format!("{name} was cancelled: {}", reason.as_str()));
                }
                self.event("stream-cancel", |to| {
                    to.text_member("reason", reason.as_str());
                    to.text_member("stream", name);
                })
            }
        }
    }

    /// How the command ends.
    fn conclude(&self, outcome: Option<Result<InvocationOutcome, Error>>) -> anyhow::Result<()> {
        match outcome {
            Some(Ok(InvocationOutcome::Success)) => {
                self.event("finished", |to| to.text_member("outcome", "success"))?;
                for name in self.targets.unused() {
                    self.note_failure(format!("--to: there was no stream {name}"));
                }
            }
            Some(Ok(InvocationOutcome::Failure { code, message })) => {
                self.event("finished", |to| {
                    to.text_member("code", code.as_str());
                    to.text_member("message", &message);
                    to.text_member("outcome", "failure");
                })?;
                // A source that failed is why an agent did, more often than not.
                self.failures.borrow_mut().insert(0, format!("{code}: {message}"));
            }
            Some(Err(Error::Refused(refusal))) => {
                self.event("rejected", |to| {
                    to.text_member("code", refusal.code.as_str());
                    to.text_member("message", &refusal.text);
                })?;
                return Err(refusal.into());
            }
            Some(Err(error)) => return Err(error.into()),
            None => bail!("the session was left before its end"),
        }
        let failures = self.failures.borrow();
        if failures.is_empty() { Ok(()) } else { Err(anyhow!("{}", failures.join("; "))) }
    }

    fn note_failure(&self, failure: String) {
        self.failures.borrow_mut().push(failure);
    }

    /// Prints a line about something that happened, where that is asked for.
    fn event(&self, name: &str, members: impl FnOnce(&mut stream_session::json::Writer)) -> anyhow::Result<()> {
        let is_json = self.output.borrow().is_json() && self.stdout_form != Some(StreamForm::Raw);
        if is_json { self.print(&form::event(name, members)) } else { Ok(()) }
    }

    /// Prints a line. Raw output has nothing else beside it (F3).
    fn print(&self, line: &str) -> anyhow::Result<()> {
        if self.stdout_form == Some(StreamForm::Raw) { Ok(()) } else { self.put(|output| output.verbatim(line)) }
    }

    /// Writes to standard output, as long as somebody reads it.
    fn put(&self, write: impl FnOnce(&mut Output) -> Result<(), OutputError>) -> anyhow::Result<()> {
        if self.closed.get() {
            return Ok(());
        }
        match write(&mut self.output.borrow_mut()) {
            Err(error) if error.is_closed() => {
                self.closed.set(true);
                self.named.notify_waiters();
                Ok(())
            }
            written => Ok(written?),
        }
    }
}

/// Whether a stream that was cancelled for this reason has failed (checkpoint.md R5).
fn is_failure(reason: ServerReason) -> bool {
    !matches!(reason, ServerReason::Cancelled | ServerReason::ConsumerDrop)
}
