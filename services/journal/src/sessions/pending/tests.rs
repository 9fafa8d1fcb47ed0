use env::Env;
use proptest::prelude::*;
use store::Store;
use store::fault::{Fault, FaultPlan};
use store::memory::Memory;
use wire::Event;

use crate::projection::tests::events::{gated, log, request, start};
use crate::{Journal, NewChild, NewOn, NewSession, PageRequest, PageSize, Seq, SessionUid};

fn all() -> PageRequest {
    PageRequest { size: PageSize::from_wire(500), after: None }
}

async fn journal(faults: f64, seed: u64) -> Journal {
    let env = Env::seeded(seed);
    let engine = Fault::new(
        Memory::default(),
        FaultPlan { unknown_committed: faults, unknown_lost: faults, ..FaultPlan::none(seed) },
    );
    Journal::open(Store::new(engine, env.clone()), env).await.unwrap()
}

async fn create(journal: &Journal, project: &str) -> SessionUid {
    let new = NewSession {
        project: project.to_owned(),
        name: String::new(),
        harness: "h".to_owned(),
        harness_source: NewOn::Static,
        model: String::new(),
        labels: Default::default(),
        annotations: Default::default(),
        origin: None,
        identity: None,
    };
    journal.create(new).await.unwrap().uid().clone()
}

async fn listed(journal: &Journal, project: &str) -> Vec<SessionUid> {
    let page = journal.list_pending(project, all()).await.unwrap();
    page.sessions.iter().map(|session| session.uid().clone()).collect()
}

/// The sessions of a project that say of themselves that they wait, by uid.
async fn waiting(journal: &Journal, project: &str) -> Vec<SessionUid> {
    let page = journal.list(project, all()).await.unwrap();
    let waiting = page.sessions.iter().filter(|session| session.to_wire().pending_approval.is_some());
    sorted(waiting.map(|session| session.uid().clone()).collect())
}

fn sorted(mut uids: Vec<SessionUid>) -> Vec<SessionUid> {
    uids.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    uids
}

async fn append(journal: &Journal, uid: &SessionUid, events: &[Event]) {
    let state = journal.session(uid).await.unwrap().unwrap();
    journal.take_over(&state, events.to_vec()).await.unwrap();
}

/// Plays logs in turns, cut into appends of a few events, and compares the listing with the sessions after each.
async fn play(logs: Vec<Vec<Event>>, step: usize, seed: u64) {
    let journal = journal(0.2, seed).await;
    let mut sessions = Vec::new();
    for (n, log) in logs.iter().enumerate() {
        let project = if n % 2 == 0 { "even" } else { "odd" };
        sessions.push((create(&journal, project).await, log.chunks(step)));
    }
    loop {
        let mut played = false;
        for (uid, chunks) in &mut sessions {
            let Some(events) = chunks.next() else { continue };
            played = true;
            append(&journal, uid, events).await;
            for project in ["even", "odd"] {
                assert_eq!(sorted(listed(&journal, project).await), waiting(&journal, project).await);
            }
        }
        if !played {
            return;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_session_is_listed_exactly_while_it_says_that_it_waits(
        logs in proptest::collection::vec(log(), 1..5),
        step in 1..5_usize,
        seed in any::<u64>(),
    ) {
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
            .block_on(play(logs, step, seed));
    }
}

#[tokio::test(start_paused = true)]
async fn who_began_to_wait_last_is_first_and_pages_go_on() {
    let journal = journal(0.0, 1).await;
    let mut uids = Vec::new();
    for _ in 0..5 {
        uids.push(create(&journal, "p").await);
    }
    uids.swap(1, 3);
    for uid in &uids {
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
        append(&journal, uid, &[start("e1", 0), gated("e1", "c"), request("e1", "c")]).await;
    }
    uids.reverse();
    assert_eq!(listed(&journal, "p").await, uids);
    let page = |after| PageRequest { size: PageSize::from_wire(2), after };
    let first = journal.list_pending("p", page(None)).await.unwrap();
    let second = journal.list_pending("p", page(first.next)).await.unwrap();
    assert_eq!(second.sessions.iter().map(|session| session.uid()).collect::<Vec<_>>(), [&uids[2], &uids[3]]);
}

#[tokio::test]
async fn a_child_does_not_wait_for_its_parent_s_approval() {
    let journal = journal(0.0, 1).await;
    let parent = create(&journal, "p").await;
    append(&journal, &parent, &[start("e1", 0), gated("e1", "c"), request("e1", "c")]).await;
    let child = journal.fork(&parent, Seq::stored(3), vec![NewChild::default()]).await.unwrap().remove(0);
    assert_eq!(listed(&journal, "p").await, [parent]);
    append(&journal, child.uid(), &[start("e2", 0), gated("e2", "c"), request("e2", "c")]).await;
    assert_eq!(listed(&journal, "p").await.len(), 2);
}
