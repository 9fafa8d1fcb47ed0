//! The command line of `agentsessionsd`.

pub mod dashes;

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Arg, Command};
use thiserror::Error;

use crate::config::{Config, Problems};

const CONFIG: &str = "config";
const CHECK_CONFIG: &str = "check-config";

const AFTER_HELP: &str = "\
Every value may be set in a TOML file, in the environment or by a flag; a flag wins over the environment, the \
environment over the file. In the file, keys are named as in `agentsessionsd check-config`, which prints the \
configuration that would be used. Flags may be written with one dash or two. \
Harnesses started as processes, [process.NAME], and executors of tools, [tools.NAME], are in the file only: see \
docs/processes.md and docs/tools.md.

TIME is a length of time such as 10s, 1m 30s or 250ms. SIZE is a size such as 64MiB or 500kB.";

/// What a command line asks for.
#[derive(Debug)]
pub enum Invocation {
    /// Run a node.
    Serve(Box<Config>),
    /// Print the configuration.
    CheckConfig(Result<Box<Config>, Problems>),
    /// Print this text: help or version.
    Print(String),
}

/// Why a command line cannot be followed.
#[derive(Debug, Error)]
pub enum CliError {
    /// It is not understood.
    #[error("{0}")]
    Usage(String),
    /// The configuration is wrong.
    #[error(transparent)]
    Problems(#[from] Problems),
}

/// Reads a command line, the name of the program first.
///
/// # Errors
/// [`CliError`].
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Invocation, CliError> {
    let mut command = command();
    command.build();
    let args = dashes::doubled(&command, args);
    let matches = match command.try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => return answer(&error),
    };
    // Global arguments are found in the matches of the subcommand, if there is one.
    let (check, matches) = match matches.subcommand() {
        Some((_, below)) => (true, below),
        None => (false, &matches),
    };
    let file = matches.get_one::<String>(CONFIG);
    let config = Config::load(file.map(Path::new), matches).map(Box::new);
    if check { Ok(Invocation::CheckConfig(config)) } else { Ok(Invocation::Serve(config?)) }
}

fn command() -> Command {
    let config = Arg::new(CONFIG).long(CONFIG).value_name("FILE").help("TOML file to read the configuration from");
    let check = Command::new(CHECK_CONFIG)
        .about("Prints the configuration that would be used, or everything that is wrong with it");
    let command = Command::new("agentsessionsd")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A host for durable agent sessions")
        .after_help(AFTER_HELP)
        .disable_help_subcommand(true)
        // As in programs written in Go: of a flag given twice the last one counts.
        .args_override_self(true)
        .next_line_help(true)
        .arg(config)
        .subcommand(check);
    Config::declare(command)
}

/// What clap answers instead of matches.
fn answer(error: &clap::Error) -> Result<Invocation, CliError> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Invocation::Print(error.render().to_string())),
        _ => {
            // The first line says what is wrong; the others repeat the usage.
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(CliError::Usage(first.strip_prefix("error: ").unwrap_or(first).to_owned()))
        }
    }
}

#[cfg(test)]
mod tests;
