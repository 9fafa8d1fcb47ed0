//! Two hosts on one journal.

use std::sync::Mutex;

use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use wire::EventKind::{EventEnd, EventError, EventExecutionStart, EventInput, EventLifecycle, EventOutput};
use wire::exec_update::Update;
use wire::{CancelRequest, DeleteSessionRequest, ExecState, ExecUpdate, Resumability, WatchRequest};

use super::*;
use crate::testing::host::{World, call};

type Running = JoinHandle<Result<String, HostError>>;

/// Two hosts, and a turn that runs on the first one until it is let go on.
struct Pair {
    one: World,
    two: World,
    running: Running,
    go_on: oneshot::Sender<()>,
}

impl Pair {
    /// The turn has recorded its OUTPUT and is about to end.
    async fn with_a_running_turn() -> Self {
        let one = World::new().await;
        let two = one.beside().await;
        for world in [&one, &two] {
            world.runtime.script().resumability = Resumability::StatelessReplay;
        }
        let (go_on, hold) = oneshot::channel::<()>();
        let (reached, running) = oneshot::channel();
        one.runtime.script().while_ending = Some(Box::new(|| {
            Box::pin(async {
                reached.send(()).unwrap();
                // Dropped is let go on, too.
                let _ = hold.await;
            })
        }));
        let (world, session) = (one.clone(), one.session.clone());
        #[allow(clippy::disallowed_methods, reason = "a caller of its own")]
        let turn = tokio::spawn(async move { world.turn(&session).await });
        running.await.unwrap();
        Self { one, two, running: turn, go_on }
    }

    fn owner(&self) -> Incarnation {
        self.one.journal.incarnation()
    }
}

fn cancel_request(session: &SessionUid) -> CancelRequest {
    CancelRequest { session: session.to_string(), reason: "no more".into(), ..CancelRequest::default() }
}

#[tokio::test]
async fn a_turn_on_another_node_keeps_its_session() {
    let pair = Pair::with_a_running_turn().await;
    let session = &pair.one.session;
    assert!(matches!(pair.two.turn(session).await, Err(HostError::Busy)));
    assert!(matches!(pair.two.resume(session).await, Err(HostError::Busy)));
    assert!(matches!(pair.two.suspend(session).await, Err(HostError::Busy)));
    let delete = DeleteSessionRequest { uid: session.to_string(), ..DeleteSessionRequest::default() };
    assert!(matches!(pair.two.host.delete(delete, call(None)).await, Err(HostError::Busy)));
    pair.go_on.send(()).unwrap();
    pair.running.await.unwrap().unwrap();
    pair.two.turn(session).await.unwrap();
}

#[tokio::test]
async fn an_owner_that_does_not_answer_is_shut_out_and_records_nothing_more() {
    let pair = Pair::with_a_running_turn().await;
    let session = &pair.one.session;
    pair.one.board.sleeps(pair.owner());
    pair.two.resume(session).await.unwrap();
    let finished = pair.two.log(session).await;
    pair.go_on.send(()).unwrap();
    assert!(matches!(pair.running.await.unwrap(), Err(HostError::Fenced | HostError::Conflict)));
    assert_eq!(pair.two.log(session).await, finished);
    assert_eq!(pair.two.kinds(session).await, [EventExecutionStart, EventInput, EventOutput, EventEnd, EventLifecycle]);
}

#[tokio::test]
async fn a_turn_that_lost_its_session_stops_before_its_harness_asks_again() {
    let pair = Pair::with_a_running_turn().await;
    let session = &pair.one.session;
    pair.one.board.sleeps(pair.owner());
    pair.two.resume(session).await.unwrap();
    pair.one.board.wakes(pair.owner()).await;
    // Its harness has not been let go on.
    assert!(matches!(pair.running.await.unwrap(), Err(HostError::Fenced)));
}

