//! What holds when several write at once while commits fail, and when a node dies at any commit.

use std::cell::RefCell;
use std::collections::BTreeMap;

use env::Env;
use futures::future::join_all;
use journal::Journal;
use journal::invocations::{
    Accepted, AttachError, Frame, FrameItem, InputOutcome, Invocation, Lease, LeaseError, Outcome, OutputChange,
    OutputWrite, Owner, Reattach, Run, RunError, StreamId,
};
use store::fault::{CrashPoint, Fault, FaultPlan};
use store::memory::Memory;
use store::{Engine, Store};

use super::support::*;
#[cfg(feature = "fdb")]
use crate::support::cluster;
use crate::support::{open, open_seeded};

const SEEDS: u64 = 10;
const ITEMS: usize = 300;
const FAULTS: f64 = 0.3;
/// Commits of [`short_life`], those that end it included.
const SHORT_LIFE_COMMITS: u64 = 16;

/// What writers were told was stored, by where: no two were told so of one place.
#[derive(Default)]
struct Ledger {
    /// How many items are enough.
    wanted: usize,
    acknowledged: RefCell<BTreeMap<u64, String>>,
}

impl Ledger {
    fn acknowledge(&self, first: u64, text: String) {
        let before = self.acknowledged.borrow_mut().insert(first, text);
        assert_eq!(before, None, "two writers were told that item {first} is theirs");
    }

    fn is_full(&self) -> bool {
        self.acknowledged.borrow().len() >= self.wanted
    }

    async fn check(&self, journal: &Journal, of: &Invocation, stream: StreamId) {
        let items: Vec<FrameItem> = frames(journal, of, stream, 0).await.into_iter().map(|frame| frame.item).collect();
        for (first, text) in self.acknowledged.borrow().iter() {
            assert_eq!(items[*first as usize], value(text));
        }
        for (place, item) in items.iter().enumerate() {
            assert!(!items[..place].contains(item), "{item:?} is there twice");
        }
    }
}

/// Takes the attachment from the others again and again, and writes until it loses it.
async fn connections(journal: &Journal, name: u64, of: &Invocation, stream: StreamId, ledger: &Ledger) {
    let mut attempts = u128::from(name) << 64;
    let mut written = 0;
    while !ledger.is_full() {
        attempts += 1;
        let Some(lease) = take_over(journal, of, attempts).await else { continue };
        loop {
            let next = progress(journal, of, stream).await.next;
            let text = format!("{name}: {written}");
            written += 1;
            match journal.put_inputs(&lease, vec![put(stream, next, value(&text))]).await {
                Ok(outcomes) if outcomes == [stored()] => ledger.acknowledge(next, text),
                // Somebody else wrote there, and has lost the attachment to this one since.
                Ok(outcomes) => assert!(matches!(outcomes[..], [InputOutcome::Refused(_)]), "{outcomes:?}"),
                Err(LeaseError::Lost) => break,
                Err(error) => panic!("{error}"),
            }
            if ledger.is_full() {
                return;
            }
        }
    }
}

