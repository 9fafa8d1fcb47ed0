//! Acceptance: what it makes, and what it refuses.

use journal::invocations::{
    AcceptError, Accepted, Attempt, LeaseError, MAX_NEW_STREAMS, Owner, Role, Rule, RunError, StreamId,
};
use journal::{CreateError, DeletionNote, NewOn};
use store::memory::Memory;

use super::support::*;
use crate::support::{in_memory, open, open_seeded};

#[tokio::test]
async fn an_invocation_is_whole_when_it_is_accepted() {
    let journal = in_memory().await;
    let new = new_invocation("key", attempt(1));
    let (invocation, lease) = accept(&journal, new.clone()).await;
    assert!(exists(&journal, &invocation.session).await);
    assert_eq!((invocation.attachment.generation, invocation.start.clone()), (1, new.start));
    assert_eq!(invocation.attachment.holder, Some((journal.incarnation(), lease.holder())));
    let read = journal.invocation(&invocation.session, invocation.id).await.unwrap().unwrap();
    assert_eq!(read, invocation);

    let streams = journal.streams(&invocation.session, invocation.id).await.unwrap();
    assert_eq!(streams.len(), 1);
    assert_eq!(streams[0].progress.id, StreamId::input(invocation.id, FIRST_INPUT));
    assert_eq!((streams[0].provisional, streams[0].owner), (Some(FIRST_INPUT), Owner::Start));
    assert_eq!((streams[0].progress.role, streams[0].progress.next), (Role::Input, 0));

    let run = journal.claim_run(&invocation.session).await.unwrap().unwrap();
    assert_eq!(journal.next_invocation(&run).await.unwrap(), Some(invocation.id));
}

#[tokio::test]
async fn invocations_of_one_instance_share_its_session_and_queue_in_the_order_of_their_acceptance() {
    let journal = in_memory().await;
    let (first, _) = accept(&journal, new_invocation("b", attempt(1))).await;
    let (second, _) = accept(&journal, new_invocation("a", attempt(2))).await;
    let mut other = new_invocation("a", attempt(3));
    (other.instance, other.agent_id) = ([8; 32], "another".to_owned());
    let (elsewhere, _) = accept(&journal, other).await;
    assert_eq!((&first.session, first.incarnation), (&second.session, second.incarnation));
    assert_ne!(first.id, second.id);
    assert_ne!((&elsewhere.session, elsewhere.id), (&second.session, second.id));

    let run = journal.claim_run(&first.session).await.unwrap().unwrap();
    for expected in [first, second] {
        assert_eq!(journal.next_invocation(&run).await.unwrap(), Some(expected.id));
        finish(&journal, &run, &expected).await;
    }
    assert!(matches!(journal.next_invocation(&run).await, Err(RunError::Lost)));
    assert_eq!(journal.claim_run(run.session()).await.unwrap(), None);
}

#[tokio::test]
async fn an_attempt_is_accepted_once_and_known_by_its_content() {
    let journal = in_memory().await;
    let (invocation, _) = accept(&journal, new_invocation("key", attempt(1))).await;
    let Accepted::Known(record) = journal.accept_invocation(new_invocation("key", attempt(1))).await.unwrap() else {
        panic!("accepted twice")
    };
    assert_eq!((record.invocation, record.attachment), (invocation.id, invocation.attachment.id));
    assert!(record.start);
    assert_eq!(journal.attempt("account", attempt(1).id).await.unwrap(), Some(record));
    assert_eq!(journal.attempt("other", attempt(1).id).await.unwrap(), None);

    let other = Attempt { digest: [2; 32], ..attempt(1) };
    let refused = journal.accept_invocation(new_invocation("other", other)).await;
    assert!(matches!(refused, Err(AcceptError::AttemptConflict)));
    let refused = journal.accept_invocation(new_invocation("key", attempt(2))).await;
    assert!(matches!(refused, Err(AcceptError::KeyUsed)));
    assert_eq!(journal.attempt("account", attempt(2).id).await.unwrap(), None, "a refused attempt leaves no trace");
}

