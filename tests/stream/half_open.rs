//! Protocol.md H6: connections whose other end is gone without a word.

use std::time::Duration;

use serde_json::json;
use support::Cable;
use support::stream_session::Invoking;
use tokio::time::{Instant, timeout};

use crate::world::development;

/// A server may take 60 s to notice, and some more to say so on a busy machine.
const NOTICED: Duration = Duration::from_secs(80);

#[tokio::test]
async fn h6_a_half_open_connection_is_found_and_its_session_detached() {
    let (_world, node) = development().await;
    let cable = Cable::to(node.streams_address()).await;
    let mut session = Invoking::method("lines", "count").stream().start(cable.address()).await;
    let input = session.input();
    session.send_octets(input, 0, b"one\n").await;
    session.acknowledged(4).await;
    cable.cut();
    let cut = Instant::now();
    let resumed = async {
        loop {
            match session.kept.attached(node.streams_address(), "resume", &[]).await {
                Ok(resumed) => return resumed,
                Err(refused) => assert_eq!(refused.code, "invalid-attachment-state"),
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let mut resumed = timeout(NOTICED, resumed).await.expect("the server notices");
    println!("noticed after {:?}", cut.elapsed());
    assert_eq!(resumed.high_water(), 4);
    let input = resumed.input();
    resumed.send_end(input, 4).await;
    assert_eq!(resumed.finished().await, json!({"kind": "success"}));
}
