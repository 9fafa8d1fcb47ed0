//! Large histories, slow readers, and turns that are given up.

use std::sync::Arc;
use std::time::Duration;

use controller::ports::HarnessPlacement;
use harness::InProcess;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use wire::event::Body;
use wire::{Event, EventKind, History};

use super::actors::{Gates, Script, Step, play, said, start, turn};
use super::network;

fn history(events: usize, bytes: usize) -> History {
    let event = Event::new(EventKind::EventOutput, Body::Message(said(&"x".repeat(bytes))));
    vec![event; events].into()
}

#[tokio::test]
async fn history_of_ten_megabytes_arrives_whole() {
    let mut long = turn();
    long.history = history(10_000, 1_000);
    let bytes: usize = long.history.iter().map(prost::Message::encoded_len).sum();
    assert!(bytes > 10_000_000);
    let address = network::tcp(Script(vec![Step::Measure])).await;
    let events = play(start(&network::remote(&address), long).await, Gates::Park).await;
    assert_eq!(events[0].body, Some(Body::Message(said(&format!("10000 {bytes}")))));
}

#[tokio::test]
async fn harness_that_never_stops_talking_is_held_back_by_its_reader() {
    const MESSAGE: usize = 64 * 1024;
    let emitted = Arc::new(Semaphore::new(0));
    let flood = Step::Flood(said(&"x".repeat(MESSAGE)), Arc::clone(&emitted));
    let address = network::tcp(Script(vec![flood])).await;
    let mut connection = start(&network::remote(&address), turn()).await;
    connection.next().await.expect("an event");

    let mut total = 0;
    while let Ok(permit) = timeout(Duration::from_millis(300), emitted.acquire()).await {
        permit.expect("open").forget();
        total += 1;
    }
    assert!(total * MESSAGE < 16 * 1024 * 1024, "{total} messages are in memory");
    connection.next().await.expect("it goes on when it is read");
}

async fn giving_up_drops_the_harness(placement: &dyn HarnessPlacement, held: &Arc<()>, before: usize) {
    let mut connection = start(placement, turn()).await;
    connection.next().await.expect("an event");
    assert!(timeout(Duration::from_millis(20), connection.next()).await.is_err(), "it hangs");
    assert_eq!(Arc::strong_count(held), before + 1);
    drop(connection);
    let dropped = async {
        while Arc::strong_count(held) > before {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(5), dropped).await.expect("the harness was dropped");
}

#[tokio::test]
async fn dropping_the_connection_drops_the_harness_in_process() {
    let held = Arc::new(());
    let script = Script(vec![Step::Output(said("a")), Step::Hang(Arc::clone(&held))]);
    // One in the test, one in the script, one in the running copy of the script, and then the one that hangs.
    giving_up_drops_the_harness(&InProcess::new(script), &held, 2).await;
}

#[tokio::test]
async fn dropping_the_connection_drops_the_harness_at_the_other_end() {
    let held = Arc::new(());
    let script = Script(vec![Step::Output(said("a")), Step::Hang(Arc::clone(&held))]);
    let address = network::tcp(script).await;
    giving_up_drops_the_harness(&network::remote(&address), &held, 2).await;
}
