//! Where the journal of a test's nodes is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use store::Engine;
use store::embedded::{Embedded, EmbeddedOptions};
#[cfg(feature = "fdb")]
use store::fdb::{Fdb, FdbOptions};

/// The journal that belongs to a directory: the file `journal.db` in it or, in a build with that engine and where
/// `FDB_CLUSTER_FILE` names a cluster, a subspace of the cluster.
#[derive(Clone, Debug)]
pub enum JournalPlace {
    /// In this file.
    File(PathBuf),
    /// In this cluster.
    #[cfg(feature = "fdb")]
    Cluster(FdbOptions),
}

impl JournalPlace {
    /// That of `directory`. The first one of a process prints which engine its tests run on.
    #[must_use]
    pub fn of(directory: &Path) -> Self {
        static SAID: Once = Once::new();
        let place = Self::told_by_environment(directory);
        SAID.call_once(|| println!("journals of this run are kept by {}", place.engine()));
        place
    }

    fn told_by_environment(directory: &Path) -> Self {
        #[cfg(feature = "fdb")]
        if let Some(cluster_file) = std::env::var_os("FDB_CLUSTER_FILE") {
            return Self::in_cluster(Path::new(&cluster_file), directory);
        }
        Self::File(directory.join("journal.db"))
    }

    /// That of `directory` in the cluster of `cluster_file`: a subspace that only this directory has.
    #[cfg(feature = "fdb")]
    #[must_use]
    pub fn in_cluster(cluster_file: &Path, directory: &Path) -> Self {
        use sha2::{Digest, Sha256};

        let digest = hex::encode(Sha256::digest(directory.as_os_str().as_encoded_bytes()));
        let mut options = FdbOptions::new(cluster_file);
        options.subspace = format!("test-{}", &digest[..16]).parse().expect("a name of hexadecimal digits");
        Self::Cluster(options)
    }

    fn engine(&self) -> &'static str {
        match self {
            Self::File(_) => "the embedded engine",
            #[cfg(feature = "fdb")]
            Self::Cluster(_) => "FoundationDB",
        }
    }

    /// Settings of a program that opens it, each with its value, as the rest of the names of flags.
    pub(crate) fn settings(&self) -> Vec<(&'static str, OsString)> {
        match self {
            Self::File(path) => vec![("journal", path.into())],
            #[cfg(feature = "fdb")]
            Self::Cluster(options) => {
                let mut place = OsString::from("fdb:");
                place.push(&options.cluster_file);
                vec![("journal", place), ("fdb-subspace", options.subspace.name().into())]
            }
        }
    }

    /// Opens what it is in.
    pub async fn open(&self) -> Arc<dyn Engine> {
        match self {
            Self::File(path) => Arc::new(Embedded::open(path, EmbeddedOptions::default()).expect("the file opens")),
            #[cfg(feature = "fdb")]
            Self::Cluster(options) => Arc::new(Fdb::open(options).await.expect("the cluster opens")),
        }
    }
}
