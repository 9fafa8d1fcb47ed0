//! The streams of an invocation between the journal and its harness, while a run of it lasts.
//!
//! Inputs are read from the journal and sent to the harness as it gives credit for them. What the harness sends is made
//! durable, or, as far as an earlier run did that, held against what is recorded; then the harness gets the credit back. At
//! most one write is under way; what comes meanwhile goes into the next one. Whatever else the harness says is for the turn.

mod broken;
mod inputs;
mod outputs;
mod pace;
mod placed;
mod recall;
mod writes;

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use cluster::{Follower, News};
use env::Env;
use futures::FutureExt;
use futures::future::BoxFuture;
use journal::invocations::{Frame, Invocation, InvocationId, Role, Run, Standing, StreamId, StreamState};
use journal::{Fence, Journal};
use tokio::time::Instant;
use wire::event::Body;
use wire::stream_frame::Frame as Told;
use wire::{EventKind, HarnessEnd, StreamFrame};

use super::limits::LimitedConnection;
use crate::invocation::{self, FinishedStream, Parameters, Results};
use crate::metrics::RunningInvocation;
use crate::ports::HostFrame;
use crate::turn::{Input, TurnFailure};
use broken::Broken;
pub(super) use broken::Unusable;
use inputs::{Inputs, drop_input};
use outputs::Outputs;
use recall::Recall;
use writes::{Batch, Credit, Write};

/// Most bytes that wait to be made durable before the harness is not read any further.
const MOST_WAITING: usize = 8 << 20;
/// Bytes of an input that are read at once.
const PIECE: usize = 1 << 20;
/// How often the journal is asked while nothing is heard: news may be lost.
const POLL: Duration = Duration::from_millis(500);
/// Why streams end that nobody reads any more.
const CONSUMER_DROP: &str = "consumer-drop";

/// See the module.
pub(super) struct Exchange {
    journal: Journal,
    run: Run,
    invocation: InvocationId,
    inputs: Inputs,
    outputs: Outputs,
    news: Follower,
    /// What is for the turn, in order.
    heard: VecDeque<Heard>,
    writing: Option<Writing>,
    reading: Option<BoxFuture<'static, Result<Read, Broken>>>,
    /// `None` while a write has it.
    recall: Option<Recall>,
    /// The journal may say something new.
    stale: bool,
    /// There may be something to send or to read.
    stirred: bool,
    next_poll: Instant,
    /// When something last came from the harness or went to it.
    last_contact: Instant,
    running: Arc<RunningInvocation>,
}

/// Something for the turn.
enum Heard {
    /// What the method returned, as soon as it is durable.
    Return,
    /// Anything that is no business of the streams.
    Other(Input),
    /// The harness has ended its run.
    End(Input, Ending),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Completed,
    Failed,
}

/// A write under way: what it leads to, and what the harness gets back after it.
struct Writing {
    done: BoxFuture<'static, Result<Recall, Broken>>,
    is_return: bool,
    credits: Vec<Credit>,
}

/// What was read.
enum Read {
    Standing(Standing),
    States(Vec<StreamState>),
    Frames(StreamId, Vec<Frame>),
}

impl Exchange {
    /// The exchange of an invocation with these streams, and the parameters as the harness gets them.
    pub(super) fn open(
        journal: &Journal,
        run: &Run,
        invocation: &Invocation,
        streams: Vec<StreamState>,
        news: Follower,
        running: Arc<RunningInvocation>,
    ) -> Result<(Box<Self>, String), Unusable> {
        let (session, id, start) = (run.session(), invocation.id, &invocation.start);
        let parameters = Parameters::new(&start.parameters_schema, id)?;
        let told = parameters.method(&start.method_parameters)?;
        let is_input = |state: &StreamState| state.progress.role == Role::Input;
        let (inputs, outputs): (Vec<_>, Vec<_>) = streams.into_iter().partition(is_input);
        let (results, recorded) =
            (Results::new(&start.result_schema)?, outputs.into_iter().map(|state| state.progress));
        let attached = invocation.attachment.holder.is_some();
        let outputs = Outputs::new(id, results, (invocation.returned.clone(), attached), inputs.len(), recorded);
        let mut exchange = Box::new(Self {
            journal: journal.clone(),
            run: run.clone(),
            invocation: id,
            inputs: Inputs::new(parameters),
            outputs,
            news,
            heard: VecDeque::new(),
            writing: None,
            reading: None,
            recall: Some(Recall::new(journal.clone(), session.clone(), id)),
            stale: false,
            stirred: true,
            next_poll: Instant::now() + POLL,
            last_contact: Instant::now(),
            running,
        });
        inputs.into_iter().try_for_each(|state| exchange.inputs.learn(state))?;
        Ok((exchange, told))
    }

