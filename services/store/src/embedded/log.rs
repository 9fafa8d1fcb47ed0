//! Room in the write-ahead log, made before it is needed.
//!
//! A commit that makes a file longer waits for the disk twice: for what it writes, and for the new length. Until the log has
//! had its full length once, that would be every commit.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a page takes in the log, with its header.
const FRAME_BYTES: u64 = 4_096 + 24;
/// Room for fewer pages than these is too little.
const LEAST: u32 = 512;
/// How much longer it is made then, in pieces.
const MORE: u32 = 64;
/// What is written at once: Linux caches it as one piece. With smaller ones, each page that is written later passes through
/// more of them, and with much larger ones through all of a large one.
const PIECE: usize = 64 << 10;

/// The file of the write-ahead log.
pub(super) struct Log {
    path: PathBuf,
}

impl Log {
    /// That of the store at `path`.
    pub(super) fn of(path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push("-wal");
        Self { path: name.into() }
    }

    /// Whether there is room enough after the first `frames` pages.
    pub(super) fn has_room(&self, frames: u32) -> io::Result<bool> {
        Ok(fs::metadata(&self.path)?.len() >= u64::from(frames + LEAST) * FRAME_BYTES)
    }

    /// Makes the file longer. Nobody else may write to the store meanwhile. To SQLite zeros are no page: the log ends
    /// before them.
    pub(super) fn lengthen(&self) -> io::Result<()> {
        let mut log = OpenOptions::new().append(true).open(&self.path)?;
        let room = vec![0; PIECE];
        (0..MORE).try_for_each(|_| log.write_all(&room))
    }
}
