use std::time::Duration;

use cluster::{Coordinator, News};
use journal::ExecutionId;
use support::NatsServer;
use tokio::time::timeout;

use crate::world::{appended, next, pair, settings, uid, until_heard};

fn delta(text: &str) -> News {
    News::Delta { execution: ExecutionId::new("e-1"), text: text.into(), last: false }
}

#[tokio::test]
async fn news_reach_followers_on_every_node_once_and_in_order() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    // A uid may hold what a subject must not.
    let session = uid("of another host: *.> \r\n é");
    let (mut here, mut there) = (one.nats.follow(&session), two.nats.follow(&session));
    until_heard(&one, session.as_str(), &mut there).await;
    while timeout(Duration::from_millis(50), here.next()).await.is_ok() {}

    let told = [delta("Hel"), delta("lo"), appended(2), delta(""), appended(3)];
    for news in &told {
        one.nats.tell(&session, news.clone());
    }
    for news in &told {
        assert_eq!(next(&mut here).await.as_ref(), Some(news));
        assert_eq!(next(&mut there).await.as_ref(), Some(news));
    }
    let more = timeout(Duration::from_millis(200), async { tokio::join!(here.next(), there.next()) }).await;
    assert!(more.is_err(), "nothing comes twice: {more:?}");
}

#[tokio::test]
async fn news_of_other_sessions_and_of_those_not_followed_any_more_are_not_heard() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    let mut followed = two.nats.follow(&uid("followed"));
    let mut left = two.nats.follow(&uid("left"));
    until_heard(&one, "followed", &mut followed).await;
    until_heard(&one, "left", &mut left).await;
    drop(left);
    one.nats.tell(&uid("left"), appended(7));
    one.nats.tell(&uid("other"), appended(8));
    one.nats.tell(&uid("followed"), appended(9));
    assert_eq!(next(&mut followed).await, Some(appended(9)));

    let mut again = two.nats.follow(&uid("left"));
    until_heard(&one, "left", &mut again).await;
}

#[tokio::test]
async fn a_change_of_the_registry_is_told_to_the_others() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    // That of the connection itself.
    for node in [&one, &two] {
        timeout(Duration::from_secs(1), node.nats.registry_change()).await.unwrap();
    }
    one.nats.registry_changed();
    timeout(Duration::from_secs(10), two.nats.registry_change()).await.unwrap();
    let own = timeout(Duration::from_millis(100), one.nats.registry_change()).await;
    assert!(own.is_err(), "a node does not tell itself");
}