    /// The next thing for the turn, which writes under `fence`.
    pub(super) async fn next(&mut self, connection: &mut LimitedConnection, env: &Env, fence: Fence) -> Input {
        // What the host did for the harness until now was no silence of the harness.
        self.last_contact = Instant::now();
        loop {
            match self.step(connection, env, fence).await {
                Ok(Some(input)) => return input,
                Ok(None) => {}
                Err(broken) => return broken.into(),
            }
        }
    }

    /// Does some work for the turn, which the harness waits for, while its streams go on. If it says anything else, that is kept
    /// for the turn, and the harness is read no further.
    pub(super) async fn beside(
        &mut self,
        connection: &mut LimitedConnection,
        (env, fence): (&Env, Fence),
        work: impl Future<Output = Input>,
    ) -> Input {
        let mut work = pin!(work);
        loop {
            self.begin_write();
            if let Err(broken) = self.begin_read(fence) {
                return broken.into();
            }
            let (failed, done) = {
                // What is being sent is sent whole.
                let mut sending = pin!(self.send_frames(connection));
                tokio::select! {
                    biased;
                    failed = &mut sending => (failed, None),
                    done = &mut work => (sending.await, Some(done)),
                }
            };
            if let Some(failed) = failed {
                self.heard.push_back(Heard::Other(failed));
                return match done {
                    Some(done) => done,
                    None => work.await,
                };
            }
            if let Some(done) = done {
                return done;
            }
            let hears = self.hears() && self.heard.iter().all(|heard| matches!(heard, Heard::Return));
            let moved = tokio::select! {
                biased;
                done = &mut work => return done,
                moved = self.moves(connection, env, (hears, None)) => moved,
            };
            if let Err(broken) = moved {
                return broken.into();
            }
        }
    }

    async fn step(
        &mut self,
        connection: &mut LimitedConnection,
        env: &Env,
        fence: Fence,
    ) -> Result<Option<Input>, Broken> {
        if let Some(heard) = self.heard.pop_front() {
            match heard {
                Heard::Return if self.outputs.returned().is_none() => self.heard.push_front(heard),
                Heard::Return => {
                    let value = self.outputs.returned().flatten();
                    return Ok(Some(Input::Emit(invocation::result(value))));
                }
                Heard::Other(input) => return Ok(Some(input)),
                Heard::End(input, ending) => return self.conclude(input, ending).await.map(Some),
            }
        }
        self.begin_write();
        self.begin_read(fence)?;
        if let Some(failed) = self.send_frames(connection).await {
            return Ok(Some(failed));
        }
        let hears = (self.hears(), self.silence_ends(connection));
        self.moves(connection, env, hears).await?;
        Ok(None)
    }

    /// Waits until something has moved. Reads the harness, if `hears`, and until then if there is such a moment. Cancel safe.
    async fn moves(
        &mut self,
        connection: &mut LimitedConnection,
        env: &Env,
        (hears, silence_ends): (bool, Option<Instant>),
    ) -> Result<(), Broken> {
        tokio::select! {
            biased;
            written = finished(self.writing.as_mut().map(|writing| &mut writing.done)) => self.written(written?),
            read = finished(self.reading.as_mut()) => self.was_read(read?)?,
            news = self.news.next(), if !self.stale => self.stale = !matches!(news, Some(News::Appended { .. } | News::Delta { .. })),
            () = tokio::time::sleep_until(self.next_poll), if self.reading.is_none() => self.stale = true,
            () = at(self.inputs.note_due()), if self.writing.is_none() => {}
            input = connection.next_until(env, silence_ends), if hears => self.hear(input)?,
        }
        Ok(())
    }

    /// Whether the harness is read: once it has ended, it would only say so again for as long as its return is being written.
    fn hears(&self) -> bool {
        let has_ended = matches!(self.heard.back(), Some(Heard::End(..)));
        !has_ended && self.outputs.writes.bytes() < MOST_WAITING
    }

    /// When the harness has been silent for too long. A client may be as slow as it likes.
    fn silence_ends(&self, connection: &LimitedConnection) -> Option<Instant> {
        (!self.inputs.wait_for_client()).then(|| self.last_contact + connection.patience())
    }

