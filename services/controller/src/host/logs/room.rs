//! Room in memory for logs that are read for a turn and too large to go uncounted.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::HostError;

/// What is counted is whole mebibytes.
const UNIT: usize = 1 << 20;
/// Logs of up to so many bytes are not counted: what they take together is bounded by the number of calls.
const UNCOUNTED: usize = 4 * UNIT;
/// Longest that one log waits for others to leave, all its waits together.
const WAIT: Duration = Duration::from_secs(10);

/// The room of one host. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub(super) struct Room {
    /// In units. A log that needs more takes all of it, and is alone there.
    size: u32,
    free: Arc<Semaphore>,
    /// One log at a time grows: of several that have read half of themselves, none might ever find the rest free.
    entrance: Arc<Semaphore>,
}

impl Room {
    /// For `bytes` of logs together.
    pub(super) fn new(bytes: usize) -> Self {
        let size = u32::try_from(bytes / UNIT)
            .unwrap_or(u32::MAX)
            .clamp(1, Semaphore::MAX_PERMITS.try_into().unwrap_or(u32::MAX));
        Self { size, free: Arc::new(Semaphore::new(size as usize)), entrance: Arc::new(Semaphore::new(1)) }
    }

    /// A place for a log of which nothing is read yet.
    pub(super) fn place(&self) -> Place {
        Place { room: self.clone(), held: None, entrance: None, patience: WAIT }
    }
}

/// What a log takes of the room, until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    room: Room,
    held: Option<OwnedSemaphorePermit>,
    entrance: Option<OwnedSemaphorePermit>,
    /// How much longer it may wait.
    patience: Duration,
}

impl Place {
    /// Makes the place fit for a log of `bytes`.
    ///
    /// # Errors
    /// [`HostError::NoRoom`] if others left too little for ten seconds.
    pub(super) async fn fit(&mut self, bytes: usize) -> Result<(), HostError> {
        let more = self.missing(bytes);
        if more == 0 {
            return Ok(());
        }
        if self.entrance.is_none() {
            self.entrance = Some(self.wait(Arc::clone(&self.room.entrance), 1).await?);
        }
        let more = self.wait(Arc::clone(&self.room.free), more).await?;
        self.hold(more);
        Ok(())
    }

    /// Does the same if nothing has to be waited for, or if this is the log that grows, and returns whether it did.
    pub(super) async fn fit_now(&mut self, bytes: usize) -> Result<bool, HostError> {
        let more = self.missing(bytes);
        if more == 0 || self.entrance.is_some() {
            return self.fit(bytes).await.map(|()| true);
        }
        let entrance = Arc::clone(&self.room.entrance).try_acquire_owned();
        let (Ok(entrance), Ok(more)) = (entrance, Arc::clone(&self.room.free).try_acquire_many_owned(more)) else {
            return Ok(false);
        };
        self.entrance = Some(entrance);
        self.hold(more);
        Ok(true)
    }

    /// How much more a log of `bytes` needs, in units.
    fn missing(&self, bytes: usize) -> u32 {
        if bytes <= UNCOUNTED {
            return 0;
        }
        let held = self.held.as_ref().map_or(0, |held| u32::try_from(held.num_permits()).unwrap_or(u32::MAX));
        u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).min(self.room.size).saturating_sub(held)
    }

    fn hold(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
    }

    async fn wait(&mut self, semaphore: Arc<Semaphore>, permits: u32) -> Result<OwnedSemaphorePermit, HostError> {
        let begun = Instant::now();
        let acquired = timeout(self.patience, semaphore.acquire_many_owned(permits)).await;
        self.patience = self.patience.saturating_sub(begun.elapsed());
        acquired.ok().and_then(Result::ok).ok_or(HostError::NoRoom)
    }

    /// The log is read.
    pub(super) fn settle(mut self) -> Self {
        self.entrance = None;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_large_log_waits_until_another_leaves_and_a_small_one_does_not() {
        let room = Room::new(100 * UNIT);
        let mut first = room.place();
        first.fit(60 * UNIT).await.unwrap();
        let first = first.settle();

        let (mut small, mut large) = (room.place(), room.place());
        small.fit(UNCOUNTED).await.unwrap();
        assert!(matches!(large.fit(60 * UNIT).await, Err(HostError::NoRoom)));
        drop(large);

        let mut large = room.place();
        let (fitted, ()) = tokio::join!(large.fit(60 * UNIT), async { drop(first) });
        fitted.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_finds_no_room_is_told_before_waiting_for_it_unless_it_is_the_one_that_grows() {
        let room = Room::new(100 * UNIT);
        let (mut first, mut second) = (room.place(), room.place());
        assert!(first.fit_now(60 * UNIT).await.unwrap());
        assert!(!second.fit_now(17 * UNIT).await.unwrap(), "another grows");
        let first = first.settle();
        assert!(!second.fit_now(60 * UNIT).await.unwrap(), "too little is left");
        assert!(second.fit_now(20 * UNIT).await.unwrap());
        let (grown, ()) = tokio::join!(second.fit_now(60 * UNIT), async { drop(first) });
        assert!(grown.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn all_waits_of_a_log_together_are_bounded() {
        let room = Room::new(100 * UNIT);
        let mut first = room.place();
        first.fit(90 * UNIT).await.unwrap();
        let _first = first.settle();
        let (mut second, mut third) = (room.place(), room.place());
        let in_the_entrance = async move { second.fit(60 * UNIT).await };
        let behind_it = async {
            tokio::time::sleep(WAIT / 2).await;
            let begun = Instant::now();
            (third.fit(60 * UNIT).await, begun.elapsed())
        };
        let (in_the_entrance, (behind_it, waited)) = tokio::join!(in_the_entrance, behind_it);
        assert!(matches!((in_the_entrance, behind_it), (Err(HostError::NoRoom), Err(HostError::NoRoom))));
        assert!(waited <= WAIT + Duration::from_millis(10), "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn logs_that_grow_at_once_do_not_wait_for_each_other_for_ever() {
        let room = Room::new(100 * UNIT);
        let grow = async || {
            let mut place = room.place();
            for size in (20..=80).step_by(20) {
                place.fit(size * UNIT).await?;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok::<_, HostError>(place.settle())
        };
        let (first, second) = tokio::join!(async { grow().await.map(drop) }, async { grow().await.map(drop) });
        first.and(second).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_log_larger_than_the_room_has_it_alone() {
        let room = Room::new(30 * UNIT);
        let mut huge = room.place();
        huge.fit(1_000 * UNIT).await.unwrap();
        huge.fit(2_000 * UNIT).await.unwrap();
        let _huge = huge.settle();
        assert!(matches!(room.place().fit(17 * UNIT).await, Err(HostError::NoRoom)));
    }
}
