//! Tokens.md 5 and 6: keys that change while sessions go on.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use support::stream_session::{Invoking, StreamSession};
use support::{NodeProcess, rounds};

use crate::world::{EVERYTHING, World};

/// The text of a ring.
fn ring(active: u8, verify_only: &[u8]) -> String {
    let key = |n: u8| format!("id = \"k{n}\"\nsecret = \"{}\"\n", STANDARD.encode([n; 32]));
    let old: String = verify_only.iter().map(|n| format!("[[verify_only]]\n{}", key(*n))).collect();
    format!("issuer = \"here\"\n[active]\n{}{old}", key(active))
}

/// Sends a batch more on each of the sessions, each taken over by a new connection, and looks at their stream tokens.
async fn proceed(sessions: &mut [StreamSession], nodes: &[NodeProcess], batch: u64) {
    for (n, session) in sessions.iter_mut().enumerate() {
        let address = nodes[n % nodes.len()].streams_address();
        let mut next = session.kept.attached(address, "takeover", &[]).await.expect("the old token is good");
        let token = |session: &StreamSession| session.mapping("input")["streamToken"].clone();
        assert_eq!(token(&next), token(session), "stream tokens keep their text (M3)");
        let input = next.input();
        next.send_octets(input, batch * 5, b"batch").await;
        next.acknowledged((batch + 1) * 5).await;
        *session = next;
    }
}

#[tokio::test]
async fn k2_and_k3_keys_are_rotated_under_load() {
    let world = World::new().await;
    let file = world.file("ring.toml", &ring(1, &[]));
    let node = || world.guarded(&[("right", "acme")], EVERYTHING).flag("--streams-key-ring-file", &file);
    let nodes = [node().start().await, node().start().await];
    let invoking = || Invoking::method("lines", "count").stream().by("right");
    let mut sessions = Vec::new();
    for _ in 0..rounds(40) {
        sessions.push(invoking().start(nodes[0].streams_address()).await);
    }
    proceed(&mut sessions, &nodes, 0).await;
    world.file("ring.toml", &ring(1, &[2]));
    proceed(&mut sessions, &nodes, 1).await;
    world.file("ring.toml", &ring(2, &[1]));
    proceed(&mut sessions, &nodes, 2).await;
    let young = invoking().start(nodes[0].streams_address()).await;
    proceed(&mut sessions, &nodes, 3).await;

    world.file("ring.toml", &ring(2, &[]));
    for session in &sessions {
        let refused = session.kept.attached(nodes[1].streams_address(), "takeover", &[]).await.err().unwrap();
        assert_eq!(refused.code, "token-invalid", "the key of its stream tokens is gone");
    }
    young.kept.attached(nodes[1].streams_address(), "takeover", &[]).await.expect("of the new key alone");
}
