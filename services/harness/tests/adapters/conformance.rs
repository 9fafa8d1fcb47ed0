//! A harness cannot tell where it runs.

use harness::InProcess;

use super::actors::{Gates, Script, Step, play, said, start, turn};
use super::network;

async fn conversation_is_the_same_everywhere(steps: &[Step], gates: Gates) {
    let script = || Script(steps.to_vec());
    let directory = tempfile::tempdir().expect("a directory");
    let tcp = network::tcp(script()).await;
    let unix = network::unix(script(), &directory);

    let expected = play(start(&InProcess::new(script()), turn()).await, gates).await;
    assert!(expected.iter().all(|event| event.execution_id == "e1"));
    for address in [tcp, unix] {
        let events = play(start(&network::remote(&address), turn()).await, gates).await;
        assert_eq!(events, expected, "{address}");
    }
}

#[tokio::test]
async fn completed_turn_is_the_same_in_process_and_over_sockets() {
    let steps =
        [Step::Model, Step::Output(said("a")), Step::Usage, Step::Report, Step::Tool, Step::Gated, Step::Measure];
    conversation_is_the_same_everywhere(&steps, Gates::Approve).await;
    conversation_is_the_same_everywhere(&steps, Gates::Deny).await;
}

#[tokio::test]
async fn parked_turn_is_the_same_in_process_and_over_sockets() {
    conversation_is_the_same_everywhere(&[Step::Model, Step::Gated, Step::Fail], Gates::Park).await;
}

#[tokio::test]
async fn failed_turn_is_the_same_in_process_and_over_sockets() {
    conversation_is_the_same_everywhere(&[Step::Output(said("a")), Step::Fail], Gates::Park).await;
}
