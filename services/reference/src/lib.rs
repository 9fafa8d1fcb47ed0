//! Journal files of the reference host (journal.md §12): read, checked as a whole, and carried into a journal.
//!
//! A file is never changed, and what is carried over is what was found good: [`ReferenceFile::check`] comes before
//! [`Checked::carry`], and only reads.

mod carry;
mod check;
mod error;
mod file;
mod names;
mod records;
mod sessions;

pub use carry::Carried;
pub use check::{Checked, Contents, Recomputed};
pub use error::{CarryError, CheckError, OpenError, RecordFault, SessionFault};
pub use file::ReferenceFile;
