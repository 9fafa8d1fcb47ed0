//! Sessions and harness names of another host, which is a journal of its own here.

use std::collections::BTreeMap;

use env::Env;
use futures::StreamExt;
use journal::import::{ForeignName, ForeignSession, Inheritance, Standing};
use journal::{
    DeletionNote, Fence, ImportError, Journal, NewChild, NewRegistration, Registration, Retirement, SeqRange,
    SessionUid,
};
use store::Store;
use store::fault::{CrashPoint, Fault, FaultPlan};
use store::memory::Memory;
use wire::{Event, LogRecord};

use crate::support::*;

/// Larger than what an import writes at once.
const LARGE: usize = 2 << 20;
const SEEDS: u64 = 40;
/// Commits of the import of [`in_three_steps`].
const IMPORT_COMMITS: u64 = 5;

/// A session of another host, with records under three fences.
struct There {
    session: ForeignSession,
    records: Vec<LogRecord>,
}

impl There {
    async fn with(turns: Vec<Vec<Event>>) -> Self {
        let journal = open_seeded(Memory::default(), 9).await;
        let uid = create(&journal).await;
        let mut fence = Fence::default();
        for events in turns {
            let mut writer = journal.mint(&uid).await.unwrap();
            journal.append(&mut writer, events).await.unwrap();
            fence = writer.fence();
        }
        let records = read_all(&journal, &uid).await;
        let session = ForeignSession {
            uid,
            project: "their project".to_owned(),
            name: "their name".to_owned(),
            harness: "retired-long-ago".to_owned(),
            model: "m".to_owned(),
            labels: [("label".to_owned(), "1".to_owned())].into(),
            annotations: BTreeMap::new(),
            origin: Some(wire::Origin { source: "ticket".to_owned(), ..wire::Origin::default() }),
            identity: Some(wire::IdentityRef::default()),
            fork: None,
            fence,
            create_time: 1_700_000_000_000_000_001,
            update_time: 1_700_000_000_000_000_002,
            pending_since: None,
            inheritance: Inheritance::default(),
        };
        Self { session, records }
    }

    async fn of_turns() -> Self {
        let turn =
            |execution| vec![start_event(execution, 0), text_event("x").of_execution(execution), end_event(execution)];
        Self::with(vec![turn("e1"), turn("e2"), turn("e3")]).await
    }

    fn uid(&self) -> &SessionUid {
        &self.session.uid
    }

    async fn carry(&self, journal: &Journal) -> Result<(), ImportError> {
        let import = journal.begin_import().await?;
        let mut session = import.session(&self.session)?;
        for record in self.records.clone() {
            session.push(record).await?;
        }
        session.finish().await
    }

    async fn standing(&self, journal: &Journal) -> Result<Standing, ImportError> {
        let last = self.records.last();
        let head = last.map(|last| last.content_hash.parse().unwrap());
        journal.session_standing(&self.session, seq(self.records.len() as i64), head.as_ref()).await
    }
}

#[tokio::test]
async fn a_session_is_carried_over_as_it_is() {
    let there = There::of_turns().await;
    let here = in_memory().await;
    assert_eq!(there.standing(&here).await.unwrap(), Standing::Absent);
    there.carry(&here).await.unwrap();
    assert_eq!(there.standing(&here).await.unwrap(), Standing::Present);
    assert_eq!(read_all(&here, there.uid()).await, there.records, "hashes and fences too");

    let session = here.session(there.uid()).await.unwrap().unwrap().to_wire();
    let metadata = session.metadata.unwrap();
    assert_eq!((metadata.project.as_str(), metadata.name.as_str()), ("their project", "their name"));
    assert_eq!(metadata.create_time.unwrap().nanos, 1);
    assert_eq!(metadata.update_time.unwrap().nanos, 2);
    assert_eq!((session.harness.as_str(), session.model.as_str(), session.last_seq), ("retired-long-ago", "m", 9));
    assert_eq!((session.labels.len(), session.origin.is_some(), session.identity), (1, true, None));
    assert_eq!(list_all(&here, "their project", 10).await, [there.uid().to_string()]);
}

