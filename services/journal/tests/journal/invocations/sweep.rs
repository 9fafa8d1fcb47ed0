//! Retention.

use env::{Env, VirtualClock};
use journal::Journal;
use journal::invocations::{AcceptError, LeaseError};
use store::Store;
use store::memory::Memory;

use super::support::*;
use crate::support::in_memory;

const ALWAYS: u64 = u64::MAX;

#[tokio::test]
async fn what_is_finished_and_detached_is_removed_and_its_key_stays_used() {
    let journal = in_memory().await;
    let (invocation, lease, run, from, to) = returned(&journal).await;
    let large = octets(vec![1; 3 << 20]);
    journal.put_outputs(&run, invocation.id, vec![emit(to, 0, large)]).await.unwrap();
    put_one(&journal, &lease, put(from, 0, octets("abc"))).await;
    assert_eq!(journal.sweep(ALWAYS, 100).await.unwrap(), 0, "it goes on");
    finish(&journal, &run, &invocation).await;
    assert_eq!(journal.sweep(ALWAYS, 100).await.unwrap(), 0, "it is attached");
    journal.detach(&lease).await.unwrap();
    assert_eq!(journal.sweep(0, 100).await.unwrap(), 0, "it finished later");
    assert_eq!(journal.sweep(ALWAYS, 100).await.unwrap(), 1);

    assert_eq!(journal.invocation(&invocation.session, invocation.id).await.unwrap(), None);
    assert_eq!(journal.standing(&invocation.session, invocation.id).await.unwrap(), None);
    assert_eq!(journal.streams(&invocation.session, invocation.id).await.unwrap(), []);
    assert_eq!(frames(&journal, &invocation, to, 0).await, []);
    assert_eq!(journal.attempt("account", attempt(1).id).await.unwrap(), None);
    let late = journal.put_inputs(&lease, vec![put(from, 3, octets("d"))]).await;
    assert!(matches!(late, Err(LeaseError::Lost)));
    assert_eq!(journal.sweep(ALWAYS, 100).await.unwrap(), 0);
    let again = journal.accept_invocation(new_invocation("key", attempt(2))).await;
    assert!(matches!(again, Err(AcceptError::KeyUsed)));
}

#[tokio::test]
async fn only_what_is_old_enough_is_removed_and_no_more_than_asked_for() {
    let clock = VirtualClock::new();
    let env = Env::simulated(1, clock.clone());
    let journal = Journal::open(Store::new(Memory::default(), env.clone()), env.clone()).await.unwrap();
    let began = env.unix_time().as_secs();
    for id in 1..=10 {
        let (invocation, lease) = accept(&journal, new_invocation(&id.to_string(), attempt(id))).await;
        let run = journal.claim_run(&invocation.session).await.unwrap().unwrap();
        finish(&journal, &run, &invocation).await;
        journal.detach(&lease).await.unwrap();
        clock.jump(10);
    }
    assert_eq!(journal.sweep(began + 50, 100).await.unwrap(), 5);
    assert_eq!(journal.sweep(began + 50, 100).await.unwrap(), 0);
    assert_eq!(journal.sweep(ALWAYS, 2).await.unwrap(), 2);
    assert_eq!(journal.sweep(ALWAYS, 100).await.unwrap(), 3);
}
