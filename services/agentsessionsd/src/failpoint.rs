//! Kills the process at a chosen commit, for tests of what a crash leaves behind.

use std::str::FromStr;

use store::fault::{Crash, CrashPoint, Fault, FaultPlan};
use store::{Engine, Store};
use thiserror::Error;

/// Environment variable with the failpoint: `before-commit:N` or `after-commit:N`; the first commit that writes is 1.
pub const VARIABLE: &str = "AGENTSESSIONS_FAILPOINT";

/// A text is not a failpoint.
#[derive(Debug, Error)]
#[error("{VARIABLE} is {0:?}: write before-commit:N or after-commit:N, N from 1")]
pub struct InvalidFailpoint(String);

struct Failpoint(Crash);

/// A store over `engine` in which the process dies where the environment says.
///
/// # Errors
/// [`InvalidFailpoint`].
pub(crate) fn store(engine: impl Engine, env: env::Env) -> Result<Store, InvalidFailpoint> {
    let Ok(text) = std::env::var(VARIABLE) else { return Ok(Store::new(engine, env)) };
    let Failpoint(crash) = text.parse()?;
    let plan = FaultPlan { crash: Some(crash), ..FaultPlan::none(0) };
    // As abrupt as `kill -9`: nothing is flushed, dropped or answered.
    Ok(Store::new(Fault::with_crash(engine, plan, || std::process::abort()), env))
}

impl FromStr for Failpoint {
    type Err = InvalidFailpoint;

    fn from_str(text: &str) -> Result<Self, InvalidFailpoint> {
        let invalid = || InvalidFailpoint(text.to_owned());
        let (point, number) = text.split_once(':').ok_or_else(invalid)?;
        let point = match point {
            "before-commit" => CrashPoint::Before,
            "after-commit" => CrashPoint::After,
            _ => return Err(invalid()),
        };
        match number.parse::<u64>() {
            Ok(number @ 1..) => Ok(Self(Crash { commit: number - 1, point })),
            _ => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failpoint_is_a_side_and_a_commit_counted_from_1() {
        let crash = |text: &str| text.parse::<Failpoint>().map(|failpoint| failpoint.0);
        assert_eq!(crash("before-commit:1").unwrap(), Crash { commit: 0, point: CrashPoint::Before });
        assert_eq!(crash("after-commit:3").unwrap(), Crash { commit: 2, point: CrashPoint::After });
        for bad in ["", "after-commit", "after-commit:0", "at-commit:1", "before-commit:x"] {
            assert!(crash(bad).is_err(), "{bad:?}");
        }
    }
}
