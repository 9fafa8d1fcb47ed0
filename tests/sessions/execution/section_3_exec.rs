//! Exec: the order of everything, frames, and recovery of approvals (execution.md §3).

use support::records::{Of, gated, marker, mediated, question, receipt};
use support::{Described, Step, text};
use tonic::Code::{Aborted, DeadlineExceeded, FailedPrecondition, Internal, InvalidArgument, Ok as Fine, Unavailable};
use wire::lifecycle::Kind;
use wire::{ComputeState, ExecRequest, ExecState, Message, Session};

use super::world::{DOWN, GONE, HARNESS, OTHER, World, bounded, event, gate, recovery, started_on, turn, uid, unix_in};

/// §3 step 1
#[tokio::test]
async fn an_exec_without_session_creates_one_with_defaults() {
    let world = World::new().await;
    world.harness.does([]);
    for (named, harness) in [(HARNESS, HARNESS), ("", "echo")] {
        let executed = world.exec(ExecRequest { harness: named.into(), ..turn("") }).await;
        assert_eq!(executed.code, Fine);
        let created = world.get(&uid(&executed.sessions[0])).await;
        assert_eq!((created.harness.as_str(), created.metadata.unwrap().project.as_str()), (harness, "default"));
    }
    let refused = world.exec(ExecRequest { harness: GONE.into(), ..turn("") }).await;
    assert_eq!((refused.code, refused.frames.as_str()), (InvalidArgument, ""), "errors come before any frame");
}

/// §3 step 2: the latest execution bears approvals and has no END
#[tokio::test]
async fn what_an_open_gate_does_to_an_exec() {
    let world = World::new().await;
    world.harness.does([]);
    let decided = || [gate(), vec![Of("e1").decision("g", 3, true)]].concat();
    let received = || [decided(), vec![Of("e1").result(receipt("g", 3, 4))]].concat();
    let inherited = || [gate(), vec![marker(Kind::LifecycleFork)]].concat();
    let table = [
        ("open, inputs", gate(), FailedPrecondition),
        ("call only, inputs", gate()[..2].to_vec(), FailedPrecondition),
        ("decided, inputs", decided(), FailedPrecondition),
        ("receipt, inputs", received(), Fine),
        ("inherited, inputs", inherited(), Fine),
        ("ended, inputs", [received(), vec![Of("e1").end()]].concat(), Fine),
    ];
    for (row, log, expected) in table {
        let session = world.recorded(log).await;
        let executed = world.exec(turn(&session)).await;
        assert_eq!(executed.code, expected, "{row}");
        assert_eq!(executed.frames.is_empty(), expected != Fine, "{row}: refused before any frame");
    }
    let blocked = world.gated().await;
    let unserved = ExecRequest { harness: GONE.into(), ..turn(&blocked) };
    assert_eq!(world.exec(unserved).await.code, FailedPrecondition, "even if the request's harness is not served");
}

/// §3 step 2: a failed scan comes before any frame
#[tokio::test]
async fn broken_evidence_fails_before_any_frame() {
    let world = World::new().await;
    let malformed = [gate(), vec![Of("e1").request("g")]].concat();
    let differing = vec![started_on(HARNESS, "1"), Of("e1").call(gated("g")), Of("e1").request("h")];
    for (log, expected) in [(malformed, FailedPrecondition), (differing, Internal)] {
        for request in [turn, recovery] {
            let executed = world.exec(request(&world.recorded(log.clone()).await)).await;
            assert_eq!((executed.code, executed.frames.as_str()), (expected, ""));
        }
    }
}

/// §3 steps 3 to 7, by the frames that precede the failure
#[tokio::test]
async fn the_first_frame_divides_what_fails_before_from_what_fails_after() {
    let world = World::new().await;
    world.harness.does([]);
    let session = world.recorded([Of("e0").start(0), Of("e0").end()]).await;
    let head = |expected_last_seq| ExecRequest { expected_last_seq, ..turn(&session) };
    let on = |harness: &str| ExecRequest { harness: harness.into(), ..turn(&session) };
    let table = [
        ("3. routing", on(GONE), InvalidArgument, ""),
        ("6. admission", on(DOWN), Unavailable, "Session"),
        ("7. another head", head(Some(1)), Aborted, "Session"),
        ("7. zero is a head", head(Some(0)), Aborted, "Session"),
        ("4. the head it is", head(Some(2)), Fine, "Session START INPUT END"),
        ("4. none expected", head(None), Fine, "Session START INPUT END"),
    ];
    for (row, request, code, frames) in table {
        let before = world.log(&session).await.len();
        let executed = world.exec(request).await;
        assert_eq!((executed.code, executed.frames.as_str()), (code, frames), "{row}");
        if let [first] = &executed.sessions[..] {
            assert_eq!(first.last_seq, before as i64, "{row}: the session as it was");
        }
        if code != Fine {
            assert_eq!(world.log(&session).await.len(), before, "{row}: nothing is journaled");
        }
    }
}

