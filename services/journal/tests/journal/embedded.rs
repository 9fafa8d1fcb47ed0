//! The promises over files: several openers of one store, and a store that is opened again.

use std::collections::BTreeMap;
use std::path::Path;

use env::Env;
use futures::TryStreamExt;
use futures::future::join_all;
use journal::{AppendError, Journal, NewChild, SeqRange, SessionUid};
use store::Store;
use store::embedded::{Embedded, EmbeddedOptions};
use wire::LogRecord;

use crate::support::*;

const SESSIONS: usize = 8;
const TURNS: usize = 10;

async fn open_file(path: &Path) -> Journal {
    let engine = Embedded::open(path, EmbeddedOptions::default()).unwrap();
    let env = Env::system();
    Journal::open(Store::new(engine, env.clone()), env).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_of_several_openers_of_one_file_lose_and_repeat_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journals = [open_file(&path).await, open_file(&path).await, open_file(&path).await];
    let sessions = join_all((0..SESSIONS).map(|_| create(&journals[0]))).await;
    let callers = (0..9).map(|caller| rival(&journals[caller % 3], &sessions, caller));
    let acknowledged: Vec<_> = join_all(callers).await.into_iter().flatten().collect();
    drop(journals);

    let journal = open_file(&path).await;
    let mut logs = BTreeMap::new();
    for uid in sessions {
        let records = read_all(&journal, &uid).await;
        assert_verifies(&records);
        logs.insert(uid, records);
    }
    assert_eq!(acknowledged.len(), logs.values().map(Vec::len).sum::<usize>());
    for (uid, record) in acknowledged {
        assert_eq!(logs[&uid][record.seq as usize - 1], record);
    }
}

/// Takes each session over and appends a few times, again and again, whoever has it; what was acknowledged.
async fn rival(journal: &Journal, sessions: &[SessionUid], caller: usize) -> Vec<(SessionUid, LogRecord)> {
    let mut acknowledged = Vec::new();
    for turn in 0..TURNS {
        let uid = &sessions[(caller + turn) % sessions.len()];
        let mut keep = |records: Vec<LogRecord>| acknowledged.extend(records.into_iter().map(|r| (uid.clone(), r)));
        let mut writer = match journal.take_over(&state(journal, uid).await, vec![text_event("taken"); 2]).await {
            Ok((writer, records)) => {
                keep(records);
                writer
            }
            Err(AppendError::Conflict) => continue,
            Err(error) => panic!("{error}"),
        };
        for _ in 0..3 {
            match journal.append(&mut writer, vec![text_event("more")]).await {
                Ok(records) => keep(records),
                Err(AppendError::Conflict | AppendError::Fenced) => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
    acknowledged
}

#[tokio::test]
async fn a_fork_of_a_long_log_adds_next_to_nothing_to_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = open_file(&path).await;
    let parent = create(&journal).await;
    let mut writer = journal.mint(&parent).await.unwrap();
    for _ in 0..50 {
        journal.append(&mut writer, vec![text_event("x".repeat(500)); 100]).await.unwrap();
    }
    let before = size_of(directory.path());
    let children = journal.fork(&parent, seq(2_345), vec![NewChild::default(); 128]).await.unwrap();
    assert!(size_of(directory.path()) - before < 1_000_000);
    let last = children.last().unwrap();
    let records = read_all(&journal, last.uid()).await;
    assert_eq!(records.len(), 2_346);
    assert_verifies(&records);
}

#[tokio::test]
async fn readers_that_stand_still_keep_nothing_open() {
    let directory = tempfile::tempdir().unwrap();
    let engine = Embedded::open(directory.path().join("journal"), EmbeddedOptions { readers: 1 }).unwrap();
    let journal = open(engine).await;
    let uid = create(&journal).await;
    let mut writer = journal.mint(&uid).await.unwrap();
    for _ in 0..10 {
        journal.append(&mut writer, vec![text_event("x".repeat(90_000))]).await.unwrap();
    }
    let mut standing = Vec::new();
    for _ in 0..5 {
        let mut records = journal.records(&uid, SeqRange::ALL);
        records.try_next().await.unwrap().unwrap();
        standing.push(records);
    }
    journal.append(&mut writer, vec![text_event("more")]).await.unwrap();
    assert_eq!(read_all(&journal, &uid).await.len(), 11);
    for records in standing {
        assert_eq!(records.try_collect::<Vec<_>>().await.unwrap().len(), 9);
    }
}

fn size_of(directory: &Path) -> u64 {
    std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}
