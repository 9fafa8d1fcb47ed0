//! The journals of release 0.1.2, where they are at hand: each is a session of one file.

use support::vectors::old_journals;
use support::{Agentctl, NodeBuilder, ReferenceJournal, ReferenceSession};
use wire::ForkRequest;

use crate::sample::FILE;

/// The turns that Resume finishes; it refuses those that were cut in a call of the model.
const RESUMABLE: [&str; 3] = ["crashed-output", "multi-turn-crashed-output", "mixed-interrupted"];

#[tokio::test]
async fn journals_of_release_0_1_2_are_carried_over_resumed_and_forked() {
    let journals = old_journals();
    let directory = tempfile::tempdir().unwrap();
    let file = ReferenceJournal::create(&directory.path().join(FILE));
    for (name, records) in &journals {
        let fence = records.last().unwrap().fence;
        file.session(&ReferenceSession { uid: name, fence, ..ReferenceSession::default() });
        file.records(name, records);
    }
    let _ = file.close();
    let agentctl = Agentctl::new(directory.path());
    let printed = agentctl.ok(&["import", FILE]);
    assert!(printed.starts_with(&format!("ok file={FILE} sessions={} ", journals.len())), "{printed}");

    let node = NodeBuilder::new(directory.path()).start().await;
    let mut api = node.api().await;
    for (name, records) in journals {
        assert_eq!(api.log(&name).await, records, "{name}");
        let child = api.fork(ForkRequest { session: name.clone(), at_seq: 1, ..ForkRequest::default() }).await.unwrap();
        let child = api.log(&child[0].metadata.as_ref().unwrap().uid).await;
        assert_eq!((child.len(), &child[0].content_hash), (2, &records[0].content_hash), "{name}");
        if RESUMABLE.contains(&name.as_str()) {
            api.resume(&name).await.unwrap();
            let log = api.log(&name).await;
            assert!(log.len() > records.len() && log.starts_with(&records), "{name}");
        }
        if name == "crashed-model" {
            api.resume(&name).await.expect_err("the model may have answered");
            assert!(api.log(&name).await.starts_with(&records), "{name}");
        }
    }
}
