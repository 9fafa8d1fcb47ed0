//! What the application and the connection share: the state machine, and what waits for either of them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use env::Env;
use stream_session::client::{Action, Client, Delivery, Event, InputId, Item, OutputId, Returned};
use stream_session::message::{ClientReason, InvocationOutcome, OutputOutcome, ServerReason};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{Bytes, Message};
use uuid::Uuid;

use super::Error;
use super::checkpoint::Progress;

/// Most items of one output that wait for the application.
const QUEUED_ITEMS: usize = 256;
/// Most bytes of them, and of all outputs together (protocol.md section 18).
const QUEUED_STREAM_BYTES: usize = 16 << 20;
const QUEUED_BYTES: usize = 32 << 20;

/// A session, for both sides of it.
pub(super) struct Shared {
    state: Mutex<State>,
    env: Env,
    begun: Instant,
    /// There is something to send, or the connection is of no use any more.
    pub(super) to_send: Notify,
    /// The application has taken something.
    pub(super) room: Notify,
    /// There may be room for input, or none will ever be wanted.
    pub(super) writable: Notify,
    /// There is an update.
    pub(super) updated: Notify,
    /// The checkpoint is behind, or has caught up, or will not.
    pub(super) saving: Notify,
}

pub(super) struct State {
    pub(super) client: Client,
    /// For the present connection.
    outgoing: VecDeque<Message>,
    /// There is to be another connection, after a pause of at most so long.
    connect: Option<Duration>,
    outputs: HashMap<OutputId, Arc<Queue>>,
    /// What all of them hold.
    queued_bytes: usize,
    pub(super) updates: VecDeque<Told>,
    pub(super) ended: Option<Result<InvocationOutcome, Error>>,
    saves: Saves,
    /// The application has left the session to itself: what it drops now it does not give up.
    left: bool,
}

/// How far the checkpoint is behind, in changes that were made since the beginning.
#[derive(Default)]
struct Saves {
    made: u64,
    /// Nothing is sent before so many are written.
    needed: u64,
    written: u64,
}

/// What the application is told, besides items.
pub(super) enum Told {
    Lost { endpoint: String, cause: String },
    Accepted { endpoint: String },
    Returned(Option<Returned>),
    Output(OutputId, String),
    InputCancelled(InputId, ServerReason),
}

/// What has come of an output and waits for the application.
#[derive(Default)]
pub(super) struct Queue {
    held: Mutex<Held>,
    pub(super) changed: Notify,
}

#[derive(Default)]
pub(super) struct Held {
    items: VecDeque<Queued>,
    bytes: usize,
    end: Option<OutputOutcome>,
}

/// An item that waits.
pub(super) struct Queued {
    pub(super) sequence: u64,
    pub(super) item: Item,
    bytes: usize,
}

/// What comes next of an output.
pub(super) enum Next {
    Item(Queued),
    End(OutputOutcome),
    /// Nothing yet.
    Nothing,
}

/// What the driver does next.
pub(super) enum Step {
    Connect(Duration),
    Over,
}

impl Shared {
    /// `kept` says whether there is a checkpoint.
    pub(super) fn new(client: Client, first: Vec<Action>, kept: bool, env: Env) -> Self {
        let state = State {
            client,
            outgoing: VecDeque::new(),
            connect: None,
            outputs: HashMap::new(),
            queued_bytes: 0,
            updates: VecDeque::new(),
            ended: None,
            saves: Saves { written: if kept { 0 } else { u64::MAX }, ..Saves::default() },
            left: false,
        };
        let shared = Self {
            state: Mutex::new(state),
            env,
            begun: Instant::now(),
            to_send: Notify::new(),
            room: Notify::new(),
            writable: Notify::new(),
            updated: Notify::new(),
            saving: Notify::new(),
        };
        shared.act(|_, _, _| first, 0, "");
        shared
    }

    /// The state. Never held across an await.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // The state machine is left whole by whoever panics beside it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the state machine act, and performs what it asks for. `bytes` is how large the message is that it acts on.
    pub(super) fn act(
        &self,
        step: impl FnOnce(&mut Client, Duration, Uuid) -> Vec<Action>,
        bytes: usize,
        endpoint: &str,
    ) {
        let attempt = uuid::Builder::from_random_bytes(self.env.random_bytes()).into_uuid();
        let mut state = self.state();
        let actions = step(&mut state.client, self.begun.elapsed(), attempt);
        for action in actions {
            state.perform(action, bytes, endpoint);
        }
        drop(state);
        self.to_send.notify_one();
        self.writable.notify_waiters();
        self.updated.notify_one();
    }

