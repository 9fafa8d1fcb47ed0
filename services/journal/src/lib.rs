//! The record layer: sessions, records, fences and projections, written once over [`store::Store`].
//!
//! An append is one transaction, and so is a fork, whatever the length of the log and the number of children. What was
//! acknowledged exists exactly once; what was refused does not exist. Safety against a second writer comes from the fence
//! and from nothing else. `docs/journal-layout.md` has the table of keys.

mod append;
pub mod backup;
mod batch;
mod deletion;
mod error;
mod fork;
mod ids;
pub mod import;
pub mod invocations;
mod journal;
mod keys;
mod lineage;
pub mod metrics;
mod pieces;
mod projection;
mod records;
mod registry;
mod rows;
mod sessions;

pub use append::Writer;
pub use deletion::{Deletion, DeletionNote};
pub use error::{
    AppendError, Corrupt, CreateError, DeleteError, ForkError, ImportError, JournalError, OpenError, RegisterError,
    ReserveError, RetireError, TooLarge,
};
pub use fork::NewChild;
pub use ids::{ExecutionId, Fence, Incarnation, InvalidUid, Seq, SessionUid};
pub use journal::{Journal, Observer};
#[cfg(feature = "oracle")]
pub use projection::oracle;
pub use projection::{PendingApproval, Projection};
pub use records::SeqRange;
pub use registry::{HarnessToken, NewRegistration, Registered, Registration, RegistryChanges, Retirement};
pub use sessions::{InvalidPageToken, ListToken, NewOn, NewSession, PageRequest, PageSize, SessionPage, SessionState};
