//! What appends promise: order, fences, one winner, all or nothing.

use journal::{AppendError, SeqRange, SessionUid};

use crate::support::*;

#[tokio::test]
async fn appended_records_read_back_exactly_and_verify() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    let mut writer = journal.mint(&uid).await.unwrap();
    let mut expected = journal.append(&mut writer, vec![start_event("e1", 0), text_event("one")]).await.unwrap();
    expected.extend(journal.append(&mut writer, vec![text_event("two")]).await.unwrap());
    expected.extend(journal.append(&mut writer, vec![end_event("e1")]).await.unwrap());

    let records = read_all(&journal, &uid).await;
    assert_eq!(records, expected);
    assert_verifies(&records);
    assert!(records.iter().all(|record| record.fence == 1));
    let state = journal.session(&uid).await.unwrap().unwrap();
    assert_eq!(state.last_seq(), seq(4));
    assert_eq!(state.head_hash().unwrap().hex(), records[3].content_hash);
    assert!(state.projection().latest_execution_ended());
}

#[tokio::test]
async fn every_sub_range_is_a_part_of_the_whole() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    let mut writer = journal.mint(&uid).await.unwrap();
    for size in [1, 3, 2] {
        journal.append(&mut writer, vec![text_event("text"); size]).await.unwrap();
    }
    let all = read_all(&journal, &uid).await;
    for from in 0..=8 {
        for to in 0..=8 {
            let range = SeqRange { from: seq(from), to: Some(seq(to)) };
            let expected: Vec<_> = all.iter().filter(|r| r.seq >= from && r.seq <= to).cloned().collect();
            assert_eq!(read(&journal, &uid, range).await, expected, "{from}..={to}");
        }
    }
}

#[tokio::test]
async fn an_unknown_session_reads_empty_and_takes_no_appends() {
    let journal = in_memory().await;
    let uid = SessionUid::parse("sess-unknown").unwrap();
    assert_eq!(read_all(&journal, &uid).await, []);
    assert_eq!(journal.session(&uid).await.unwrap(), None);
    assert!(matches!(journal.mint(&uid).await, Err(AppendError::NoSession)));
}

#[tokio::test]
async fn a_late_append_after_a_takeover_is_refused() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    let mut old = journal.mint(&uid).await.unwrap();
    let mut new = journal.mint(&uid).await.unwrap();
    let late = journal.append(&mut old, vec![text_event("late")]).await;
    assert!(matches!(late, Err(AppendError::Fenced)));
    journal.append(&mut new, vec![text_event("first")]).await.unwrap();
    let later = journal.append(&mut old, vec![text_event("late")]).await;
    assert!(matches!(later, Err(AppendError::Conflict)), "the cursor is checked before the fence");
    assert_eq!(read_all(&journal, &uid).await.len(), 1);
}

#[tokio::test]
async fn a_takeover_mints_and_appends_at_once() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    let events = vec![start_event("e1", 1), text_event("hello")];
    let (mut writer, records) = journal.take_over(&state(&journal, &uid).await, events).await.unwrap();
    assert_eq!(writer.fence().get(), 1);
    assert_eq!(writer.head(), seq(2));
    assert_eq!(records, read_all(&journal, &uid).await);
    journal.append(&mut writer, vec![end_event("e1")]).await.unwrap();
}

#[tokio::test]
async fn a_takeover_that_finds_the_head_moved_has_minted_all_the_same() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    let empty = state(&journal, &uid).await;
    let (mut old, _) = journal.take_over(&empty, vec![text_event("one")]).await.unwrap();
    let lost = journal.take_over(&empty, vec![text_event("two")]).await;
    assert!(matches!(lost, Err(AppendError::Conflict)));
    let fenced = journal.append(&mut old, vec![text_event("three")]).await;
    assert!(matches!(fenced, Err(AppendError::Fenced)));
    assert_eq!(read_all(&journal, &uid).await.len(), 1);
}

#[tokio::test]
async fn events_that_cannot_be_recorded_leave_nothing_behind() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    let mut writer = journal.mint(&uid).await.unwrap();
    let nan = wire::protobuf::Value { kind: Some(wire::protobuf::value::Kind::NumberValue(f64::NAN)) };
    let data = wire::protobuf::Struct { fields: [("nan".to_owned(), nan)].into() };
    let message = wire::Message { role: "user".to_owned(), parts: vec![wire::Part::data(data)] };
    let bad = wire::Event::new(wire::EventKind::EventInput, wire::event::Body::Message(message));
    let refused = journal.append(&mut writer, vec![text_event("good"), bad]).await;
    assert!(matches!(refused, Err(AppendError::NotCanonical(_))));
    let huge = journal.append(&mut writer, vec![text_event("x".repeat(10_000_001))]).await;
    assert!(matches!(huge, Err(AppendError::TooLarge(_))));
    let long_id = journal.append(&mut writer, vec![start_event(&"e".repeat(16_385), 0)]).await;
    assert!(matches!(long_id, Err(AppendError::TooLarge(_))));
    assert_eq!(read_all(&journal, &uid).await, []);
    journal.append(&mut writer, vec![text_event("good")]).await.unwrap();
}

#[tokio::test]
async fn large_events_and_large_appends_are_divided_and_read_back() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    let mut writer = journal.mint(&uid).await.unwrap();
    let sizes = [0, 99_000, 99_900, 100_000, 100_100, 250_000, 1, 9_500_000, 1];
    for size in sizes {
        journal.append(&mut writer, vec![text_event("x".repeat(size))]).await.unwrap();
    }
    let many = sizes.iter().filter(|size| **size < 1_000_000).map(|size| text_event("y".repeat(*size))).collect();
    journal.append(&mut writer, many).await.unwrap();
    let records = read_all(&journal, &uid).await;
    assert_eq!(records.len(), 17);
    assert_verifies(&records);
    for from in 1..=17 {
        assert_eq!(read(&journal, &uid, SeqRange::from(seq(from))).await, records[from as usize - 1..]);
    }
}

#[tokio::test]
async fn of_two_writers_racing_exactly_one_wins_each_round() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    for round in 0..200 {
        let known = state(&journal, &uid).await;
        let race = |text| journal.take_over(&known, vec![text_event(text)]);
        let (one, other) = tokio::join!(race("one"), race("other"));
        assert_eq!([one.is_ok(), other.is_ok()].iter().filter(|won| **won).count(), 1, "round {round}");
    }
    let records = read_all(&journal, &uid).await;
    assert_eq!(records.len(), 200);
    assert_verifies(&records);
}
