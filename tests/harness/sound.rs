//! Harnesses that keep to the contract.

use harness::conformance::{Plan, Verdict};
use harness::{Chat, Echo};

use super::example::Conformance;
use super::suite::{check_harness, failed, names, skipped};

#[tokio::test]
async fn example_harness_passes_every_check() {
    let verdicts = check_harness(Conformance, Plan::default()).await;
    let others: Vec<_> = verdicts.iter().filter(|(_, verdict)| **verdict != Verdict::Passed).collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[tokio::test]
async fn built_in_harnesses_pass_every_check_that_they_give_rise_to() {
    for verdicts in [check_harness(Echo, Plan::default()).await, check_harness(Chat::new("m"), Plan::default()).await] {
        assert_eq!(names(&verdicts, failed), Vec::<&str>::new(), "{verdicts:#?}");
        let skipped = names(&verdicts, skipped);
        assert!(skipped.contains(&"park") && !skipped.contains(&"model-other-call"), "{skipped:?}");
    }
}

#[tokio::test]
async fn plan_decides_what_a_harness_shows() {
    let plan = Plan { config: br#"[{"tool": "t1"}, {"output": "ran"}]"#.to_vec(), ..Plan::default() };
    let verdicts = check_harness(Conformance, plan).await;
    assert_eq!(verdicts["tool-fails"], Verdict::Passed);
    assert_eq!(verdicts["park"], Verdict::Skipped("the harness made no tool call that needs approval".into()));
}

#[tokio::test]
async fn plan_in_which_the_turn_fails_is_found() {
    let plan = Plan { config: br#"[{"fail": "out of luck"}]"#.to_vec(), ..Plan::default() };
    let verdicts = check_harness(Conformance, plan).await;
    assert_eq!(verdicts["turn-completes"], Verdict::Failed(r#"the turn ended "FAILED": out of luck"#.into()));
}
