//! Who runs tool calls for harnesses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tools::ExecutorConfig;

use super::{ByteSize, Period};

/// One executor of tools. In the file only: an executor is the operator's choice, and has too many sides for a flag.
/// Credentials are not part of it: it names the environment variables that hold them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolsConfig {
    /// How it is spoken to.
    pub kind: ToolsKind,

    /// The tools that it runs. A tool that no executor lists is not run.
    #[serde(default)]
    pub tools: Vec<String>,

    /// Longest time from a call to its result. Default: 1 minute.
    #[serde(default = "default_timeout")]
    pub timeout: Period,

    /// Longest answer. Default: 4 MiB.
    #[serde(default = "default_max_response")]
    pub max_response: ByteSize,

    /// Address, of kinds `http` and `mcp-http`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,

    /// Program, of kind `mcp-stdio`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,

    /// Arguments of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,

    /// Names of the environment variables that the program is given, beside a few that name places and languages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,

    /// Headers sent to `url`: name, and the environment variable that holds the value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// How an executor is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolsKind {
    /// A POST for each call.
    Http,
    /// An MCP server behind streamable HTTP.
    McpHttp,
    /// An MCP server that the node starts, on its standard input and output.
    McpStdio,
}

impl ToolsConfig {
    /// What the executor called `name` needs.
    pub(crate) fn executor(&self, name: &str) -> ExecutorConfig {
        ExecutorConfig {
            name: name.to_owned(),
            kind: self.kind.into(),
            url: self.url.clone(),
            headers: self.headers.clone(),
            command: self.command.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            tools: self.tools.clone(),
            timeout: self.timeout.get(),
            max_response: self.max_response.get(),
        }
    }
}

impl From<ToolsKind> for tools::Kind {
    fn from(kind: ToolsKind) -> Self {
        match kind {
            ToolsKind::Http => Self::Http,
            ToolsKind::McpHttp => Self::McpHttp,
            ToolsKind::McpStdio => Self::McpStdio,
        }
    }
}

fn default_timeout() -> Period {
    Period::seconds(60)
}

fn default_max_response() -> ByteSize {
    ByteSize::mebibytes(4)
}
