//! Lets the processes that share a store write in turn.
//!
//! SQLite's waiters poll for its one write lock, so that a process with much to write would take it again before any of
//! them looks. Here only one process at a time may wait for that lock, and it holds this file's lock meanwhile: whoever
//! has just written must get this one first, and so stands back.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How long a process sleeps between two looks.
const POLL: Duration = Duration::from_micros(200);

/// The file whose lock is held by the process that writes next.
pub(super) struct Turn {
    file: File,
}

/// The right to wait for SQLite's write lock. Dropping it lets the next process wait.
pub(super) struct Next<'t> {
    file: &'t File,
}

impl Turn {
    /// Opens the file that belongs to the store at `path`.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push("-turn");
        let options = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).clone();
        Ok(Self { file: options.open(PathBuf::from(name))? })
    }

    /// Waits for the turn of this process, but no longer than `bound`: it is a courtesy, and SQLite's lock decides.
    pub(super) fn wait(&self, bound: Duration) -> Next<'_> {
        let mut polls = bound.as_micros() / POLL.as_micros();
        while polls > 0 && self.file.try_lock().is_err() {
            thread::sleep(POLL);
            polls -= 1;
        }
        Next { file: &self.file }
    }
}

impl Drop for Next<'_> {
    fn drop(&mut self) {
        // Fails only where locking does not work at all; then there is no turn to pass on.
        let _ = self.file.unlock();
    }
}
