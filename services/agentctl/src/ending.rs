//! How the process ends: exit codes, and the one line on standard error that goes with a failure.

use std::process::ExitCode;

use node::with_causes;
use thiserror::Error;

use crate::output::OutputError;

const USAGE: u8 = 2;
/// What a shell reports for a process that was ended by SIGINT.
const INTERRUPTED: u8 = 130;

/// The user pressed Ctrl-C.
#[derive(Debug, Error)]
#[error("interrupted")]
pub struct Interrupted;

/// The exit code of wrong usage.
pub fn usage() -> ExitCode {
    ExitCode::from(USAGE)
}

/// The exit code of a command that ran, after saying what went wrong.
pub fn of(outcome: anyhow::Result<()>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    // Whoever reads the output has read enough of it, as `head` does.
    if error.downcast_ref().is_some_and(OutputError::is_closed) {
        return ExitCode::SUCCESS;
    }
    eprintln!("agentctl: {}", with_causes(&error));
    if error.is::<Interrupted>() { ExitCode::from(INTERRUPTED) } else { ExitCode::FAILURE }
}