/// §3 step 7: a lost compare-and-set has advanced the fence
#[tokio::test]
async fn an_exec_that_loses_the_head_has_fenced_out_the_running_turn() {
    let world = World::new().await;
    let elsewhere = world.builder.start().await;
    world.harness.does([Step::Wait]);
    let session = world.session().await;
    let mut live = world.waiting_turn(&session).await;
    let stale = ExecRequest { expected_last_seq: Some(0), ..turn(&session) };
    let (_, failure) = elsewhere.api().await.exec(stale).await;
    assert_eq!(failure.unwrap().code(), Aborted);
    world.harness.release();
    let ended = bounded(async {
        while live.message().await?.is_some() {}
        Ok::<_, tonic::Status>(())
    })
    .await;
    assert_eq!(ended.unwrap_err().code(), Aborted);
    assert_eq!(world.words(&session).await, "START INPUT");
}

/// §3 steps 8 and 9
#[tokio::test]
async fn records_come_as_they_commit_and_what_was_sent_stays_sent() {
    let world = World::new().await;
    let session = world.session().await;
    let steps = [Step::model(question("?")), Step::output("x"), Step::End("FAILED")];
    let executed = world.run(&session, steps).await;
    assert_eq!(executed.code, Internal);
    assert_eq!(executed.frames, "Session START INPUT MODEL_CALL delta OUTPUT OUTPUT ERROR", "no final frame");
    assert_eq!(world.log(&session).await, executed.records);
}

/// §3: inputs that are empty, and deadlines
#[tokio::test]
async fn empty_inputs_are_inputs_and_none_is_a_turn_of_its_own() {
    let world = World::new().await;
    world.harness.does([]);
    let interrupted = world.recorded([Of("e1").start(1), Of("e1").input("x")]).await;
    let executed = world.exec(recovery(&interrupted)).await;
    assert_eq!(executed.frames, "Session START END", "it resumes nothing");
    assert_eq!(input_count(&executed.records[0]), Some(0));
    let empty = ExecRequest { inputs: vec![Message::default(), text("x")], ..recovery(&world.session().await) };
    let executed = world.exec(empty).await;
    assert_eq!(input_count(&executed.records[0]), Some(2), "an empty message is no absent one");
}

fn input_count(start: &wire::LogRecord) -> Option<i64> {
    match &event(start).body {
        Some(wire::event::Body::ExecutionStart(start)) => start.input_count,
        other => panic!("no START: {other:?}"),
    }
}

#[tokio::test]
async fn deadlines() {
    let world = World::new().await;
    world.harness.does([]);
    let session = world.session().await;
    let until = |deadline_unix| ExecRequest { deadline_unix, ..turn(&session) };
    for none in [0, -1, unix_in(3600)] {
        assert_eq!(world.exec(until(none)).await.code, Fine, "{none}");
    }
    let before = world.words(&session).await;
    let past = world.exec(until(1)).await;
    assert_eq!((past.code, world.words(&session).await), (DeadlineExceeded, before), "nothing is journaled");
    world.harness.does([Step::Wait]);
    let expired = world.exec(until(unix_in(2))).await;
    assert_eq!((expired.code, expired.frames.as_str()), (Internal, "Session START INPUT ERROR"));
}

