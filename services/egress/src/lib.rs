//! HTTP to services that the operator configured: model providers, executors of tools.
//!
//! What all of them have in common: an address without credentials in it, redirects that are not followed, so that
//! credentials go to the configured address only, and failures told apart by what they mean for a repetition. The texts
//! of failures name no URL.

mod client;
mod endpoint;
mod failure;

pub use client::builder;
pub use endpoint::{Endpoint, InvalidUrl};
pub use failure::{Failure, root_cause};
