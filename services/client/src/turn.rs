//! A turn that goes on when its node is lost: what to call next, decided from what the calls have answered. No I/O, no
//! clock.
//!
//! A call that was cut off may or may not have arrived, so the session's log decides. A turn that has not begun is begun
//! again: it expects the same head and has the same id, so that the log takes it once. A turn that has begun is read out of
//! the log from the cursor on and finished with Resume. The caller gets each record once, in order, wherever it came from.

mod progress;

use wire::{ExecRequest, LogRecord, Session};

use crate::{Code, Error, Origin, Update};
use progress::{Ending, Progress, Standing};

/// A turn, as its client sees it.
#[derive(Debug)]
pub(crate) struct Turn {
    request: ExecRequest,
    request_id: String,
    progress: Progress,
    state: State,
    /// The caller has the session as it was before the turn.
    announced: bool,
    /// An Exec was cut off, and may have arrived.
    in_doubt: bool,
    /// Why the turn does not simply run.
    failure: Option<Error>,
}

/// What is to be done next. One thing at a time; its outcome is the next [`Input`].
#[derive(Debug)]
pub(crate) enum Action {
    /// Call Exec with the turn's request, and read its first frame.
    Exec,
    /// Read the next frame of Exec.
    ReadStream,
    /// Give Exec up, if it is under way, and read the next record after the cursor.
    ReadLog,
    /// Call Resume, and wait for its answer for a moment.
    Resume,
    /// Wait for that answer for another moment.
    AwaitResume,
    /// Read the session.
    ReadSession,
    /// Wait before the next attempt. `patient`: for as long as a turn that may have begun is waited for; else for as many
    /// attempts as a call is given.
    Pause { patient: bool },
    /// Hand this to the caller.
    Deliver(Update),
    /// Nothing more.
    Finish(Result<(), Error>),
}

/// What came of an [`Action`].
#[derive(Debug)]
pub(crate) enum Input {
    /// Exec sent this.
    Streamed(Update),
    /// Exec ended with OK.
    StreamEnded,
    /// Exec failed, or its connection broke.
    StreamFailed(Error),
    /// The next record of the log.
    Logged(LogRecord),
    /// The log has no more records now.
    LogEnded,
    /// The log cannot be read.
    LogFailed(Error),
    /// Resume answered.
    Resumed(Session),
    /// Resume has not answered yet.
    StillResuming,
    /// Resume failed, or its connection broke.
    ResumeFailed(Error),
    /// The session.
    SessionRead(Session),
    /// The session cannot be read.
    SessionFailed(Error),
    /// The pause is over.
    Paused,
    /// There will be no other attempt.
    OutOfPatience,
    /// The caller has what it was to be given.
    Delivered,
}

#[derive(Debug)]
enum State {
    /// Exec is under way. It sends the session first, and once more if the turn parks.
    Streaming { opened: bool, closed: bool },
    /// The log is read from the cursor to its end, and then this is done.
    Reading(Then),
    /// Resume is under way, and the log is read from time to time.
    Resuming,
    /// No call is under way; then the log is read, or without a `Then` Exec is called.
    Pausing(Option<Then>),
    /// The caller gets the last session frame.
    Closing,
}

/// What follows once the log has been read.
#[derive(Debug)]
enum Then {
    /// The turn is begun again, unless the log has it.
    Begin,
    /// It is resumed.
    Resume,
    /// It is resumed after a pause.
    ResumeLater,
    /// The pause is over: it is resumed unless the log has grown past this record in it, for then somebody else runs it.
    ResumeUnlessPast(i64),
    /// Resume has answered so.
    Conclude(Box<Session>),
    /// Resume has failed for good.
    Fail(Error),
}

impl Turn {
    /// A turn of `request`, which names a session, the head that it expects, and the turn's id.
    pub(crate) fn new(request: ExecRequest, request_id: String) -> Self {
        Self {
            progress: Progress::new(&request),
            request,
            request_id,
            state: State::Streaming { opened: false, closed: false },
            announced: false,
            in_doubt: false,
            failure: None,
        }
    }

    /// The first action. `created` is the session if it was created for this turn.
    pub(crate) fn begin(&mut self, created: Option<Session>) -> Action {
        self.announced = created.is_some();
        match created {
            Some(session) => {
                self.state = State::Pausing(None);
                Action::Deliver(Update::Session(Box::new(session)))
            }
            None => Action::Exec,
        }
    }

    /// What Exec is called with.
    pub(crate) fn request(&self) -> &ExecRequest {
        &self.request
    }

    /// The last record that the caller has.
    pub(crate) fn cursor(&self) -> i64 {
        self.progress.cursor()
    }

