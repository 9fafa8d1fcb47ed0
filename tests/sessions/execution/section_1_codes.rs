//! Failure classes and codes (execution.md §1): a test for each class, its five columns in the contract's order.

use std::time::Duration;

use support::records::{Of, gated, marker, mediated};
use support::{Described, Step, descriptor, remote_spec};
use tonic::Code::{self, Aborted, FailedPrecondition, Internal, InvalidArgument, Ok as Fine, Unavailable};
use wire::lifecycle::Kind;
use wire::{Capabilities, Event, ExecRequest, HarnessDescriptor, HarnessSpec, Resumability};

use super::world::{
    DOWN, GONE, HARNESS, World, bounded, code, decide, fork_of, gate, recovery, started_on, turn, unix_in,
};

/// Exec with an input, Resume, Suspend, Approve of `e1` at the gate `g`, Fork: each on a session of its own with this log.
async fn columns(world: &World, stored: &str, log: &[Event]) -> [Code; 5] {
    let session = || world.scribe.session(stored, log.to_vec());
    [
        world.exec(turn(&session().await)).await.code,
        world.resume(&session().await).await,
        world.suspend(&session().await).await,
        world.approve(&session().await, true).await,
        world.fork(&session().await).await,
    ]
}

/// An interrupted turn.
fn interrupted() -> Vec<Event> {
    vec![started_on(HARNESS, "1")]
}

/// A gate at which evidence is malformed: it is asked for twice.
fn malformed() -> Vec<Event> {
    [gate(), vec![Of("e1").request("g")]].concat()
}

/// A gate at which evidence differs: the request names another call.
fn differing() -> Vec<Event> {
    vec![started_on(HARNESS, "1"), Of("e1").call(gated("g")), Of("e1").request("other")]
}

/// No gate is there to approve.
const NO_GATE: Code = FailedPrecondition;

#[tokio::test]
async fn busy() {
    let world = World::new().await;
    world.harness.does([Step::Wait]);
    let session = world.session().await;
    let mut live = world.waiting_turn(&session).await;
    let columns = [
        world.exec(turn(&session)).await.code,
        world.resume(&session).await,
        world.suspend(&session).await,
        world.approve(&session, true).await,
        world.fork(&session).await,
    ];
    assert_eq!(columns, [Aborted, Aborted, Aborted, Aborted, Fine]);
    assert_eq!(world.words(&session).await, "START INPUT", "the journal is untouched");
    world.harness.release();
    while bounded(live.message()).await.expect("neither is the fence: the turn ends well").is_some() {}
}

#[tokio::test]
async fn conflict_and_fenced() {
    let world = World::new().await;
    let elsewhere = world.builder.start().await;
    let moved = ExecRequest { expected_last_seq: Some(7), ..turn(&world.session().await) };
    assert_eq!(world.exec(moved).await.code, Aborted, "Exec, conflict");

    // Another host suspends the session while its turn runs here.
    world.harness.does([Step::Wait, Step::output("late")]);
    let session = world.session().await;
    let mut live = world.waiting_turn(&session).await;
    elsewhere.api().await.suspend(&session).await.unwrap();
    world.harness.release();
    let outcome = bounded(async {
        while live.message().await?.is_some() {}
        Ok::<_, tonic::Status>(())
    })
    .await;
    assert_eq!((code(outcome), world.words(&session).await.as_str()), (Aborted, "START INPUT SUSPEND"), "Exec, fenced");

    let session = world.recorded(interrupted()).await;
    let (resumed, ()) = tokio::join!(world.resume(&session), async {
        world.harness.waiting().await;
        elsewhere.api().await.suspend(&session).await.unwrap();
        world.harness.release();
    });
    assert_eq!((resumed, world.words(&session).await.as_str()), (Aborted, "START SUSPEND"), "Resume, fenced");
}

