//! The checkpoint on disk (checkpoint.md section 3).

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use stream_session::Refusal;
use stream_session::checkpoint::Checkpoint;
use tempfile::Builder;

use super::Call;

/// A file with which a later process goes on with a session. It holds the session's token, which is as good as a key to the
/// session for whoever is its caller: the file is readable by its owner alone.
#[derive(Clone, Debug)]
pub struct CheckpointFile {
    path: PathBuf,
    schema_evidence: String,
    selector: String,
    idempotency_key: String,
}

/// What changes in it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) session_token: Option<String>,
    pub(super) cursors: Vec<(String, String)>,
    pub(super) pending: Option<String>,
}

impl CheckpointFile {
    /// The checkpoint of `call` at `path`. Nothing is written yet.
    pub fn new(path: impl Into<PathBuf>, call: &Call) -> Self {
        Self {
            path: path.into(),
            schema_evidence: call.method.evidence().to_owned(),
            selector: call.selector(),
            idempotency_key: call.idempotency_key.clone(),
        }
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// The file cannot be read; or, as [`io::ErrorKind::InvalidData`] with a [`Refusal`] inside, it is no checkpoint.
    pub fn read(path: &Path) -> io::Result<Checkpoint> {
        let invalid = |refusal: Refusal| io::Error::new(io::ErrorKind::InvalidData, refusal);
        Checkpoint::read(&fs::read(path)?).map_err(invalid)
    }

    /// Replaces the file, durably, by one that says this (W1).
    pub(super) fn write(&self, progress: Progress) -> io::Result<()> {
        let Progress { session_token, cursors, pending } = progress;
        let checkpoint = Checkpoint {
            schema_evidence: self.schema_evidence.clone(),
            selector: self.selector.clone(),
            idempotency_key: self.idempotency_key.clone(),
            session_token,
            delivered_output_cursors: cursors.into_iter().collect(),
            pending,
        };
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        // Readable by its owner alone, as every temporary file.
        let mut file = Builder::new().prefix(".checkpoint-").tempfile_in(directory)?;
        file.write_all(checkpoint.write().as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        File::open(directory)?.sync_all()
    }
}