    /// Whether the failure of Exec says that its node is gone. One whose harness is down refuses too, but shows the session
    /// first.
    pub(crate) fn is_lost(&self, error: &Error) -> bool {
        let shown = matches!(self.state, State::Streaming { opened: true, .. }) && !self.progress.has_begun();
        error.is_broken_connection() && (error.origin() == Origin::Transport || !shown)
    }

    /// What follows from `input`.
    pub(crate) fn on(&mut self, input: Input) -> Action {
        match input {
            Input::Streamed(update) => self.streamed(update),
            Input::StreamEnded => self.stream_ended(),
            Input::StreamFailed(error) => self.stream_failed(error),
            Input::Logged(record) => self.logged(record),
            Input::LogEnded => self.log_ended(),
            Input::LogFailed(error) => self.log_failed(error),
            Input::Resumed(session) => self.read_log(Then::Conclude(Box::new(session))),
            Input::StillResuming => Action::ReadLog,
            Input::ResumeFailed(error) => self.resume_failed(error),
            Input::SessionRead(session) => self.close(session),
            Input::SessionFailed(error) => Action::Finish(Err(error)),
            Input::Paused => self.go_on(),
            Input::OutOfPatience => self.give_up(),
            Input::Delivered => self.delivered(),
        }
    }

    fn streamed(&mut self, update: Update) -> Action {
        match (update, &mut self.state) {
            (Update::Session(session), State::Streaming { opened, closed }) => {
                let is_first = !std::mem::replace(opened, true);
                // A second attempt opens with the session too, which the caller has.
                if is_first && std::mem::replace(&mut self.announced, true) {
                    return Action::ReadStream;
                }
                *closed = !is_first;
                Action::Deliver(Update::Session(session))
            }
            (Update::Record(record), _) => match self.progress.streamed(&record) {
                Standing::Next => Action::Deliver(Update::Record(record)),
                Standing::Known => Action::ReadStream,
                Standing::Gap | Standing::Foreign => self.lost(),
            },
            (update, _) => Action::Deliver(update),
        }
    }

    /// An Exec that ends well has said how: with END, or with the session once more.
    fn stream_ended(&mut self) -> Action {
        if self.is_told() { Action::Finish(Ok(())) } else { self.lost() }
    }

    fn stream_failed(&mut self, error: Error) -> Action {
        let broken = error.is_broken_connection();
        if broken && self.is_told() {
            return Action::Finish(Ok(()));
        }
        let begun = self.progress.has_begun();
        self.in_doubt |= !begun && broken && !error.is_unheard();
        // A turn that another writer has taken over may be one that goes on.
        let may_go_on = broken || error.code() == Code::Aborted;
        match () {
            () if begun && may_go_on => self.failed(error, Then::Resume),
            () if !begun && self.in_doubt => self.failed(error, Then::Begin),
            () if !begun && broken => {
                self.failure = Some(error);
                self.pause(None)
            }
            () => Action::Finish(Err(error)),
        }
    }

    /// Whether the caller has everything that a turn of this kind ends with.
    fn is_told(&self) -> bool {
        let closed = matches!(self.state, State::Streaming { closed: true, .. });
        closed || (self.progress.ending() == Some(Ending::Completed) && !self.progress.is_recovery())
    }

    /// The stream says less than there is.
    fn lost(&mut self) -> Action {
        let begun = self.progress.has_begun();
        self.in_doubt |= !begun;
        self.read_log(if begun { Then::Resume } else { Then::Begin })
    }

    fn failed(&mut self, error: Error, then: Then) -> Action {
        self.failure = Some(error);
        self.read_log(then)
    }

    fn read_log(&mut self, then: Then) -> Action {
        self.state = State::Reading(then);
        Action::ReadLog
    }

    fn pause(&mut self, then: Option<Then>) -> Action {
        self.state = State::Pausing(then);
        Action::Pause { patient: self.in_doubt || self.progress.has_begun() }
    }

    fn logged(&mut self, record: LogRecord) -> Action {
        match self.progress.logged(&record) {
            Standing::Next => Action::Deliver(Update::Record(Box::new(record))),
            Standing::Known => Action::ReadLog,
            // What follows the end of the turn is no longer about it.
            Standing::Foreign if self.progress.ending().is_some() => self.log_ended(),
            Standing::Foreign if self.progress.has_begun() => self.end(Code::Aborted, SUPERSEDED),
            Standing::Foreign => self.not_ours(),
            Standing::Gap => self.end(Code::DataLoss, GAP),
        }
    }

