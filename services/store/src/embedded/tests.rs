//! What only the embedded engine promises.

mod commits;
mod opening;
mod snapshots;

use std::path::PathBuf;

use tempfile::TempDir;

use super::file::StoreFile;
use super::{Embedded, EmbeddedOptions};
use crate::{CommitError, Engine, Isolation};

/// A path in a directory of its own, which is removed at the end.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("temporary directory") }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    fn open(&self) -> Embedded {
        self.open_with(EmbeddedOptions::default())
    }

    fn open_with(&self, options: EmbeddedOptions) -> Embedded {
        Embedded::open(self.path(), options).expect("open")
    }

    fn file(&self) -> StoreFile {
        StoreFile::open(&self.path()).expect("open")
    }
}

async fn set(engine: &Embedded, key: &[u8], value: &[u8]) -> Result<(), CommitError> {
    let mut transaction = engine.begin().await?;
    transaction.set(key, value);
    transaction.commit().await.map(drop)
}

async fn get(engine: &Embedded, key: &[u8]) -> Option<Vec<u8>> {
    let mut transaction = engine.begin().await.expect("begin");
    transaction.get(key, Isolation::Snapshot).await.expect("get").map(|value| value.to_vec())
}
