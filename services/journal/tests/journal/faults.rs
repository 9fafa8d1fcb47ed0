//! What holds under faults: everything acknowledged is there exactly once, nothing refused is there, the chain verifies.

use std::cell::RefCell;
use std::collections::BTreeSet;

use env::Env;
use futures::future::join_all;
use journal::{AppendError, CreateError, ForkError, Journal, NewChild, Seq, SessionUid, Writer};
use store::Engine;
use store::fault::{CrashPoint, Fault, FaultPlan};
use store::memory::Memory;
use wire::LogRecord;

use crate::support::*;

const SEEDS: u64 = 20;
const APPENDS: usize = 10_000;
const FAULTS: f64 = 0.3;
/// Commits of [`short_life`].
const SHORT_LIFE_COMMITS: u64 = 8;

/// What callers were told about the events that they appended, all of which differ.
#[derive(Default)]
struct Ledger {
    acknowledged: Vec<(SessionUid, LogRecord)>,
    refused: BTreeSet<String>,
    attempted: usize,
}

impl Ledger {
    fn acknowledge(&mut self, uid: &SessionUid, records: Vec<LogRecord>) {
        self.acknowledged.extend(records.into_iter().map(|record| (uid.clone(), record)));
    }

    fn refuse(&mut self, texts: Vec<String>) {
        self.refused.extend(texts);
    }

    async fn check(&self, journal: &Journal, sessions: &[SessionUid]) {
        let mut present = BTreeSet::new();
        for uid in sessions {
            let records = read_all(journal, uid).await;
            assert_verifies(&records);
            let state = journal.session(uid).await.unwrap().unwrap();
            assert_eq!(state.last_seq().get(), records.len() as u64);
            assert_eq!(state.head_hash().map(|hash| hash.hex()), records.last().map(|last| last.content_hash.clone()));
            for (_, acknowledged) in self.acknowledged.iter().filter(|(of, _)| of == uid) {
                assert_eq!(&records[acknowledged.seq as usize - 1], acknowledged);
            }
            for record in &records {
                assert!(present.insert(text_of(record)), "recorded twice: {}", text_of(record));
            }
        }
        assert_eq!(self.refused.intersection(&present).next(), None, "refused, and recorded all the same");
    }
}

/// One of several callers that append to the same sessions and take them from one another.
struct Actor<'a> {
    name: usize,
    journal: &'a Journal,
    sessions: &'a [SessionUid],
    choices: Env,
    ledger: &'a RefCell<Ledger>,
    writer: Option<Writer>,
}

