//! Protocol.md section 18: a reader that stops reading stops its producer, and nobody else.

use std::time::Duration;

use serde_json::json;
use support::stream_session::{Invoking, metadata, string};
use support::stream_socket::framed;
use tokio::time::timeout;

use crate::world::development;

const BATCH: usize = 1 << 20;
/// All that a session may admit (64 MiB), and what lies in the buffers of sockets.
const ADMITTED: usize = (64 << 20) + (16 << 20);

#[tokio::test]
async fn l1_and_l4_a_reader_that_stops_stops_its_producer_and_nobody_else() {
    let (_world, node) = development().await;
    let address = node.streams_address();
    let before = node.resident_bytes();
    let mut slow = Invoking::method("mirror", "bytes").stream().start(address).await;
    let input = slow.input();
    let batch = vec![b'x'; BATCH];
    let mut sent = 0;
    // Nothing is read here: neither output nor acknowledgements.
    while sent < 2 * ADMITTED {
        let message = framed(&metadata("input-u8", input, sent as u64, BATCH), &batch);
        if timeout(Duration::from_secs(5), slow.socket.send(message)).await.is_err() {
            break;
        }
        sent += BATCH;
    }
    assert!(sent <= ADMITTED, "{sent} bytes are taken from somebody who reads nothing");
    // With copies on their way to the disk, and what an allocator keeps.
    let grown = node.resident_bytes().saturating_sub(before);
    assert!(grown < 4 * ADMITTED as u64, "{grown} bytes are held for somebody who reads nothing");

    let mut other = Invoking::method("lines", "count-strings").stream().start(address).await;
    let input = other.input();
    for sequence in 0..100 {
        other.send_value(input, sequence, &string("a line")).await;
    }
    other.send_end(input, 100).await;
    assert_eq!(other.message("invocationResult").await["result"]["value"], json!({"kind": "u64", "value": "100"}));
    assert_eq!(other.finished().await, json!({"kind": "success"}));

    // What it was too slow for is there when it comes back.
    let left = slow.kept.clone();
    drop(slow);
    let mut slow = left.resumed(address, &[]).await;
    let high_water = slow.high_water();
    let input = slow.input();
    slow.send_end(input, high_water).await;
    let (bytes, end) = slow.octets().await;
    assert_eq!((bytes.len() as u64, &end["outcome"]), (high_water, &json!({"kind": "ok"})));
    assert_eq!(slow.finished().await, json!({"kind": "success"}));
}
