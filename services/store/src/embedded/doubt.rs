//! Whether the files of a store may lack what was written to them.
//!
//! When a sync of a file fails, the operating system may drop what it was to write, and it says so once: the next sync
//! succeeds. SQLite counts pages as copied before the sync that covers them, and would then write over the log that alone
//! has them; and what of the log itself was dropped would still be read as part of it. So after a failed sync nobody copies any
//! more, nobody removes the log, and the next one to open the store has to be alone, and copies all of the log anew.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The doubt in one store, which the processes that have it open share. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub(super) struct Doubt(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// What this process knows, even where nothing can be written any more.
    raised: AtomicBool,
    /// Exists while there is doubt.
    marker: PathBuf,
}

impl Doubt {
    /// That in the store at `path`.
    pub(super) fn of(path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push("-unsynced");
        Self(Arc::new(Shared { raised: AtomicBool::new(false), marker: name.into() }))
    }

    pub(super) fn raise(&self) {
        self.0.raised.store(true, Ordering::Relaxed);
        if let Err(error) = File::create(&self.0.marker) {
            let path = self.0.marker.display();
            tracing::error!(%path, %error, "cannot tell other processes that a sync has failed");
        }
    }

    pub(super) fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::Relaxed) || self.is_marked()
    }

    /// Whether the doubt is one of another process too.
    pub(super) fn is_marked(&self) -> bool {
        // A disk that fails may not even tell.
        self.0.marker.try_exists().unwrap_or(true)
    }

    /// All of the log was copied anew.
    pub(super) fn settle(&self) -> io::Result<()> {
        match fs::remove_file(&self.0.marker) {
            // Another process has done the same, before or after.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => self.0.raised.store(false, Ordering::Relaxed),
        }
        Ok(())
    }
}
