//! What sessions promise: exact metadata, stable listings, harness checks in the creating transaction.

use std::time::Duration;

use journal::{CreateError, ListToken, NewOn, NewSession, PageRequest, SessionUid};
use prost::Message;
use wire::{ComputeState, ExecState, IdentityRef, Origin};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_created_session_is_what_was_asked_for() {
    let journal = in_memory().await;
    tokio::time::advance(Duration::from_nanos(123_456_789)).await;
    let origin = Origin { source: "test".to_owned(), ..Origin::default() };
    let new = NewSession { origin: Some(origin.clone()), identity: Some(IdentityRef::default()), ..new_session("p") };
    let created = journal.create(new).await.unwrap();
    let read = journal.session(created.uid()).await.unwrap().unwrap();
    assert_eq!(created, read);
    let session = read.to_wire();
    let metadata = session.metadata.clone().unwrap();
    assert!(metadata.uid.starts_with("sess-") && metadata.uid.len() == 29);
    assert_eq!((metadata.project.as_str(), metadata.name.as_str(), metadata.version), ("p", "a name", 0));
    assert_eq!(metadata.create_time.unwrap().nanos, 123_456_789);
    assert_eq!(metadata.create_time, metadata.update_time);
    assert_eq!((session.harness.as_str(), session.model.as_str()), ("echo", "model"));
    assert_eq!(session.origin, Some(origin));
    assert_eq!(session.identity, None, "an identity that names nobody is not stored");
    assert_eq!((session.labels.len(), session.annotations.len(), session.last_seq), (1, 1, 0));
    assert_eq!(session.exec_state(), ExecState::ExecPending);
    assert_eq!(session.compute_state(), ComputeState::ComputeNone);
}

#[tokio::test(start_paused = true)]
async fn mints_and_appends_move_the_update_time_and_nothing_else() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    let at = async || journal.session(&uid).await.unwrap().unwrap().to_wire().metadata.unwrap();
    let created = at().await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let mut writer = journal.mint(&uid).await.unwrap();
    let minted = at().await;
    tokio::time::advance(Duration::from_secs(1)).await;
    journal.append(&mut writer, vec![text_event("x")]).await.unwrap();
    let appended = at().await;
    let seconds = [&created, &minted, &appended].map(|m| m.update_time.unwrap().seconds);
    assert_eq!([seconds[1] - seconds[0], seconds[2] - seconds[1]], [1, 1]);
    assert_eq!(created.create_time, appended.create_time);
}

#[tokio::test]
async fn a_session_that_does_not_fit_is_refused() {
    let journal = in_memory().await;
    let wide = NewSession { annotations: [("a".to_owned(), "x".repeat(70_000))].into(), ..new_session("p") };
    let refused =
        [wide, new_session(&"p".repeat(1_025)), NewSession { harness: "h".repeat(2_000), ..new_session("p") }];
    for new in refused {
        assert!(matches!(journal.create(new).await, Err(CreateError::TooLarge(_))));
    }
    journal.create(new_session(&"\0".repeat(1_024))).await.unwrap();
}

#[tokio::test]
async fn a_registered_harness_must_have_a_registration() {
    let journal = in_memory().await;
    let new = NewSession { harness_source: NewOn::Registered, ..new_session("p") };
    assert!(matches!(journal.create(new).await, Err(CreateError::HarnessNotRegistered(name)) if name == "echo"));
    let page = journal.list("p", first_page(10)).await.unwrap();
    assert!(page.sessions.is_empty());
}

#[tokio::test(start_paused = true)]
async fn listings_are_newest_first_then_by_uid_and_hold_one_project() {
    let journal = in_memory().await;
    let mut expected = Vec::new();
    for round in 0..10 {
        for _ in 0..3 {
            let created = journal.create(new_session("p")).await.unwrap();
            expected.push((-round, created.uid().to_string()));
        }
        journal.create(new_session("other")).await.unwrap();
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    expected.sort();
    let expected: Vec<_> = expected.into_iter().map(|(_, uid)| uid).collect();
    for size in [1, 4, 29, 30, 31, 0] {
        assert_eq!(list_all(&journal, "p", size).await, expected, "pages of {size}");
    }
    assert!(list_all(&journal, "q", 10).await.is_empty());
    assert!(list_all(&journal, &"p".repeat(20_000), 10).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn sessions_created_while_paging_neither_repeat_nor_hide_others() {
    let journal = in_memory().await;
    for _ in 0..6 {
        journal.create(new_session("p")).await.unwrap();
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    let before = list_all(&journal, "p", 100).await;
    let page = journal.list("p", first_page(3)).await.unwrap();
    journal.create(new_session("p")).await.unwrap();
    let rest = journal.list("p", PageRequest { after: page.next.clone(), ..first_page(3) }).await.unwrap();
    let listed: Vec<_> = [page.sessions, rest.sessions].concat().iter().map(|s| s.uid().to_string()).collect();
    assert_eq!(listed, before);
    assert_eq!(rest.next, None);
}

/// What a client of gRPC takes by default is 4 MiB.
#[tokio::test]
async fn a_page_of_large_sessions_is_cut_where_it_becomes_too_large_for_clients() {
    const SESSIONS: usize = 100;
    let journal = in_memory().await;
    for _ in 0..SESSIONS {
        let annotations = [("large".to_owned(), "x".repeat(60_000))].into();
        journal.create(NewSession { annotations, ..new_session("p") }).await.unwrap();
    }
    let page = journal.list("p", first_page(SESSIONS as i32)).await.unwrap();
    let bytes: usize = page.sessions.iter().map(|session| session.to_wire().encoded_len()).sum();
    assert!((2 << 20..4 << 20).contains(&bytes) && page.next.is_some(), "{bytes} bytes");
    assert_eq!(list_all(&journal, "p", SESSIONS as i32).await.len(), SESSIONS);
}

#[tokio::test]
async fn a_page_may_start_at_any_position() {
    let journal = in_memory().await;
    let uid = create(&journal).await;
    let after = |token: &str| PageRequest { after: Some(ListToken::decode(token).unwrap()), ..first_page(5) };
    let newest = journal.list("default", after("OTIyMzM3MjAzNjg1NDc3NTgwNwB4")).await.unwrap();
    assert_eq!(newest.sessions.first().map(|session| session.uid().clone()), Some(uid));
    let oldest = journal.list("default", after("LTkyMjMzNzIwMzY4NTQ3NzU4MDgAeA")).await.unwrap();
    assert!(oldest.sessions.is_empty());
}

#[tokio::test]
async fn uids_of_any_origin_are_looked_up() {
    let journal = in_memory().await;
    for text in ["x", "sess-\u{1}", &"u".repeat(SessionUid::MAX_BYTES)] {
        let uid = SessionUid::parse(text).unwrap();
        assert_eq!(journal.session(&uid).await.unwrap(), None);
    }
}
