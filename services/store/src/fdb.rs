//! The engine for a cluster: FoundationDB 7.3 or newer, through its own client.
//!
//! `docs/decisions/0002-store-over-foundationdb.md` says how the methods map. The retry loop is [`Store::transact`], and
//! every wait of a transaction ends with [`TRANSACTION_LIFE`].
//!
//! [`Store::transact`]: crate::Store::transact

mod errors;
mod lately;
mod metrics;
mod network;
mod options;
mod transaction;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use foundationdb::options::{DatabaseOption, TransactionOption};
use foundationdb::{Database, FdbError, FdbResult};
use prometheus_client::registry::Registry;
use thiserror::Error;
use tokio::sync::Semaphore;

pub use options::{FdbOptions, Tls};

use errors::read_error;
use lately::Lately;
use metrics::ClientCollector;
use transaction::FdbTransaction;

use crate::limits::TRANSACTION_LIFE;
use crate::watches::MAX_WATCHES;
use crate::{Engine, EngineTransaction, StoreError, Subspace};

/// Longest wait for a cluster to answer when it is opened.
const OPEN_BOUND: Duration = Duration::from_secs(10);

/// Marks transactions that stand back, so that an operator can throttle them by name.
const BACKGROUND_TAG: &str = "as-background";

/// Why a cluster cannot be used.
#[derive(Debug, Error)]
pub enum OpenError {
    /// A file that the options name cannot be read.
    #[error("{path} cannot be read: {source}", path = path.display())]
    File {
        /// The cluster file, or one for TLS.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// The client takes paths as text.
    #[error("{path} is not UTF-8", path = .0.display())]
    NotText(PathBuf),
    /// The client does not start.
    #[error("FoundationDB's client does not start: {0}")]
    Client(FdbError),
    /// The client runs already, and serves the whole process.
    #[error("FoundationDB's client runs with other TLS options in this process")]
    OtherTls,
    /// The cluster is not one, or refuses.
    #[error("the cluster of {cluster_file} cannot be opened: {source}", cluster_file = cluster_file.display())]
    Refused {
        /// Which cluster.
        cluster_file: PathBuf,
        /// What is wrong.
        source: FdbError,
    },
    /// The cluster is not there, or speaks another version.
    #[error(
        "the cluster of {cluster_file} does not answer within {bound:?}; see that it runs, that its version is the client's, \
         and that TLS is used by both or by none",
        cluster_file = cluster_file.display()
    )]
    NoAnswer {
        /// Which cluster.
        cluster_file: PathBuf,
        /// How long was waited.
        bound: Duration,
    },
}

/// A subspace of a FoundationDB cluster. Clones share the connection.
#[derive(Clone)]
pub struct Fdb {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    subspace: Subspace,
    /// Room for watches that have not fired.
    watches: Arc<Semaphore>,
    lately: Mutex<Lately>,
}

impl Shared {
    fn lately(&self) -> MutexGuard<'_, Lately> {
        // Whatever it knows is true.
        self.lately.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fdb {
    /// Opens the cluster of `options`, and waits until it answers. Starts the client, if it does not run yet: it serves the
    /// whole process, and ends with it.
    ///
    /// # Errors
    /// See [`OpenError`]. A cluster that does not answer is given up after 10 s.
    pub async fn open(options: &FdbOptions) -> Result<Self, OpenError> {
        options.files().try_for_each(|path| {
            File::open(path).map(drop).map_err(|source| OpenError::File { path: path.clone(), source })
        })?;
        network::start(&options.tls)?;
        let refused = |source| OpenError::Refused { cluster_file: options.cluster_file.clone(), source };
        let database = connect(options::text(&options.cluster_file)?).map_err(refused)?;
        let answer = tokio::time::timeout(OPEN_BOUND, read_version(&database)).await;
        network::stop_at_exit().map_err(OpenError::Client)?;
        match answer {
            Ok(answer) => answer.map_err(refused)?,
            Err(_) => {
                return Err(OpenError::NoAnswer { cluster_file: options.cluster_file.clone(), bound: OPEN_BOUND });
            }
        }
        let shared = Shared {
            database,
            subspace: options.subspace.clone(),
            watches: Arc::new(Semaphore::new(MAX_WATCHES)),
            lately: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Adds what the client tells about itself to `registry`.
    pub fn register_metrics(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(ClientCollector(Arc::clone(&self.shared))));
    }

    fn transaction(&self, options: &[TransactionOption]) -> Result<Box<dyn EngineTransaction>, StoreError> {
        let transaction = self.shared.database.create_trx().map_err(read_error)?;
        options.iter().try_for_each(|option| transaction.set_option(option.clone())).map_err(read_error)?;
        Ok(Box::new(FdbTransaction::new(Arc::clone(&self.shared), transaction)))
    }
}

/// The database of a cluster file. Nothing is sent yet.
fn connect(cluster_file: &str) -> FdbResult<Database> {
    let database = Database::from_path(cluster_file)?;
    let life = i32::try_from(TRANSACTION_LIFE.as_millis()).unwrap_or(i32::MAX);
    database.set_option(DatabaseOption::TransactionTimeout(life))?;
    database.set_option(DatabaseOption::MaxWatches(MAX_WATCHES as i32))?;
    Ok(database)
}

/// Asks the cluster for the present, as every transaction does first.
async fn read_version(database: &Database) -> FdbResult<()> {
    let transaction = database.create_trx()?;
    // Whoever waits has a bound of its own, and tells what it waited for.
    transaction.set_option(TransactionOption::Timeout(0))?;
    transaction.get_read_version().await.map(drop)
}

#[async_trait]
impl Engine for Fdb {
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        self.transaction(&[])
    }

    async fn begin_background(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        self.transaction(&[TransactionOption::PriorityBatch, TransactionOption::Tag(BACKGROUND_TAG.to_owned())])
    }
}
