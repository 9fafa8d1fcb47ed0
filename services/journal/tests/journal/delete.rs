//! Deleting sessions: gone at once, their records removed, forks of them whole, whatever crashes.

use env::Env;
use futures::{StreamExt, TryStreamExt};
use journal::{
    AppendError, DeleteError, DeletionNote, ForkError, Journal, JournalError, NewChild, SeqRange, SessionUid,
};
use store::fault::{CrashPoint, Fault, FaultPlan};
use store::memory::Memory;
use store::{Engine, Isolation, KeyRange, RangeRead};
use wire::IdentityRef;

use crate::fork::{fill, fork};
use crate::support::*;

/// Commits of a deletion of [`family`]'s child: burial, its records, its pin, its parent's, the end.
const DELETION_COMMITS: u64 = 5;

fn note() -> DeletionNote {
    let identity = Some(IdentityRef { principal: "ada".to_owned(), ..IdentityRef::default() });
    DeletionNote { identity, reason: "asked to".to_owned(), request_id: "r1".to_owned() }
}

async fn delete(journal: &Journal, uid: &SessionUid) {
    journal.delete(uid, note()).await.unwrap();
    journal.finish_deletion(uid).await.unwrap();
}

/// How many rows of the store name the session in their keys.
async fn rows_of(engine: &impl Engine, uid: &SessionUid) -> usize {
    let mut transaction = engine.begin().await.unwrap();
    let mut next = Some(RangeRead::forward(KeyRange::new([0_u8].as_slice(), [0xff_u8].as_slice())));
    let mut rows = 0;
    while let Some(read) = next {
        let page = transaction.get_range(&read, Isolation::Snapshot).await.unwrap();
        let uid = uid.as_str().as_bytes();
        rows += page.rows.iter().filter(|row| row.key.windows(uid.len()).any(|part| part == uid)).count();
        next = read.after(&page);
    }
    rows
}

/// A parent of 40 records, and a child that reads 25 of them and has 20 of its own.
async fn family(journal: &Journal) -> (SessionUid, SessionUid) {
    let parent = create(journal).await;
    fill(journal, &parent, 40).await;
    let child = fork(journal, &parent, 25).await;
    fill(journal, &child, 46).await;
    (parent, child)
}

#[tokio::test]
async fn a_deleted_session_is_gone_for_everybody() {
    let engine = Memory::default();
    let journal = open(engine.clone()).await;
    let uid = create(&journal).await;
    let mut writer = journal.mint(&uid).await.unwrap();
    journal.append(&mut writer, vec![start_event("e1", 0), gated_call("e1", "c1")]).await.unwrap();
    journal.append(&mut writer, vec![approval_request("e1", "c1")]).await.unwrap();
    let before = journal.session(&uid).await.unwrap().unwrap();

    let deletion = journal.delete(&uid, note()).await.unwrap();
    assert_eq!(journal.session(&uid).await.unwrap(), None);
    assert_eq!(read_all(&journal, &uid).await, []);
    assert_eq!(list_all(&journal, "default", 10).await, [""; 0]);
    assert_eq!(journal.list_pending("default", first_page(10)).await.unwrap().sessions, []);
    assert!(matches!(journal.mint(&uid).await, Err(AppendError::NoSession)));
    assert!(matches!(journal.take_over(&before, vec![text_event("late")]).await, Err(AppendError::NoSession)));
    for events in
        [vec![text_event("late")], vec![start_event("e2", 0), gated_call("e2", "c"), approval_request("e2", "c")]]
    {
        assert!(matches!(journal.append(&mut writer, events).await, Err(AppendError::NoSession)));
    }
    assert!(matches!(journal.fork(&uid, seq(1), vec![NewChild::default()]).await, Err(ForkError::NoSession)));

    let left = deletion.to_wire().unwrap();
    let audit = left.deletion.clone().unwrap();
    assert_eq!((left.last_seq, &left.metadata.as_ref().unwrap().uid), (3, &uid.to_string()));
    assert_eq!((audit.identity, &*audit.reason, &*audit.request_id), (note().identity, "asked to", "r1"));
    assert_eq!(audit.head_hash, before.head_hash().unwrap().hex());

    journal.finish_deletion(&uid).await.unwrap();
    assert_eq!(rows_of(&engine, &uid).await, 1, "the audit record stays, and nothing else");
    assert_eq!(journal.delete(&uid, DeletionNote::default()).await.unwrap(), deletion, "again is the same");
    assert_eq!(journal.unfinished_deletion().await.unwrap(), None);
    let unknown = SessionUid::parse("sess-unknown").unwrap();
    assert!(matches!(journal.delete(&unknown, note()).await, Err(DeleteError::NoSession)));
}

#[tokio::test]
async fn records_are_removed_in_transactions_of_bounded_size() {
    let engine = Memory::default();
    let journal = open(engine.clone()).await;
    let uid = create(&journal).await;
    fill(&journal, &uid, 4_500).await;
    journal.delete(&uid, note()).await.unwrap();
    let limited = Fault::new(engine.clone(), FaultPlan::crash_at(0, 1, CrashPoint::Before));
    let halted = open(limited).await.finish_deletion(&uid).await;
    assert!(matches!(halted, Err(JournalError::Store(_))), "{halted:?}");
    let left = rows_of(&engine, &uid).await;
    assert!((1_000..2_000).contains(&left), "one transaction left {left} rows");
    assert_eq!(journal.unfinished_deletion().await.unwrap(), Some(uid.clone()));
    journal.finish_deletion(&uid).await.unwrap();
    assert_eq!(rows_of(&engine, &uid).await, 1);
}

