//! The first message of a connection: frozen, sent again as it was, or made anew (protocol.md 20.1, K1).

use std::time::Duration;

use uuid::Uuid;

use super::input::Input;
use super::{Action, Client, Delivery, State};
use crate::message::{Attach, ClientMessage, Operation, Rejection};
use crate::server::Element;
use crate::{ErrorCode, Refusal};

/// How long a server may take to notice that the process is gone that drove the session before this one (A7).
const UNNOTICED: Duration = Duration::from_secs(15);

/// A start, frozen: sent again, it is the same text (K1).
#[derive(Clone, Debug)]
pub struct Start {
    /// The attempt that the text names.
    pub attempt: Uuid,
    /// The key that the text names.
    pub idempotency_key: String,
    /// The whole `invocationStart`.
    pub text: String,
    /// The inputs that it introduces, each with the type of its items.
    pub inputs: Vec<(Uuid, Element)>,
    /// Another process may have sent it.
    pub in_doubt: bool,
}

/// A session that another process has begun, and what that one knew of it.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// The attempt: a fresh one, or that of the message which is in doubt.
    pub attempt: Uuid,
    /// How to attach.
    pub operation: Operation,
    /// The key of the invocation.
    pub idempotency_key: String,
    /// The token of the latest acceptance.
    pub session_token: String,
    /// By the token of an output: the cursor up to which it was taken.
    pub cursors: Vec<(String, String)>,
    /// The types of the inputs that go on from here. More than one cannot be told apart.
    pub inputs: Vec<Element>,
    /// Another process may have sent this very message.
    pub in_doubt: bool,
}

/// A message that may be sent again.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) attempt: Uuid,
    pub(super) text: String,
    pub(super) kind: Kind,
    /// It was sent before, and may have been accepted.
    pub(super) in_doubt: bool,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// With the provisional references that it introduces.
    Start(Vec<Uuid>),
    Attach(Operation),
}

impl Client {
    /// A client that starts an invocation.
    #[must_use]
    pub fn start(start: Start) -> (Self, Vec<Action>) {
        let Start { attempt, idempotency_key, text, inputs, in_doubt } = start;
        let references = inputs.iter().map(|(reference, _)| *reference).collect();
        let pending = Pending { attempt, text, kind: Kind::Start(references), in_doubt };
        let inputs = inputs.into_iter().map(|(reference, element)| Input::new(reference, element)).collect();
        (Self::new(idempotency_key, pending, inputs), vec![Action::Connect(Duration::ZERO)])
    }

    /// A client that goes on with a session.
    #[must_use]
    pub fn attach(resumption: Resumption) -> (Self, Vec<Action>) {
        let Resumption { attempt, operation, idempotency_key, session_token, cursors, inputs, in_doubt } = resumption;
        let output_cursors = cursors.iter().map(|(_, cursor)| cursor.clone()).collect();
        let attach = Attach { attempt, operation, session_token: session_token.clone(), output_cursors };
        let text = ClientMessage::Attach(attach).encode();
        let pending = Pending { attempt, text, kind: Kind::Attach(operation), in_doubt };
        let mut client = Self::new(idempotency_key, pending, inputs.into_iter().map(Input::left).collect());
        client.session_token = Some(session_token);
        client.left = cursors.into_iter().collect();
        (client, vec![Action::Connect(Duration::ZERO)])
    }

    /// A rejection that allows it is answered with the same operation under a new attempt, and everything else ends the
    /// session here.
    pub(super) fn rejected(&mut self, rejection: Rejection, now: Duration, attempt: Uuid) -> Vec<Action> {
        let Rejection { code, message, retryable, .. } = rejection;
        match self.pending.as_ref().map(|pending| &pending.kind) {
            Some(Kind::Start(_)) if retryable => self.start_anew(now, attempt),
            Some(&Kind::Attach(operation)) if retryable => self.attach_anew(operation, now, attempt),
            Some(Kind::Attach(Operation::Resume))
                if code == ErrorCode::InvalidAttachmentState && self.may_be_unnoticed(now) =>
            {
                self.resume(now, attempt)
            }
            _ => self.over(Delivery::Failed(Refusal::new(code, message))),
        }
    }

    /// Whether the server may still think that the connection lives which was lost.
    fn may_be_unnoticed(&self, now: Duration) -> bool {
        let lost_here = !self.by_token.is_empty() || self.returned.is_some();
        lost_here || self.backoff.waited(now) < UNNOTICED
    }

    /// The same start with a new attempt and new references, under the same key.
    fn start_anew(&mut self, now: Duration, attempt: Uuid) -> Vec<Action> {
        if let Some(Pending { attempt: old, text, kind: Kind::Start(references), in_doubt }) = &mut self.pending {
            // Both are random: nothing else in the text is spelt like them.
            *text = text.replace(&old.to_string(), &attempt.to_string());
            for (n, reference) in references.iter_mut().enumerate() {
                let fresh = derived(attempt, n);
                *text = text.replace(&reference.to_string(), &fresh.to_string());
                let input = self.inputs.iter_mut().find(|input| input.reference() == Some(*reference));
                if let Some(input) = input {
                    input.rename(fresh);
                }
                *reference = fresh;
            }
            (*old, *in_doubt) = (attempt, false);
        }
        self.connect_again(now)
    }

    /// Freezes a resume with what the client knows now, and connects.
    pub(super) fn resume(&mut self, now: Duration, attempt: Uuid) -> Vec<Action> {
        self.attach_anew(Operation::Resume, now, attempt)
    }

    fn attach_anew(&mut self, operation: Operation, now: Duration, attempt: Uuid) -> Vec<Action> {
        let Some(session_token) = self.session_token.clone() else { return self.connect_again(now) };
        let output_cursors = self.cursors().into_values().map(str::to_owned).collect();
        let attach = Attach { attempt, operation, session_token, output_cursors };
        let text = ClientMessage::Attach(attach).encode();
        self.pending = Some(Pending { attempt, text, kind: Kind::Attach(operation), in_doubt: false });
        self.connect_again(now)
    }

    pub(super) fn connect_again(&mut self, now: Duration) -> Vec<Action> {
        self.state = State::Connecting;
        self.by_channel.clear();
        self.unnamed.clear();
        self.early.clear();
        self.early_bytes = 0;
        self.due.clear();
        self.nameless.clear();
        self.returned_here = false;
        match self.backoff.next(now) {
            Some(pause) => vec![Action::Connect(pause)],
            None => self.fail(ErrorCode::InternalError, "the server could not be reached for five minutes"),
        }
    }
}

/// A UUIDv4 as fresh as `attempt` is.
fn derived(attempt: Uuid, n: usize) -> Uuid {
    let digest = blake3::Hasher::new().update(attempt.as_bytes()).update(&(n as u64).to_be_bytes()).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}
