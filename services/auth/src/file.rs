//! A file of the operator that is read again when it has changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use thiserror::Error;

/// A file cannot be used.
#[derive(Debug, Error)]
pub enum InvalidFile {
    /// It cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It does not say what it should. The text does not quote the file, which may hold secrets.
    #[error("{path}: {problem}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// Makes of a file's text what it stands for, or says what is wrong.
type Read<T> = fn(&str) -> Result<T, String>;

/// What a file says, as of its last good version.
pub(crate) struct Watched<T> {
    path: PathBuf,
    read: Read<T>,
    last: Mutex<Last<T>>,
}

struct Last<T> {
    version: Version,
    value: Arc<T>,
}

/// What differs between two versions of a file: how long it is, when it was written, and, if it was replaced, which file
/// it is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    bytes: u64,
    written: Option<SystemTime>,
    file: u64,
}

impl<T> Watched<T> {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// [`InvalidFile`].
    pub(crate) fn open(path: &Path, read: Read<T>) -> Result<Self, InvalidFile> {
        // The version first: a change in between is then noticed.
        let version = version(path)?;
        let value = Arc::new(load(path, read)?);
        Ok(Self { path: path.to_owned(), read, last: Mutex::new(Last { version, value }) })
    }

    /// What the file says now.
    pub(crate) fn current(&self) -> Arc<T> {
        // A value is replaced as a whole, so a poisoned lock is still good.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match version(&self.path) {
            Ok(version) if version == last.version => {}
            Ok(version) => {
                last.version = version;
                match load(&self.path, self.read) {
                    Ok(value) => last.value = Arc::new(value),
                    Err(problem) => tracing::error!(%problem, "a changed file is ignored"),
                }
            }
            Err(problem) => tracing::warn!(%problem, "a file is gone, what it said still holds"),
        }
        Arc::clone(&last.value)
    }
}

/// Reads TOML. Faults are told without the line that has them.
pub(crate) fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start].lines().count().max(1));
        let place = line.map_or_else(String::new, |line| format!("line {line}: "));
        format!("{place}{}", error.message())
    })
}

fn load<T>(path: &Path, read: Read<T>) -> Result<T, InvalidFile> {
    let text = fs::read_to_string(path).map_err(|source| unreadable(path, source))?;
    read(&text).map_err(|problem| InvalidFile::Content { path: path.to_owned(), problem })
}

fn version(path: &Path) -> Result<Version, InvalidFile> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).map_err(|source| unreadable(path, source))?;
    Ok(Version { bytes: metadata.len(), written: metadata.modified().ok(), file: metadata.ino() })
}

fn unreadable(path: &Path, source: io::Error) -> InvalidFile {
    InvalidFile::Unreadable { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<u8, String> {
        text.trim().parse().map_err(|_| "not a number".to_owned())
    }

    #[test]
    fn a_change_is_seen_and_a_bad_one_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert!(matches!(Watched::open(&path, number), Err(InvalidFile::Unreadable { .. })));
        fs::write(&path, "x").unwrap();
        assert!(matches!(Watched::open(&path, number), Err(InvalidFile::Content { .. })));
        fs::write(&path, "1").unwrap();
        let watched = Watched::open(&path, number).unwrap();
        assert_eq!(*watched.current(), 1);
        fs::write(&path, "22").unwrap();
        assert_eq!(*watched.current(), 22);
        fs::write(&path, "bad").unwrap();
        assert_eq!(*watched.current(), 22);
        fs::remove_file(&path).unwrap();
        assert_eq!(*watched.current(), 22);
        fs::write(&path, "3").unwrap();
        assert_eq!(*watched.current(), 3);
    }

    #[test]
    fn faults_do_not_quote_the_file() {
        let problem = from_toml::<std::collections::BTreeMap<String, u8>>("a = 1\nb = \"hidden\n").unwrap_err();
        assert!(problem.starts_with("line 2: ") && !problem.contains("hidden"), "{problem}");
    }
}
