//! `agentctl conformance`

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use harness::HarnessAddress;
use harness::conformance::{Check, Plan, Suite, Verdict, checks};
use serde_json::json;
use wire::Message;

use crate::output::Output;

/// Checks a harness, whatever it is written in: plays its host, by the rules and against them
///
/// The same turn is held again and again. What the harness does not do in it cannot be checked, and is reported as
/// skipped: choose --input, --config and --answers so that it asks for a model, a tool and an approved tool, if it ever
/// does. Nothing is executed: completions and tool results are made up.
#[derive(Args, Debug)]
pub struct Conformance {
    /// Where the harness is served: host:port or unix:///path
    #[arg(long, value_name = "ADDRESS")]
    harness: HarnessAddress,

    /// Text of the user's message
    #[arg(long, value_name = "TEXT", default_value = "hello", allow_hyphen_values = true)]
    input: String,

    /// Configuration of the turn, as the harness expects it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    config: String,

    /// File with the answers of the model, in order, one Message in proto3-JSON per line; the last one is repeated
    #[arg(long, value_name = "PATH")]
    answers: Option<PathBuf>,

    /// Seconds that the harness may take to say the next thing
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    patience: u64,
}

/// How many checks ended in which way.
#[derive(Clone, Copy, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// A check and its verdict as a line of the report.
struct Line<'a>(&'a Check, &'a Verdict);

impl Conformance {
    pub async fn run(self, mut output: Output) -> anyhow::Result<()> {
        let address = self.harness.clone();
        let suite = Suite::meet(address.clone(), self.plan()?).await?;
        let descriptor = suite.descriptor();
        output.line(
            format_args!("harness {:?} version {:?} at {address}", descriptor.id, descriptor.version),
            &json!({ "harness": descriptor.id, "version": descriptor.version, "address": address.to_string() }),
        )?;
        let mut tally = Tally::default();
        for check in checks() {
            let verdict = suite.run(check).await;
            tally.count(&verdict);
            let line = Line(check, &verdict);
            output.line(&line, &line.json())?;
            output.flush()?;
        }
        tally.report(&mut output)
    }

    fn plan(self) -> anyhow::Result<Plan> {
        Ok(Plan {
            inputs: vec![Message::text("user", self.input)],
            config: self.config.into_bytes(),
            answers: self.answers.as_deref().map(read_answers).transpose()?.unwrap_or_default(),
            patience: Duration::from_secs(self.patience),
        })
    }
}

fn read_answers(path: &Path) -> anyhow::Result<Vec<Message>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let message = |(n, line)| serde_json::from_str(line).with_context(|| format!("{}: line {}", path.display(), n + 1));
    lines.map(message).collect()
}

impl Tally {
    fn count(&mut self, verdict: &Verdict) {
        *match verdict {
            Verdict::Passed => &mut self.passed,
            Verdict::Failed(_) => &mut self.failed,
            Verdict::Skipped(_) => &mut self.skipped,
        } += 1;
    }

    fn report(self, output: &mut Output) -> anyhow::Result<()> {
        let Self { passed, failed, skipped } = self;
        output.line(
            format_args!("{passed} passed, {failed} failed, {skipped} skipped"),
            &json!({ "passed": passed, "failed": failed, "skipped": skipped }),
        )?;
        output.flush()?;
        if failed > 0 {
            bail!("the harness does not conform: {failed} of {} checks failed", passed + failed);
        }
        Ok(())
    }
}

impl Line<'_> {
    fn json(&self) -> serde_json::Value {
        let Self(check, verdict) = self;
        let (verdict, detail) = match verdict {
            Verdict::Passed => ("passed", ""),
            Verdict::Failed(detail) => ("failed", detail.as_str()),
            Verdict::Skipped(detail) => ("skipped", detail.as_str()),
        };
        json!({ "check": check.name, "promise": check.promise, "verdict": verdict, "detail": detail })
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(check, verdict) = self;
        let (mark, detail) = match verdict {
            Verdict::Passed => ("ok", None),
            Verdict::Failed(detail) => ("FAILED", Some(detail)),
            Verdict::Skipped(detail) => ("skipped", Some(detail)),
        };
        write!(f, "{mark:<8}{:<30}{}", check.name, check.promise)?;
        detail.map_or(Ok(()), |detail| write!(f, "\n        {detail}"))
    }
}
