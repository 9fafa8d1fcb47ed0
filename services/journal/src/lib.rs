//! The record layer: sessions, records, fences and projections, written once over [`store::Store`].

mod ids;

pub use ids::{ExecutionId, Fence, InvalidUid, Seq, SessionUid};
