//! What forks promise: nothing is copied, nothing differs, all or nothing.

use futures::TryStreamExt;
use journal::{ForkError, Journal, NewChild, Seq, SeqRange, SessionUid};
use wire::{ComputeState, ExecState, LogRecord};

use crate::support::*;

pub async fn fork(journal: &Journal, parent: &SessionUid, at: i64) -> SessionUid {
    let children = journal.fork(parent, seq(at), vec![NewChild::default()]).await.unwrap();
    children[0].uid().clone()
}

/// Appends turns of three records until the head is at least `head`, each turn as one append or two.
pub async fn fill(journal: &Journal, uid: &SessionUid, head: i64) {
    let mut writer = journal.mint(uid).await.unwrap();
    while writer.head() < seq(head) {
        let execution = format!("e{}", writer.head());
        let turn = vec![start_event(&execution, 0), text_event("x").of_execution(&execution), end_event(&execution)];
        if writer.head().get() % 2 == 0 {
            journal.append(&mut writer, turn).await.unwrap();
        } else {
            let (first, rest) = turn.split_at(1);
            journal.append(&mut writer, first.to_vec()).await.unwrap();
            journal.append(&mut writer, rest.to_vec()).await.unwrap();
        }
    }
}

/// The records as a child must show those that it inherits.
fn inherited(records: &[LogRecord], at: i64) -> Vec<LogRecord> {
    records.iter().take(at as usize).map(|record| LogRecord { fence: 1, ..record.clone() }).collect()
}

#[tokio::test]
async fn a_child_replays_its_parent_up_to_the_fork_and_goes_on_alone() {
    let journal = in_memory().await;
    let parent = create(&journal).await;
    fill(&journal, &parent, 1).await;
    fill(&journal, &parent, 9).await;
    let of_parent = read_all(&journal, &parent).await;
    for at in 0..=9 {
        let child = fork(&journal, &parent, at).await;
        let records = read_all(&journal, &child).await;
        assert_eq!(records[..at as usize], inherited(&of_parent, at));
        assert_verifies(&records);
        let marker = &records[at as usize];
        assert_eq!((records.len() as i64, marker.seq, marker.fence), (at + 1, at + 1, 1));
        let event = marker.event.clone().unwrap();
        let Some(wire::event::Body::Lifecycle(lifecycle)) = event.body else { panic!("no marker") };
        assert_eq!(lifecycle.kind(), wire::lifecycle::Kind::LifecycleFork);
        assert_eq!(lifecycle.detail, format!("parent@{at}"));

        let mut writer = journal.mint(&child).await.unwrap();
        assert_eq!(writer.fence().get(), 2);
        journal.append(&mut writer, vec![text_event("own")]).await.unwrap();
        let own = read_all(&journal, &child).await;
        assert_verifies(&own);
        assert_eq!(own.last().unwrap().fence, 2);
    }
    assert_eq!(read_all(&journal, &parent).await, of_parent);
}

#[tokio::test]
async fn a_child_inherits_some_metadata_and_starts_cold() {
    let journal = in_memory().await;
    let parent = create(&journal).await;
    fill(&journal, &parent, 3).await;
    let labels = [("mine".to_owned(), "yes".to_owned())].into();
    let child = NewChild { uid: None, name: "child".to_owned(), labels };
    let states = journal.fork(&parent, seq(2), vec![child]).await.unwrap();
    let child = states[0].to_wire();
    let of_parent = journal.session(&parent).await.unwrap().unwrap().to_wire();
    assert_eq!(journal.session(states[0].uid()).await.unwrap().unwrap(), states[0]);
    assert_eq!((child.parent_uid.as_str(), child.fork_seq, child.last_seq), (parent.as_str(), 2, 3));
    assert_eq!((&child.harness, &child.model), (&of_parent.harness, &of_parent.model));
    assert_eq!(child.annotations, of_parent.annotations);
    assert_eq!(child.labels.keys().collect::<Vec<_>>(), ["mine"]);
    let metadata = child.metadata.clone().unwrap();
    assert_eq!((metadata.project.as_str(), metadata.name.as_str()), ("default", "child"));
    assert_eq!(child.compute_state(), ComputeState::ComputeCold);
    assert_eq!(child.exec_state(), ExecState::ExecCompleted);
}

