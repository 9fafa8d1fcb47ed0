//! `agentctl version`

use std::fmt::Write;

use clap::Args;

use crate::output::Output;

/// Prints the version
#[derive(Args, Debug)]
pub struct Version {}

/// Set by release builds.
const COMMIT: Option<&str> = option_env!("AGENTSESSIONS_COMMIT");
const BUILT: Option<&str> = option_env!("AGENTSESSIONS_BUILT");

impl Version {
    pub fn run(self, mut output: Output) -> anyhow::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let json = serde_json::json!({ "version": version, "commit": COMMIT, "built": BUILT });
        output.line(line(version, COMMIT, BUILT), &json)?;
        Ok(output.flush()?)
    }
}

fn line(version: &str, commit: Option<&str>, built: Option<&str>) -> String {
    let mut line = format!("agentctl {version}");
    if let Some(commit) = commit {
        let _ = write!(line, " ({commit:.12})");
    }
    if let Some(built) = built {
        let _ = write!(line, " built {built}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn commit_and_date_are_shown_when_known() {
        assert_eq!(line("1.2.3", None, None), "agentctl 1.2.3");
        let commit = Some("0123456789abcdef0123");
        assert_eq!(line("1.2.3", commit, Some("2026-01-02")), "agentctl 1.2.3 (0123456789ab) built 2026-01-02");
    }
}
