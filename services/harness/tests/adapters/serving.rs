//! The SDK's server, used by a client that is not ours.

use futures::stream;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use wire::controller_frame::Frame;
use wire::event::Body;
use wire::harness_client::HarnessClient;
use wire::{Cancel, ControllerFrame, Event, EventKind, Start};

use super::actors::{Script, Step, said};
use super::network;

async fn client(steps: Vec<Step>) -> HarnessClient<Channel> {
    let address = network::tcp(Script(steps)).await;
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("a uri");
    HarnessClient::new(endpoint.connect().await.expect("a connection"))
}

fn frame(frame: Frame) -> ControllerFrame {
    ControllerFrame { session: "sess-1".into(), execution_id: "e1".into(), frame: Some(frame) }
}

fn begin() -> ControllerFrame {
    frame(Frame::Start(Start::default()))
}

async fn only_event(client: &mut HarnessClient<Channel>, frames: Vec<ControllerFrame>) -> Event {
    let mut events = client.connect(stream::iter(frames)).await.expect("a stream").into_inner();
    let event = events.message().await.expect("an event").expect("an event");
    assert_eq!(events.message().await.expect("a clean end"), None);
    event
}

fn failure(event: Event) -> String {
    let Some(Body::End(end)) = event.body else { panic!("{event:?}") };
    end.error.expect("an error").description
}

#[tokio::test]
async fn stream_that_does_not_begin_with_a_start_is_an_invalid_argument() {
    let mut client = client(Vec::new()).await;
    let nameless = ControllerFrame { execution_id: String::new(), ..begin() };
    for frames in [vec![], vec![frame(Frame::Cancel(Cancel::default()))], vec![nameless]] {
        let status = client.connect(stream::iter(frames)).await.expect_err("a refusal");
        assert_eq!(status.code(), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn panic_in_one_turn_leaves_the_connection_to_the_others() {
    let mut client = client(vec![Step::Panic]).await;
    for _ in 0..2 {
        assert_eq!(failure(only_event(&mut client, vec![begin()]).await), "the harness panicked");
    }
}

#[tokio::test]
async fn frames_that_arrive_with_the_start_are_judged_like_any_other() {
    let mut client = client(vec![Step::Output(said("a"))]).await;
    let frames = vec![begin(), frame(Frame::Cancel(Cancel { reason: "never mind".into() }))];
    let event = only_event(&mut client, frames).await;
    assert_eq!(event.kind(), EventKind::EventEnd);
    assert_eq!(failure(event), "canceled by the host: never mind");
}