    /// Takes what came from the harness.
    fn hear(&mut self, input: Input) -> Result<(), Broken> {
        self.last_contact = Instant::now();
        let Input::Event { event, fresh_id } = input else {
            self.heard.push_back(match input {
                Input::Closed => Heard::End(Input::Closed, Ending::Completed),
                other => Heard::Other(other),
            });
            return Ok(());
        };
        match (event.kind(), event.body) {
            (EventKind::EventStream, Some(Body::Stream(StreamFrame { stream, frame }))) => {
                let frame = frame.ok_or(TurnFailure::Violation("it sent a stream frame without content"))?;
                self.hear_frame(&stream, frame)?;
            }
            (EventKind::EventReturn, Some(Body::Returned(returned))) => {
                self.outputs.hear_return(&returned)?;
                self.heard.push_back(Heard::Return);
            }
            (_, body) => {
                let event = wire::Event { body, ..event };
                let ending = ending(&event);
                let input = Input::Event { event, fresh_id };
                self.heard.push_back(match ending {
                    Some(ending) => Heard::End(input, ending),
                    None => Heard::Other(input),
                });
            }
        }
        Ok(())
    }

    fn hear_frame(&mut self, stream: &str, frame: Told) -> Result<(), Broken> {
        match self.inputs.find(stream) {
            Some(id) => {
                self.stirred = true;
                if let Some(write) = self.inputs.hear(id, frame)? {
                    self.outputs.writes.push(Write::Put(write), 0, None);
                }
            }
            None => self.outputs.hear(stream, frame)?,
        }
        Ok(())
    }

    /// Sends what is there for the harness. Answers what went wrong.
    async fn send_frames(&mut self, connection: &mut LimitedConnection) -> Option<Input> {
        let inputs = if self.stirred { self.inputs.feed() } else { Ok(Vec::new()) };
        self.stirred = false;
        let frames = match inputs {
            Ok(inputs) => inputs.into_iter().chain(self.outputs.take_frames()),
            Err(refusal) => return Some(Broken::from(refusal).into()),
        };
        for frame in frames {
            match connection.send(HostFrame::Stream(frame)).await {
                Input::Sent => self.last_contact = Instant::now(),
                failed => return Some(failed),
            }
        }
        None
    }

    fn begin_write(&mut self) {
        if self.writing.is_some() {
            return;
        }
        for note in self.inputs.take_notes() {
            self.outputs.writes.push(Write::Put(note), 0, None);
        }
        let Some(recall) = self.recall.take() else { return };
        match self.outputs.writes.take() {
            None => self.recall = Some(recall),
            Some((batch, credits)) => {
                let is_return = matches!(batch, Batch::Return(..));
                let done = batch.store(self.journal.clone(), self.run.clone(), self.invocation, recall).boxed();
                self.writing = Some(Writing { done, is_return, credits });
            }
        }
    }

    fn written(&mut self, recall: Recall) {
        self.recall = Some(recall);
        let Some(Writing { is_return, credits, .. }) = self.writing.take() else { return };
        if is_return {
            self.outputs.return_is_durable();
        }
        self.outputs.durable(credits);
    }

    fn begin_read(&mut self, fence: Fence) -> Result<(), Broken> {
        if self.reading.is_some() {
            return Ok(());
        }
        let (journal, run, invocation) = (self.journal.clone(), self.run.clone(), self.invocation);
        if self.inputs.has_unknown() {
            let states = async move { Ok(Read::States(journal.streams(run.session(), invocation).await?)) };
            self.reading = Some(states.boxed());
        } else if std::mem::take(&mut self.stale) {
            let polled = self.next_poll <= Instant::now();
            self.next_poll = Instant::now() + POLL;
            let polled = polled.then(|| (fence, Arc::clone(&self.running)));
            self.reading = Some(look(journal, run, invocation, polled).boxed());
        } else if let Some((stream, from)) = self.inputs.hungry() {
            let frames = async move {
                let frames = journal.frames(run.session(), invocation, stream, from, PIECE).await?;
                Ok(Read::Frames(stream, frames))
            };
            self.reading = Some(frames.boxed());
        }
        Ok(())
    }

