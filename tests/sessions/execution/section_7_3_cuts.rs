//! Crash cuts of the last turn, the counts of its inputs, and inherited intents (execution.md §7.3 to §7.5). The same cuts
//! made by real deaths: crash_cuts.rs, tools.rs and approvals_torture.rs.

use support::Step;
use support::records::{Of, gated, marker, mediated, question, receipt, result, usage};
use tonic::Code::{FailedPrecondition, Internal, Ok as Fine};
use wire::lifecycle::Kind;
use wire::{Event, ExecutionStart};

use super::world::{HARNESS, World, event, turn};

/// START on [`HARNESS`] with so many inputs to come.
fn start(input_count: i64) -> Event {
    let (harness, harness_version) = (HARNESS.into(), "1".into());
    Of("e1").start_with(ExecutionStart {
        input_count: Some(input_count),
        harness,
        harness_version,
        ..Default::default()
    })
}

fn cut(effects: impl IntoIterator<Item = Event>) -> Vec<Event> {
    [start(1), Of("e1").input("x")].into_iter().chain(effects).collect()
}

/// §7.3: what Resume appends after each cut, and the live calls that it makes.
#[tokio::test]
async fn cuts() {
    let world = World::new().await;
    let e1 = Of("e1");
    let model = || [e1.model_call(&question("a"))];
    let tool = || [e1.call(mediated("t"))];
    let gate = || [e1.call(gated("g")), e1.request("g")];
    let decided = || [gate(), [e1.decision("g", 4, true), e1.error()]].concat();
    let received = || [gate(), [e1.decision("g", 4, true), e1.result(receipt("g", 4, 5))]].concat();
    let asks = |step: Step| vec![step];
    // cut, log, what the harness does, code, what is appended, model calls, tool calls
    let table = [
        ("nothing", vec![], vec![], Fine, "RESUME", 0, 0),
        ("last turn completed", cut([e1.end()]), vec![], Fine, "RESUME", 0, 0),
        ("START, inputs missing", vec![start(1)], vec![], FailedPrecondition, "", 0, 0),
        ("START + all inputs", cut([]), asks(Step::model(question("a"))), Fine, "MODEL_CALL OUTPUT END RESUME", 1, 0),
        ("MODEL_CALL, equal hash", cut(model()), asks(Step::model(question("a"))), Fine, "OUTPUT END RESUME", 1, 0),
        ("MODEL_CALL, different hash", cut(model()), asks(Step::model(question("b"))), Internal, "ERROR", 0, 0),
        ("OUTPUT", cut([e1.output("x")]), asks(Step::output("x")), Fine, "END RESUME", 0, 0),
        ("TOOL_CALL", cut(tool()), asks(Step::call(mediated("t"))), Fine, "TOOL_RESULT END RESUME", 0, 1),
        (
            "TOOL_RESULT",
            cut([e1.call(mediated("t")), e1.result(result("t"))]),
            asks(Step::call(mediated("t"))),
            Fine,
            "END RESUME",
            0,
            0,
        ),
        ("TOOL_CALL (gated)", cut([e1.call(gated("g"))]), asks(Step::gate("g")), Fine, "APPROVAL_REQUEST", 0, 0),
        ("APPROVAL_REQUEST", cut(gate()), asks(Step::gate("g")), Fine, "", 0, 0),
        ("APPROVAL_RESULT", cut(decided()), asks(Step::gate("g")), Fine, "TOOL_RESULT END RESUME", 0, 1),
        ("receipt", cut(received()), asks(Step::gate("g")), Fine, "END RESUME", 0, 0),
        (
            "everything but END",
            cut([e1.usage(usage(1)), e1.output("x")]),
            vec![Step::usage(1), Step::output("x")],
            Fine,
            "END RESUME",
            0,
            0,
        ),
        ("ERROR", cut([e1.error()]), asks(Step::output("x")), Fine, "OUTPUT END RESUME", 0, 0),
    ];
    for (row, log, steps, code, appended, models, tools) in table {
        let session = world.recorded(log.clone()).await;
        let before = (world.model.calls(), world.tools.calls().len());
        world.harness.does(steps);
        assert_eq!(world.resume(&session).await, code, "{row}");
        let words = super::world::words(&world.log(&session).await[log.len()..]);
        assert_eq!(words, appended, "{row}");
        let calls = (world.model.calls() - before.0, world.tools.calls().len() - before.1);
        assert_eq!(calls, (models, tools), "{row}: live calls");
    }
    assert!(world.tools.calls().iter().all(|(_, key)| key == "key-t" || key == "key-g"), "the recorded keys");
}

/// §7.3: inputs cut short are answered by a new Exec with all of them
#[tokio::test]
async fn a_turn_without_all_its_inputs_is_superseded() {
    let world = World::new().await;
    world.harness.does([]);
    let session = world.recorded([start(2), Of("e1").input("x")]).await;
    assert_eq!(world.resume(&session).await, FailedPrecondition);
    assert_eq!(world.exec(turn(&session)).await.code, Fine);
    assert_eq!(world.resume(&session).await, Fine);
    assert_eq!(world.words(&session).await, "START INPUT START INPUT END RESUME");
}