#[tokio::test]
async fn a_note_that_is_out_of_date_stops_nothing() {
    let pair = Pair::with_a_running_turn().await;
    pair.two.host.parts.coordinator.dispossess(pair.owner(), &pair.one.session);
    pair.one.board.wakes(pair.owner()).await;
    pair.go_on.send(()).unwrap();
    pair.running.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_turn_is_canceled_through_any_node() {
    let pair = Pair::with_a_running_turn().await;
    let session = &pair.one.session;
    let canceled = pair.two.host.cancel(cancel_request(session)).await.unwrap();
    assert_eq!(canceled.exec_state(), ExecState::ExecCanceled);
    assert!(matches!(pair.running.await.unwrap(), Err(HostError::TurnCanceled)));
}

/// Says that it has stopped a turn which has gone on to its end by itself, if there is a way to let it.
struct Late(Mutex<Option<(oneshot::Sender<()>, Running)>>);

#[async_trait]
impl Peer for Late {
    async fn answer(&self, _: Question) -> Option<bool> {
        let turn = self.0.lock().unwrap().take();
        if let Some((go_on, running)) = turn {
            go_on.send(()).unwrap();
            running.await.unwrap().unwrap();
        }
        Some(true)
    }

    async fn dispossessed(&self, _: &SessionUid) {}
}

#[tokio::test]
async fn a_turn_that_its_node_did_not_stop_in_time_is_canceled_by_its_records() {
    let pair = Pair::with_a_running_turn().await;
    let session = &pair.one.session;
    pair.one.board.line(pair.owner()).serve(Arc::new(Late(Mutex::new(None))));
    let canceled = pair.two.host.cancel(cancel_request(session)).await.unwrap();
    assert_eq!(canceled.exec_state(), ExecState::ExecCanceled);
    pair.go_on.send(()).unwrap();
    pair.running.await.unwrap().unwrap_err();
}

#[tokio::test]
async fn a_named_turn_that_ends_before_its_node_can_stop_it_is_not_said_to_be_canceled() {
    let Pair { one, two, running, go_on } = Pair::with_a_running_turn().await;
    let execution_id = one.log(&one.session).await[0].execution_id.clone();
    let late = Late(Mutex::new(Some((go_on, running))));
    one.board.line(one.journal.incarnation()).serve(Arc::new(late));
    let request = CancelRequest { execution_id, ..cancel_request(&one.session) };
    assert!(matches!(two.host.cancel(request).await, Err(HostError::Uncancelable(_))));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_another_node_supersedes_before_it_is_stopped_has_lost_its_session() {
    let pair = Pair::with_a_running_turn().await;
    let session = &pair.one.session;
    pair.one.board.sleeps(pair.owner());
    pair.two.turn(session).await.unwrap();
    pair.one.host.cancel(cancel_request(session)).await.unwrap();
    assert!(matches!(pair.running.await.unwrap(), Err(HostError::Fenced)));
}

#[tokio::test]
async fn a_turn_of_a_node_that_does_not_answer_is_canceled_by_its_records() {
    let pair = Pair::with_a_running_turn().await;
    let session = &pair.one.session;
    pair.one.board.sleeps(pair.owner());
    let canceled = pair.two.host.cancel(cancel_request(session)).await.unwrap();
    assert_eq!(canceled.exec_state(), ExecState::ExecCanceled);
    pair.go_on.send(()).unwrap();
    pair.running.await.unwrap().unwrap_err();
    assert!(!pair.two.kinds(session).await.contains(&EventError));
}

async fn next(updates: &mut BoxStream<'static, Result<ExecUpdate, HostError>>) -> Update {
    updates.next().await.unwrap().unwrap().update.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_watch_on_another_node_sees_each_record_once() {
    let one = World::new().await;
    let two = one.beside().await;
    one.turn(&one.session).await.unwrap();
    let mut watch = two.host.watch(WatchRequest { session: one.session.to_string(), after_seq: 1 });
    let Update::Session(session) = next(&mut watch).await else { panic!("the session comes first") };
    assert_eq!(session.last_seq, 4);
    one.turn(&one.session).await.unwrap();
    for seq in 2..=8 {
        let Update::Record(record) = next(&mut watch).await else { panic!("records follow") };
        assert_eq!(record.seq, seq);
    }
    one.board.loses_news();
    one.turn(&one.session).await.unwrap();
    let Update::Record(record) = next(&mut watch).await else { panic!("found by polling") };
    assert_eq!(record.seq, 9);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_its_session() {
    let world = World::new().await;
    let mut unknown = world.host.watch(WatchRequest { session: "sess-0".into(), after_seq: 0 });
    assert!(matches!(unknown.next().await, Some(Err(HostError::UnknownSession))));
    let mut watch = world.host.watch(WatchRequest { session: world.session.to_string(), after_seq: -1 });
    next(&mut watch).await;
    let delete = DeleteSessionRequest { uid: world.session.to_string(), ..DeleteSessionRequest::default() };
    world.host.delete(delete, call(None)).await.unwrap();
    assert!(matches!(watch.next().await, Some(Err(HostError::UnknownSession))));
    assert!(watch.next().await.is_none());
}
