//! Registrations: one spec for a name, created once, taking sessions until retired.

use std::time::Duration;

use futures::future::join_all;
use journal::{
    CreateError, Journal, NewOn, NewRegistration, NewSession, RegisterError, Registered, ReserveError, RetireError,
};
use store::fault::{Fault, FaultPlan};
use store::memory::Memory;

use crate::support::*;

const ROUNDS: u64 = 200;

fn spec(name: &str, digest: &str) -> NewRegistration {
    NewRegistration {
        name: name.to_owned(),
        spec: format!("{{\"digest\":\"{digest}\"}}"),
        spec_digest: digest.to_owned(),
    }
}

async fn register(journal: &Journal, name: &str, digest: &str) -> Result<Registered, RegisterError> {
    journal.register_harness(spec(name, digest)).await.map(|(_, outcome)| outcome)
}

async fn create_on(journal: &Journal, name: &str) -> Result<(), CreateError> {
    let new = NewSession { harness: name.to_owned(), harness_source: NewOn::Registered, ..new_session(name) };
    journal.create(new).await.map(drop)
}

async fn names(journal: &Journal, after: Option<&str>, limit: usize, retired: bool) -> Vec<String> {
    let found = journal.registrations(after, limit, retired).await.unwrap();
    found.into_iter().map(|registration| registration.name).collect()
}

#[tokio::test(start_paused = true)]
async fn a_registration_is_created_left_alone_retired_and_reactivated() {
    let journal = in_memory().await;
    let (created, outcome) = journal.register_harness(spec("h", "one")).await.unwrap();
    assert_eq!((outcome, &created.retired), (Registered::Created, &None));
    assert!(created.uid.starts_with("harness-") && created.uid.len() == "harness-".len() + 24);

    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(journal.register_harness(spec("h", "one")).await.unwrap(), (created.clone(), Registered::Unchanged));

    let retired = journal.retire_harness("h", "old").await.unwrap();
    let retirement = retired.retired.clone().unwrap();
    assert_eq!((retirement.time, retirement.reason.as_str()), (retired.update_time, "old"));
    assert!(retired.update_time > created.update_time);

    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(journal.retire_harness("h", "again").await.unwrap(), retired, "the first retirement stays");

    let (active, outcome) = journal.register_harness(spec("h", "one")).await.unwrap();
    assert_eq!((outcome, &active.retired), (Registered::Reactivated, &None));
    assert_eq!((&active.uid, active.create_time), (&created.uid, created.create_time));
    assert!(active.update_time > retired.update_time);
    assert_eq!(journal.registration("h").await.unwrap(), Some(active));
}

#[tokio::test]
async fn a_name_has_one_spec_for_ever() {
    let journal = in_memory().await;
    register(&journal, "h", "one").await.unwrap();
    journal.retire_harness("h", "").await.unwrap();
    assert!(matches!(register(&journal, "h", "two").await, Err(RegisterError::OtherSpec(name)) if name == "h"));
}

#[tokio::test]
async fn what_is_not_registered_is_neither_found_nor_retired() {
    let journal = in_memory().await;
    for name in ["h", "", &"h".repeat(20_000)] {
        assert_eq!(journal.registration(name).await.unwrap(), None);
        assert!(matches!(journal.retire_harness(name, "").await, Err(RetireError::NotRegistered(_))));
    }
    assert!(matches!(register(&journal, &"h".repeat(20_000), "one").await, Err(RegisterError::TooLarge(_))));
}

#[tokio::test]
async fn reserved_names_are_not_registered_and_registered_ones_not_reserved() {
    let journal = in_memory().await;
    let reserve = async |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        journal.reserve_harness_names(&names).await
    };
    reserve(&["echo", "chat"]).await.unwrap();
    reserve(&["echo"]).await.unwrap();
    assert!(matches!(register(&journal, "chat", "one").await, Err(RegisterError::Reserved(name)) if name == "chat"));

    register(&journal, "active", "one").await.unwrap();
    register(&journal, "retired", "one").await.unwrap();
    journal.retire_harness("retired", "").await.unwrap();
    let refused = reserve(&["free", "active", "retired"]).await;
    assert!(matches!(refused, Err(ReserveError::Registered(names)) if names == ["active", "retired"]));
    register(&journal, "free", "one").await.expect("nothing was reserved");
}