/// §7.3: a failed recovery
#[tokio::test]
async fn a_failed_recovery_leaves_another_error_and_the_turn_recoverable() {
    let world = World::new().await;
    let session = world.recorded(cut([Of("e1").call(mediated("t"))])).await;
    world.harness.does([Step::call(mediated("t")), Step::output("x")]);
    world.tools.fail(2);
    for _ in 0..2 {
        assert_eq!(world.resume(&session).await, Internal);
    }
    assert_eq!(world.resume(&session).await, Fine);
    let log = world.log(&session).await;
    assert_eq!(super::world::words(&log), "START INPUT TOOL_CALL ERROR ERROR TOOL_RESULT OUTPUT END RESUME");
    let fences: Vec<_> = log.iter().map(|record| record.fence).collect();
    assert_eq!(fences, [1, 1, 1, 2, 3, 4, 4, 4, 4]);
    assert!(log[..8].iter().all(|record| event(record).execution_id == "e1"), "the original execution");
}

/// §7.4: both columns. A completed turn is looked at where it bears approvals.
#[tokio::test]
async fn input_counts() {
    let world = World::new().await;
    world.harness.does([]);
    let e1 = Of("e1");
    let counted =
        |input_count| e1.start_with(ExecutionStart { input_count, harness: HARNESS.into(), ..Default::default() });
    let empty_input = e1.event(wire::EventKind::EventInput, None);
    let gate = || {
        vec![e1.call(gated("g")), e1.request("g"), e1.decision("g", 3, true), e1.result(receipt("g", 3, 4)), e1.end()]
    };
    // recorded, inputs after START, code of the interrupted turn
    let table = [
        ("START without count", vec![counted(None)], FailedPrecondition),
        ("negative", vec![counted(Some(-1))], FailedPrecondition),
        ("more INPUTs than count", vec![counted(Some(0)), e1.input("x")], FailedPrecondition),
        ("INPUT without message", vec![counted(Some(1)), empty_input], FailedPrecondition),
        ("fewer INPUTs than count", vec![counted(Some(2)), e1.input("x")], FailedPrecondition),
        ("no START at all", vec![e1.input("x")], Fine),
    ];
    for (row, log, expected) in table {
        assert_eq!(world.resume(&world.recorded(log.clone()).await).await, expected, "{row}, interrupted");
        // The gate's records move with the records before it.
        let at = log.len() as i64;
        let mut completed = log;
        completed.extend(gate());
        let length = completed.len();
        completed[length - 3] = e1.decision("g", at + 2, true);
        completed[length - 2] = e1.result(receipt("g", at + 2, at + 3));
        let session = world.recorded(completed).await;
        assert_eq!(world.suspend(&session).await, expected, "{row}, completed");
    }
}

/// §7.5
#[tokio::test]
async fn inherited_intents() {
    let world = World::new().await;
    let e1 = Of("e1");
    let fork = || marker(Kind::LifecycleFork);
    let call = || e1.call(mediated("t"));
    let answered = || e1.result(result("t"));
    let asks_tool = || vec![Step::call(mediated("t"))];
    let table = [
        ("no result", cut([call(), fork()]), asks_tool(), FailedPrecondition),
        ("result before the fork", cut([call(), answered(), fork()]), asks_tool(), Fine),
        ("result after the fork", cut([call(), fork(), answered()]), asks_tool(), Fine),
        ("result of another id", cut([call(), e1.result(result("u")), fork()]), asks_tool(), FailedPrecondition),
        ("handled by the harness", cut([call(), e1.output("x"), fork()]), asks_tool(), FailedPrecondition),
        (
            "another effect between",
            cut([call(), e1.usage(usage(1)), answered(), fork()]),
            asks_tool(),
            FailedPrecondition,
        ),
        ("an own call", cut([fork(), call()]), asks_tool(), Fine),
        ("a model call", cut([e1.model_call(&question("a")), fork()]), vec![Step::model(question("a"))], Fine),
    ];
    for (row, log, steps, expected) in table {
        let session = world.recorded(log.clone()).await;
        world.harness.does(steps);
        assert_eq!(world.resume(&session).await, expected, "{row}");
        if expected != Fine {
            assert_eq!(world.log(&session).await.len(), log.len(), "{row}: nothing written");
            world.harness.does([]);
            assert_eq!(world.exec(turn(&session)).await.code, Fine, "{row}: a new turn");
        }
    }
    assert_eq!(world.model.calls(), 1, "one provider call of its own");

    let parent = world.recorded(cut([call(), answered()])).await;
    world.harness.does(asks_tool());
    assert_eq!(world.resume(&world.child(&parent, 3).await).await, FailedPrecondition, "a real child, cut at the call");
    assert_eq!(world.resume(&world.child(&parent, 4).await).await, Fine, "forked at the result");
}
