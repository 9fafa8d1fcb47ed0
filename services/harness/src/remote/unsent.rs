//! What is on its way to a harness that does not read: it waits in the memory of this process, which is counted.

use bytes::Bytes;
use http_body_util::BodyExt;
use tonic::body::Body;
use wire::Held;

/// The same body, whose first piece keeps `held` alive until it was written to the connection. That piece is the whole first
/// frame, unless that is a small one.
pub(super) fn hold(body: Body, held: Option<Held>) -> Body {
    if held.is_none() {
        return body;
    }
    let mut held = held;
    Body::new(body.map_frame(move |frame| {
        frame.map_data(|bytes| match held.take() {
            Some(held) => Bytes::from_owner(Unsent { bytes, _held: held }),
            None => bytes,
        })
    }))
}

/// Bytes, and what lives as long as they do.
struct Unsent {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for Unsent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn the_first_piece_holds_until_it_is_dropped_and_is_what_it_was() {
        let held = Arc::new(());
        let body = Body::new(http_body_util::Full::new(Bytes::from_static(b"piece")));
        let mut body = hold(body, Some(Arc::<()>::clone(&held)));
        let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
        drop(body);
        assert_eq!((&piece[..], Arc::strong_count(&held)), (&b"piece"[..], 2));
        drop(piece);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
