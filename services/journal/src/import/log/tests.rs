//! What is laid out, and in which steps. That it reads back is tested through the journal.

use std::collections::BTreeMap;

use wire::{EventKind, Lifecycle, Message};

use super::*;
use crate::SessionUid;

fn session(fork: Option<ForkPoint>) -> ForeignSession {
    ForeignSession {
        uid: SessionUid::parse("sess-1").unwrap(),
        project: "p".to_owned(),
        name: String::new(),
        harness: "echo".to_owned(),
        model: String::new(),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        origin: None,
        identity: None,
        fork,
        fence: Fence::stored(2),
        create_time: 1,
        update_time: 2,
        pending_since: None,
        inheritance: Inheritance::default(),
    }
}

fn log(fork: Option<ForkPoint>) -> ForeignLog {
    ForeignLog::new(&session(fork)).unwrap()
}

/// Records of these events, each under its fence.
fn chain(events: impl IntoIterator<Item = (i64, Event)>) -> Vec<LogRecord> {
    let mut records: Vec<LogRecord> = Vec::new();
    for (fence, event) in events {
        let prev_hash = records.last().map_or_else(String::new, |record| record.content_hash.clone());
        let seq = records.len() as i64 + 1;
        let hash = wire::content_hash(&event, seq as u64, ContentHash::parse_prev(&prev_hash).unwrap().as_ref());
        records.push(LogRecord { seq, prev_hash, content_hash: hash.unwrap().hex(), fence, event: Some(event) });
    }
    records
}

fn text(size: usize) -> Event {
    Event::new(EventKind::EventOutput, Body::Message(Message::text("assistant", "x".repeat(size))))
}

fn marker(detail: &str) -> Event {
    let kind = Kind::LifecycleFork.into();
    let lifecycle = Lifecycle { kind, detail: detail.to_owned(), ..Lifecycle::default() };
    Event::new(EventKind::EventLifecycle, Body::Lifecycle(lifecycle))
}

fn push_all(log: &mut ForeignLog, records: Vec<LogRecord>) -> Result<usize, UnfitRecord> {
    let steps: Result<Vec<_>, _> = records.into_iter().map(|record| log.push(record)).collect();
    Ok(steps?.into_iter().flatten().count())
}

#[test]
fn rows_come_in_steps_that_fit_into_a_transaction() {
    let mut log = log(None);
    let sizes = [STEP_BYTES / 2, STEP_BYTES / 2, 10, MAX_EVENT_BYTES - 100, 10];
    let steps = push_all(&mut log, chain(sizes.map(|size| (1, text(size))))).unwrap();
    assert_eq!(steps, 3, "each ends where the next event would make it larger than it may be");
    let rest = log.finish().unwrap();
    assert_eq!((rest.rows.len(), rest.last_seq().get()), (1, 5));
}

#[test]
fn an_event_that_fits_into_no_transaction_is_named() {
    let mut log = log(None);
    let refused = push_all(&mut log, chain([(1, text(10)), (1, text(MAX_EVENT_BYTES))])).unwrap_err();
    assert!(matches!(refused, UnfitRecord { seq, reason: UnfitReason::TooLarge(_) } if seq.get() == 2), "{refused}");
}

#[test]
fn the_next_fence_will_be_higher_than_that_of_the_session_and_that_of_every_record() {
    for (fences, highest) in [([1, 1, 2], 2), ([1, 5, 4], 5), ([0, 0, 0], 2)] {
        let mut log = log(None);
        push_all(&mut log, chain(fences.map(|fence| (fence, text(1))))).unwrap();
        assert_eq!(log.finish().unwrap().head.fence, Fence::stored(highest), "{fences:?}");
    }
}

#[test]
fn a_fence_below_zero_is_named() {
    let refused = push_all(&mut log(None), chain([(1, text(1)), (-1, text(1))])).unwrap_err();
    assert_eq!(refused.to_string(), "record 2: its fence is -1");
}

#[test]
fn a_changed_record_is_named() {
    let mut records = chain([(1, text(1)), (1, text(2)), (1, text(3))]);
    records[1].event = Some(text(4));
    let refused = push_all(&mut log(None), records).unwrap_err();
    assert_eq!(refused.to_string(), "record 2: content_hash is not the hash of its content");
}

#[test]
fn a_fork_has_its_marker_where_it_says() {
    let fork = |at| Some(ForkPoint { parent: SessionUid::parse("sess-0").unwrap(), at: Seq::stored(at) });
    let records = || chain([(1, text(1)), (1, marker("parent@1")), (1, text(1))]);
    let mut sound = log(fork(1));
    push_all(&mut sound, records()).unwrap();
    sound.finish().unwrap();
    for (at, seq) in [(0, 1), (2, 3), (3, 4), (9, 4)] {
        let mut log = log(fork(at));
        let refused = push_all(&mut log, records()).and_then(|_| log.finish()).map(drop).unwrap_err();
        assert!(matches!(refused.reason, UnfitReason::NoForkMarker { .. }), "{refused}");
        assert_eq!(refused.seq.get(), seq, "fork at {at}");
    }
}
