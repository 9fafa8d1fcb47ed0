//! Who invokes agents, what they may invoke, and the keys that sign the tokens of a deployment.
//!
//! Everything is in files of the operator, which are read again when they change. A file that has become unreadable is
//! reported and changes nothing: what was read last still holds. No text here ever shows a credential or a key.

mod authenticator;
mod file;
mod issuer;
mod key_set;
mod policy;
mod ring;
mod static_keys;

pub use authenticator::{Authenticator, Caller};
pub use file::InvalidFile;
pub use policy::{Denied, Policy, Wanted};
pub use ring::KeyRings;