#[tokio::test]
async fn conflict_of_suspend_and_approve() {
    let world = World::new().await;
    let elsewhere = world.builder.start().await;
    let session = world.session().await;
    let mut suspended = 0;
    for _ in 0..support::rounds(200) {
        let (mut one, mut other) = (world.api(), elsewhere.api().await);
        let outcomes: [Code; 2] =
            tokio::join!(async { code(one.suspend(&session).await) }, async { code(other.suspend(&session).await) })
                .into();
        assert!(outcomes.iter().all(|code| [Fine, Aborted].contains(code)), "{outcomes:?}");
        suspended += outcomes.iter().filter(|code| **code == Fine).count();
        assert_eq!(world.log(&session).await.len(), suspended, "a Suspend that was refused left nothing");

        let gated = world.gated().await;
        let outcomes: [Code; 2] = tokio::join!(async { code(one.approve(decide(&gated, true)).await) }, async {
            code(other.approve(decide(&gated, false)).await)
        })
        .into();
        let lost = outcomes.iter().find(|code| **code != Fine);
        assert!(
            outcomes.contains(&Fine) && lost.is_some_and(|code| [Aborted, FailedPrecondition].contains(code)),
            "{outcomes:?}"
        );
        assert_eq!(world.log(&gated).await.len(), 4, "one decision");
    }
}

#[tokio::test]
async fn unplaceable() {
    let world = World::new().await;
    let resumability = Resumability::RequiresMemorySnapshot.into();
    let capabilities = Some(Capabilities { resumability, ..Capabilities::default() });
    world.harness.describes(Described::As(HarnessDescriptor { capabilities, ..descriptor() }));
    // Suspend asks no harness what it is.
    let expected = [FailedPrecondition, FailedPrecondition, Fine, NO_GATE, FailedPrecondition];
    assert_eq!(columns(&world, HARNESS, &interrupted()).await, expected);
}

#[tokio::test]
async fn descriptor_mismatch() {
    let world = World::new().await;
    let spec = HarnessSpec { descriptor_id: "somebody else".into(), ..remote_spec(world.harness.address()) };
    world.register("registered", spec).await;
    let log = [started_on("registered", "1")];
    let expected = [FailedPrecondition, FailedPrecondition, Fine, NO_GATE, FailedPrecondition];
    assert_eq!(columns(&world, "registered", &log).await, expected);
}

#[tokio::test]
async fn harness_and_version_mismatch() {
    let world = World::new().await;
    world.register("registered", remote_spec(world.harness.address())).await;
    let decided =
        |start: Event| vec![start, Of("e1").call(gated("g")), Of("e1").request("g"), Of("e1").decision("g", 3, true)];
    for (class, start) in [("harness", started_on("registered", "1")), ("version", started_on(HARNESS, "2"))] {
        let session = world.recorded(decided(start)).await;
        assert_eq!(world.exec(recovery(&session)).await.code, FailedPrecondition, "{class}, Exec");
        assert_eq!(world.resume(&session).await, FailedPrecondition, "{class}, Resume");
        assert_eq!(world.log(&session).await.len(), 4, "{class}");
    }
}

#[tokio::test]
async fn recorded_harness_not_served() {
    let world = World::new().await;
    let log = [vec![started_on(GONE, "1")], gate()[1..].to_vec()].concat();
    let session = world.recorded(log.clone()).await;
    assert_eq!(world.suspend(&session).await, FailedPrecondition, "Suspend");
    assert_eq!(world.approve(&session, true).await, Fine, "a decision asks for no harness");
    assert_eq!(world.resume(&session).await, FailedPrecondition, "Resume");
}

#[tokio::test]
async fn unknown_harness() {
    let world = World::new().await;
    let expected = [InvalidArgument, InvalidArgument, InvalidArgument, NO_GATE, InvalidArgument];
    assert_eq!(columns(&world, GONE, &[]).await, expected);
    let session = world.session().await;
    let elsewhere = ExecRequest { harness: GONE.into(), ..turn(&session) };
    assert_eq!(world.exec(elsewhere).await.code, InvalidArgument, "override");
}

#[tokio::test]
async fn invalid_log() {
    let world = World::new().await;
    let expected = [FailedPrecondition, FailedPrecondition, FailedPrecondition, FailedPrecondition, Fine];
    assert_eq!(columns(&world, HARNESS, &malformed()).await, expected);
}

#[tokio::test]
async fn incomplete_invocation_and_inherited_tool_intent() {
    let world = World::new().await;
    let incomplete = world.recorded([Of("e1").start(2), Of("e1").input("one")]).await;
    let inherited = [started_on(HARNESS, "1"), Of("e1").call(mediated("t")), marker(Kind::LifecycleFork)];
    let inherited = world.recorded(inherited).await;
    for session in [incomplete, inherited] {
        assert_eq!(world.resume(&session).await, FailedPrecondition);
    }
}

