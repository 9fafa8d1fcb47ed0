//! Invocations: what their connections and their runner write, and what others then find.

mod accept;
mod attach;
mod faults;
mod inputs;
mod model;
mod nodes;
mod outputs;
mod support;
mod sweep;