#[tokio::test]
async fn a_carried_session_goes_on_under_a_higher_fence_and_forks() {
    let there = There::of_turns().await;
    let here = in_memory().await;
    there.carry(&here).await.unwrap();
    let mut writer = here.mint(there.uid()).await.unwrap();
    assert!(writer.fence() > there.session.fence);
    here.append(&mut writer, vec![text_event("more")]).await.unwrap();
    assert_verifies(&read_all(&here, there.uid()).await);
    assert_eq!(there.standing(&here).await.unwrap(), Standing::Present, "it has gone on");

    let children = here.fork(there.uid(), seq(5), vec![NewChild::default()]).await.unwrap();
    let child = read_all(&here, children[0].uid()).await;
    assert_verifies(&child);
    assert_eq!(child[..5].iter().map(|r| &r.content_hash).collect::<Vec<_>>(), hashes(&there.records[..5]));
    assert_eq!(children[0].projection().latest_execution().unwrap().as_str(), "e2");
}

fn hashes(records: &[LogRecord]) -> Vec<&String> {
    records.iter().map(|record| &record.content_hash).collect()
}

#[tokio::test]
async fn a_session_that_waits_for_an_approval_is_listed_since_its_last_change() {
    let gate = vec![start_event("e1", 0), gated_call("e1", "c"), approval_request("e1", "c")];
    let there = There::with(vec![gate]).await;
    let here = in_memory().await;
    there.carry(&here).await.unwrap();
    let waiting = here.list_pending("their project", first_page(10)).await.unwrap().sessions;
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].projection().pending_approval().unwrap().request, seq(3));
    let mut writer = here.mint(there.uid()).await.unwrap();
    here.append(&mut writer, vec![end_event("e1")]).await.unwrap();
    assert!(here.list_pending("their project", first_page(10)).await.unwrap().sessions.is_empty());
}

#[tokio::test]
async fn an_import_that_was_cut_leaves_no_session_and_nothing_that_the_next_one_meets() {
    let large = There::with(vec![vec![text_event("x".repeat(LARGE)), text_event("y".repeat(LARGE))]]).await;
    let here = in_memory().await;
    let import = here.begin_import().await.unwrap();
    let mut cut = import.session(&large.session).unwrap();
    for record in large.records.clone() {
        cut.push(record).await.unwrap();
    }
    drop(cut);
    assert!(here.session(large.uid()).await.unwrap().is_none());
    assert_eq!(here.records(large.uid(), SeqRange::ALL).count().await, 0);

    let mut small = There::of_turns().await;
    small.session.uid = large.uid().clone();
    small.carry(&here).await.unwrap();
    assert_eq!(read_all(&here, large.uid()).await, small.records);
}

#[tokio::test]
async fn the_latest_import_wins() {
    let there = There::of_turns().await;
    let here = in_memory().await;
    let earlier = here.begin_import().await.unwrap();
    let mut session = earlier.session(&there.session).unwrap();
    for record in there.records.clone() {
        session.push(record).await.unwrap();
    }
    let later = here.begin_import().await.unwrap();
    assert!(matches!(session.finish().await, Err(ImportError::Superseded)));
    assert!(matches!(earlier.name(reserved("n")).await, Err(ImportError::Superseded)));
    later.name(reserved("n")).await.unwrap();
    there.carry(&here).await.unwrap();
}

#[tokio::test]
async fn a_uid_that_stands_for_something_else_here_is_refused() {
    let there = There::of_turns().await;
    let here = in_memory().await;
    there.carry(&here).await.unwrap();
    let gone_on = There { session: there.session.clone(), records: longer(&there).await };
    let renamed = ForeignSession { name: "another".to_owned(), ..there.session.clone() };
    let mut forged = There::of_turns().await;
    forged.session = there.session.clone();
    forged.records.last_mut().unwrap().content_hash = "0".repeat(64);
    for other in [gone_on, There { session: renamed, records: there.records.clone() }, forged] {
        assert!(matches!(other.standing(&here).await, Err(ImportError::OtherSession(uid)) if uid == *there.uid()));
        assert!(matches!(other.carry(&here).await, Err(ImportError::OtherSession(_) | ImportError::Record(..))));
    }
    assert_eq!(read_all(&here, there.uid()).await, there.records);
}

#[tokio::test]
async fn a_session_that_was_deleted_here_does_not_come_back() {
    let there = There::of_turns().await;
    let here = in_memory().await;
    there.carry(&here).await.unwrap();
    let child = here.fork(there.uid(), seq(4), vec![NewChild::default()]).await.unwrap()[0].uid().clone();
    let log = read_all(&here, &child).await;
    here.delete(there.uid(), DeletionNote::default()).await.unwrap();
    assert!(matches!(there.carry(&here).await, Err(ImportError::Deleted(uid)) if uid == *there.uid()));
    assert_eq!(read_all(&here, &child).await, log, "what a fork reads is left alone");
}

