//! Long logs.

use support::records::Of;
use support::{Agentctl, ReferenceJournal, ReferenceSession, chain, rounds};

use crate::sample::FILE;

/// Records that this test has in memory at once.
const STEP: usize = 1_000;
const TEXT_BYTES: usize = 2 << 10;
/// Less than a file of 100,000 records has.
const PEAK_BYTES: u64 = 128 << 20;

#[test]
fn a_long_log_is_imported_in_bounded_memory() {
    let records = rounds(100_000);
    let directory = tempfile::tempdir().unwrap();
    let file = ReferenceJournal::create(&directory.path().join(FILE));
    file.session(&ReferenceSession::default());
    let text = "x".repeat(TEXT_BYTES);
    let mut last = None;
    for _ in 0..records / STEP {
        let next = chain(last.as_ref(), (0..STEP).map(|_| (1, Of("e").output(&text))));
        file.records("sess-0", &next);
        last = next.into_iter().next_back();
    }
    let _ = file.close();

    let agentctl = Agentctl::new(directory.path());
    let peak = agentctl.peak_bytes(&["import", FILE]);
    println!("import of {records} records: {} MiB resident at most", peak >> 20);
    assert!(peak < PEAK_BYTES, "{peak} bytes");
    let verified = agentctl.ok(&["verify", "--session", "sess-0"]);
    assert!(verified.starts_with(&format!("ok session=sess-0 records={records} ")), "{verified}");
}