async fn take_over(journal: &Journal, of: &Invocation, id: u128) -> Option<Lease> {
    let standing = journal.standing(&of.session, of.id).await.unwrap().unwrap();
    let reattach = Reattach {
        session: of.session.clone(),
        invocation: of.id,
        attempt: attempt(id),
        generation: standing.attachment.generation,
        takeover: true,
        holder: holder((id % 999_983) as u64),
        cursors: Vec::new(),
    };
    match journal.attach(reattach).await {
        Ok(Accepted::New(_, lease)) => Some(lease),
        Ok(Accepted::Known(record)) => panic!("known already: {record:?}"),
        Err(AttachError::Stale) => None,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn what_connections_that_take_an_invocation_from_each_other_are_told_is_true() {
    for seed in 0..SEEDS {
        contend_for_attachment(Memory::default(), FaultPlan::mixed(seed, FAULTS), ITEMS).await;
    }
}

/// On a real cluster, on which commits conflict and take their time: a third of all outcomes is not told.
#[cfg(feature = "fdb")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_connections_and_runners_are_told_is_true_on_foundationdb() {
    let plan = FaultPlan { unknown_committed: FAULTS / 2.0, unknown_lost: FAULTS / 2.0, ..FaultPlan::none(1) };
    if let Some(engine) = cluster().await {
        contend_for_attachment(engine, plan, ITEMS / 5).await;
    }
    if let Some(engine) = cluster().await {
        contend_for_run(engine, plan, ITEMS / 5).await;
    }
}

async fn contend_for_attachment(engine: impl Engine + Clone, plan: FaultPlan, items: usize) {
    let clean = open(engine.clone()).await;
    let (invocation, _, _, stream) = started(&clean).await;
    let seed = plan.seed;
    let faulty = open_seeded(Fault::new(engine, plan), seed).await;
    let ledger = Ledger { wanted: items, ..Ledger::default() };
    join_all((1..=4).map(|name| connections(&faulty, name, &invocation, stream, &ledger))).await;
    ledger.check(&clean, &invocation, stream).await;
}

/// Claims the run again and again, and writes until it loses it.
async fn runners(journal: &Journal, name: u64, of: &Invocation, stream: StreamId, ledger: &Ledger) {
    let mut written = 0;
    while !ledger.is_full() {
        let run = journal.claim_run(&of.session).await.unwrap().unwrap();
        loop {
            let next = progress(journal, of, stream).await.next;
            let text = format!("{name}: {written}");
            written += 1;
            match journal.put_outputs(&run, of.id, vec![emit(stream, next, value(&text))]).await {
                Ok(()) => ledger.acknowledge(next, text),
                Err(RunError::Fault(..)) => {}
                Err(RunError::Lost) => break,
                Err(error) => panic!("{error}"),
            }
            if ledger.is_full() {
                return;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_runners_that_take_an_instance_from_each_other_are_told_is_true() {
    for seed in 0..SEEDS {
        contend_for_run(Memory::default(), FaultPlan::mixed(seed, FAULTS), ITEMS).await;
    }
}

async fn contend_for_run(engine: impl Engine + Clone, plan: FaultPlan, items: usize) {
    let clean = open_seeded(engine.clone(), 1_000).await;
    let (invocation, _, run, _, stream) = returned(&clean).await;
    clean.release_run(&run).await.unwrap();
    let seed = plan.seed;
    let faulty = open_seeded(Fault::new(engine, plan), seed).await;
    let ledger = Ledger { wanted: items, ..Ledger::default() };
    join_all((1..=3).map(|name| runners(&faulty, name, &invocation, stream, &ledger))).await;
    ledger.check(&clean, &invocation, stream).await;
}

/// How far a life came.
#[derive(Default)]
struct Life {
    invocation: Option<Invocation>,
    input: Vec<FrameItem>,
    output: Vec<FrameItem>,
    returned: bool,
    finished: bool,
}

/// Accepts, claims, writes, returns and finishes until the crash; what was acknowledged.
async fn short_life(engine: &Fault<Memory>) -> Life {
    let mut life = Life::default();
    let _ = live(engine, &mut life).await;
    life
}

async fn live(engine: &Fault<Memory>, life: &mut Life) -> Option<()> {
    let env = Env::seeded(3);
    let journal = Journal::open(Store::new(engine.clone(), env.clone()), env).await.ok()?;
    let Accepted::New(invocation, lease) = journal.accept_invocation(new_invocation("key", attempt(1))).await.ok()?
    else {
        return None;
    };
    let invocation = life.invocation.insert(*invocation).clone();
    let run = journal.claim_run(&invocation.session).await.ok()??;
    let input = StreamId::input(invocation.id, FIRST_INPUT);
    for item in [value("1"), FrameItem::Binary { data: vec![2; 12 << 20].into(), mime: None }, value("3")] {
        let write = put(input, life.input.len() as u64, item.clone());
        journal.put_inputs(&lease, vec![write]).await.ok()?;
        life.input.push(item);
    }
    write_outputs(&journal, &run, &invocation, life).await?;
    journal.detach(&lease).await.ok()?;
    Some(())
}

/// Does what is still to be done of the runner's part.
async fn write_outputs(journal: &Journal, run: &Run, of: &Invocation, life: &mut Life) -> Option<()> {
    journal.set_returned(run, of.id, Some("{}"), vec![output()]).await.ok()?;
    life.returned = true;
    let output = StreamId::output(of.id, &Owner::Result, 0);
    let next = progress_of(journal, of, output).await?;
    for item in [value("4"), value("5")].into_iter().skip(next as usize) {
        let first = progress_of(journal, of, output).await?;
        journal.put_outputs(run, of.id, vec![emit(output, first, item.clone())]).await.ok()?;
        life.output.push(item);
    }
    let input = StreamId::input(of.id, FIRST_INPUT);
    let change = OutputChange::Drop("consumer-drop".to_owned());
    let drop_input = OutputWrite { stream: input, change };
    journal.put_outputs(run, of.id, vec![end_output(output), drop_input]).await.ok()?;
    journal.finish_invocation(run, of.id, Outcome::Success).await.ok()?;
    life.finished = true;
    Some(())
}

async fn progress_of(journal: &Journal, of: &Invocation, stream: StreamId) -> Option<u64> {
    let standing = journal.standing(&of.session, of.id).await.ok()??;
    Some(standing.streams.into_iter().find(|progress| progress.id == stream)?.next)
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_commit_loses_nothing_acknowledged_and_another_node_goes_on() {
    let mut finished = 0;
    for commit in 0..SHORT_LIFE_COMMITS {
        for point in [CrashPoint::Before, CrashPoint::After] {
            let engine = Fault::new(Memory::default(), FaultPlan::crash_at(0, commit, point));
            let life = short_life(&engine).await;
            engine.revive();
            let journal = open_seeded(engine, 9).await;
            if let Some(invocation) = &life.invocation {
                check_life(&journal, invocation, &life).await;
                go_on(&journal, invocation, life.finished).await;
            }
            finished += usize::from(life.finished);
        }
    }
    assert!(finished > 0, "the last crash comes after the end");
}

async fn check_life(journal: &Journal, of: &Invocation, life: &Life) {
    let output = StreamId::output(of.id, &Owner::Result, 0);
    let items = |frames: Vec<Frame>| frames.into_iter().map(|frame| frame.item).collect::<Vec<_>>();
    let input = items(frames(journal, of, StreamId::input(of.id, FIRST_INPUT), 0).await);
    assert!(input.starts_with(&life.input) && input.len() <= life.input.len() + 1);
    let output = items(frames(journal, of, output, 0).await);
    assert!(output.starts_with(&life.output) && output.len() <= life.output.len() + 1);
    let read = journal.invocation(&of.session, of.id).await.unwrap().unwrap();
    assert!(read.returned.is_some() || !life.returned);
    assert!(read.outcome.is_some() || !life.finished);
}

/// Another node takes over, and the client comes back.
async fn go_on(journal: &Journal, of: &Invocation, finished: bool) {
    for beat in journal.beats().await.unwrap() {
        journal.reap(beat.node).await.unwrap();
    }
    let standing = journal.standing(&of.session, of.id).await.unwrap().unwrap();
    assert_eq!(standing.attachment.holder, None);
    let run = journal.claim_run(&of.session).await.unwrap();
    assert_eq!(run.is_some(), standing.outcome.is_none());
    assert!(!finished || run.is_none());
    if let Some(run) = run {
        assert_eq!(journal.next_invocation(&run).await.unwrap(), Some(of.id));
        let reattach = Reattach {
            session: of.session.clone(),
            invocation: of.id,
            attempt: attempt(2),
            generation: 1,
            takeover: false,
            holder: holder(2),
            cursors: Vec::new(),
        };
        let Accepted::New(_, lease) = journal.attach(reattach).await.unwrap() else { panic!("attached before") };
        let input = StreamId::input(of.id, FIRST_INPUT);
        let progress = progress(journal, of, input).await;
        if progress.terminal.is_none() {
            assert_eq!(put_one(journal, &lease, put(input, progress.next, value("after the crash"))).await, stored());
            let read = frames(journal, of, input, 0).await;
            assert_eq!(read.last().unwrap().item, value("after the crash"));
        }
        write_outputs(journal, &run, of, &mut Life::default()).await.unwrap();
    }
}
