//! A normal turn in the journal (execution.md §4).

use support::records::{Of, gated, mediated, question};
use support::{Described, Step, descriptor, text};
use tonic::Code::{Aborted, FailedPrecondition, Internal, Ok as Fine};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::{ExecRequest, HarnessDescriptor, Message, Start};

use super::world::{HARNESS, World, bounded, event, recovery, turn, words};

/// §4.1
#[tokio::test]
async fn what_stands_before_the_first_record() {
    let world = World::new().await;
    world.harness.does([]);
    let legacy = Of("");
    let table = [
        (
            "a broken legacy prefix stops the turn",
            vec![legacy.input("a"), Of("e1").input("b")],
            FailedPrecondition,
            "Session",
        ),
        ("a START may supersede an unfinished tail", vec![legacy.input("a")], Fine, "Session START INPUT END"),
        (
            "an interrupted turn does not block",
            vec![Of("e1").start(2), Of("e1").input("a")],
            Fine,
            "Session START INPUT END",
        ),
    ];
    for (row, log, code, frames) in table {
        let session = world.recorded(log.clone()).await;
        let executed = world.exec(turn(&session)).await;
        assert_eq!((executed.code, executed.frames.as_str()), (code, frames), "{row}");
        if code == Fine {
            assert_eq!(world.resume(&session).await, Fine, "{row}: superseded for good");
            assert!(world.words(&session).await.ends_with("START INPUT END RESUME"), "{row}");
        } else {
            assert_eq!(world.log(&session).await.len(), log.len(), "{row}");
        }
    }
}

/// §4.1: the version to record; §4.2 rows 1 to 4
#[tokio::test]
async fn the_sequence_of_a_turn() {
    let world = World::new().await;
    world.harness.describes(Described::As(HarnessDescriptor { version: "7".into(), ..descriptor() }));
    let session = world.session().await;
    world.harness.does([Step::output("effect")]);
    let odd = Message { role: "system".into(), parts: vec![wire::Part::text("a"), wire::Part::text("b")] };
    let request = ExecRequest {
        config: vec![0, 255],
        resume_from_seq: -3,
        inputs: vec![odd.clone(), text("two")],
        ..recovery(&session)
    };
    let records = world.exec(request).await.records;
    assert_eq!(words(&records), "START INPUT INPUT OUTPUT END");
    let Some(Body::ExecutionStart(start)) = &event(&records[0]).body else { panic!("no START") };
    assert_eq!((&start.config[..], start.resume_from_seq, start.input_count), (&[0, 255][..], -3, Some(2)));
    assert_eq!((start.harness.as_str(), start.harness_version.as_str()), (HARNESS, "7"));
    assert_eq!(event(&records[1]).body, Some(Body::Message(odd)), "verbatim");
    let id = &event(&records[0]).execution_id;
    assert!(records.iter().all(|record| event(record).execution_id == *id) && !id.is_empty());

    let frame = world.harness.runs().remove(0).remove(0);
    let Some(Frame::Start(start)) = frame.frame else { panic!("no start frame") };
    assert_eq!((frame.session, frame.execution_id), (session, id.clone()));
    assert_eq!((start.config, start.resume_from_seq, start.inputs.len()), (vec![0, 255], -3, 2));
    assert_eq!((start.identity, start.history), (None, vec![]));
}

/// §4.2: what the harness receives
#[tokio::test]
async fn a_harness_receives_every_event_before_its_start() {
    let world = World::new().await;
    let session = world.session().await;
    world.run(&session, [Step::model(question("?")), Step::usage(3), Step::call(mediated("t")), Step::Break]).await;
    world.suspend(&session).await;
    let before: Vec<_> = world.log(&session).await.iter().map(|record| event(record).clone()).collect();
    world.run(&session, []).await;
    let Some(Frame::Start(Start { history, .. })) = world.harness.runs().remove(1).remove(0).frame else { panic!() };
    assert_eq!(history, before);
}

/// §4.3
#[tokio::test]
async fn outcomes() {
    let world = World::new().await;
    let ended = |state| vec![Step::output("x"), Step::End(state)];
    let table = [
        ("END COMPLETED", ended("COMPLETED"), Fine, "OUTPUT END"),
        ("END of another state", ended("FAILED"), Internal, "OUTPUT ERROR"),
        ("END of an unknown state", ended("completed"), Internal, "OUTPUT ERROR"),
        ("END without state", ended(""), Internal, "OUTPUT ERROR"),
        ("clean end without END", vec![Step::output("x"), Step::Close], Fine, "OUTPUT END"),
        ("stream breaks", vec![Step::Break], Internal, "ERROR"),
        ("protocol error", vec![Step::Raw(Box::new(Of("another").output("x")))], Internal, "ERROR"),
        ("gated call", vec![Step::gate("g")], Fine, "TOOL_CALL APPROVAL_REQUEST SUSPEND"),
    ];
    for (row, steps, code, effects) in table {
        let session = world.session().await;
        assert_eq!(world.run(&session, steps).await.code, code, "{row}");
        assert_eq!(world.words(&session).await, format!("START INPUT {effects}"), "{row}");
    }
    world.model.set_refusing(true);
    world.tools.fail(1);
    let failing = [
        ("model provider error", Step::model(question("?")), "MODEL_CALL ERROR"),
        ("executor error", Step::call(mediated("t")), "TOOL_CALL ERROR"),
    ];
    for (row, step, effects) in failing {
        let session = world.session().await;
        assert_eq!(world.run(&session, [step]).await.code, Internal, "{row}");
        assert_eq!(world.words(&session).await, format!("START INPUT {effects}"), "{row}");
    }
}

#[tokio::test]
async fn outcomes_of_what_comes_from_outside() {
    let world = World::new().await;
    world.harness.does([Step::Wait]);
    let session = world.session().await;
    let live = world.waiting_turn(&session).await;
    drop(live);
    bounded(async { while world.words(&session).await != "START INPUT ERROR" {} }).await;

    let elsewhere = world.builder.start().await;
    let session = world.session().await;
    world.harness.does([Step::Wait, Step::call(gated("g"))]);
    let mut live = world.waiting_turn(&session).await;
    elsewhere.api().await.suspend(&session).await.unwrap();
    // The first run waits still: nobody has told the harness.
    world.harness.release();
    world.harness.release();
    let ended = bounded(async {
        while live.message().await?.is_some() {}
        Ok::<_, tonic::Status>(())
    })
    .await;
    assert_eq!(ended.unwrap_err().code(), Aborted, "append refused");
    assert_eq!(world.words(&session).await, "START INPUT SUSPEND", "nothing more");
}
