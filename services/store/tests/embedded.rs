//! The embedded engine does what every engine must.

use async_trait::async_trait;
use store::embedded::{Embedded, EmbeddedOptions};
use store::{Engine, EngineTransaction, StoreError};
use tempfile::TempDir;

/// A store that is removed with its last use.
struct Temporary {
    engine: Embedded,
    _directory: TempDir,
}

impl Temporary {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        let engine = Embedded::open(directory.path().join("store"), EmbeddedOptions::default()).expect("open");
        Self { engine, _directory: directory }
    }
}

#[async_trait]
impl Engine for Temporary {
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        self.engine.begin().await
    }
}

store::conformance_tests!(Some(Temporary::new()));