    fn log_ended(&mut self) -> Action {
        if matches!(self.state, State::Resuming) {
            return Action::AwaitResume;
        }
        let State::Reading(then) = std::mem::replace(&mut self.state, State::Resuming) else {
            return Action::AwaitResume;
        };
        match then {
            Then::Conclude(session) => self.conclude(*session),
            _ if self.progress.ending().is_some() => self.ended(None),
            Then::Fail(error) => Action::Finish(Err(error)),
            Then::Begin if self.progress.has_begun() => Action::Resume,
            Then::Begin => self.begin_again(),
            Then::Resume => Action::Resume,
            Then::ResumeUnlessPast(seq) if self.cursor() == seq => Action::Resume,
            Then::ResumeLater | Then::ResumeUnlessPast(_) => self.pause_and_resume(),
        }
    }

    fn log_failed(&mut self, error: Error) -> Action {
        match std::mem::replace(&mut self.state, State::Resuming) {
            State::Reading(_) if self.is_told() => Action::Finish(Ok(())),
            State::Reading(then) if may_pass(&error) => {
                self.failure.get_or_insert(error);
                self.pause(Some(then))
            }
            State::Reading(_) => Action::Finish(Err(error)),
            // Resume has its own answer; the log is read again after it.
            _ => Action::AwaitResume,
        }
    }

    fn resume_failed(&mut self, error: Error) -> Action {
        if may_pass(&error) { self.failed(error, Then::ResumeLater) } else { self.read_log(Then::Fail(error)) }
    }

    fn pause_and_resume(&mut self) -> Action {
        let seq = self.cursor();
        self.pause(Some(Then::ResumeUnlessPast(seq)))
    }

    /// Nothing has been recorded after the head that the turn expects.
    fn begin_again(&mut self) -> Action {
        match self.failure.take() {
            Some(error) if !error.is_broken_connection() && !is_taken(&error) => Action::Finish(Err(error)),
            failure => {
                self.failure = failure;
                self.pause(None)
            }
        }
    }

    /// Somebody else's record is where this turn would have begun.
    fn not_ours(&mut self) -> Action {
        match self.failure.take() {
            Some(error) if !error.is_broken_connection() => Action::Finish(Err(error)),
            _ => self.end(Code::Aborted, NOT_OURS),
        }
    }

    /// Resume has answered, and the log has been read since.
    fn conclude(&mut self, session: Session) -> Action {
        if self.progress.ending().is_some() {
            return self.ended(Some(session));
        }
        let gate = session.pending_approval.as_ref();
        if gate.is_some_and(|gate| self.progress.is_execution(&gate.execution_id)) {
            return self.close(session);
        }
        self.pause_and_resume()
    }

    fn ended(&mut self, session: Option<Session>) -> Action {
        match (self.progress.ending(), session) {
            (Some(Ending::Canceled), _) => self.end(Code::Cancelled, CANCELED),
            (_, Some(session)) if self.progress.is_recovery() => self.close(session),
            (_, None) if self.progress.is_recovery() => Action::ReadSession,
            _ => Action::Finish(Ok(())),
        }
    }

    fn close(&mut self, session: Session) -> Action {
        self.state = State::Closing;
        Action::Deliver(Update::Session(Box::new(session)))
    }

    fn go_on(&mut self) -> Action {
        match std::mem::replace(&mut self.state, State::Streaming { opened: false, closed: false }) {
            State::Pausing(Some(then)) => self.read_log(then),
            _ => Action::Exec,
        }
    }

    fn give_up(&mut self) -> Action {
        match self.failure.take() {
            Some(error) => Action::Finish(Err(error)),
            None => self.end(Code::Unavailable, NO_PROGRESS),
        }
    }

    fn delivered(&mut self) -> Action {
        match self.state {
            State::Streaming { .. } => Action::ReadStream,
            State::Reading(_) | State::Resuming => Action::ReadLog,
            State::Pausing(_) => self.go_on(),
            State::Closing => Action::Finish(Ok(())),
        }
    }

    fn end(&self, code: Code, message: &str) -> Action {
        Action::Finish(Err(Error::of_log(code, message, &self.request_id)))
    }
}

/// Whether a call about a turn that has begun may go through later, or elsewhere: the node is lost or has no room, or the
/// session is busy.
fn may_pass(error: &Error) -> bool {
    error.is_broken_connection() || matches!(error.code(), Code::Aborted | Code::ResourceExhausted)
}

/// Whether the session is busy, perhaps with this very turn, or has it already.
fn is_taken(error: &Error) -> bool {
    matches!(error.code(), Code::Aborted | Code::AlreadyExists)
}

const SUPERSEDED: &str = "another turn has begun before this one was finished";
const NOT_OURS: &str = "the session has moved on, and this turn is not known to have begun";
const CANCELED: &str = "turn was canceled; it has ended for good";
const NO_PROGRESS: &str = "the turn was cut off and no node finishes it";
const GAP: &str = "the log of the session has a gap";

#[cfg(test)]
mod tests;
