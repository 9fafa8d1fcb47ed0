//! A node that stops for a while, loses its session meanwhile, and wakes up.

use std::path::Path;

use support::{Api, Cable, NodeBuilder, Scrape, ScriptedHarness, Step, ToolServer, kinds, records, text};
use tonic::Code;
use wire::EventKind::{EventEnd, EventExecutionStart, EventInput, EventLifecycle};
use wire::EventKind::{EventOutput, EventToolCall, EventToolResult};
use wire::{ExecRequest, LogRecord};

use crate::world::{HEARTBEAT, Watching, World, until_they_meet};

/// Waits, says something, waits again, and runs a tool.
fn script() -> Vec<Step> {
    vec![Step::Wait, Step::output("begun"), Step::Wait, Step::call(records::mediated("call"))]
}

fn begin(session: &str) -> ExecRequest {
    ExecRequest { session: session.into(), inputs: vec![text("go")], ..ExecRequest::default() }
}

/// Where the owner of the session reaches NATS.
enum Owner<'a> {
    /// As everybody does: it is told that it has lost the session.
    Connected,
    /// Through a cable that is cut: only its next append tells it.
    CutOff(&'a Cable),
}

async fn the_owner_sleeps(world: &World, owner: Owner<'_>) {
    let harness = ScriptedHarness::start().await;
    harness.does(script());
    let tools = ToolServer::start().await;
    let configured = |node: NodeBuilder| equipped(node, &harness, &tools, world.directory.path());
    let sleeper = match owner {
        Owner::Connected => world.node("one"),
        Owner::CutOff(cable) => world.node_through(cable.address(), "one"),
    };
    let nodes = [configured(sleeper).start().await, configured(world.node("two")).start().await];
    until_they_meet(&nodes).await;
    let [sleeper, successor] = &nodes;
    let (mut here, mut there) = (sleeper.api().await, successor.api().await);

    let session = here.create("scripted").await.metadata.unwrap().uid;
    let mut turn = here.client.exec(begin(&session)).await.unwrap().into_inner();
    harness.waiting().await;
    if let Owner::CutOff(cable) = owner {
        cable.cut();
    }
    sleeper.pause();
    tokio::time::sleep(3 * HEARTBEAT).await;

    let mut watcher = Watching::begin(&mut there, &session).await;
    let mut taking_over = there.clone();
    let taken_over = taking_over.resume(&session);
    let story = async {
        harness.waiting().await;
        // The first to wait is the first to go on: the sleeper's run, whose output lies before it when it wakes up.
        harness.release();
        harness.release();
        watcher.skip_to(3).await;
        let taken = there.log(&session).await;
        sleeper.wake();
        let read = (here.get(&session).await.unwrap().last_seq, here.log(&session).await);
        assert_eq!(read, (3, taken.clone()), "what the sleeper reads is what has been committed");
        let end = loop {
            match turn.message().await {
                Ok(update) => assert!(update.is_some(), "the sleeper's turn ends well"),
                Err(status) => break status,
            }
        };
        assert_eq!(end.code(), Code::Aborted, "{end}");
        assert_eq!(there.log(&session).await, taken, "the sleeper has appended something");
        // Each run waits for the second time, or has given up.
        harness.release();
        harness.release();
    };
    let (resumed, ()) = tokio::join!(taken_over, story);
    resumed.unwrap();

    sleeper.watcher().until(|now| turns_lost(now) == 1.0).await;
    assert_eq!(turns_lost(&successor.watcher().scrape().await), 0.0);
    check_turn(&there.log(&session).await);
    assert_eq!((tools.effects(), tools.calls().len()), (1, 1), "the sleeper has run the tool, too");
    harness.does([]);
    serves_again(&mut here, &session).await;
}

fn equipped(node: NodeBuilder, harness: &ScriptedHarness, tools: &ToolServer, directory: &Path) -> NodeBuilder {
    tools.node(node.harness("scripted", harness.address()), directory)
}

/// Turns that a node has lost to others.
fn turns_lost(scrape: &Scrape) -> f64 {
    let of = |reason| scrape.value(&format!(r#"agentsessions_turns_total{{outcome="lost",reason="{reason}"}}"#));
    ["conflict", "fenced"].into_iter().filter_map(of).sum()
}

/// Begun by one node, and everything else by the other.
fn check_turn(log: &[LogRecord]) {
    let expected =
        [EventExecutionStart, EventInput, EventOutput, EventToolCall, EventToolResult, EventEnd, EventLifecycle];
    assert_eq!(kinds(log), expected);
    let fences: Vec<_> = log.iter().map(|record| record.fence).collect();
    assert_eq!(fences[..6], [1, 1, 2, 2, 2, 2]);
}

/// A node that has slept is as good as any other.
async fn serves_again(api: &mut Api, session: &str) {
    let records = api.turn(session, "again").await;
    assert_eq!(kinds(&records), [EventExecutionStart, EventInput, EventEnd]);
}

#[tokio::test]
async fn a_node_that_wakes_up_after_it_has_lost_its_session_writes_nothing_and_reads_what_is_there() {
    let world = World::new().await;
    the_owner_sleeps(&world, Owner::Connected).await;
}

#[tokio::test]
async fn a_node_that_wakes_up_and_is_told_nothing_writes_nothing_either() {
    let world = World::new().await;
    let cable = Cable::to(&world.server.address()).await;
    the_owner_sleeps(&world, Owner::CutOff(&cable)).await;
}