    fn was_read(&mut self, read: Read) -> Result<(), Broken> {
        self.reading = None;
        self.stirred = true;
        match read {
            Read::Frames(stream, frames) => self.inputs.fill(stream, frames),
            Read::Standing(standing) => self.look(standing),
            Read::States(states) => {
                let mut inputs = states.into_iter().filter(|state| state.progress.role == Role::Input);
                inputs.try_for_each(|state| self.inputs.learn(state))?;
            }
        }
        Ok(())
    }

    fn look(&mut self, standing: Standing) {
        self.outputs.set_attached(standing.attachment.holder.is_some());
        for progress in standing.streams {
            match progress.role {
                Role::Input => self.inputs.look(progress),
                Role::Output => self.outputs.look(progress),
            }
        }
    }

    /// The harness has ended its run: everything that it said becomes durable before the turn hears of it. If it ended well,
    /// nobody reads inputs any more, and the log gets an account of all streams.
    async fn conclude(&mut self, input: Input, ending: Ending) -> Result<Input, Broken> {
        self.flush().await?;
        if ending == Ending::Failed {
            return Ok(input);
        }
        match (self.outputs.check_complete(), &input) {
            (Ok(()), _) => {}
            // It may just have been stopped.
            (Err(TurnFailure::Violation(_)), Input::Closed) => {
                return Ok(Input::HarnessFailed("it closed its stream in the middle of its invocation".to_owned()));
            }
            (Err(failure), _) => return Err(failure.into()),
        }
        self.close_inputs().await?;
        let finished = self.finished().await?;
        if finished.is_empty() {
            return Ok(input);
        }
        self.heard.push_back(Heard::Other(input));
        Ok(Input::Emit(invocation::streams(finished)))
    }

    async fn flush(&mut self) -> Result<(), Broken> {
        loop {
            self.begin_write();
            let Some(writing) = &mut self.writing else { return Ok(()) };
            let written = (&mut writing.done).await?;
            self.written(written);
        }
    }

    async fn close_inputs(&mut self) -> Result<(), Broken> {
        self.reading = None;
        loop {
            let standing = standing_of(&self.journal, &self.run, self.invocation).await?;
            self.look(standing);
            let open = self.inputs.open();
            if open.is_empty() {
                return self.flush().await;
            }
            let drops: Vec<_> = open.into_iter().map(|id| drop_input(id, CONSUMER_DROP.to_owned())).collect();
            self.journal.put_outputs(&self.run, self.invocation, drops).await?;
        }
    }

    async fn finished(&mut self) -> Result<Vec<FinishedStream>, Broken> {
        let mut finished: Vec<_> = self.outputs.finished().collect();
        for (id, mut digest, count) in self.inputs.digests() {
            while digest.count() < count {
                let frames = self.journal.frames(self.run.session(), self.invocation, id, digest.count(), PIECE);
                frames.await?.iter().for_each(|frame| digest.add(&frame.item));
            }
            finished.push(FinishedStream { id, role: Role::Input, count, sha256: digest.finish() });
        }
        Ok(finished)
    }
}

/// Looks at all streams; if the turn's fence is given, also whether this node still drives the instance, and the turn was
/// not ended by another node: one that waits for its client would not learn of it otherwise.
async fn look(
    journal: Journal,
    run: Run,
    invocation: InvocationId,
    polled: Option<(Fence, Arc<RunningInvocation>)>,
) -> Result<Read, Broken> {
    if let Some((fence, running)) = polled {
        let session = journal.session(run.session()).await?;
        let is_held = session.is_some_and(|session| session.fence() == fence);
        let queue = journal.queue(&run, RunningInvocation::COUNTED).await?;
        if !is_held || queue.first() != Some(&invocation) {
            return Err(Broken::Lost);
        }
        running.leads(queue.len());
    }
    Ok(Read::Standing(standing_of(&journal, &run, invocation).await?))
}

async fn standing_of(journal: &Journal, run: &Run, invocation: InvocationId) -> Result<Standing, Broken> {
    journal.standing(run.session(), invocation).await?.ok_or(Broken::Lost)
}

/// What a future comes to; never, if there is none.
async fn finished<T>(future: Option<&mut BoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// A moment; never, if there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// How the harness has ended its run, if the event says that.
fn ending(event: &wire::Event) -> Option<Ending> {
    match &event.body {
        Some(Body::End(end)) if end.state == HarnessEnd::COMPLETED => Some(Ending::Completed),
        _ => (event.kind() == EventKind::EventEnd).then_some(Ending::Failed),
    }
}

fn frame(stream: String, frame: Told) -> StreamFrame {
    StreamFrame { stream, frame: Some(frame) }
}
