//! The source of wall-clock time and randomness.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Wall clock and randomness of one node. Cheap to clone; clones share the state.
#[derive(Clone)]
pub struct Env {
    clock: Clock,
    rng: Arc<Mutex<StdRng>>,
}

#[derive(Clone)]
enum Clock {
    System,
    Virtual(VirtualClock),
}

impl Env {
    /// The real clock and operating-system entropy.
    #[must_use]
    pub fn system() -> Self {
        Self { clock: Clock::System, rng: Arc::new(Mutex::new(rand::make_rng())) }
    }

    /// A replayable environment: wall time starts at 2023-11-14T22:13:20Z and follows tokio's clock; all randomness
    /// comes from `seed`. Must be created inside a tokio runtime.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self::simulated(seed, VirtualClock::new())
    }

    /// A replayable environment that reads a given clock.
    #[must_use]
    pub fn simulated(seed: u64, clock: VirtualClock) -> Self {
        Self { clock: Clock::Virtual(clock), rng: Arc::new(Mutex::new(StdRng::seed_from_u64(seed))) }
    }

    /// Time since the Unix epoch. A clock set before 1970 reads as the epoch.
    #[must_use]
    pub fn unix_time(&self) -> Duration {
        match &self.clock {
            #[allow(clippy::disallowed_methods, reason = "this is the clock module")]
            Clock::System => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            Clock::Virtual(clock) => clock.unix_time(),
        }
    }

    /// Nanoseconds since the Unix epoch, saturating in the year 2262.
    #[must_use]
    pub fn unix_nanos(&self) -> i64 {
        i64::try_from(self.unix_time().as_nanos()).unwrap_or(i64::MAX)
    }

    /// Whether time and randomness are those of the world, and not of a test or a simulation.
    #[must_use]
    pub fn is_real(&self) -> bool {
        matches!(self.clock, Clock::System)
    }

    /// Fills `buffer` with random bytes.
    pub fn fill(&self, buffer: &mut [u8]) {
        // A panic while holding the generator leaves it usable: there is no invariant to break.
        self.rng.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(buffer);
    }

    /// `N` random bytes.
    #[must_use]
    pub fn random_bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// A random 64-bit number.
    #[must_use]
    pub fn random_u64(&self) -> u64 {
        u64::from_le_bytes(self.random_bytes())
    }
}

/// A wall clock that starts at 2023-11-14T22:13:20Z and advances with tokio's clock, which tests can pause. Clones are the
/// same clock.
#[derive(Clone)]
pub struct VirtualClock {
    start: tokio::time::Instant,
    set_ahead_by: Arc<AtomicI64>,
}

impl VirtualClock {
    /// A clock that starts now. Must be called inside a tokio runtime.
    #[must_use]
    pub fn new() -> Self {
        Self { start: tokio::time::Instant::now(), set_ahead_by: Arc::default() }
    }

    /// Sets the clock ahead, or back if `seconds` is negative, as an operator or a time service does.
    pub fn jump(&self, seconds: i64) {
        self.set_ahead_by.fetch_add(seconds, Ordering::Relaxed);
    }

    fn unix_time(&self) -> Duration {
        let ahead = self.set_ahead_by.load(Ordering::Relaxed);
        let (time, distance) = (VIRTUAL_EPOCH + self.start.elapsed(), Duration::from_secs(ahead.unsigned_abs()));
        if ahead < 0 { time.saturating_sub(distance) } else { time.saturating_add(distance) }
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

const VIRTUAL_EPOCH: Duration = Duration::from_secs(1_700_000_000);