impl Actor<'_> {
    async fn run(mut self, appends: usize) {
        while self.ledger.borrow().attempted < appends {
            match self.writer.take() {
                None if self.choose(2) == 0 => self.mint().await,
                None => self.take_over().await,
                // Now and then a writer is given up, as if its node had died.
                Some(_) if self.choose(30) == 0 => {}
                Some(writer) => self.append(writer).await,
            }
        }
    }

    fn choose(&self, of: u64) -> u64 {
        self.choices.random_u64() % of
    }

    fn session(&self) -> SessionUid {
        self.sessions[self.choose(self.sessions.len() as u64) as usize].clone()
    }

    /// Texts of one to three events; some do not fit into one value.
    fn texts(&self) -> Vec<String> {
        let mut ledger = self.ledger.borrow_mut();
        ledger.attempted += 1;
        let padding = if self.choose(200) == 0 { 120_000 } else { 10 };
        let text = |n| format!("{}-{}-{n}-{}", self.name, ledger.attempted, "x".repeat(padding));
        (0..=self.choose(3)).map(text).collect()
    }

    async fn mint(&mut self) {
        self.writer = self.journal.mint(&self.session()).await.ok();
    }

    async fn take_over(&mut self) {
        let uid = self.session();
        let Ok(Some(state)) = self.journal.session(&uid).await else { return };
        let texts = self.texts();
        let events = texts.iter().map(text_event).collect();
        match self.journal.take_over(&state, events).await {
            Ok((writer, records)) => {
                self.ledger.borrow_mut().acknowledge(&uid, records);
                self.writer = Some(writer);
            }
            Err(AppendError::Conflict) => self.ledger.borrow_mut().refuse(texts),
            Err(AppendError::Fenced | AppendError::Unknown) => {}
            Err(error) => panic!("take over: {error}"),
        }
    }

    async fn append(&mut self, mut writer: Writer) {
        let texts = self.texts();
        let events = texts.iter().map(text_event).collect();
        match self.journal.append(&mut writer, events).await {
            Ok(records) => {
                self.ledger.borrow_mut().acknowledge(writer.uid(), records);
                self.writer = Some(writer);
            }
            Err(AppendError::Conflict | AppendError::Fenced) => self.ledger.borrow_mut().refuse(texts),
            Err(AppendError::Unknown) => self.writer = Some(writer),
            Err(error) => panic!("append: {error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn acknowledged_appends_exist_exactly_once_and_refused_ones_never() {
    let mut acknowledged = 0;
    for seed in 0..SEEDS {
        let plan = FaultPlan::mixed(seed, FAULTS);
        acknowledged += run_with_faults(Memory::default(), plan, APPENDS / SEEDS as usize).await;
    }
    assert!(acknowledged > APPENDS / 2, "only {acknowledged} records were acknowledged");
}

/// On a real cluster, on which commits conflict and take their time: a third of all outcomes is not told.
#[cfg(feature = "fdb")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_appends_exist_exactly_once_on_foundationdb() {
    let Some(engine) = cluster().await else { return };
    let plan = FaultPlan { unknown_committed: FAULTS / 2.0, unknown_lost: FAULTS / 2.0, ..FaultPlan::none(1) };
    let acknowledged = run_with_faults(engine, plan, APPENDS / 10).await;
    assert!(acknowledged > APPENDS / 20, "only {acknowledged} records were acknowledged");
}

/// The number of records that were acknowledged.
async fn run_with_faults(engine: impl Engine + Clone, plan: FaultPlan, appends: usize) -> usize {
    let seed = plan.seed;
    let clean = open(engine.clone()).await;
    let sessions = [create(&clean).await, create(&clean).await, create(&clean).await];
    let faulty = Fault::new(engine, plan);
    let journal = open_seeded(faulty.clone(), seed).await;
    let ledger = RefCell::new(Ledger::default());
    let actor = |name| Actor {
        name,
        journal: &journal,
        sessions: &sessions,
        choices: Env::seeded(seed * 100 + name as u64),
        ledger: &ledger,
        writer: None,
    };
    join_all((0..5).map(|name| actor(name).run(appends))).await;
    assert!(faulty.faults() as f64 > appends as f64 * FAULTS / 2.0);
    let ledger = ledger.into_inner();
    ledger.check(&clean, &sessions).await;
    ledger.acknowledged.len()
}

#[tokio::test(start_paused = true)]
async fn a_lone_caller_never_loses_to_itself() {
    let journal = open_seeded(Fault::new(Memory::default(), FaultPlan::mixed(5, 0.6)), 5).await;
    let uid = create(&journal).await;
    let mut expected = Vec::new();
    for _ in 0..200 {
        let known = state(&journal, &uid).await;
        let (mut writer, records) = journal.take_over(&known, vec![text_event("taken"); 2]).await.unwrap();
        expected.extend(records);
        expected.extend(journal.append(&mut writer, vec![text_event("more")]).await.unwrap());
        let mut writer = journal.mint(&uid).await.unwrap();
        expected.extend(journal.append(&mut writer, vec![text_event("minted")]).await.unwrap());
        let stale = journal.take_over(&known, vec![text_event("too late")]).await;
        assert!(matches!(stale, Err(AppendError::Conflict)));
    }
    assert_eq!(read_all(&journal, &uid).await, expected);
    assert_verifies(&expected);
}

/// The log has grown by as many records as the take-over would have appended, and its first attempt, which mints and no
/// more, is not answered.
#[tokio::test(start_paused = true)]
async fn a_take_over_that_came_too_late_does_not_claim_the_records_of_another_one() {
    for seed in 0..20 {
        let engine = Memory::default();
        let (clean, plan) = (open(engine.clone()).await, FaultPlan { unknown_committed: 0.5, ..FaultPlan::none(seed) });
        let uid = create(&clean).await;
        let empty = state(&clean, &uid).await;
        clean.take_over(&empty, vec![text_event("one"), text_event("two")]).await.unwrap();
        let faulty = open_seeded(Fault::new(engine, plan), seed).await;
        let late = faulty.take_over(&empty, vec![text_event("three"), text_event("four")]).await;
        assert!(matches!(late, Err(AppendError::Conflict)), "seed {seed}: {late:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn creations_and_forks_happen_once_however_often_they_are_retried() {
    let engine = Memory::default();
    let clean = open(engine.clone()).await;
    let journal = open_seeded(Fault::new(engine, FaultPlan::mixed(1, 0.6)), 1).await;
    let parent = create(&clean).await;
    let mut expected = BTreeSet::from([parent.clone()]);
    for _ in 0..200 {
        match journal.create(new_session("default")).await {
            Ok(created) => drop(expected.insert(created.uid().clone())),
            Err(CreateError::Unknown) => panic!("the retry policy is longer than the faults"),
            Err(error) => panic!("create: {error}"),
        }
        match journal.fork(&parent, Seq::ZERO, vec![NewChild::default(); 2]).await {
            Ok(children) => expected.extend(children.iter().map(|child| child.uid().clone())),
            Err(ForkError::Unknown) => panic!("the retry policy is longer than the faults"),
            Err(error) => panic!("fork: {error}"),
        }
    }
    assert_eq!(list_all(&clean, "default", 500).await.into_iter().collect::<BTreeSet<_>>().len(), expected.len());
    for uid in expected {
        assert!(clean.session(&uid).await.unwrap().is_some());
    }
}

/// A crash before and after each commit of a short life: what was acknowledged before it is there after it, and the
/// session can be taken over and goes on.
#[tokio::test(start_paused = true)]
async fn a_crash_at_any_commit_loses_nothing_acknowledged() {
    for commit in 0..SHORT_LIFE_COMMITS {
        for point in [CrashPoint::Before, CrashPoint::After] {
            let engine = Fault::new(Memory::default(), FaultPlan::crash_at(0, commit, point));
            let acknowledged = short_life(&engine).await;
            engine.revive();
            let journal = open(engine).await;
            for (uid, records) in acknowledged {
                let found = read_all(&journal, &uid).await;
                assert_eq!(found[..records.len()], records);
                assert_verifies(&found);
                let events = vec![text_event("after the crash")];
                let (mut writer, _) = journal.take_over(&state(&journal, &uid).await, events).await.unwrap();
                journal.append(&mut writer, vec![end_event("e1")]).await.unwrap();
                assert_verifies(&read_all(&journal, &uid).await);
            }
        }
    }
}

/// Opens, creates, takes over, appends, forks and appends to the child until the crash; what was acknowledged.
async fn short_life(engine: &Fault<Memory>) -> Vec<(SessionUid, Vec<LogRecord>)> {
    let mut acknowledged = Vec::new();
    let env = Env::seeded(3);
    let opened = Journal::open(store::Store::new(engine.clone(), env.clone()), env).await;
    let Ok(journal) = opened else { return acknowledged };
    let Ok(session) = journal.create(new_session("default")).await else { return acknowledged };
    let parent = session.uid();
    acknowledged.push((parent.clone(), Vec::new()));
    let taken = journal.take_over(&session, vec![start_event("e1", 0), text_event("one")]).await;
    let Ok((mut writer, records)) = taken else { return acknowledged };
    acknowledged[0].1.extend(records);
    for text in ["two", "three"] {
        let Ok(records) = journal.append(&mut writer, vec![text_event(text)]).await else { return acknowledged };
        acknowledged[0].1.extend(records);
    }
    let Ok(children) = journal.fork(parent, seq(3), vec![NewChild::default()]).await else { return acknowledged };
    let child = children[0].uid();
    acknowledged.push((child.clone(), Vec::new()));
    let Ok(mut writer) = journal.mint(child).await else { return acknowledged };
    if let Ok(records) = journal.append(&mut writer, vec![text_event("of the child")]).await {
        assert_eq!(records[0].seq, 5);
    }
    acknowledged
}
