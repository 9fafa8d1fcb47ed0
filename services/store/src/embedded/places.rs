//! That the files of a store are where they were when it was opened.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file itself; the write-ahead log, which has what was committed last; and the memory that processes share, by which
/// they keep out of each other's way.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

/// The files of an open store. Whatever is written to one whose path does not lead to it any more is lost.
pub(super) struct Places([Place; SUFFIXES.len()]);

struct Place {
    path: PathBuf,
    /// Device and number of the file, which tell it from another of its name.
    inode: (u64, u64),
}

impl Places {
    /// Those of the store at `path`.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let [file, log, shared] = SUFFIXES.map(|suffix| Place::of(path, suffix));
        Ok(Self([file?, log?, shared?]))
    }

    /// The path of a file that was removed or replaced.
    pub(super) fn lost(&self) -> Option<&Path> {
        self.0.iter().find(|place| !place.is_taken()).map(|place| &*place.path)
    }
}

impl Place {
    fn of(path: &Path, suffix: &str) -> io::Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let path = PathBuf::from(name);
        Ok(Self { inode: inode(&fs::metadata(&path)?), path })
    }

    /// Whether the path leads to the file, or cannot be followed now.
    fn is_taken(&self) -> bool {
        match fs::metadata(&self.path) {
            Ok(found) => inode(&found) == self.inode,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }
}

fn inode(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}
