//! A whole journal as lines of JSON: written from any engine, checked as a whole, carried into any engine.
//!
//! A line is one object with one member, which says what it is. Records follow the session that holds them, and only those
//! that it holds itself: what a fork inherits is in its ancestors. The last line counts what is before it and has its digest.

mod carry;
mod check;
mod entry;
mod links;
mod write;

pub use carry::{Carried, carry};
pub use check::{BadBackup, check, is_backup};
pub use entry::Manifest;
pub use write::write;
