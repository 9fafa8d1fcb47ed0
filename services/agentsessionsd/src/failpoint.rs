//! Lets the process die at a chosen commit, or its journal fail, for tests of what becomes of turns then.

use std::str::FromStr;
use std::time::Duration;

use store::fault::{Crash, CrashPoint, Fault, FaultPlan};
use store::{Engine, Store};
use thiserror::Error;

/// Environment variable with the failpoint.
///
/// `before-commit:N` and `after-commit:N` kill the process there; the first commit that writes is 1. `unknown-outcomes:P`
/// does not tell how P of 100 commits went, every second of which happens. `slow-calls:P` lets P of 100 reads and commits
/// take up to [`LONGEST_CALL`].
pub const VARIABLE: &str = "AGENTSESSIONS_FAILPOINT";

/// Twice as long as a transaction lives.
const LONGEST_CALL: Duration = Duration::from_secs(10);

/// A text is not a failpoint.
#[derive(Debug, Error)]
#[error(
    "{VARIABLE} is {0:?}: write before-commit:N or after-commit:N, N from 1, or unknown-outcomes:P or slow-calls:P, P from \
     1 to 100"
)]
pub struct InvalidFailpoint(String);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Failpoint {
    Death(Crash),
    /// The share of the commits.
    UnknownOutcomes(f64),
    /// The share of the calls.
    SlowCalls(f64),
}

/// A store over `engine` that fails as the environment says.
///
/// # Errors
/// [`InvalidFailpoint`].
pub(crate) fn store(engine: impl Engine, env: env::Env) -> Result<Store, InvalidFailpoint> {
    let Ok(text) = std::env::var(VARIABLE) else { return Ok(Store::new(engine, env)) };
    let plan = text.parse::<Failpoint>()?.plan(env.random_u64());
    // As abrupt as `kill -9`: nothing is flushed, dropped or answered.
    Ok(Store::new(Fault::with_crash(engine, plan, || std::process::abort()), env))
}

impl Failpoint {
    fn plan(self, seed: u64) -> FaultPlan {
        let none = FaultPlan::none(seed);
        match self {
            Self::Death(crash) => FaultPlan { crash: Some(crash), ..none },
            Self::UnknownOutcomes(share) => {
                FaultPlan { unknown_committed: share / 2.0, unknown_lost: share / 2.0, ..none }
            }
            Self::SlowCalls(share) => FaultPlan { delay: share, longest_delay: LONGEST_CALL, ..none },
        }
    }
}

impl FromStr for Failpoint {
    type Err = InvalidFailpoint;

    fn from_str(text: &str) -> Result<Self, InvalidFailpoint> {
        let invalid = || InvalidFailpoint(text.to_owned());
        let (kind, number) = text.split_once(':').ok_or_else(invalid)?;
        let number = number.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(invalid)?;
        let death = |point| Self::Death(Crash { commit: u64::from(number) - 1, point });
        let share = f64::from(number) / 100.0;
        match kind {
            "before-commit" => Ok(death(CrashPoint::Before)),
            "after-commit" => Ok(death(CrashPoint::After)),
            "unknown-outcomes" if share <= 1.0 => Ok(Self::UnknownOutcomes(share)),
            "slow-calls" if share <= 1.0 => Ok(Self::SlowCalls(share)),
            _ => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Failpoint> {
        text.parse().ok()
    }

    #[test]
    fn a_failpoint_is_a_side_and_a_commit_counted_from_1() {
        let death = |commit, point| Some(Failpoint::Death(Crash { commit, point }));
        assert_eq!(parsed("before-commit:1"), death(0, CrashPoint::Before));
        assert_eq!(parsed("after-commit:3"), death(2, CrashPoint::After));
        for bad in ["", "after-commit", "after-commit:0", "at-commit:1", "before-commit:x"] {
            assert_eq!(parsed(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_failpoint_is_a_share_of_commits_or_calls() {
        assert_eq!(parsed("unknown-outcomes:30"), Some(Failpoint::UnknownOutcomes(0.3)));
        assert_eq!(parsed("slow-calls:100"), Some(Failpoint::SlowCalls(1.0)));
        for bad in ["unknown-outcomes:0", "slow-calls:101", "slow-calls:-1"] {
            assert_eq!(parsed(bad), None, "{bad:?}");
        }
    }
}
