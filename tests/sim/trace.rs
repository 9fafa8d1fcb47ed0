//! What happens in a run, in order: the same for every run of one seed.

use std::fmt::Arguments;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::scene::{Scene, Scenes};

/// The events of one run.
pub struct Trace {
    start: Instant,
    lines: Mutex<Lines>,
}

struct Lines {
    hasher: Sha256,
    /// Kept only where somebody will read them.
    kept: Option<Vec<String>>,
    scenes: Scenes,
}

impl Trace {
    /// An empty trace, which begins now.
    pub fn new(keep: bool) -> Self {
        let lines = Lines { hasher: Sha256::new(), kept: keep.then(Vec::new), scenes: Scenes::new() };
        Self { start: Instant::now(), lines: Mutex::new(lines) }
    }

    /// Notes an event.
    pub fn note(&self, event: Arguments<'_>) {
        let line = format!("{:>7} ms  {event}", self.start.elapsed().as_millis());
        self.with(|lines| {
            lines.hasher.update(&line);
            lines.hasher.update(b"\n");
            if let Some(kept) = &mut lines.kept {
                kept.push(line);
            }
        });
    }

    /// Notes that a scene was played.
    pub fn play(&self, scene: Scene) {
        self.with(|lines| *lines.scenes.entry(scene).or_default() += 1);
    }

    /// The scenes that were played.
    pub fn scenes(&self) -> Scenes {
        self.with(|lines| lines.scenes.clone())
    }

    /// A hash of all events so far.
    pub fn digest(&self) -> String {
        self.with(|lines| hex::encode(lines.hasher.clone().finalize()))
    }

    /// The events, if they were kept.
    pub fn lines(&self) -> Vec<String> {
        self.with(|lines| lines.kept.clone().unwrap_or_default())
    }

    fn with<T>(&self, of: impl FnOnce(&mut Lines) -> T) -> T {
        of(&mut self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
