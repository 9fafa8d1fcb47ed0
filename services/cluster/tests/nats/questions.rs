use std::time::Duration;

use cluster::{Coordinator, NoAnswer, Question};
use env::Env;
use journal::{ExecutionId, Incarnation};
use support::{Cable, NatsServer};
use tokio::time::Instant;

use crate::world::{HEARTBEAT, pair, settings, start, uid, until};

/// Clearly less than the wait for an answer.
const AT_ONCE: Duration = Duration::from_millis(500);

#[tokio::test]
async fn the_owner_of_a_session_is_asked_and_answers() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    assert_eq!(one.ask_busy(&two, "busy").await, Some(true));
    assert_eq!(one.ask_busy(&two, "idle").await, Some(false));
    assert_eq!(one.ask_busy(&two, "it cannot tell").await, None);

    let question = Question::Cancel {
        session: uid("busy"),
        execution: Some(ExecutionId::new("e-1")),
        reason: "no longer needed".into(),
    };
    assert_eq!(one.nats.ask(two.incarnation, question).await, Ok(true));
    assert_eq!(two.peer.heard(), ["cancel busy Some(ExecutionId(e-1)) no longer needed"]);
    assert!(one.peer.heard().is_empty());
}

#[tokio::test]
async fn a_run_that_nobody_answers_for_is_no_answer_at_once() {
    let server = NatsServer::start().await;
    let (one, _two) = pair(&settings(&server.url())).await;
    let asked = Instant::now();
    let nobody = Incarnation::mint(&Env::system());
    assert_eq!(one.nats.ask(nobody, Question::Busy { session: uid("busy") }).await, Err(NoAnswer));
    assert!(asked.elapsed() < AT_ONCE);
}

#[tokio::test]
async fn an_owner_that_does_not_answer_is_not_waited_for_long() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    let asked = Instant::now();
    assert_eq!(one.ask_busy(&two, "endless").await, None);
    assert!((Duration::from_millis(900)..Duration::from_secs(3)).contains(&asked.elapsed()));
    assert_eq!(one.ask_busy(&two, "busy").await, Some(true));
}

#[tokio::test]
async fn more_errands_than_a_node_attends_to_have_no_answer() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    let endless = || one.ask_busy(&two, "endless");
    let begun = futures::future::join_all((0..64).map(|_| endless()));
    assert!(begun.await.iter().all(Option::is_none));
    let asked = Instant::now();
    assert_eq!(one.ask_busy(&two, "busy").await, None);
    assert!(asked.elapsed() < AT_ONCE);
}

#[tokio::test]
async fn a_node_that_has_left_is_not_asked() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    let left = two.incarnation;
    two.stop().await;
    until("the farewell is heard", || one.sees().is_empty()).await;
    let asked = Instant::now();
    assert_eq!(one.nats.ask(left, Question::Busy { session: uid("busy") }).await, Err(NoAnswer));
    assert!(asked.elapsed() < AT_ONCE);
}

#[tokio::test]
async fn a_node_that_is_cut_off_is_gone_after_the_bound_and_comes_back() {
    let server = NatsServer::start().await;
    let cable = Cable::to(&server.address()).await;
    let one = start("one", settings(&server.url()));
    let two = start("two", settings(&format!("nats://{}", cable.address())));
    until("the nodes know each other", || one.sees() == ["two"] && two.sees() == ["one"]).await;

    cable.cut();
    let cut = Instant::now();
    until("it counts as gone", || one.sees().is_empty()).await;
    // The last heartbeat may have come one period before the cut.
    assert!(cut.elapsed() >= HEARTBEAT * 2, "{:?}", cut.elapsed());
    let asked = Instant::now();
    assert_eq!(one.ask_busy(&two, "busy").await, None);
    assert!(asked.elapsed() < AT_ONCE);
    until("it notices itself", || !two.is_connected()).await;
    assert_eq!(two.ask_busy(&one, "busy").await, None);

    cable.mend();
    until("the nodes know each other again", || one.sees() == ["two"] && two.sees() == ["one"]).await;
    assert_eq!(one.ask_busy(&two, "busy").await, Some(true));
    assert_eq!(two.ask_busy(&one, "busy").await, Some(true));
}

#[tokio::test]
async fn a_former_owner_is_told_that_it_is_one() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    one.nats.dispossess(two.incarnation, &uid("sess-1"));
    until("the note arrives", || two.peer.heard() == ["dispossessed sess-1"]).await;
}

#[tokio::test]
async fn clusters_with_other_prefixes_do_not_hear_each_other() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    let mut other = settings(&server.url());
    other.prefix = "other.cluster".into();
    let (three, four) = pair(&other).await;
    assert_eq!((one.sees(), three.sees()), (vec!["two".to_owned()], vec!["two".to_owned()]));
    assert_eq!(one.ask_busy(&four, "busy").await, None);
    assert_eq!(three.ask_busy(&four, "busy").await, Some(true));
    drop(two);
}
