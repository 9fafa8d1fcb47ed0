//! Performs what the state machine asks for: the only place of a session that meets connections and the clock.

use std::sync::Arc;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use stream_session::client::Event;
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::{self, Bytes, Message};

use super::connect::{Connector, Failure, Socket, is_too_large};
use super::shared::{Shared, Step, Told};
use super::{CheckpointFile, Error, Options};

/// A message was too large for this side (protocol.md section 17).
const TOO_LARGE: u16 = 1009;

/// A session under way.
pub(super) struct Driver {
    pub(super) shared: Arc<Shared>,
    pub(super) connector: Connector,
    pub(super) options: Options,
    pub(super) keeper: Keeper,
}

/// Keeps the checkpoint, if there is one: one write at a time.
pub(super) struct Keeper {
    shared: Arc<Shared>,
    file: Mutex<Option<CheckpointFile>>,
}

/// The checkpoint could not be written, and the session was told.
struct NotKept;

/// How a connection came to its end.
struct Lost {
    event: Event,
    cause: String,
}

impl Driver {
    /// Runs to the end of the session, and then keeps what the application still takes.
    pub(super) async fn run(mut self) {
        while let Step::Connect(pause) = self.shared.step() {
            if self.keeper.save().await.is_err() {
                return;
            }
            sleep(pause).await;
            let lost = match self.connector.connect().await {
                Ok(socket) => self.serve(socket).await,
                Err(Failure { event, cause }) => Some(Lost { event, cause }),
            };
            if let Some(Lost { event, cause }) = lost {
                let endpoint = self.connector.endpoint().to_string();
                tracing::debug!(endpoint, cause, ?event, "no connection to the session");
                if !matches!(event, Event::Refused(_)) {
                    self.shared.tell(Told::Lost { endpoint: endpoint.clone(), cause });
                }
                self.shared.on(event, &endpoint);
                self.connector.go_on();
            }
        }
        self.keeper.keep().await;
    }

    /// `None` once the connection is of no use any more.
    async fn serve(&self, socket: Socket) -> Option<Lost> {
        let endpoint = self.connector.endpoint().to_string();
        self.shared.on(Event::Connected, &endpoint);
        let (mut sink, mut stream) = socket.split();
        let lost = tokio::select! {
            lost = self.read(&mut stream, &endpoint) => lost,
            lost = self.write(&mut sink) => lost,
            () = self.keeper.keep() => None,
        };
        if lost.is_none() {
            // Whoever closes first decides whether the other side thinks of it as lost; there is nothing to wait for.
            let _ = timeout(self.options.ping_interval, sink.close()).await;
        }
        lost
    }

    async fn read(&self, stream: &mut SplitStream<Socket>, endpoint: &str) -> Option<Lost> {
        loop {
            while !self.shared.has_room() {
                self.shared.room.notified().await;
            }
            let message = match timeout(self.options.silence, stream.next()).await {
                Err(_) => return Some(Lost::because("it was silent for too long")),
                Ok(None) => return Some(Lost::because("the connection was closed")),
                Ok(Some(Err(error))) => return Some(Lost::by(&error)),
                Ok(Some(Ok(message))) => message,
            };
            match message {
                Message::Text(text) => {
                    let bytes = text.len();
                    self.shared.act(|client, now, attempt| client.text(text.as_bytes(), now, attempt), bytes, endpoint);
                }
                Message::Binary(payload) => {
                    self.shared.act(|client, _, _| client.binary(&payload), payload.len(), endpoint);
                }
                Message::Close(frame) => return Some(Lost::closed(frame.as_ref())),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
            if self.shared.awaits_save() && self.keeper.save().await.is_err() {
                return None;
            }
            if self.shared.is_done_with_connection() {
                return None;
            }
        }
    }

    async fn write(&self, sink: &mut SplitSink<Socket, Message>) -> Option<Lost> {
        let mut pings = interval(self.options.ping_interval);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let sent = async {
                while let Some(message) = self.shared.next_message() {
                    sink.feed(message).await?;
                }
                sink.flush().await
            };
            if let Err(error) = sent.await {
                return Some(Lost::by(&error));
            }
            tokio::select! {
                () = self.shared.to_send.notified() => {}
                _ = pings.tick() => {
                    if let Err(error) = sink.feed(Message::Ping(Bytes::new())).await {
                        return Some(Lost::by(&error));
                    }
                }
            }
        }
    }
}

impl Keeper {
    pub(super) fn new(shared: Arc<Shared>, file: Option<CheckpointFile>) -> Self {
        Self { shared, file: Mutex::new(file) }
    }

    /// Writes what has changed since the last time.
    async fn save(&self) -> Result<(), NotKept> {
        let mut kept = self.file.lock().await;
        let (Some(mut file), Some((through, progress))) = (kept.clone(), self.shared.to_save()) else { return Ok(()) };
        let written = tokio::task::spawn_blocking(move || file.write(progress).map(|()| file)).await;
        match written.unwrap_or_else(|panicked| Err(panicked.into())) {
            Ok(file) => {
                *kept = Some(file);
                self.shared.saved(through);
            }
            Err(error) => {
                self.shared.fail(Error::checkpoint(&error));
                return Err(NotKept);
            }
        }
        Ok(())
    }

    /// Writes whatever changes. Does not end unless it cannot be written.
    async fn keep(&self) {
        loop {
            let saving = self.shared.saving.notified();
            tokio::pin!(saving);
            saving.as_mut().enable();
            if self.shared.is_behind() && self.save().await.is_err() {
                return;
            }
            if !self.shared.is_behind() {
                saving.await;
            }
        }
    }
}

impl Lost {
    fn because(cause: &str) -> Self {
        Self { event: Event::Lost, cause: cause.to_owned() }
    }

    fn by(error: &tungstenite::Error) -> Self {
        let event = if is_too_large(error) { Event::Closed(TOO_LARGE) } else { Event::Lost };
        Self { event, cause: error.to_string() }
    }

    fn closed(frame: Option<&CloseFrame>) -> Self {
        match frame {
            Some(frame) => {
                let code = u16::from(frame.code);
                Self { event: Event::Closed(code), cause: format!("the server closed the connection with code {code}") }
            }
            None => Self::because("the connection was closed"),
        }
    }
}
