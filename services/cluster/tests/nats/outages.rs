use std::time::Duration;

use cluster::Coordinator;
use support::{Cable, NatsServer};
use tokio::time::{Instant, timeout};

use crate::world::{HEARTBEAT, appended, next, pair, settings, start, uid, until, until_heard};

#[tokio::test]
async fn everything_comes_back_after_the_server_was_lost() {
    let mut server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    let mut follower = two.nats.follow(&uid("sess-1"));
    until_heard(&one, "sess-1", &mut follower).await;
    timeout(Duration::from_secs(1), two.nats.registry_change()).await.unwrap();

    server.kill();
    until("both notice", || !one.is_connected() && !two.is_connected()).await;
    let asked = Instant::now();
    assert_eq!(one.ask_busy(&two, "busy").await, None);
    assert!(asked.elapsed() < Duration::from_millis(100), "without a connection nothing is waited for");
    assert!(one.sees().is_empty());
    one.nats.tell(&uid("sess-1"), appended(2));

    server.restart().await;
    assert_eq!(next(&mut follower).await, None, "it is told that it may have missed something");
    timeout(Duration::from_secs(10), two.nats.registry_change()).await.unwrap();
    until("the nodes know each other again", || one.sees() == ["two"] && two.sees() == ["one"]).await;
    until_heard(&one, "sess-1", &mut follower).await;
    assert_eq!(one.ask_busy(&two, "busy").await, Some(true));
}

#[tokio::test]
async fn a_node_starts_without_the_server_and_joins_when_it_is_there() {
    let mut server = NatsServer::start().await;
    server.kill();
    let begun = Instant::now();
    let (one, two) = (start("one", settings(&server.url())), start("two", settings(&server.url())));
    assert!(begun.elapsed() < Duration::from_secs(1));
    let mut own = one.nats.follow(&uid("sess-1"));
    one.nats.tell(&uid("sess-1"), appended(1));
    assert_eq!(next(&mut own).await, Some(appended(1)), "followers on the node itself need no server");
    assert_eq!(one.ask_busy(&two, "busy").await, None);

    server.restart().await;
    until("the nodes know each other", || one.sees() == ["two"] && two.sees() == ["one"]).await;
    assert_eq!(one.ask_busy(&two, "busy").await, Some(true));
}

#[tokio::test]
async fn a_node_goes_on_with_another_server() {
    let (mut first, second) = (NatsServer::start().await, NatsServer::start().await);
    let mut both = settings(&first.url());
    both.servers.push(second.url());
    let (one, two) = (start("one", both), start("two", settings(&second.url())));
    until("it is connected", || one.is_connected()).await;
    first.kill();
    until("the nodes know each other", || one.sees() == ["two"] && two.sees() == ["one"]).await;
}

#[tokio::test]
async fn a_connection_that_is_dead_without_saying_so_is_given_up() {
    let server = NatsServer::start().await;
    let node = start("one", settings(&server.url()));
    until("it is connected", || node.is_connected()).await;
    server.pause();
    let paused = Instant::now();
    until("it gives up", || !node.is_connected()).await;
    assert!(paused.elapsed() >= HEARTBEAT * 2, "{:?}", paused.elapsed());
    server.resume();
    until("it is connected again", || node.is_connected()).await;
}

#[tokio::test]
async fn a_follower_hears_that_news_were_lost_on_the_side_of_the_teller() {
    let server = NatsServer::start().await;
    let cable = Cable::to(&server.address()).await;
    let one = start("one", settings(&format!("nats://{}", cable.address())));
    let two = start("two", settings(&server.url()));
    let mut follower = two.nats.follow(&uid("sess-1"));
    until_heard(&one, "sess-1", &mut follower).await;
    // Short enough for the others not to notice.
    cable.cut();
    until("it notices", || !one.is_connected()).await;
    one.nats.tell(&uid("sess-1"), appended(2));
    cable.mend();
    until("it is back", || one.is_connected()).await;
    assert!(two.is_connected());
    let deadline = Instant::now() + Duration::from_secs(10);
    while next(&mut follower).await.is_some() {
        assert!(Instant::now() < deadline);
    }
}

#[tokio::test]
async fn a_node_stops_at_once_whatever_its_connection_does() {
    let server = NatsServer::start().await;
    let silent = Cable::to(&server.address()).await;
    let connected = start("one", settings(&server.url()));
    let cut_off = start("two", settings(&format!("nats://{}", silent.address())));
    until("both are connected", || connected.is_connected() && cut_off.is_connected()).await;
    silent.cut();
    let connecting = start("three", settings(&format!("nats://{}", silent.address())));
    let stopped = Instant::now();
    tokio::join!(connected.stop(), cut_off.stop(), connecting.stop());
    assert!(stopped.elapsed() < Duration::from_millis(800), "{:?}", stopped.elapsed());
}
