//! The record layer: sessions, records, fences and projections, written once over [`store::Store`].

mod ids;
mod keys;
mod projection;

pub use ids::{ExecutionId, Fence, InvalidUid, Seq, SessionUid};
pub use projection::{PendingApproval, Projection};
