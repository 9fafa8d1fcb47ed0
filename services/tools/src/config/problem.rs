//! What can be wrong with a configuration.

use std::fmt;

use egress::InvalidUrl;
use thiserror::Error;

/// A configuration with which no executor can be made: everything that is wrong with it.
#[derive(Debug, Error)]
pub struct InvalidTools {
    /// At least one.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong with one executor.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("tools.{executor}: {fault}")]
pub struct Problem {
    /// Its name.
    pub executor: String,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong. It does not repeat values that may hold credentials by mistake.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// An executor of nothing.
    #[error("tools must list the tools that it runs")]
    NoTools,
    /// A name of a tool is empty.
    #[error("tools holds an empty name")]
    EmptyTool,
    /// Which of two executors runs a tool must not be left to chance.
    #[error("tool {tool} is run by {other} already")]
    Taken {
        /// The tool.
        tool: String,
        /// Who has it.
        other: String,
    },
    /// A key that its kind needs.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A key that says nothing for its kind.
    #[error("{0} does not belong to an executor of this kind")]
    Foreign(&'static str),
    /// Not an address.
    #[error("url {0}")]
    Url(#[from] InvalidUrl),
    /// Not the name of a header.
    #[error("headers: {0:?} is not a header name")]
    Header(String),
    /// A header that says what only the node knows.
    #[error("headers: {0} is set by the node")]
    ReservedHeader(String),
    /// What stands in place of a variable's name; it may be the credential itself.
    #[error("{0} must name environment variables: upper case letters, digits and _")]
    Variable(&'static str),
    /// A bound of nothing.
    #[error("{0} must be more than zero")]
    Zero(&'static str),
    /// A variable that is named is not there, or empty.
    #[error("environment variable {0} is not set")]
    Unset(String),
    /// A variable that is named holds what a header cannot carry, such as a line break.
    #[error("environment variable {0} holds what a header cannot carry")]
    Unsendable(String),
    /// TLS cannot be set up, for example because the machine has no CA certificates.
    #[error("cannot set up TLS: {0}; https needs the CA certificates of the system, or SSL_CERT_FILE")]
    Tls(String),
}

impl fmt::Display for InvalidTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}