#[tokio::test]
async fn listings_are_in_the_order_of_names_and_hide_the_retired() {
    let journal = in_memory().await;
    for name in ["b", "a", "a-b", "c", "ab"] {
        register(&journal, name, name).await.unwrap();
    }
    journal.retire_harness("ab", "").await.unwrap();
    assert_eq!(names(&journal, None, 10, true).await, ["a", "a-b", "ab", "b", "c"]);
    assert_eq!(names(&journal, None, 3, false).await, ["a", "a-b", "b"]);
    assert_eq!(names(&journal, Some("b"), 3, false).await, ["c"]);
    assert_eq!(names(&journal, Some("aa"), 1, false).await, ["b"], "a position need not be a name");
    assert!(names(&journal, Some(&"z".repeat(20_000)), 1, true).await.is_empty());
}

#[tokio::test]
async fn a_listing_reads_on_behind_rows_that_fill_a_page() {
    let journal = in_memory().await;
    for n in 0..30 {
        let large = NewRegistration { spec: "x".repeat(60_000), ..spec(&format!("h{n:02}"), "one") };
        journal.register_harness(large).await.unwrap();
        journal.retire_harness(&format!("h{n:02}"), "").await.unwrap();
    }
    register(&journal, "last", "one").await.unwrap();
    assert_eq!(names(&journal, None, 1, false).await, ["last"]);
}

#[tokio::test]
async fn every_change_of_a_registration_is_counted_and_nothing_else() {
    let journal = in_memory().await;
    let mut before = journal.registry_changes().await.unwrap();
    let mut changed = async || {
        let now = journal.registry_changes().await.unwrap();
        std::mem::replace(&mut before, now) != now
    };
    register(&journal, "h", "one").await.unwrap();
    assert!(changed().await);
    register(&journal, "h", "one").await.unwrap();
    register(&journal, "h", "two").await.unwrap_err();
    assert!(!changed().await);
    journal.retire_harness("h", "").await.unwrap();
    assert!(changed().await);
    journal.retire_harness("h", "").await.unwrap();
    assert!(!changed().await);
}

#[tokio::test(start_paused = true)]
async fn of_racing_registrations_one_creates_whatever_commits_go_unanswered() {
    let engine = Memory::default();
    let hosts = [
        open_seeded(Fault::new(engine.clone(), FaultPlan::mixed(1, 0.5)), 1).await,
        open_seeded(Fault::new(engine.clone(), FaultPlan::mixed(2, 0.5)), 2).await,
        open_seeded(engine, 3).await,
    ];
    for round in 0..ROUNDS {
        let name = format!("h{round}");
        let digests = ["one", if round % 2 == 0 { "one" } else { "two" }, "one"];
        let outcomes = join_all(hosts.iter().zip(digests).map(|(host, digest)| register(host, &name, digest))).await;
        let created = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Registered::Created))).count();
        assert_eq!(created, 1, "round {round}: {outcomes:?}");
        let stored = hosts[2].registration(&name).await.unwrap().unwrap().spec_digest;
        for (outcome, digest) in outcomes.into_iter().zip(digests) {
            match outcome {
                Ok(_) => assert_eq!(digest, stored),
                Err(RegisterError::OtherSpec(_)) => assert_ne!(digest, stored),
                Err(error) => panic!("round {round}: {error}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_session_begins_on_a_harness_once_its_retirement_has_returned() {
    let engine = Memory::default();
    let retiring = open_seeded(Fault::new(engine.clone(), FaultPlan::mixed(1, 0.5)), 1).await;
    let creating = open_seeded(Fault::new(engine.clone(), FaultPlan::mixed(2, 0.5)), 2).await;
    let clean = open(engine).await;
    let mut created = 0;
    for round in 0..ROUNDS {
        let name = format!("h{round}");
        register(&clean, &name, "one").await.unwrap();
        let retirement = async {
            retiring.retire_harness(&name, "").await.unwrap();
            list_all(&clean, &name, 500).await
        };
        let creations = join_all((0..4).map(|_| create_on(&creating, &name)));
        let (at_retirement, creations) = tokio::join!(retirement, creations);
        assert_eq!(list_all(&clean, &name, 500).await, at_retirement, "round {round}");
        assert_eq!(creations.iter().filter(|creation| creation.is_ok()).count(), at_retirement.len());
        assert!(matches!(create_on(&creating, &name).await, Err(CreateError::HarnessRetired(_))));
        created += at_retirement.len();
    }
    assert!(created > 0 && created < 4 * ROUNDS as usize, "there was no race: {created} created");
}
