//! What a command line says.

mod dashes;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, ValueEnum};

use crate::command::Command;
use crate::ending;

/// Works with durable agent sessions.
///
/// Flags may be written with one dash or two. Exit codes: 0 success, 1 failure, 2 wrong usage.
#[derive(Debug, Parser)]
#[command(name = "agentctl", disable_help_subcommand = true, max_term_width = 120)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub common: Common,
}

/// Flags of every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Common")]
pub struct Common {
    /// Address of a host: host:port or unix:path. Without it a host runs in this process, on --journal
    #[arg(long, global = true, value_name = "ADDRESS", default_value = "", hide_default_value = true)]
    pub server: String,

    /// Journal of the host in this process; created if it is not there
    #[arg(long, global = true, value_name = "PATH", default_value = "agentsessions.db")]
    pub journal: std::path::PathBuf,

    /// Project of new sessions and of listings
    #[arg(long, global = true, value_name = "NAME", default_value = "default")]
    pub project: String,

    /// Form of the output; json is one object per line
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// proto3-JSON with the names of the .proto files.
    Json,
}

/// What is printed instead of running a command: help, or what is wrong with the command line.
pub struct Answer(clap::Error);

impl Cli {
    /// Reads a command line, the name of the program first.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Self, Answer> {
        let mut grammar = Self::command();
        grammar.build();
        let args = dashes::doubled(&grammar, args);
        grammar.try_get_matches_from(args).and_then(|matches| Self::from_arg_matches(&matches)).map_err(Answer)
    }
}

impl Answer {
    /// Prints help to standard output, everything else to standard error.
    pub fn print(self) -> ExitCode {
        // Who closed the stream that this goes to does not want to read it.
        let _ = self.0.print();
        if self.0.use_stderr() { ending::usage() } else { ExitCode::SUCCESS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Cli, String> {
        let args = ["agentctl"].into_iter().chain(line.split_whitespace()).map(OsString::from);
        Cli::read(args).map_err(|answer| answer.0.to_string())
    }

    #[test]
    fn the_grammar_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn common_flags_stand_on_either_side_of_the_command() {
        for line in
            ["--server h:1 list --output json", "list -server=h:1 -output json", "-server h:1 -output=json list"]
        {
            let common = read(line).unwrap().common;
            assert_eq!((common.server.as_str(), common.output), ("h:1", Format::Json), "{line}");
        }
    }

    #[test]
    fn the_journal_in_this_process_is_the_default() {
        let common = read("list").unwrap().common;
        assert_eq!((common.server.as_str(), common.project.as_str()), ("", "default"));
        assert_eq!(common.journal.to_str(), Some("agentsessions.db"));
    }

    #[test]
    fn a_missing_or_unknown_command_or_flag_is_usage() {
        for line in ["", "frobnicate", "list --frob", "get"] {
            assert!(read(line).unwrap_err().contains("Usage:"), "{line}");
        }
    }
}
