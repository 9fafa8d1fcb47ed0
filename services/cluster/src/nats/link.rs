//! One connection, from its beginning to its end.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, Message, PublishError, SubscribeError, Subscriber};
use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use journal::SessionUid;
use thiserror::Error;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Shared;
use super::connection::is_whole;
use super::directory::{Beat, Change};
use super::message::{self, Errand};
use super::outbox::Letter;

/// Longest time to say farewell.
const FAREWELL: Duration = Duration::from_millis(200);

/// Why a connection has ended.
#[derive(Debug, Error)]
pub(super) enum LinkEnd {
    #[error("the connection broke")]
    Broken,
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    #[error(transparent)]
    Publish(#[from] PublishError),
}

/// A connection in use.
pub(super) struct Link {
    shared: Arc<Shared>,
    client: Client,
    broken: Arc<Notify>,
}

/// The subscriptions of a connection.
struct Subscriptions {
    beats: Subscriber,
    run: Subscriber,
    registry: Subscriber,
    sessions: Sessions,
}

/// Those to news of sessions. One whose guard is dropped ends.
#[derive(Default)]
struct Sessions {
    guards: HashMap<SessionUid, DropGuard>,
    news: SelectAll<BoxStream<'static, (SessionUid, Message)>>,
}

impl Link {
    /// `broken` is notified when the connection breaks.
    pub(super) fn new(shared: Arc<Shared>, client: Client, broken: Arc<Notify>) -> Self {
        Self { shared, client, broken }
    }

    /// Uses the connection until it breaks, or until `stop` fires, which ends it with a farewell.
    pub(super) async fn run(self, stop: &CancellationToken) -> Result<(), LinkEnd> {
        self.shared.follows.begin();
        let subscriptions = self.subscribe().await?;
        self.shared.link_begins(&self.client);
        tokio::select! {
            () = stop.cancelled() => {
                // Others learn of it all the same, a little later.
                let _ = timeout(FAREWELL, self.say_farewell()).await;
                Ok(())
            }
            () = self.broken.notified() => Err(LinkEnd::Broken),
            Err(end) = self.beat() => Err(end),
            Err(end) = self.hear(subscriptions) => Err(end),
            Err(end) = self.send() => Err(end),
        }
    }

    async fn subscribe(&self) -> Result<Subscriptions, SubscribeError> {
        let subjects = &self.shared.subjects;
        let beats = self.client.subscribe(subjects.beats()).await?;
        let run = self.client.subscribe(subjects.run(self.shared.node.incarnation)).await?;
        let registry = self.client.subscribe(subjects.registry()).await?;
        let mut subscriptions = Subscriptions { beats, run, registry, sessions: Sessions::default() };
        for session in self.shared.newsroom.followed() {
            self.follow(&mut subscriptions.sessions, session).await?;
        }
        Ok(subscriptions)
    }

    async fn follow(&self, sessions: &mut Sessions, session: SessionUid) -> Result<(), SubscribeError> {
        if sessions.guards.contains_key(&session) {
            return Ok(());
        }
        let messages = self.client.subscribe(self.shared.subjects.session(&session)).await?;
        let token = CancellationToken::new();
        sessions.guards.insert(session.clone(), token.clone().drop_guard());
        let news = messages.take_until(token.cancelled_owned()).map(move |message| (session.clone(), message));
        sessions.news.push(news.boxed());
        Ok(())
    }

    async fn beat(&self) -> Result<Infallible, LinkEnd> {
        let mut ticks = interval(self.shared.heartbeat);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            // Its event may have been lost among others.
            if !is_whole(&self.client) {
                return Err(LinkEnd::Broken);
            }
            for info in self.shared.directory().look(Instant::now()) {
                tracing::info!(node = info.node.name, incarnation = %info.node.incarnation, "node is silent");
            }
            let beat = Beat::Alive { info: self.shared.info(), lost: self.shared.outbox.lost() };
            self.client.publish(self.shared.subjects.beats(), message::encode_beat(&beat).into()).await?;
        }
    }

    async fn say_farewell(&self) -> Result<(), PublishError> {
        let farewell = Beat::Farewell(self.shared.node.incarnation);
        self.client.publish(self.shared.subjects.beats(), message::encode_beat(&farewell).into()).await?;
        // It is on its way, or the connection is broken, and there is no more to do.
        let _ = self.client.flush().await;
        Ok(())
    }

    async fn hear(&self, subscriptions: Subscriptions) -> Result<Infallible, LinkEnd> {
        let Subscriptions { mut beats, mut run, mut registry, mut sessions } = subscriptions;
        loop {
            tokio::select! {
                beat = beats.next() => self.hear_beat(&beat.ok_or(LinkEnd::Broken)?),
                errand = run.next() => self.shared.attend(&self.client, errand.ok_or(LinkEnd::Broken)?).await?,
                change = registry.next() => {
                    change.ok_or(LinkEnd::Broken)?;
                    self.shared.registry.notify_one();
                }
                Some((session, news)) = sessions.news.next(), if !sessions.news.is_empty() => {
                    self.hear_news(&session, &news);
                }
                changes = self.shared.follows.changes() => self.change_follows(&mut sessions, changes).await?,
            }
        }
    }

    fn hear_beat(&self, beat: &Message) {
        let Some(beat) = self.shared.decoded(message::decode_beat(&beat.payload)) else { return };
        let came = match &beat {
            Beat::Alive { info, .. } => Some(info.clone()),
            Beat::Farewell(_) => None,
        };
        match self.shared.directory().hear(beat, Instant::now()) {
            Change::Nothing => {}
            Change::Came => {
                let Some(info) = came else { return };
                tracing::info!(node = info.node.name, incarnation = %info.node.incarnation, address = info.address, version = info.version, "node is there");
            }
            Change::Left(info) => {
                tracing::info!(node = info.node.name, incarnation = %info.node.incarnation, "node has left");
            }
            Change::MissedSomething => self.shared.missed(),
        }
    }

    fn hear_news(&self, session: &SessionUid, news: &Message) {
        if let Some(Some(news)) = self.shared.decoded(message::decode_news(&news.payload)) {
            self.shared.newsroom.tell(session, news);
        }
    }

    async fn change_follows(
        &self,
        sessions: &mut Sessions,
        changes: HashMap<SessionUid, bool>,
    ) -> Result<(), SubscribeError> {
        for (session, followed) in changes {
            if followed {
                self.follow(sessions, session).await?;
            } else {
                sessions.guards.remove(&session);
            }
        }
        Ok(())
    }

    async fn send(&self) -> Result<Infallible, LinkEnd> {
        let subjects = &self.shared.subjects;
        loop {
            let (subject, payload) = match self.shared.outbox.next().await {
                Letter::News(session, news) => (subjects.session(&session), message::encode_news(news)),
                Letter::Dispossessed { owner, session } => {
                    (subjects.run(owner), message::encode_errand(Errand::Dispossessed(session)))
                }
                Letter::RegistryChanged => (subjects.registry(), Vec::new()),
            };
            // A server may take less than nodes send.
            if payload.len() > self.client.max_payload() {
                self.shared.outbox.note_loss();
            } else {
                self.client.publish(subject, payload.into()).await?;
            }
        }
    }
}
