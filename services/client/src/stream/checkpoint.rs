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
    /// The token that this process has left there, once it has written.
    left: Option<Option<String>>,
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
            left: None,
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

    /// Replaces the file, durably, by one that says this (W1). Leaves it as it is when another process has gone on with the
    /// session and left its token there: what this one knows is of no use any more, as the server is about to tell it, and
    /// would take the session from everybody.
    pub(super) fn write(&mut self, progress: Progress) -> io::Result<()> {
        let Progress { session_token, cursors, pending } = progress;
        if let Some(left) = &self.left
            && Self::read(&self.path).is_ok_and(|found| found.session_token != *left)
        {
            return Ok(());
        }
        let leaves = Some(session_token.clone());
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
        self.left = leaves;
        File::open(directory)?.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path) -> CheckpointFile {
        let made_from = r#"{"kind":"record","value":{"fields":[]}}"#;
        let selector = format!(
            r#"{{"agentType":"a","application":"b","constructorParameters":{made_from},"environment":"c","method":"d"}}"#
        );
        let [schema_evidence, idempotency_key] = ["ab12", "key"].map(str::to_owned);
        CheckpointFile { path: path.to_owned(), schema_evidence, selector, idempotency_key, left: None }
    }

    fn progress(token: &str) -> Progress {
        Progress { session_token: Some(token.to_owned()), ..Progress::default() }
    }

    #[test]
    fn whoever_has_lost_the_session_leaves_the_checkpoint_of_whoever_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("session");
        let token = || CheckpointFile::read(&path).unwrap().session_token.unwrap();
        let (mut old, mut new) = (file(&path), file(&path));
        old.write(progress("first")).unwrap();
        old.write(progress("second")).unwrap();
        new.write(progress("third")).unwrap();
        old.write(progress("second")).unwrap();
        assert_eq!(token(), "third");
        new.write(progress("fourth")).unwrap();
        assert_eq!(token(), "fourth");
    }
}
