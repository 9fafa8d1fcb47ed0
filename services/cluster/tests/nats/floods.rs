use std::time::Duration;

use async_nats::Client;
use cluster::{Coordinator, News};
use futures::StreamExt;
use journal::ExecutionId;
use support::{Cable, NatsServer, rounds};
use tokio::time::Instant;

use crate::world::{appended, next, pair, settings, start, uid, until, until_heard};

/// Memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn a_storm_of_news_neither_waits_nor_fills_the_memory() {
    let server = NatsServer::start().await;
    let cable = Cable::to(&server.address()).await;
    let one = start("one", settings(&format!("nats://{}", cable.address())));
    until("it is connected", || one.is_connected()).await;
    cable.cut();
    let (before, begun) = (resident(), Instant::now());
    let text = "x".repeat(10_000);
    let offered = rounds(100_000);
    for number in 0..offered {
        let session = uid(&format!("sess-{}", number % 5000));
        let news = News::Delta { execution: ExecutionId::new("e"), text: text.clone(), last: false };
        one.nats.tell(&session, news);
        one.nats.tell(&session, appended(number as i64 + 1));
    }
    assert!(begun.elapsed() < Duration::from_millis(offered as u64), "{:?}", begun.elapsed());
    let grown = resident().saturating_sub(before);
    assert!(grown < 48 * 1024 * 1024, "{grown} bytes for {} offered", offered * text.len());
    assert!(one.nats.status().lost > 0);
}

#[tokio::test]
async fn a_follower_that_cannot_keep_up_hears_that_it_has_missed_something() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    let mut follower = two.nats.follow(&uid("sess-1"));
    until_heard(&one, "sess-1", &mut follower).await;
    for number in 0..20_000 {
        let news = News::Delta { execution: ExecutionId::new("e"), text: number.to_string(), last: false };
        one.nats.tell(&uid("sess-1"), news);
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while next(&mut follower).await.is_some() {
        assert!(Instant::now() < deadline);
    }
}

#[tokio::test]
async fn garbage_is_counted_and_does_no_harm() {
    let server = NatsServer::start().await;
    let (one, two) = pair(&settings(&server.url())).await;
    let mut follower = two.nats.follow(&uid("sess-1"));
    until_heard(&one, "sess-1", &mut follower).await;

    let stranger = async_nats::connect(server.url()).await.unwrap();
    let run = format!("agentsessions.v1.run.{}", two.incarnation);
    let subjects = ["agentsessions.v1.nodes", &run, "agentsessions.v1.session.c2Vzcy0x"];
    let garbage = [vec![0xff; 32], vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f], vec![0; 900_000]];
    for (subject, bytes) in subjects.iter().flat_map(|subject| garbage.iter().map(move |bytes| (subject, bytes))) {
        stranger.publish((*subject).to_owned(), bytes.clone().into()).await.unwrap();
    }
    until("all of it is counted", || two.nats.status().undecodable == 9).await;
    assert_eq!(two.sees(), ["one"]);
    assert_eq!(one.ask_busy(&two, "busy").await, Some(true));
    until_heard(&one, "sess-1", &mut follower).await;

    // What a later version asks is answered: it cannot be told.
    assert!(answered(&stranger, run, &[0x7a, 1, 0]).await.is_empty());
}

async fn answered(stranger: &Client, subject: String, bytes: &[u8]) -> Vec<u8> {
    let inbox = stranger.new_inbox();
    let mut answers = stranger.subscribe(inbox.clone()).await.unwrap();
    stranger.publish_with_reply(subject, inbox, bytes.to_vec().into()).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(10), answers.next()).await.unwrap().unwrap();
    assert_eq!(answer.status, None);
    answer.payload.to_vec()
}
