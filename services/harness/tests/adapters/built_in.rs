//! The harnesses that come with a host (registry.md §9).

use controller::ports::{HarnessPlacement, TurnStart};
use harness::{Chat, Counter, Echo, InProcess};
use wire::event::Body;
use wire::{Event, EventKind, HarnessDescriptor, Message, ModelCall, Resumability};

use super::actors::{Gates, play, start, turn};

async fn described(placement: &InProcess) -> HarnessDescriptor {
    placement.acquire().await.expect("a channel").describe().await.expect("a descriptor")
}

async fn run(placement: &InProcess, turn: TurnStart) -> Vec<Event> {
    play(start(placement, turn).await, Gates::Park).await
}

/// The only model request of a run that does nothing else.
async fn request(placement: &InProcess, turn: TurnStart) -> ModelCall {
    let events = run(placement, turn).await;
    let [call, end] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(end.kind(), EventKind::EventEnd);
    let Some(Body::Model(call)) = &call.body else { panic!("{call:?}") };
    assert!(call.params.is_empty() && call.tools.is_empty());
    call.clone()
}

fn message(kind: EventKind, message: &Message) -> Event {
    Event::new(kind, Body::Message(message.clone()))
}

#[tokio::test]
async fn echo_asks_its_model_for_the_last_input() {
    let echo = InProcess::new(Echo);
    let descriptor = described(&echo).await;
    assert_eq!((descriptor.id.as_str(), descriptor.version.as_str()), ("echo", "1"));
    assert_eq!(descriptor.models, ["echo"]);
    let capabilities = descriptor.capabilities.expect("capabilities");
    assert_eq!((capabilities.resumability(), capabilities.fork_safe), (Resumability::StatelessReplay, true));

    let mut two = turn();
    two.inputs.push(Message::text("tool", "last"));
    let call = request(&echo, two).await;
    assert_eq!((call.model.as_str(), call.messages), ("echo", vec![Message::text("user", "last")]));
    let mut none = turn();
    none.inputs.clear();
    assert_eq!(request(&echo, none).await.messages, [Message::text("user", "")]);
}

#[tokio::test]
async fn chat_asks_its_model_with_prompt_conversation_and_inputs() {
    let chat = InProcess::new(Chat::new("gpt"));
    let descriptor = described(&chat).await;
    assert_eq!((descriptor.id.as_str(), descriptor.models), ("chat", vec!["gpt".to_owned()]));

    let (asked, answered) = (Message::text("user", "q"), Message::text("assistant", "a"));
    let mut talk = turn();
    talk.config = br#"{"system_prompt":"be brief"}"#.to_vec();
    talk.history = vec![
        Event::new(EventKind::EventExecutionStart, None),
        message(EventKind::EventInput, &asked),
        Event::new(EventKind::EventModelCall, Body::Model(ModelCall::default())),
        message(EventKind::EventOutput, &answered),
        Event::new(EventKind::EventEnd, None),
    ]
    .into();
    let inputs = talk.inputs.clone();
    let call = request(&chat, talk).await;
    assert_eq!(call.model, "gpt");
    let prompt = Message::text("system", "be brief");
    assert_eq!(call.messages, [vec![prompt, asked, answered], inputs].concat());
}

#[tokio::test]
async fn chat_fails_a_turn_with_a_bad_configuration() {
    let cases = [
        (&b"[]"[..], "chatagent: config must be a JSON object"),
        (br#"{"system_prompt":1}"#, "chatagent: system_prompt must be a string"),
    ];
    for (config, text) in cases {
        let mut bad = turn();
        bad.config = config.to_vec();
        let events = run(&InProcess::new(Chat::new("gpt")), bad).await;
        let Some(Body::End(end)) = &events[0].body else { panic!("{events:?}") };
        assert_eq!(end.state, "FAILED");
        assert_eq!(end.error.as_ref().expect("an error").description, text);
    }
}

#[tokio::test]
async fn counter_counts_its_turns_in_memory() {
    let counter = InProcess::new(Counter::default());
    let descriptor = described(&counter).await;
    let resumability = descriptor.capabilities.expect("capabilities").resumability();
    assert_eq!((descriptor.id.as_str(), resumability), ("counter", Resumability::RequiresMemorySnapshot));
    for count in ["1", "2"] {
        let events = run(&counter, turn()).await;
        assert_eq!(events[0].body, Some(Body::Message(Message::text("assistant", count))));
    }
}