    /// The application acts on a stream.
    pub(super) fn command<E>(&self, step: impl FnOnce(&mut Client) -> Result<Vec<Action>, E>) -> Result<(), E> {
        let mut state = self.state();
        if state.left {
            return Ok(());
        }
        for action in step(&mut state.client)? {
            state.perform(action, 0, "");
        }
        drop(state);
        self.to_send.notify_one();
        Ok(())
    }

    pub(super) fn on(&self, event: Event, endpoint: &str) {
        self.act(|client, now, attempt| client.on(event, now, attempt), 0, endpoint);
    }

    /// The application leaves the session to itself.
    pub(super) fn leave(&self) {
        self.state().left = true;
    }

    /// It does not go on, whatever the server says.
    pub(super) fn fail(&self, error: Error) {
        let mut state = self.state();
        state.connect = None;
        state.end(Err(error));
        drop(state);
        self.writable.notify_waiters();
        self.updated.notify_one();
        self.saving.notify_waiters();
    }

    pub(super) fn tell(&self, told: Told) {
        self.state().updates.push_back(told);
        self.updated.notify_one();
    }

    pub(super) fn step(&self) -> Step {
        match self.state().connect.take() {
            Some(pause) => Step::Connect(self.part_of(pause)),
            None => Step::Over,
        }
    }

    /// A random part of a pause, so that clients that were lost together do not come back together.
    fn part_of(&self, pause: Duration) -> Duration {
        let part = (self.env.random_u64() >> 32) as u32;
        pause.mul_f64(f64::from(part) / f64::from(u32::MAX))
    }

    /// Whether the present connection is of no use any more.
    pub(super) fn is_done_with_connection(&self) -> bool {
        let state = self.state();
        state.connect.is_some() || state.ended.is_some()
    }

    /// What is to be sent next. Nothing before the checkpoint says why (W2).
    pub(super) fn next_message(&self) -> Option<Message> {
        let mut state = self.state();
        if state.saves.are_awaited() { None } else { state.outgoing.pop_front() }
    }

    /// Whether more may be read.
    pub(super) fn has_room(&self) -> bool {
        let state = self.state();
        state.queued_bytes < QUEUED_BYTES && state.outputs.values().all(|queue| queue.has_room())
    }

    /// Takes what comes next of an output.
    pub(super) fn take(&self, queue: &Queue) -> Next {
        let mut held = queue.held();
        let Some(queued) = held.items.pop_front() else {
            return held.end.clone().map_or(Next::Nothing, Next::End);
        };
        held.bytes -= queued.bytes;
        drop(held);
        self.state().queued_bytes -= queued.bytes;
        self.room.notify_one();
        Next::Item(queued)
    }

    /// The application has no more use for an output: whatever has come of it, or is still to come, is as good as taken.
    pub(super) fn forget(&self, output: OutputId) {
        let mut state = self.state();
        let Some(queue) = state.outputs.remove(&output) else { return };
        let mut held = queue.held();
        state.queued_bytes -= std::mem::take(&mut held.bytes);
        let (end, _) = (held.end.is_some(), std::mem::take(&mut held.items));
        state.client.consumed(output, u64::MAX, end);
        state.saves.made += 1;
        drop(held);
        drop(state);
        self.room.notify_one();
        self.saving.notify_waiters();
    }

    /// The application has taken an output up to the item before `through`, or its end.
    pub(super) fn consumed(&self, output: OutputId, through: u64, end: bool) {
        let mut state = self.state();
        state.client.consumed(output, through, end);
        state.saves.made += 1;
        drop(state);
        self.saving.notify_waiters();
    }

    /// The application cancels every stream: the outputs first, which may otherwise end for want of input.
    pub(super) fn cancel(&self, reason: ClientReason) {
        let mut state = self.state();
        let inputs: Vec<_> = state.client.inputs().collect();
        let outputs: Vec<_> = state.outputs.keys().copied().collect();
        let mut actions: Vec<_> =
            outputs.into_iter().flat_map(|output| state.client.cancel_output(output, reason)).collect();
        actions.extend(inputs.into_iter().flat_map(|input| state.client.cancel_input(input, reason)));
        for action in actions {
            state.perform(action, 0, "");
        }
        drop(state);
        self.to_send.notify_one();
        self.writable.notify_waiters();
    }

