//! The turn engine of a session host and the operations built on it. No sockets, no SQL, no keys.

pub mod log;
pub mod ports;
pub mod turn;