/// §3.1
#[tokio::test]
async fn frames() {
    let world = World::new().await;
    let decided = || [gate(), vec![Of("e1").decision("g", 3, true)]].concat();
    let new = || Vec::new();
    let table = [
        ("normal", new(), true, vec![Step::call(mediated("t"))], Fine, "Session START INPUT TOOL_CALL TOOL_RESULT END"),
        ("failure after step 5", new(), true, vec![Step::Break], Internal, "Session START INPUT ERROR"),
        (
            "park",
            new(),
            true,
            vec![Step::output("x"), Step::gate("g")],
            Fine,
            "Session START INPUT OUTPUT TOOL_CALL APPROVAL_REQUEST SUSPEND Session",
        ),
        ("pending recovery, nothing to do", gate(), false, vec![], Fine, "Session Session"),
        (
            "pending recovery, request missing",
            gate()[..2].to_vec(),
            false,
            vec![],
            Fine,
            "Session APPROVAL_REQUEST Session",
        ),
        (
            "decided recovery, finished",
            decided(),
            false,
            vec![Step::gate("g"), Step::output("x")],
            Fine,
            "Session TOOL_RESULT OUTPUT END RESUME Session",
        ),
    ];
    for (outcome, log, inputs, steps, code, frames) in table {
        let session = world.recorded(log).await;
        world.harness.does(steps);
        let request = if inputs { turn(&session) } else { recovery(&session) };
        let executed = world.exec(request).await;
        assert_eq!((executed.code, executed.frames.as_str()), (code, frames), "{outcome}");
        if let [first, last] = &executed.sessions[..] {
            assert_eq!(*last, world.get(&session).await, "{outcome}: the last frame is how the session stands");
            assert_eq!(first == last, frames == "Session Session", "{outcome}");
        }
        if outcome == "park" {
            assert_parked(&executed.sessions[1], 5);
        }
    }
}

fn assert_parked(session: &Session, request_seq: i64) {
    let gate = session.pending_approval.as_ref().unwrap();
    assert_eq!((gate.tool_call_id.as_str(), gate.request_seq), ("g", request_seq));
    let states = (session.exec_state(), session.compute_state());
    assert_eq!(states, (ExecState::ExecAwaiting, ComputeState::ComputeCold));
}

/// §3.2
#[tokio::test]
async fn recovery_ignores_what_a_new_turn_would_say_and_checks_in_order() {
    let world = World::new().await;
    world.harness.does([Step::gate("g")]);
    let decided = [gate(), vec![Of("e1").decision("g", 3, false)]].concat();
    let session = world.recorded(decided.clone()).await;
    let past = ExecRequest { deadline_unix: 1, expected_last_seq: Some(9), ..recovery(&session) };
    assert_eq!(world.exec(past).await.code, DeadlineExceeded, "deadline first");
    let stale = ExecRequest { expected_last_seq: Some(3), ..recovery(&session) };
    assert_eq!(world.exec(stale).await.code, Aborted, "then the head");
    assert_eq!(world.log(&session).await.len(), 4);
    let odd = ExecRequest {
        harness: GONE.into(),
        config: vec![1],
        resume_from_seq: 7,
        expected_last_seq: Some(4),
        ..recovery(&session)
    };
    assert_eq!(world.exec(odd).await.code, Fine, "harness, config and resume_from_seq are ignored");
    let pinned = [vec![started_on("registered", "1")], gate()[1..].to_vec()].concat();
    world.register("registered", support::remote_spec(world.harness.address())).await;
    let pinned = world.recorded(pinned).await;
    assert_eq!(world.exec(recovery(&pinned)).await.code, FailedPrecondition, "then pins, undecided or not");
    let inherited = world.child(&world.gated().await, 3).await;
    assert_eq!(world.exec(recovery(&inherited)).await.code, FailedPrecondition, "an inherited gate");
}

#[tokio::test]
async fn a_gate_with_receipt_and_without_end_is_recovered_too() {
    let world = World::new().await;
    world.harness.does([Step::gate("g"), Step::output("x")]);
    let received = vec![Of("e1").decision("g", 3, true), Of("e1").result(receipt("g", 3, 4)), Of("e1").error()];
    let session = world.recorded([gate(), received].concat()).await;
    let executed = world.exec(recovery(&session)).await;
    assert_eq!((executed.code, executed.frames.as_str()), (Fine, "Session OUTPUT END RESUME Session"));
    assert!(world.tools.calls().is_empty());
}

#[tokio::test]
async fn an_undecided_recovery_asks_no_harness() {
    let world = World::new().await;
    world.harness.describes(Described::Refused(Internal));
    let elsewhere = world.scribe.session(OTHER, [vec![started_on(HARNESS, "7")], gate()[1..].to_vec()].concat()).await;
    assert_eq!(world.exec(recovery(&elsewhere)).await.frames, "Session Session");
}
