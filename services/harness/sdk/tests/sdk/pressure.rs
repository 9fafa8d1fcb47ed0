//! A harness is never far ahead of its host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wire::EventKind;

use super::actors::{DropFlag, Host, text};

#[tokio::test]
async fn endless_harness_advances_only_as_events_are_read() {
    let emitted = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&emitted);
    let mut host = Host::running(move |_, sink| {
        let counter = Arc::clone(&counter);
        Box::pin(async move {
            loop {
                sink.output(text("more")).await?;
                counter.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    for read in 1..=1_000 {
        host.expect(EventKind::EventOutput).await;
        assert!(emitted.load(Ordering::Relaxed) <= read + 1);
    }
}

#[tokio::test]
async fn dropping_the_run_drops_the_harness() {
    let flag = Arc::new(DropFlag::default());
    let inside = Arc::clone(&flag);
    let mut host = Host::running(move |_, sink| {
        let guard = inside.guard();
        Box::pin(async move {
            sink.output(text("hi")).await?;
            std::future::pending::<()>().await;
            drop(guard);
            Ok(())
        })
    });
    host.expect(EventKind::EventOutput).await;
    assert!(!flag.is_dropped());
    drop(host);
    assert!(flag.is_dropped());
}
