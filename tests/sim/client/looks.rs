//! Looking at sessions.

use wire::{LogRecord, ReplayRequest, Session};

use futures::TryStreamExt;

use super::{ATTEMPTS, Client};

impl Client {
    pub(super) async fn get(&self, session: &str) {
        self.read(session).await;
    }

    /// The session as of now, if a node says so.
    pub(super) async fn read(&self, session: &str) -> Option<Session> {
        for _ in 0..ATTEMPTS {
            let asked = self.cluster.world.witness.head(session);
            let uid = session.to_owned();
            let found = self.caller.call(self.any_node(), |host, _| async move { host.get(&uid).await }).await;
            self.note(&format!("gets {session}"), &found);
            if let Ok(found) = found {
                self.cluster.world.witness.answered(&found, asked);
                return Some(found);
            }
        }
        None
    }

    pub(super) async fn replay(&self, session: &str) {
        let asked = self.cluster.world.witness.head(session);
        let request = ReplayRequest { session: session.to_owned(), ..ReplayRequest::default() };
        let replayed = self
            .caller
            .call(self.any_node(), |host, _| async move { host.replay(&request).try_collect::<Vec<LogRecord>>().await })
            .await;
        self.note(&format!("replays {session}"), &replayed);
        if let Ok(records) = replayed {
            self.cluster.world.witness.replayed(session, &records, asked);
        }
    }

    /// Watches until it loses patience. Every record comes once and in order, whatever becomes of the news.
    pub(super) async fn watch(&self, session: &str) {
        let (witness, asked) = (&self.cluster.world.witness, self.cluster.world.witness.head(session));
        let mut heard = Vec::new();
        let watched = self.caller.watch(self.any_node(), session, |record| heard.push(record)).await;
        self.note(&format!("watches {session} for {} records", heard.len()), &watched);
        // It may have been cut off before it had read what there was.
        witness.replayed(session, &heard, asked.min(heard.len()));
    }
}