    pub(super) fn queue(&self, output: OutputId) -> Arc<Queue> {
        self.state().outputs.get(&output).map(Arc::clone).unwrap_or_default()
    }

    /// What the checkpoint is to say now, if it does not, and up to which change that is.
    pub(super) fn to_save(&self) -> Option<(u64, Progress)> {
        let state = self.state();
        if !state.saves.are_behind() {
            return None;
        }
        let cursors = state.client.cursors();
        let progress = Progress {
            session_token: state.client.session_token().map(str::to_owned),
            cursors: cursors.into_iter().map(|(token, cursor)| (token.to_owned(), cursor.to_owned())).collect(),
            pending: state.client.pending().map(str::to_owned),
        };
        Some((state.saves.made, progress))
    }

    /// It says so.
    pub(super) fn saved(&self, through: u64) {
        self.state().saves.written = through;
        self.saving.notify_waiters();
        self.to_send.notify_one();
    }

    /// Whether something must be saved before anything is sent.
    pub(super) fn awaits_save(&self) -> bool {
        self.state().saves.are_awaited()
    }

    /// Whether something is not saved.
    pub(super) fn is_behind(&self) -> bool {
        self.state().saves.are_behind()
    }
}

impl Saves {
    fn are_behind(&self) -> bool {
        self.written < self.made
    }

    fn are_awaited(&self) -> bool {
        self.written < self.needed
    }
}

impl State {
    fn perform(&mut self, action: Action, bytes: usize, endpoint: &str) {
        match action {
            Action::Connect(pause) => {
                self.outgoing.clear();
                self.connect = Some(pause);
                self.note_change();
            }
            Action::Disconnect => self.outgoing.clear(),
            Action::Send(text) => self.outgoing.push_back(Message::text(text)),
            Action::SendBinary(head, payload) => {
                self.outgoing.push_back(Message::Binary(Bytes::from([&head, &payload[..]].concat())));
            }
            Action::Deliver(delivery) => self.deliver(delivery, bytes, endpoint),
        }
    }

    fn deliver(&mut self, delivery: Delivery, bytes: usize, endpoint: &str) {
        match delivery {
            Delivery::Accepted { .. } => {
                self.note_change();
                self.updates.push_back(Told::Accepted { endpoint: endpoint.to_owned() });
            }
            Delivery::Returned(returned) => self.updates.push_back(Told::Returned(returned)),
            Delivery::NewOutput { output, token } => {
                self.outputs.insert(output, Arc::default());
                self.updates.push_back(Told::Output(output, token));
            }
            Delivery::Item { output, sequence, item } => match self.outputs.get(&output) {
                Some(queue) => {
                    self.queued_bytes += bytes;
                    queue.put(Queued { sequence, item, bytes });
                }
                None => self.client.consumed(output, u64::MAX, false),
            },
            Delivery::Ended { output, outcome } => match self.outputs.get(&output) {
                Some(queue) => {
                    queue.held().end = Some(outcome);
                    queue.changed.notify_one();
                }
                None => self.client.consumed(output, u64::MAX, true),
            },
            Delivery::InputCancelled { input, reason } => self.updates.push_back(Told::InputCancelled(input, reason)),
            Delivery::Finished(outcome) => self.end(Ok(outcome)),
            Delivery::Revoked => self.end(Err(Error::Revoked)),
            Delivery::Failed(refusal) => self.end(Err(Error::Refused(refusal))),
        }
    }

    fn end(&mut self, outcome: Result<InvocationOutcome, Error>) {
        self.note_change();
        self.ended.get_or_insert(outcome);
        self.outputs.values().for_each(|queue| queue.changed.notify_one());
    }

    fn note_change(&mut self) {
        self.saves.made += 1;
        self.saves.needed = self.saves.made;
    }
}

impl Queue {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, queued: Queued) {
        let mut held = self.held();
        held.bytes += queued.bytes;
        held.items.push_back(queued);
        drop(held);
        self.changed.notify_one();
    }

    fn has_room(&self) -> bool {
        let held = self.held();
        held.items.len() < QUEUED_ITEMS && held.bytes < QUEUED_STREAM_BYTES
    }
}