async fn longer(there: &There) -> Vec<LogRecord> {
    let elsewhere = in_memory().await;
    there.carry(&elsewhere).await.unwrap();
    let mut writer = elsewhere.mint(there.uid()).await.unwrap();
    elsewhere.append(&mut writer, vec![text_event("gone on there")]).await.unwrap();
    read_all(&elsewhere, there.uid()).await
}

fn reserved(name: &str) -> ForeignName {
    ForeignName::Reserved { name: name.to_owned(), time: 5 }
}

fn registered(name: &str, retired: Option<Retirement>) -> ForeignName {
    ForeignName::Registered(Registration {
        name: name.to_owned(),
        uid: format!("harness-{name}"),
        spec: "{}".to_owned(),
        spec_digest: "sha256:1".to_owned(),
        create_time: 1,
        update_time: 2,
        retired,
    })
}

#[tokio::test]
async fn harness_names_are_carried_over_as_they_are() {
    let here = in_memory().await;
    let import = here.begin_import().await.unwrap();
    let retirement = Retirement { time: 3, reason: "old".to_owned() };
    let names = [registered("active", None), registered("retired", Some(retirement)), reserved("mine")];
    let before = here.registry_changes().await.unwrap();
    for name in &names {
        assert_eq!(here.name_standing(name).await.unwrap(), Standing::Absent);
        import.name(name.clone()).await.unwrap();
        assert_eq!(here.name_standing(name).await.unwrap(), Standing::Present);
        import.name(name.clone()).await.unwrap();
    }
    assert_ne!(here.registry_changes().await.unwrap(), before, "hosts that run on the journal will look");
    for name in &names[..2] {
        let ForeignName::Registered(registration) = name else { continue };
        assert_eq!(here.registration(name.name()).await.unwrap().as_ref(), Some(registration));
    }
    let new =
        |name: &str| NewRegistration { name: name.to_owned(), spec: "{}".to_owned(), spec_digest: "d".to_owned() };
    here.register_harness(new("mine")).await.expect_err("it is reserved");
    here.retire_harness("active", "since").await.unwrap();
    assert_eq!(here.name_standing(&names[0]).await.unwrap(), Standing::Present, "its state has moved on here");
}

#[tokio::test]
async fn harness_names_that_stand_for_something_else_here_are_refused() {
    let here = in_memory().await;
    let import = here.begin_import().await.unwrap();
    here.reserve_harness_names(&["static".to_owned()]).await.unwrap();
    import.name(registered("taken", None)).await.unwrap();
    let ForeignName::Registered(taken) = registered("taken", None) else { unreachable!() };
    let other = ForeignName::Registered(Registration { uid: "harness-other".to_owned(), ..taken });
    for name in [other, reserved("taken")] {
        assert!(matches!(import.name(name.clone()).await, Err(ImportError::NameRegistered(_))), "{name:?}");
    }
    assert!(matches!(import.name(registered("static", None)).await, Err(ImportError::NameReserved(_))));
}

/// A session that takes three commits, after those that open the journal and begin the import.
async fn in_three_steps() -> There {
    There::with(vec![vec![text_event("x".repeat(LARGE)), text_event("y".repeat(LARGE)), text_event("z")]]).await
}

#[tokio::test(start_paused = true)]
async fn an_import_whose_commits_go_unanswered_carries_everything_once() {
    let there = in_three_steps().await;
    for seed in 0..SEEDS {
        let here = open_seeded(Fault::new(Memory::default(), FaultPlan::mixed(seed, 0.6)), seed).await;
        there.carry(&here).await.unwrap();
        assert_eq!(read_all(&here, there.uid()).await, there.records, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_import_that_crashed_at_any_commit_is_finished_by_the_next_one() {
    let there = in_three_steps().await;
    for commit in 0..IMPORT_COMMITS {
        for point in [CrashPoint::Before, CrashPoint::After] {
            let engine = Fault::new(Memory::default(), FaultPlan::crash_at(0, commit, point));
            let env = Env::seeded(3);
            if let Ok(here) = Journal::open(Store::new(engine.clone(), env.clone()), env).await {
                there.carry(&here).await.expect_err("the store has crashed");
            }
            engine.revive();
            let here = open(engine).await;
            let complete = commit == IMPORT_COMMITS - 1 && matches!(point, CrashPoint::After);
            let expected = if complete { Standing::Present } else { Standing::Absent };
            assert_eq!(there.standing(&here).await.unwrap(), expected, "{point:?} commit {commit}");
            if !complete {
                there.carry(&here).await.unwrap();
            }
            assert_eq!(read_all(&here, there.uid()).await, there.records, "{point:?} commit {commit}");
        }
    }
}
