//! The suite on harnesses in this process.

use std::collections::BTreeMap;
use std::time::Duration;

use harness::conformance::{Plan, Suite, Verdict, checks};
use support::{Acting, Talk, serve_harness, serve_raw};

/// Makes every check on a harness written with the SDK.
pub async fn check_harness(harness: impl sdk::Harness, plan: Plan) -> BTreeMap<&'static str, Verdict> {
    check(serve_harness(harness).await, plan).await
}

/// Makes every check on a harness written by hand.
pub async fn check_acting(act: fn(Talk) -> Acting) -> BTreeMap<&'static str, Verdict> {
    check(serve_raw(act).await, impatient()).await
}

/// Makes one check on a harness written by hand.
pub async fn check_one(name: &str, act: fn(Talk) -> Acting) -> Verdict {
    let suite = meet(serve_raw(act).await, impatient()).await;
    suite.run(checks().find(|check| check.name == name).expect("a check of this name")).await
}

fn impatient() -> Plan {
    Plan { patience: Duration::from_secs(2), ..Plan::default() }
}

async fn meet(address: String, plan: Plan) -> Suite {
    Suite::meet(address.parse().expect("an address"), plan).await.expect("a harness")
}

async fn check(address: String, plan: Plan) -> BTreeMap<&'static str, Verdict> {
    let suite = meet(address, plan).await;
    let made = checks().map(|check| async { (check.name, suite.run(check).await) });
    futures::future::join_all(made).await.into_iter().collect()
}

/// The names of the checks with such a verdict.
pub fn names(verdicts: &BTreeMap<&'static str, Verdict>, which: fn(&Verdict) -> bool) -> Vec<&'static str> {
    verdicts.iter().filter(|(_, verdict)| which(verdict)).map(|(name, _)| *name).collect()
}

pub fn failed(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Failed(_))
}

pub fn skipped(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Skipped(_))
}
