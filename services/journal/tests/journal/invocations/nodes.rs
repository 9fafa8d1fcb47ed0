//! Nodes that die, or seem to.

use journal::invocations::{Beat, LeaseError, RunError};
use journal::{Incarnation, Journal};
use store::memory::Memory;

use super::support::*;
use crate::support::open_seeded;

async fn beats(journal: &Journal) -> Vec<(Incarnation, String, u64)> {
    let beats = journal.beats().await.unwrap();
    beats.into_iter().map(|Beat { node, name, beat }| (node, name, beat)).collect()
}

async fn two_nodes() -> (Journal, Journal) {
    let engine = Memory::default();
    (open_seeded(engine.clone(), 1).await, open_seeded(engine, 2).await)
}

#[tokio::test]
async fn signs_of_life_are_told_apart() {
    let (one, other) = two_nodes().await;
    one.beat("one").await.unwrap();
    other.beat("other").await.unwrap();
    one.beat("one").await.unwrap();
    let mut expected = [(one.incarnation(), "one".to_owned(), 2), (other.incarnation(), "other".to_owned(), 1)];
    expected.sort();
    assert_eq!(beats(&other).await, expected);
    one.farewell().await.unwrap();
    assert_eq!(beats(&other).await, [(other.incarnation(), "other".to_owned(), 1)]);
}

#[tokio::test]
async fn a_node_that_has_something_is_known_without_a_sign_of_life() {
    let (one, other) = two_nodes().await;
    let (_, lease, run, _) = started(&one).await;
    let silent = (one.incarnation(), String::new(), 0);
    assert_eq!(beats(&other).await, vec![silent.clone()]);
    one.detach(&lease).await.unwrap();
    assert_eq!(beats(&other).await, vec![silent.clone()], "it drives the queue");
    one.release_run(&run).await.unwrap();
    assert_eq!(beats(&other).await, []);
    // Many rows of one node are passed over.
    for id in 2..20 {
        accept(&one, new_invocation(&id.to_string(), attempt(id))).await;
    }
    assert_eq!(beats(&other).await, [silent]);
}

#[tokio::test]
async fn a_dead_node_loses_its_attachments_and_its_runs_and_is_refused_when_it_wakes_up() {
    let (dead, other) = two_nodes().await;
    dead.beat("dead").await.unwrap();
    let (invocation, lease, run, from, to) = returned(&dead).await;
    let mut more = Vec::new();
    for id in 10..120_u128 {
        let mut new = new_invocation("key", attempt(id));
        new.instance = [id as u8; 32];
        more.push(accept(&dead, new).await.0.session);
    }
    let mut taken = other.reap(dead.incarnation()).await.unwrap();
    taken.sort();
    more.push(invocation.session.clone());
    more.sort();
    assert_eq!(taken, more);
    assert_eq!(other.due_runs(None).await.unwrap(), more);
    assert_eq!(beats(&other).await, [(other.incarnation(), String::new(), 0)]);

    let late = dead.put_outputs(&run, invocation.id, vec![emit(to, 0, octets("late"))]).await;
    assert!(matches!(late, Err(RunError::Lost)));
    let late = dead.put_inputs(&lease, vec![put(from, 0, octets("late"))]).await;
    assert!(matches!(late, Err(LeaseError::Lost)));
    assert!(!dead.detach(&lease).await.unwrap());
    assert_eq!(dead.claim_run(&invocation.session).await.unwrap(), None);

    let standing = other.standing(&invocation.session, invocation.id).await.unwrap().unwrap();
    assert_eq!((standing.attachment.holder, standing.attachment.generation), (None, 1));
    let run = other.claim_run(&invocation.session).await.unwrap().unwrap();
    other.put_outputs(&run, invocation.id, vec![emit(to, 0, octets("in time"))]).await.unwrap();
    assert_eq!(other.reap(dead.incarnation()).await.unwrap(), []);
}

#[tokio::test]
async fn two_nodes_that_reap_at_once_take_each_run_once() {
    let engine = Memory::default();
    let nodes = [1, 2, 3].map(|seed| open_seeded(engine.clone(), seed));
    let [dead, one, other] = futures::future::join_all(nodes).await.try_into().ok().unwrap();
    let (invocation, ..) = started(&dead).await;
    let node = dead.incarnation();
    let (by_one, by_other) = tokio::join!(one.reap(node), other.reap(node));
    assert_eq!(by_one.unwrap().len() + by_other.unwrap().len(), 1);
    let claims =
        [one.claim_run(&invocation.session).await.unwrap(), other.claim_run(&invocation.session).await.unwrap()];
    assert_eq!(claims.iter().flatten().count(), 1);
}

#[tokio::test]
async fn all_nodes_share_one_key_for_tokens() {
    let (one, other) = two_nodes().await;
    let key = one.token_key().await.unwrap();
    assert_eq!(other.token_key().await.unwrap(), key);
    assert_eq!(one.token_key().await.unwrap(), key);
    assert!(!format!("{key:?}").contains("secret"));
}
