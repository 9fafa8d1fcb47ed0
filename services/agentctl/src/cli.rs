//! What a command line says.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, ValueEnum};
use client::{Addresses, InvalidAddress};
use node::cli::dashes;
use node::config::{Config, Problems};

use crate::command::Command;
use crate::ending;

/// What a command line asks for.
#[derive(Debug)]
pub struct Cli {
    pub command: Command,
    pub common: Common,
}

/// What every command is told.
#[derive(Debug)]
pub struct Common {
    /// Addresses of nodes; none: a host in this process.
    pub server: Vec<String>,
    /// Form of the output.
    pub output: Format,
    /// The host in this process. Its project is also that of new sessions and listings elsewhere.
    pub host: Config,
}

/// Works with durable agent sessions.
///
/// Flags may be written with one dash or two. Exit codes: 0 success, 1 failure, 2 wrong usage.
#[derive(Debug, Parser)]
#[command(name = "agentctl", disable_help_subcommand = true, max_term_width = 120)]
struct Grammar {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Common")]
struct Flags {
    /// Address of a node: host:port or unix:path. Several nodes of a cluster are given in one flag, separated by commas, or in
    /// several; the command goes on at the next when one is lost. Without it a host runs in this process, on --journal
    #[arg(
        long,
        global = true,
        value_name = "ADDRESS",
        value_delimiter = ',',
        env = "AGENTSESSIONS_SERVER",
        hide_env_values = true
    )]
    server: Vec<String>,

    /// Form of the output; json is one object per line
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// proto3-JSON with the names of the .proto files.
    Json,
}

/// What is printed instead of running a command.
#[derive(Debug)]
pub enum Answer {
    /// Help, or what is wrong with the command line.
    Text(clap::Error),
    /// What is wrong with the values of the host's flags.
    Problems(Problems),
}

impl Common {
    /// The nodes to talk to; `None` for a host in this process.
    pub fn nodes(&self) -> Result<Option<Addresses>, InvalidAddress> {
        if self.server.is_empty() { Ok(None) } else { self.server.join(",").parse().map(Some) }
    }
}

/// Keys of the node's configuration that are flags here too, for the host in this process.
const HOST_KEYS: [&str; 13] = [
    "journal",
    "fdb.subspace",
    "fdb.tls_certificate",
    "fdb.tls_key",
    "fdb.tls_ca",
    "fdb.tls_verify_peers",
    "project",
    "model.name",
    "model.base_url",
    "model.path",
    "model.auth_header",
    "powers.cancel",
    "powers.delete_session",
];

impl Cli {
    /// Reads a command line, the name of the program first.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Self, Answer> {
        let grammar = grammar();
        let args = dashes::doubled(&grammar, args);
        let matches = grammar.try_get_matches_from(args).map_err(Answer::Text)?;
        Self::from_matches(&matches)
    }

    fn from_matches(matches: &ArgMatches) -> Result<Self, Answer> {
        let Grammar { command, flags: Flags { mut server, output } } =
            Grammar::from_arg_matches(matches).map_err(Answer::Text)?;
        // Set to nothing is not set (registry.md §8).
        if server == [""] {
            server.clear();
        }
        let host = Config::load(None, matches).map_err(Answer::Problems)?;
        Ok(Self { command, common: Common { server, output, host } })
    }
}

fn grammar() -> clap::Command {
    let settings = Config::declare(clap::Command::default());
    let is_here = |arg: &&Arg| HOST_KEYS.contains(&arg.get_id().as_str());
    let flags = settings.get_arguments().filter(is_here).cloned();
    let mut grammar = Grammar::command().args(flags.map(|flag| flag.help_heading("Host in this process")));
    grammar.build();
    grammar
}

impl Answer {
    /// Prints help to standard output, everything else to standard error.
    pub fn print(self) -> ExitCode {
        match self {
            Self::Text(answer) => {
                // Who closed the stream that this goes to does not want to read it.
                let _ = answer.print();
                if answer.use_stderr() { ending::usage() } else { ExitCode::SUCCESS }
            }
            Self::Problems(problems) => {
                eprintln!("agentctl: {problems}");
                ending::usage()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Cli, Answer> {
        Cli::read(["agentctl"].into_iter().chain(line.split_whitespace()).map(OsString::from))
    }

    #[test]
    fn the_grammar_is_well_formed() {
        grammar().debug_assert();
    }

    #[test]
    fn every_key_of_the_host_is_a_flag() {
        let grammar = grammar();
        for key in HOST_KEYS {
            assert!(grammar.get_arguments().any(|arg| arg.get_id() == key), "{key}");
        }
    }

    #[test]
    fn common_flags_stand_on_either_side_of_the_command() {
        let lines =
            ["--server h:1 list --output json", "list -server=h:1 -output json", "-server h:1 -output=json list"];
        for line in lines {
            let common = read(line).unwrap().common;
            assert_eq!((common.server, common.output), (vec!["h:1".to_owned()], Format::Json), "{line}");
        }
    }

    #[test]
    fn several_nodes_are_given_in_one_flag_or_in_several() {
        for line in ["list --server a:1,b:2", "list --server a:1 --server b:2", "--server=a:1,b:2 list"] {
            assert_eq!(read(line).unwrap().common.server, ["a:1", "b:2"], "{line}");
        }
    }

    #[test]
    fn a_host_in_this_process_is_the_default_and_configured_as_a_node_is() {
        let common = read("list").unwrap().common;
        assert_eq!((common.server.len(), common.host), (0, Config::default()));
        assert!(read("list --server=").unwrap().common.server.is_empty());
        let host = read("exec -journal j.db -project p -model m").unwrap().common.host;
        assert_eq!((host.journal.to_string().as_str(), &*host.project, &*host.model.name), ("j.db", "p", "m"));
    }

    #[test]
    fn a_decision_names_the_session_first_last_or_by_flag_and_the_whole_call_or_none() {
        let tuple = "--execution e --tool-call c --request-seq 3";
        for line in [
            "approve sess-1".to_owned(),
            "deny --reason no sess-1".to_owned(),
            "approve -session sess-1 -json".to_owned(),
            format!("approve sess-1 {tuple} --actor ada"),
            format!("deny {tuple} sess-1"),
        ] {
            assert!(read(&line).is_ok(), "{line}: {:?}", read(&line).err());
        }
        for line in
            ["approve", "approve sess-1 --session sess-1", "approve sess-1 --execution e", "deny s --request-seq 3"]
        {
            assert!(matches!(read(line), Err(Answer::Text(answer)) if answer.use_stderr()), "{line}");
        }
    }

    #[test]
    fn a_missing_or_unknown_command_or_flag_is_usage() {
        for line in ["", "frobnicate", "list --frob", "get"] {
            assert!(matches!(read(line), Err(Answer::Text(answer)) if answer.use_stderr()), "{line}");
        }
    }
}
