//! Resume: the order of its checks (execution.md §7.2).

use support::records::{Of, marker, mediated};
use support::{Described, Step, descriptor, remote_spec};
use tonic::Code::{FailedPrecondition, InvalidArgument, NotFound, Ok as Fine, Unavailable};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::lifecycle::Kind;
use wire::{Event, ExecutionStart, HarnessDescriptor, ResumeRequest};

use super::world::{DOWN, GONE, HARNESS, OTHER, World, event, gate, started_on};

/// Steps 1 and 2 beside §2.1
#[tokio::test]
async fn the_session_comes_first_and_boot_is_ignored() {
    let world = World::new().await;
    assert_eq!(world.resume("").await, InvalidArgument);
    assert_eq!(world.resume("sess-000000000000000000000000").await, NotFound);
    let session = world.session().await;
    let boot = ResumeRequest { session: session.clone(), boot: true };
    world.api().client.resume(boot).await.unwrap();
    assert_eq!(world.words(&session).await, "RESUME");
}

/// Steps 3 and 4: the log is looked at before a harness is chosen
#[tokio::test]
async fn a_broken_log_is_told_before_an_unserved_harness() {
    let world = World::new().await;
    let broken = [gate(), vec![Of("e1").request("g")]].concat();
    let session = world.scribe.session(GONE, broken).await;
    assert_eq!(world.resume(&session).await, FailedPrecondition, "not the unknown harness's INVALID_ARGUMENT");
}

/// Steps 4 and 5
#[tokio::test]
async fn the_harness_of_a_pending_turn() {
    let world = World::new().await;
    world.harness.does([]);
    world.register("registered", remote_spec(world.harness.address())).await;
    let without_name = Of("e1").start(0);
    let table = [
        ("4. its recorded name", GONE, vec![started_on(HARNESS, "1")], Fine),
        ("4. without a name, the stored one", HARNESS, vec![without_name.clone()], Fine),
        ("4. without a name, the stored one is unknown", GONE, vec![without_name], InvalidArgument),
        ("4. nothing pending, the stored one", HARNESS, vec![started_on(GONE, ""), Of("e1").end()], Fine),
        ("4. nothing pending, the stored one is unknown", GONE, vec![], InvalidArgument),
        ("4. the recorded name is unknown", HARNESS, vec![started_on(GONE, "")], FailedPrecondition),
        (
            "5. recorded and stored differ, recorded is registered",
            HARNESS,
            vec![started_on("registered", "1")],
            FailedPrecondition,
        ),
        (
            "5. recorded and stored differ, stored is registered",
            "registered",
            vec![started_on(HARNESS, "1")],
            FailedPrecondition,
        ),
        ("5. they are the same", "registered", vec![started_on("registered", "1")], Fine),
        ("5. a recorded static override of a static one", HARNESS, vec![started_on(OTHER, "1")], Fine),
    ];
    for (row, stored, log, expected) in table {
        let session = world.scribe.session(stored, log.clone()).await;
        assert_eq!(world.resume(&session).await, expected, "{row}");
        if expected != Fine {
            assert_eq!(world.log(&session).await.len(), log.len(), "{row}: nothing written");
        }
    }
}

/// Step 6 comes before 7 and 8, after 5
#[tokio::test]
async fn an_undecided_gate_is_answered_without_io() {
    let world = World::new().await;
    let down = |gate: Vec<Event>| [vec![started_on(DOWN, "1")], gate[1..].to_vec()].concat();
    let session = world.scribe.session(DOWN, down(gate())).await;
    assert_eq!(world.resume(&session).await, Fine);
    assert_eq!(world.log(&session).await.len(), 3);
    let pinned = [vec![started_on("registered", "1")], gate()[1..].to_vec()].concat();
    world.register("registered", remote_spec(world.harness.address())).await;
    assert_eq!(world.resume(&world.recorded(pinned).await).await, FailedPrecondition, "pins come first");
    let inherited = world.child(&world.gated().await, 3).await;
    assert_eq!(world.resume(&inherited).await, FailedPrecondition, "an inherited gate");
    assert_eq!(world.log(&inherited).await.len(), 4);
}

/// Steps 7 and 8: nothing is written by a refusal
#[tokio::test]
async fn inputs_intents_admission_and_version() {
    let world = World::new().await;
    world.harness.does([]);
    let start = |version: &str| vec![started_on(HARNESS, version)];
    let inherited = [start("1"), vec![Of("e1").call(mediated("t")), marker(Kind::LifecycleFork)]].concat();
    let version = |version: &str| Described::As(HarnessDescriptor { version: version.into(), ..descriptor() });
    let table = [
        ("7. inputs cut short", version("1"), vec![Of("e1").start(1)], FailedPrecondition),
        ("7. inherited intent", version("1"), inherited, FailedPrecondition),
        ("8. admission", Described::Refused(Unavailable), start("1"), Unavailable),
        ("8. another version", version("2"), start("1"), FailedPrecondition),
        ("8. an empty served version differs", version(""), start("1"), FailedPrecondition),
        ("8. an empty recorded version is not checked", version("2"), start(""), Fine),
        ("8. the same version", version("1"), start("1"), Fine),
    ];
    for (row, described, log, expected) in table {
        world.harness.describes(described);
        let session = world.recorded(log.clone()).await;
        assert_eq!(world.resume(&session).await, expected, "{row}");
        if expected != Fine {
            assert_eq!(world.log(&session).await.len(), log.len(), "{row}: nothing written");
        }
    }
}

/// Step 9 and the last paragraph
#[tokio::test]
async fn a_re_run_gets_what_the_turn_began_with() {
    let world = World::new().await;
    let start = ExecutionStart {
        config: vec![1, 2],
        resume_from_seq: 9,
        input_count: Some(2),
        harness: HARNESS.into(),
        harness_version: "1".into(),
    };
    let e1 = Of("e1");
    let before = vec![Of("e0").start(0), Of("e0").end()];
    let turn = vec![e1.start_with(start), e1.input("a"), e1.input("b"), e1.output("x"), e1.error()];
    let session = world.recorded([before.clone(), turn].concat()).await;
    let fence = world.log(&session).await[0].fence;
    world.harness.does([Step::output("x"), Step::output("y")]);
    let resumed = world.api().resume(&session).await.unwrap();
    let log = world.log(&session).await;
    assert_eq!(resumed.last_seq, log.len() as i64);
    assert_eq!(super::world::words(&log[7..]), "OUTPUT END RESUME");
    assert!(log[7..].iter().all(|record| record.fence > fence), "one new fence");
    assert_eq!(event(&log[8]).execution_id, "e1");
    let Some(Body::Lifecycle(marker)) = &event(&log[9]).body else { panic!("no marker") };
    assert_eq!((event(&log[9]).execution_id.as_str(), marker.detail.as_str()), ("", ""));
    let run = world.harness.runs().remove(0);
    let Some(Frame::Start(frame)) = &run[0].frame else { panic!("no start") };
    assert_eq!(run[0].execution_id, "e1");
    assert_eq!((&frame.config[..], frame.resume_from_seq, frame.history.clone()), (&[1, 2][..], 9, before));
    let inputs: Vec<_> = frame.inputs.iter().map(wire::Message::text_content).collect();
    assert_eq!(inputs, ["a", "b"]);
}
