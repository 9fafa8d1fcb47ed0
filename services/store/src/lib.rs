//! An ordered, transactional key-value store with FoundationDB's semantics, and the engines that provide it.
//!
//! The record layer above is written once against [`Store::transact`] and knows no engine. Every engine is strictly
//! serializable, enforces the same [`limits`], and may answer that it does not know whether a commit happened; a
//! closure given to `transact` must therefore recognise its own earlier success.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod counted;
pub mod embedded;
mod engine;
mod error;
pub mod fault;
#[cfg(feature = "fdb")]
pub mod fdb;
pub mod limits;
pub mod memory;
pub mod metrics;
mod optimistic;
mod range;
mod reads;
mod store;
mod subspace;
mod tree;
mod watches;
mod writes;

pub use engine::{AtomicOp, Engine, EngineTransaction, Isolation, Versionstamp, Watch};
pub use error::{CommitError, LimitExceeded, StoreError, TransactError};
pub use range::{KeyRange, KeyValue, Page, RangeRead};
pub use store::{Attempt, RetryPolicy, Store, Transaction};
pub use subspace::{InvalidSubspace, Subspace};
