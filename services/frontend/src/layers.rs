//! The layers around the Sessions service, one file each. [`crate::stack`] puts them in order.

pub(crate) mod admission;
pub(crate) mod bad_request;
pub(crate) mod call_log;
pub(crate) mod deadline;
pub(crate) mod request_id;