#[tokio::test]
async fn an_open_gate_is_pending_in_the_parent_and_not_in_the_child() {
    let journal = in_memory().await;
    let parent = create(&journal).await;
    let mut writer = journal.mint(&parent).await.unwrap();
    journal.append(&mut writer, vec![start_event("e1", 0), gated_call("e1", "c1")]).await.unwrap();
    journal.append(&mut writer, vec![approval_request("e1", "c1")]).await.unwrap();
    let waiting = journal.session(&parent).await.unwrap().unwrap().to_wire();
    assert_eq!(waiting.exec_state(), ExecState::ExecAwaiting);
    assert_eq!(waiting.pending_approval.unwrap().request_seq, 3);
    for at in 1..=3 {
        let child = fork(&journal, &parent, at).await;
        let state = journal.session(&child).await.unwrap().unwrap();
        assert_eq!(state.to_wire().exec_state(), ExecState::ExecCompleted);
        assert_eq!(state.projection().pending_approval(), None);
        assert_eq!(state.projection().has_approvals(), at > 1);
        assert_eq!(state.projection().latest_execution().unwrap().as_str(), "e1");
        assert_eq!(state.projection().latest_fork(), seq(at + 1));
    }
}

#[tokio::test]
async fn forks_of_forks_of_forks_replay_equal_at_every_seq() {
    let journal = in_memory().await;
    let root = create(&journal).await;
    fill(&journal, &root, 12).await;
    for (second, third) in [(5, 8), (5, 5), (5, 3), (0, 0), (11, 12), (12, 13)] {
        let child = fork(&journal, &root, second).await;
        fill(&journal, &child, second + 6).await;
        let grandchild = fork(&journal, &child, third).await;
        fill(&journal, &grandchild, third + 4).await;
        let last = fork(&journal, &grandchild, third + 2).await;
        fill(&journal, &last, third + 6).await;

        let (of_root, of_child) = (read_all(&journal, &root).await, read_all(&journal, &child).await);
        let (of_grandchild, of_last) = (read_all(&journal, &grandchild).await, read_all(&journal, &last).await);
        assert_eq!(of_child[..second as usize], inherited(&of_root, second));
        assert_eq!(of_grandchild[..third as usize], inherited(&of_child, third));
        assert_eq!(of_last[..third as usize + 2], inherited(&of_grandchild, third + 2));
        for records in [&of_child, &of_grandchild, &of_last] {
            assert_verifies(records);
        }
        for from in 1..=of_last.len() {
            let range = SeqRange::from(seq(from as i64));
            assert_eq!(read(&journal, &last, range).await, of_last[from - 1..]);
        }
    }
}

#[tokio::test]
async fn a_fork_beyond_the_head_or_of_nothing_is_refused() {
    let journal = in_memory().await;
    let parent = create(&journal).await;
    fill(&journal, &parent, 3).await;
    let beyond = journal.fork(&parent, seq(4), vec![NewChild::default()]).await;
    assert!(matches!(beyond, Err(ForkError::BeyondHead)));
    let unknown = SessionUid::parse("sess-unknown").unwrap();
    let nothing = journal.fork(&unknown, Seq::ZERO, vec![NewChild::default()]).await;
    assert!(matches!(nothing, Err(ForkError::NoSession)));
}

#[tokio::test]
async fn a_child_that_does_not_fit_means_no_child_at_all() {
    let journal = in_memory().await;
    let parent = create(&journal).await;
    let wide = NewChild { name: "x".repeat(70_000), ..NewChild::default() };
    let refused = journal.fork(&parent, Seq::ZERO, vec![NewChild::default(), wide]).await;
    assert!(matches!(refused, Err(ForkError::TooLarge(_))));
    let page = journal::PageRequest { size: journal::PageSize::from_wire(0), after: None };
    assert_eq!(journal.list("default", page).await.unwrap().sessions.len(), 1);
}

#[tokio::test]
async fn a_parent_goes_on_while_it_is_forked() {
    let journal = in_memory().await;
    let parent = create(&journal).await;
    fill(&journal, &parent, 3).await;
    let mut writer = journal.mint(&parent).await.unwrap();
    for _ in 0..50 {
        let children = journal.fork(&parent, seq(2), vec![NewChild::default(); 4]);
        let (children, appended) = tokio::join!(children, journal.append(&mut writer, vec![text_event("on")]));
        assert_eq!(children.unwrap().len(), 4);
        appended.unwrap();
    }
}

#[tokio::test]
async fn a_slow_reader_of_a_child_sees_one_moment() {
    let journal = in_memory().await;
    let parent = create(&journal).await;
    fill(&journal, &parent, 30).await;
    let child = fork(&journal, &parent, 20).await;
    let mut records = journal.records(&child, SeqRange::ALL);
    let mut read = vec![records.try_next().await.unwrap().unwrap()];
    fill(&journal, &child, 40).await;
    while let Some(record) = records.try_next().await.unwrap() {
        read.push(record);
    }
    assert_eq!(read.len(), 21, "the head as of the beginning of the read");
    assert_verifies(&read);
}
