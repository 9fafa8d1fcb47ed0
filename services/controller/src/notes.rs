//! Positions in streams that are noted in the journal now and then, so that who writes a stream and who reads it know of each
//! other how far they are.

use std::collections::HashMap;
use std::time::Duration;

use journal::invocations::StreamId;
use tokio::time::Instant;

/// Most frames that pass before a note is due, and longest time.
const FRAMES: usize = 64;
const TIME: Duration = Duration::from_millis(500);

/// Positions that have moved and are not noted yet.
#[derive(Debug)]
pub struct Notes<P> {
    positions: HashMap<StreamId, P>,
    most_bytes: usize,
    bytes: usize,
    frames: usize,
    since: Option<Instant>,
}

impl<P> Notes<P> {
    /// None yet. A note is due after `most_bytes`, 64 frames or 500 ms, whichever comes first.
    #[must_use]
    pub fn every(most_bytes: usize) -> Self {
        Self { positions: HashMap::new(), most_bytes, bytes: 0, frames: 0, since: None }
    }

    /// A stream has moved on to `position` by a frame of so many bytes.
    pub fn add(&mut self, stream: StreamId, position: P, bytes: usize) {
        self.positions.insert(stream, position);
        self.bytes += bytes;
        self.frames += 1;
        self.since.get_or_insert_with(Instant::now);
    }

    /// When they are to be noted.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let is_much = self.bytes >= self.most_bytes || self.frames >= FRAMES;
        self.since.map(|since| if is_much { since } else { since + TIME })
    }

    /// What is to be noted now, if that is due.
    pub fn take_due(&mut self) -> Option<Vec<(StreamId, P)>> {
        self.due().filter(|due| *due <= Instant::now())?;
        Some(std::mem::replace(self, Self::every(self.most_bytes)).positions.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn stream(number: u128) -> StreamId {
        StreamId::new(Uuid::from_u128(number))
    }

    #[tokio::test(start_paused = true)]
    async fn a_note_is_due_after_a_time_and_has_the_last_position_of_each_stream() {
        let mut notes = Notes::every(1_000);
        assert_eq!(notes.due(), None);
        notes.add(stream(1), 1, 10);
        notes.add(stream(1), 2, 10);
        notes.add(stream(2), 7, 10);
        assert_eq!(notes.take_due(), None);
        tokio::time::advance(TIME).await;
        let mut due = notes.take_due().unwrap();
        due.sort_unstable();
        assert_eq!(due, [(stream(1), 2), (stream(2), 7)]);
        assert_eq!((notes.due(), notes.take_due()), (None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_due_at_once_after_many_bytes_or_frames() {
        let mut notes = Notes::every(1_000);
        notes.add(stream(1), 1, 1_000);
        assert_eq!(notes.take_due(), Some(vec![(stream(1), 1)]));
        (0..64).for_each(|position| notes.add(stream(1), position, 1));
        assert_eq!(notes.take_due(), Some(vec![(stream(1), 63)]));
    }
}
