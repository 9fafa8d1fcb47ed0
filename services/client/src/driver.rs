//! Performs what a [`Turn`] asks for: the only place where it meets connections and the clock.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, stream};
use tokio::time::Instant;
use tonic::Response;
use wire::{ExecRequest, ResumeRequest, Session};

use crate::call::with_id;
use crate::client::sessions;
use crate::exec::Moved;
use crate::frames::Frames;
use crate::nodes::Node;
use crate::turn::{Action, Input, Turn};
use crate::{Client, Code, Error, Origin, Replay, SeqRange, Update};

/// How often the log is read while Resume runs.
const POLL: Duration = Duration::from_millis(200);

/// A turn under way.
pub(crate) struct Driver {
    client: Client,
    request_id: String,
    turn: Turn,
    action: Action,
    frames: Option<Frames>,
    log: Option<Replay>,
    resume: Option<BoxFuture<'static, Result<Session, Error>>>,
    stall: Stall,
    /// The node that has taken the turn last.
    at: Option<Node>,
    /// The node that was lost, until another one has answered.
    lost: Option<Arc<str>>,
}

/// Since when the turn gets nowhere.
#[derive(Default)]
struct Stall {
    since: Option<Instant>,
    attempts: u32,
}

impl Driver {
    /// A turn whose session and head are known: they are found out here, unless the request says so.
    pub(crate) async fn begin(client: Client, mut request: ExecRequest, request_id: String) -> Result<Self, Error> {
        let mut created = None;
        if request.session.is_empty() {
            let session = Session { harness: request.harness.clone(), ..Session::default() };
            let session = client.create(session).await?;
            request.session = session.metadata.as_ref().map(|metadata| metadata.uid.clone()).unwrap_or_default();
            request.expected_last_seq.get_or_insert(session.last_seq);
            created = Some(session);
        } else if request.expected_last_seq.is_none() {
            request.expected_last_seq = Some(client.get(&request.session).await?.last_seq);
        }
        if request.execution_id.is_empty() {
            request.execution_id = env::execution_id(client.caller().env());
        }
        let mut turn = Turn::new(request, request_id.clone());
        let action = turn.begin(created);
        let stall = Stall::default();
        Ok(Self {
            client,
            request_id,
            turn,
            action,
            frames: None,
            log: None,
            resume: None,
            stall,
            at: None,
            lost: None,
        })
    }

    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Update, Error>> + Send + 'static {
        stream::unfold(self, |mut driver| async move { driver.next().await.map(|update| (update, driver)) })
    }

    async fn next(&mut self) -> Option<Result<Update, Error>> {
        loop {
            match std::mem::replace(&mut self.action, Action::Finish(Ok(()))) {
                Action::Finish(outcome) => return outcome.err().map(Err),
                Action::Deliver(update) => {
                    if matches!(update, Update::Record(_)) {
                        self.stall = Stall::default();
                    }
                    self.action = self.turn.on(Input::Delivered);
                    return Some(Ok(update));
                }
                action => {
                    let input = self.perform(action).await;
                    let moved = self.moved(&input);
                    self.action = self.turn.on(input);
                    if let Some(moved) = moved {
                        return Some(Ok(Update::Moved(moved)));
                    }
                }
            }
        }
    }

    async fn perform(&mut self, action: Action) -> Input {
        if !matches!(action, Action::ReadLog) {
            self.log = None;
        }
        if !matches!(action, Action::ReadStream) {
            self.frames = None;
        }
        match action {
            Action::Exec => self.exec().await,
            Action::ReadStream => self.read_stream().await,
            Action::ReadLog => self.read_log().await,
            Action::Resume => self.resume().await,
            Action::AwaitResume => self.await_resume().await,
            Action::ReadSession => match self.client.get(&self.turn.request().session).await {
                Ok(session) => Input::SessionRead(session),
                Err(error) => Input::SessionFailed(error),
            },
            Action::Pause { patient } => self.pause(patient).await,
            Action::Deliver(_) | Action::Finish(_) => Input::Delivered,
        }
    }

    async fn exec(&mut self) -> Input {
        let node = self.take_to_node();
        let request = self.turn.request().clone();
        match Frames::exec(self.client.caller(), node, request, &self.request_id).await {
            Ok(frames) => self.frames = Some(frames),
            Err(error) => return Input::StreamFailed(error),
        }
        self.read_stream().await
    }

    async fn read_stream(&mut self) -> Input {
        let Some(frames) = &mut self.frames else { return Input::StreamEnded };
        match frames.next().await {
            Ok(Some(update)) => Input::Streamed(update),
            Ok(None) => Input::StreamEnded,
            Err(error) => Input::StreamFailed(error),
        }
    }

    async fn read_log(&mut self) -> Input {
        let log = self.log.get_or_insert_with(|| {
            let range = SeqRange { from: self.turn.cursor().saturating_add(1), to: 0 };
            self.client.replay(&self.turn.request().session, range)
        });
        match log.next().await {
            Ok(Some(record)) => Input::Logged(record),
            Ok(None) => Input::LogEnded,
            Err(error) => Input::LogFailed(error),
        }
    }

    async fn resume(&mut self) -> Input {
        let mut request = with_id(
            ResumeRequest { session: self.turn.request().session.clone(), ..Default::default() },
            &self.request_id,
        );
        match self.time_left() {
            Some(Duration::ZERO) => return Input::ResumeFailed(self.too_late()),
            Some(left) => request.set_timeout(left),
            None => {}
        }
        let node = self.take_to_node();
        let (caller, id) = (self.client.caller().clone(), self.request_id.clone());
        let answer = async move {
            let answer = sessions(node.channel()).resume(request).await;
            answer.map(Response::into_inner).map_err(|status| caller.nodes().failed(&node, &status, &id))
        };
        self.resume = Some(answer.boxed());
        self.await_resume().await
    }

    /// The node that runs the turn from now on.
    fn take_to_node(&mut self) -> Node {
        let node = self.client.caller().nodes().chosen();
        self.at = Some(node.clone());
        node
    }

    async fn await_resume(&mut self) -> Input {
        let Some(resume) = &mut self.resume else { return Input::StillResuming };
        let Ok(answer) = tokio::time::timeout(POLL, resume).await else { return Input::StillResuming };
        self.resume = None;
        match answer {
            Ok(session) => Input::Resumed(session),
            Err(error) => Input::ResumeFailed(error),
        }
    }

    async fn pause(&mut self, patient: bool) -> Input {
        let caller = self.client.caller();
        let options = caller.options();
        let pause = options.retry.pause(self.stall.attempts, caller.env());
        let stalled = self.stall.since.get_or_insert_with(Instant::now).elapsed();
        let is_over = match patient {
            true => stalled + pause > options.turn_patience,
            false => self.stall.attempts >= options.retry.attempts,
        };
        if is_over {
            return Input::OutOfPatience;
        }
        self.stall.attempts += 1;
        tokio::time::sleep(pause).await;
        Input::Paused
    }

    /// What the caller is told when a node has answered after another was lost.
    fn moved(&mut self, input: &Input) -> Option<Moved> {
        match input {
            Input::StreamFailed(error) if self.turn.is_lost(error) => self.lose(),
            Input::ResumeFailed(error) if error.origin() == Origin::Transport => self.lose(),
            Input::Streamed(_) | Input::Logged(_) | Input::LogEnded | Input::Resumed(_) => {
                let lost = self.lost.take()?;
                Some(Moved { lost, to: self.client.caller().nodes().chosen().name() })
            }
            _ => None,
        }
    }

    fn lose(&mut self) -> Option<Moved> {
        self.lost = self.lost.take().or_else(|| self.at.as_ref().map(Node::name));
        None
    }

    /// How much of the time is left that the request gives the turn, if it gives one.
    fn time_left(&self) -> Option<Duration> {
        let deadline = u64::try_from(self.turn.request().deadline_unix).ok().filter(|&seconds| seconds > 0)?;
        Some(Duration::from_secs(deadline).saturating_sub(self.client.caller().env().unix_time()))
    }

    fn too_late(&self) -> Error {
        Error::of_log(Code::DeadlineExceeded, "deadline passed before the turn was finished", &self.request_id)
    }
}
