//! Several nodes.

use std::time::Duration;

use wire::{CancelRequest, ResumeRequest};

use super::*;
use crate::HostError;
use crate::testing::host::call;

/// Two nodes on one journal, both alive.
async fn pair(agents: &Agents) -> (Place, Place, Switchboard) {
    let (memory, board) = (Memory::default(), Switchboard::default());
    let one = Place::new(memory.clone(), &board, 1, agents).await;
    let two = Place::new(memory, &board, 2, agents).await;
    one.host.run_invocations();
    two.host.run_invocations();
    (one, two, board)
}

#[tokio::test(start_paused = true)]
async fn a_detached_invocation_goes_on() {
    let place = Place::alone(&Agents::new(echo)).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a", "b"])).await;
    client.end(2).await;
    assert!(client.journal.detach(&client.lease).await.unwrap());
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, texts(&["a", "b"]));
}

#[tokio::test(start_paused = true)]
async fn what_was_accepted_and_never_driven_is_driven_all_the_same() {
    let (one, _two, _) = pair(&Agents::new(echo)).await;
    let client = Client::start(&one.journal, 1, "k", Kind::Strings).await;
    client.end(0).await;
    assert_eq!(client.outcome().await, Outcome::Success);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_shuts_down_leaves_its_invocations_to_the_others_at_once() {
    let agents = Agents::new(echo);
    let (one, two, _) = pair(&agents).await;
    let client = one.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a"])).await;
    client.has_output(1).await;
    one.tasks.shutdown(Duration::ZERO, Duration::from_secs(1)).await;
    let begun = tokio::time::Instant::now();
    while agents.invoked().len() < 2 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(begun.elapsed() < Duration::from_secs(4), "nobody goes on");
    }
    client.end(1).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, texts(&["a"]));
    drop(two);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_gives_no_sign_of_life_is_shut_out_and_its_invocations_go_on_elsewhere() {
    let agents = Agents::new(echo);
    let (memory, board) = (Memory::default(), Switchboard::default());
    let one = Place::new(memory.clone(), &board, 1, &agents).await;
    let client = one.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a"])).await;
    client.has_output(1).await;
    // It runs the invocation, and neither beats nor answers.
    board.sleeps(one.journal.incarnation());
    let two = Place::new(memory, &board, 2, &agents).await;
    two.host.run_invocations();
    let begun = tokio::time::Instant::now();
    while agents.invoked().len() < 2 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(begun.elapsed() < Duration::from_secs(15), "nobody goes on");
    }
    let client = client.attach_again(&two.journal).await;
    client.send(1, &texts(&["b"])).await;
    client.end(2).await;
    assert_eq!(client.outcome().await, Outcome::Success);
    assert_eq!(client.output().await, texts(&["a", "b"]));
    assert_eq!(agents.invoked().len(), 2, "the first has given up");
}

#[tokio::test(start_paused = true)]
async fn the_turn_of_an_invocation_is_not_for_callers_to_resume() {
    let agents = Agents::new(echo);
    let place = Place::alone(&agents).await;
    let client = place.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a"])).await;
    client.has_output(1).await;
    place.tasks.shutdown(Duration::ZERO, Duration::from_secs(1)).await;
    let other = place.beside(&agents).await;
    let request = ResumeRequest { session: client.session.to_string(), ..ResumeRequest::default() };
    assert!(matches!(other.host.resume(request, call(None)).await, Err(HostError::Busy)));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_for_its_client_learns_that_it_was_canceled_on_a_node_that_it_does_not_hear() {
    let (one, two, board) = pair(&Agents::new(echo)).await;
    let client = one.start(1, "k", Kind::Strings).await;
    client.send(0, &texts(&["a"])).await;
    client.has_output(1).await;
    board.sleeps(one.journal.incarnation());
    let request = CancelRequest { session: client.session.to_string(), ..CancelRequest::default() };
    two.host.cancel(request).await.unwrap();
    assert_eq!(client.outcome().await, failure());
}