#[tokio::test]
async fn diverged() {
    let world = World::new().await;
    let expected = [Internal, Internal, FailedPrecondition, FailedPrecondition, Fine];
    assert_eq!(columns(&world, HARNESS, &differing()).await, expected, "evidence");
    world.harness.does([Step::output("another")]);
    let session = world.recorded([started_on(HARNESS, "1"), Of("e1").output("one")]).await;
    assert_eq!(world.resume(&session).await, Internal, "behaviour");
}

#[tokio::test]
async fn harness_unavailable() {
    let world = World::new().await;
    let log = [started_on(DOWN, "1")];
    // Suspend works while the harness is down.
    let expected = [Unavailable, Unavailable, Fine, NO_GATE, Unavailable];
    assert_eq!(columns(&world, DOWN, &log).await, expected, "it cannot be reached");

    world.harness.describes(Described::Never);
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(world.recorded(interrupted()).await);
    }
    let start = tokio::time::Instant::now();
    let (exec, resume, fork) =
        tokio::join!(world.exec(turn(&sessions[0])), world.resume(&sessions[1]), world.fork(&sessions[2]));
    assert_eq!([exec.code, resume, fork], [Unavailable; 3], "it does not answer");
    let taken = start.elapsed();
    assert!(taken >= Duration::from_secs(10), "{taken:?}");
    for session in sessions {
        assert_eq!(world.words(&session).await, "START");
    }
}

#[tokio::test]
async fn admission_interrupted() {
    let world = World::new().await;
    world.harness.describes(Described::Never);
    let session = world.recorded(interrupted()).await;
    let bounded_exec = ExecRequest { deadline_unix: unix_in(2), ..turn(&session) };
    assert_eq!(world.exec(bounded_exec).await.code, Code::DeadlineExceeded, "Exec");

    let mut client = world.api().client;
    let mut resume = tonic::Request::new(wire::ResumeRequest { session: session.clone(), ..Default::default() });
    resume.set_timeout(Duration::from_millis(300));
    let mut fork = tonic::Request::new(fork_of(&session));
    fork.set_timeout(Duration::from_millis(300));
    // The client gives up by itself at the same moment, and says so in its own words.
    let given_up = [Code::DeadlineExceeded, Code::Cancelled];
    assert!(given_up.contains(&code(client.resume(resume).await)), "Resume");
    assert!(given_up.contains(&code(client.fork(fork).await)), "Fork");
    world.harness.describes(Described::As(descriptor()));
    let resumed = async { while world.resume(&session).await == Aborted {} };
    bounded(resumed).await;
    assert_eq!(world.words(&session).await, "START END RESUME", "nothing was recorded meanwhile");
}

#[tokio::test]
async fn anything_else() {
    let world = World::new().await;
    world.harness.describes(Described::Refused(Code::Unimplemented));
    let expected = [Internal, Internal, Fine, NO_GATE, Internal];
    assert_eq!(columns(&world, HARNESS, &interrupted()).await, expected, "Describe answers UNIMPLEMENTED");
    world.harness.describes(Described::Refused(Code::PermissionDenied));
    assert_eq!(columns(&world, HARNESS, &interrupted()).await, expected, "Describe answers another error");
    world.harness.describes(Described::As(descriptor()));

    let keyless = wire::ToolCall { idempotency_key: String::new(), ..mediated("t") };
    let table = [
        ("harness error", vec![Step::Break]),
        ("failed END", vec![Step::End("FAILED")]),
        ("model error", vec![Step::model(support::records::question("?"))]),
        ("executor failing", vec![Step::call(mediated("t"))]),
        ("missing idempotency key", vec![Step::call(keyless)]),
    ];
    world.model.set_refusing(true);
    world.tools.fail(usize::MAX);
    for (cause, steps) in table {
        world.harness.does(steps);
        assert_eq!(world.exec(turn(&world.session().await)).await.code, Internal, "{cause}, Exec");
        let log = [started_on(HARNESS, "1")];
        assert_eq!(world.resume(&world.recorded(log).await).await, Internal, "{cause}, Resume");
    }
}
