//! What the operator says about executors.

mod check;
mod problem;

use std::collections::BTreeMap;
use std::time::Duration;

pub(crate) use check::{Plan, Program, Remote, Target, check};
pub use problem::{Fault, InvalidTools, Problem};

/// One executor. It holds names of variables, never credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorConfig {
    /// What errors and logs call it.
    pub name: String,
    /// How it is spoken to.
    pub kind: Kind,
    /// Address of an [`Kind::Http`] or [`Kind::McpHttp`] executor: `http` or `https`, without user name or password.
    pub url: String,
    /// Headers sent to that address: name, and the environment variable that holds the value.
    pub headers: BTreeMap<String, String>,
    /// Program of a [`Kind::McpStdio`] executor.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables that it is given, beside a few that name places and languages.
    pub env: Vec<String>,
    /// The tools that it runs; a tool has one executor.
    pub tools: Vec<String>,
    /// Longest time from a call to its result, repetitions included.
    pub timeout: Duration,
    /// Longest answer, in bytes.
    pub max_response: usize,
}

/// How an executor is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A POST for each call.
    Http,
    /// An MCP server behind streamable HTTP.
    McpHttp,
    /// An MCP server that the node starts, on its standard input and output.
    McpStdio,
}