#[tokio::test]
async fn forks_keep_what_they_read_until_they_are_deleted() {
    let engine = Memory::default();
    let journal = open(engine.clone()).await;
    let (parent, child) = family(&journal).await;
    let grandchild = fork(&journal, &child, 30).await;
    let (of_child, of_grandchild) = (read_all(&journal, &child).await, read_all(&journal, &grandchild).await);

    delete(&journal, &parent).await;
    let kept = rows_of(&engine, &parent).await;
    assert!((10..25).contains(&kept), "{kept} rows of the parent");
    assert_eq!(read_all(&journal, &child).await, of_child);
    assert_verifies(&of_child);
    let cousin = fork(&journal, &child, 10).await;
    assert_eq!(read_all(&journal, &cousin).await[..10], of_child[..10]);

    delete(&journal, &child).await;
    assert_eq!(read_all(&journal, &grandchild).await, of_grandchild);
    delete(&journal, &grandchild).await;
    assert_eq!(rows_of(&engine, &child).await, 1);
    assert_eq!(read_all(&journal, &cousin).await[..10], of_child[..10]);
    assert!(rows_of(&engine, &parent).await < kept, "only what the cousin reads is kept");
    delete(&journal, &cousin).await;
    for uid in [parent, child, grandchild, cousin] {
        assert_eq!(rows_of(&engine, &uid).await, 1, "{uid}");
    }
}

#[tokio::test]
async fn a_reader_whose_session_is_deleted_is_told_so() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    fill(&journal, &uid, 3_000).await;
    let mut records = journal.records(&uid, SeqRange::ALL);
    records.next().await.unwrap().unwrap();
    delete(&journal, &uid).await;
    let rest: Result<Vec<_>, _> = records.try_collect().await;
    assert!(matches!(rest, Err(JournalError::Deleted)));
}

/// A crash before and after each commit of a deletion: what was not deleted is whole, what was is finished later.
#[tokio::test(start_paused = true)]
async fn a_crash_at_any_commit_of_a_deletion_is_made_up_for() {
    for commit in 0..DELETION_COMMITS {
        for point in [CrashPoint::Before, CrashPoint::After] {
            let engine = Memory::default();
            let journal = open(engine.clone()).await;
            let (parent, child) = family(&journal).await;
            delete(&journal, &parent).await;
            let log = read_all(&journal, &child).await;

            let crashing = Fault::new(engine.clone(), FaultPlan::crash_at(0, commit, point));
            let dying = open(crashing.clone()).await;
            let deleted = dying.delete(&child, note()).await;
            let finished = match deleted {
                Ok(_) => dying.finish_deletion(&child).await.is_ok(),
                Err(_) => false,
            };
            assert!(crashing.is_crashed() && !finished, "{commit} {point:?}");

            match journal.session(&child).await.unwrap() {
                Some(_) => assert_eq!(read_all(&journal, &child).await, log, "{commit} {point:?}"),
                None => assert_eq!(read_all(&journal, &child).await, []),
            }
            delete(&journal, &child).await;
            assert_eq!(journal.unfinished_deletion().await.unwrap(), None);
            let left = (rows_of(&engine, &parent).await, rows_of(&engine, &child).await);
            assert_eq!(left, (1, 1), "{commit} {point:?}");
        }
    }
}

/// Sessions are forked and deleted under faults: every log that is left is whole, and nothing is left of the others.
#[tokio::test(start_paused = true)]
async fn forks_and_deletions_under_faults_lose_nothing_and_leave_nothing() {
    for seed in 0..20 {
        let engine = Memory::default();
        let clean = open(engine.clone()).await;
        // Another seed than that of `clean`, which would mint the same uids.
        let journal = open_seeded(Fault::new(engine.clone(), FaultPlan::mixed(seed, 0.3)), seed + 100).await;
        let choices = Env::seeded(seed);
        let root = create(&clean).await;
        fill(&clean, &root, 20).await;
        let mut sessions = vec![(root.clone(), read_all(&clean, &root).await)];
        let mut deleted = Vec::new();
        for _ in 0..30 {
            let chosen = choices.random_u64() as usize % sessions.len();
            if sessions.len() > 1 && choices.random_u64().is_multiple_of(3) {
                let (uid, _) = sessions.swap_remove(chosen);
                delete(&journal, &uid).await;
                deleted.push(uid);
                continue;
            }
            let (parent, log) = sessions[chosen].clone();
            let at = choices.random_u64() as i64 % (log.len() as i64 + 1);
            let child = journal.fork(&parent, seq(at.abs()), vec![NewChild::default()]).await.unwrap()[0].uid().clone();
            fill(&clean, &child, at.abs() + 9).await;
            sessions.push((child.clone(), read_all(&clean, &child).await));
        }
        for (uid, log) in &sessions {
            assert_eq!(read_all(&clean, uid).await, *log, "seed {seed}");
            assert_verifies(log);
        }
        for (uid, _) in sessions {
            delete(&journal, &uid).await;
            deleted.push(uid);
        }
        for uid in deleted {
            assert_eq!(rows_of(&engine, &uid).await, 1, "seed {seed}");
        }
    }
}
