//! From the first message of a connection to its answer (protocol.md, section 9).

use std::sync::Arc;

use auth::Caller;
use bytes::Bytes;
use futures::FutureExt;
use stream_session::server::{Action, Connection, Cut, Event};
use tokio::time::{Instant, sleep_until};

use super::Endpoint;
use super::evaluate::{Admitted, Refused};
use super::metrics::METRICS;
use super::session::Attached;
use super::socket::{Heard, Socket};

/// What a first message has come to.
pub(super) enum Outcome {
    /// The connection ends, and is closed with this code, unless the client is gone.
    Over(Option<u16>),
    /// The connection has a session, for which this is to be done first.
    Attached(Box<Attached>, Vec<Action<'static>>),
}

/// A connection without a session.
struct Front<'f> {
    endpoint: &'f Arc<Endpoint>,
    socket: &'f mut Socket,
    connection: &'f mut Connection,
    code: Option<u16>,
    is_gone: bool,
}

/// Reads and evaluates the first message of a connection.
pub(super) async fn admit(
    endpoint: &Arc<Endpoint>,
    socket: &mut Socket,
    connection: &mut Connection,
    caller: &Caller,
) -> Outcome {
    let mut front = Front { endpoint, socket, connection, code: None, is_gone: false };
    let Some(first) = front.first_message().await else { return front.over() };
    let mut actions = front.connection.text(&first);
    let admitted = match actions.pop() {
        Some(Action::Start(start)) => {
            let start = *start;
            front.evaluated(endpoint.start(caller, &start)).await
        }
        Some(Action::Attach(attach)) => front.evaluated(endpoint.attach(caller, &attach)).await,
        other => {
            actions.extend(other);
            front.perform(actions);
            return front.over();
        }
    };
    front.answer(admitted)
}

impl Front<'_> {
    fn over(self) -> Outcome {
        if let Some(code) = self.connection.refused() {
            METRICS.refused(code);
        }
        Outcome::Over(self.code.filter(|_| !self.is_gone))
    }

    /// The first message, if it is a text and comes in time.
    async fn first_message(&mut self) -> Option<Bytes> {
        let deadline = Instant::now() + self.endpoint.options.first_message_timeout;
        while self.code.is_none() {
            tokio::select! {
                heard = self.socket.turn(true) => match heard {
                    Heard::Text(first) => return Some(first),
                    heard => self.heard(heard),
                },
                () = self.endpoint.draining.cancelled() => self.on(Event::Draining),
                () = sleep_until(deadline) => self.on(Event::Cut(Cut::Protocol)),
            }
        }
        None
    }

    /// Waits for an evaluation, and listens to the client meanwhile: it must not say anything, but may go away.
    async fn evaluated(
        &mut self,
        evaluation: impl Future<Output = Result<Admitted, Refused>>,
    ) -> Result<Admitted, Refused> {
        let mut evaluation = std::pin::pin!(evaluation);
        let mut draining = false;
        let evaluated = loop {
            tokio::select! {
                biased;
                heard = self.socket.turn(true), if !self.is_gone => self.heard(heard),
                () = self.endpoint.draining.cancelled(), if !draining => {
                    draining = true;
                    self.on(Event::Draining);
                }
                evaluated = &mut evaluation => break evaluated,
            }
        };
        // An evaluation may keep the thread until its acceptance is durable. What has come meanwhile is known once the runtime
        // has looked, and has come too early.
        tokio::task::yield_now().await;
        while !self.is_gone
            && let Some(heard) = self.socket.turn(true).now_or_never()
        {
            self.heard(heard);
        }
        evaluated
    }

    fn answer(mut self, evaluated: Result<Admitted, Refused>) -> Outcome {
        match evaluated {
            Err(Refused(refusal, retryable)) => self.on(Event::Refused(refusal, retryable)),
            Ok(Admitted { acceptance, attached }) => {
                let actions = self.connection.on(Event::Accepted(acceptance));
                if let Some(attached) = attached {
                    return Outcome::Attached(Box::new(attached), actions);
                }
                self.perform(actions);
                self.on(Event::Replaced);
            }
        }
        self.over()
    }

    fn heard(&mut self, heard: Heard) {
        match heard {
            Heard::Text(text) => {
                let actions = self.connection.text(&text);
                self.perform(actions);
            }
            Heard::Binary(message) => {
                let actions = self.connection.binary(&message);
                self.perform(actions);
            }
            Heard::Sign | Heard::Sent => {}
            Heard::TooLarge => self.on(Event::Cut(Cut::TooLarge)),
            Heard::Broken => self.on(Event::Cut(Cut::Protocol)),
            Heard::Gone => {
                self.is_gone = true;
                self.on(Event::Lost);
            }
        }
    }

    fn on(&mut self, event: Event) {
        let actions = self.connection.on(event);
        self.perform(actions);
    }

    fn perform(&mut self, actions: Vec<Action<'_>>) {
        for action in actions {
            match action {
                Action::Send(text) => self.socket.text(text),
                // There is no session that another connection does not have.
                Action::Detach => self.on(Event::Detached),
                Action::Close(code) => self.code = Some(code),
                // Only a connection with a session asks for anything else.
                _ => {}
            }
        }
    }
}
