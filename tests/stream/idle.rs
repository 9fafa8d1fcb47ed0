//! What sessions cost that are attached and do nothing.

use std::time::Duration;

use support::stream_session::{Invoking, StreamSession};

use crate::world::development;

/// What a session may cost, in bytes. The aim is 64 KiB, and what it does cost is printed: about 60 while nothing else runs. Beside
/// other tests more threads are busy at once, and each keeps some memory.
const COST: u64 = 96 << 10;
/// So many that what the allocator keeps for later does not matter.
const SESSIONS: usize = 1_000;

#[tokio::test]
async fn an_attached_idle_session_costs_little() {
    let (_world, node) = development().await;
    let mut sessions = Vec::new();
    // What the first ones cost is there once and for all.
    attach(&mut sessions, node.streams_address(), 50).await;
    let before = node.resident_bytes();
    attach(&mut sessions, node.streams_address(), SESSIONS).await;
    let each = node.resident_bytes().saturating_sub(before) / SESSIONS as u64;
    println!("{SESSIONS} idle sessions: {each} bytes each");
    assert!(each < COST, "{each} bytes");
    for session in &mut sessions {
        assert!(session.socket.answers().await, "it is still attached");
    }
}

async fn attach(sessions: &mut Vec<StreamSession>, address: &str, count: usize) {
    for _ in 0..count {
        let mut session = Invoking::method("lines", "count").stream().start(address).await;
        let input = session.input();
        session.send_octets(input, 0, b"a line\n").await;
        session.acknowledged(7).await;
        sessions.push(session);
    }
    // Whatever the last one has set going.
    tokio::time::sleep(Duration::from_secs(1)).await;
}
