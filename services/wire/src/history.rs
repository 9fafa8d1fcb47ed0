//! The events that a harness is given as the history of its session.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

use crate::Event;

/// A prefix of a session's log, shared without copying. Dereferences to the events in log order.
#[derive(Clone, Default)]
pub struct History {
    events: Arc<Vec<Event>>,
    len: usize,
    held: Option<Held>,
}

/// What a history holds.
pub type Held = Arc<dyn Any + Send + Sync>;

impl History {
    /// All of `events`.
    #[must_use]
    pub fn new(events: Vec<Event>) -> Self {
        Self { len: events.len(), events: Arc::new(events), held: None }
    }

    /// The first `len` of these events, or all if there are fewer.
    #[must_use]
    pub fn prefix(self, len: usize) -> Self {
        Self { len: len.min(self.len), ..self }
    }

    /// These events, with something that is to live for as long as this value or a clone of it does.
    #[must_use]
    pub fn holding(self, held: impl Any + Send + Sync) -> Self {
        Self { held: Some(Arc::new(held)), ..self }
    }

    /// What lives for as long as this value does, if there is anything, for whoever is to keep it longer.
    #[must_use]
    pub fn held(&self) -> Option<Held> {
        self.held.clone()
    }

    /// Adds events at the end. Copies only while another clone is alive.
    pub fn extend(&mut self, events: impl IntoIterator<Item = Event>) {
        let own = Arc::make_mut(&mut self.events);
        own.truncate(self.len);
        own.extend(events);
        self.len = own.len();
    }
}

impl Deref for History {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        &self.events[..self.len]
    }
}

impl From<Vec<Event>> for History {
    fn from(events: Vec<Event>) -> Self {
        Self::new(events)
    }
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "History({} events)", self.len)
    }
}