#[tokio::test]
async fn two_connections_with_one_attempt_start_one_invocation() {
    let engine = Memory::default();
    let (one, other) = (open_seeded(engine.clone(), 1).await, open_seeded(engine, 2).await);
    let new = || new_invocation("key", attempt(1));
    let (one, other) = tokio::join!(one.accept_invocation(new()), other.accept_invocation(new()));
    let accepted = [one.unwrap(), other.unwrap()];
    assert_eq!(accepted.iter().filter(|accepted| matches!(accepted, Accepted::New(..))).count(), 1);
}

#[tokio::test]
async fn streams_of_the_parameters_that_break_a_rule_refuse_the_invocation() {
    let journal = in_memory().await;
    let with = |streams| {
        let mut new = new_invocation("key", attempt(1));
        new.streams = streams;
        new
    };
    let too_many = (0..=MAX_NEW_STREAMS as u128).map(input).collect();
    let mut of_other_type = input(1);
    of_other_type.fingerprint = [4; 32];
    for (streams, expected) in [
        (vec![input(1), input(2), input(1)], Rule::StreamAlreadyConsumed),
        (vec![input(1), of_other_type], Rule::StreamConflict),
        (too_many, Rule::ResourceExhausted),
    ] {
        let refused = journal.accept_invocation(with(streams)).await;
        assert!(matches!(refused, Err(AcceptError::Streams(rule)) if rule == expected), "{refused:?}");
    }
    accept(&journal, with(vec![input(1), input(2)])).await;
}

#[tokio::test]
async fn an_instance_is_made_only_of_a_harness_that_takes_sessions() {
    let journal = in_memory().await;
    let mut new = new_invocation("key", attempt(1));
    new.session.harness_source = NewOn::Registered;
    let refused = journal.accept_invocation(new).await;
    assert!(matches!(refused, Err(AcceptError::Create(CreateError::HarnessNotRegistered(_)))));
}

#[tokio::test]
async fn parameters_that_fill_many_rows_are_read_back() {
    let journal = in_memory().await;
    let mut new = new_invocation("key", attempt(1));
    new.start.method_parameters = "p".repeat(4 << 20);
    let (invocation, _) = accept(&journal, new.clone()).await;
    let read = journal.invocation(&invocation.session, invocation.id).await.unwrap().unwrap();
    assert_eq!(read.start, new.start);

    let mut new = new_invocation("other", attempt(2));
    new.start.method_parameters = "p".repeat(9 << 20);
    assert!(matches!(journal.accept_invocation(new).await, Err(AcceptError::TooLarge(_))));
}

#[tokio::test]
async fn the_instance_of_a_deleted_session_is_made_anew_and_its_old_runner_is_shut_out() {
    let engine = Memory::default();
    let journal = open(engine.clone()).await;
    let (old, lease, run, stream) = started(&journal).await;
    journal.delete(&old.session, DeletionNote::default()).await.unwrap();
    assert!(matches!(journal.next_invocation(&run).await, Err(RunError::Lost)));
    let (new, _) = accept(&journal, new_invocation("key", attempt(2))).await;
    assert_ne!((&old.session, old.id), (&new.session, new.id));

    journal.finish_deletion(&old.session).await.unwrap();
    let refused = journal.put_inputs(&lease, vec![put(stream, 0, octets("late"))]).await;
    assert!(matches!(refused, Err(LeaseError::Lost)));
    assert_eq!(journal.invocation(&old.session, old.id).await.unwrap(), None);
    assert_eq!(journal.attempt("account", attempt(1).id).await.unwrap(), None);
    // What is there of the new one is untouched.
    let (again, _) = accept(&journal, new_invocation("again", attempt(3))).await;
    assert_eq!(again.session, new.session);
    assert!(journal.invocation(&new.session, new.id).await.unwrap().is_some());
}
