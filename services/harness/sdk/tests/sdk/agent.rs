//! Methods: what they are offered as, what they are given, what they return.

use futures::FutureExt;
use sdk::schema::{self, record as fields};
use sdk::{Agent, Agents, Bytes, Harness, InvalidAgent, Method, Record, Sink};
use wire::{EventKind, HarnessDescriptor};

use super::actors::{answer, question};
use super::invoking::{agents, descriptor, invoke, invoke_on, number, record, string};

#[test]
fn agents_are_offered_with_their_schemas() {
    let greet = Method::new("m", fields([("name", schema::string())]), async |_| Ok("hi")).returns(schema::string());
    let described = descriptor(greet.described("greets"));
    let HarnessDescriptor { id, version, agent_types, only_invocations, .. } = described;
    assert!(only_invocations, "it fails every other turn");
    let [agent] = agent_types.as_slice() else { panic!("{agent_types:?}") };
    assert_eq!((id.as_str(), version.as_str(), agent.name.as_str()), ("h", "1", "tested"));
    assert_eq!(agent.constructor_schema, r#"{"root":{"kind":"record","value":{"fields":[]}}}"#);
    let [method] = agent.methods.as_slice() else { panic!("{agent:?}") };
    assert_eq!((method.name.as_str(), method.description.as_str()), ("m", "greets"));
    let parameters =
        r#"{"root":{"kind":"record","value":{"fields":[{"body":{"kind":"string","value":{}},"name":"name"}]}}}"#;
    assert_eq!(method.parameters_schema, parameters);
    assert_eq!(method.result_schema, r#"{"root":{"kind":"string","value":{}}}"#);

    let nothing = descriptor(Method::new("m", fields([]), async |_| Ok(())));
    assert_eq!(nothing.agent_types[0].methods[0].result_schema, "");
}

#[test]
fn agents_that_no_host_would_take_are_refused() {
    let method = || Method::new("m", fields([]), async |_| Ok(()));
    let of = |agents: Vec<Agent>| Agents::new("h", "1", agents).map(drop);
    let with = |method| of(vec![Agent::new("a").method(method)]);
    assert_eq!(of(vec![]), Ok(()));
    assert_eq!(with(method()), Ok(()));
    let name = |name: &str| Err(InvalidAgent::Name(name.to_owned()));
    assert_eq!(of(vec![Agent::new("").method(method())]), name(""));
    assert_eq!(of(vec![Agent::new("a").method(method()), Agent::new("a").method(method())]), name("a"));
    assert_eq!(of(vec![Agent::new("a").method(method()).method(method())]), name("m"));
    assert_eq!(of(vec![Agent::new("a")]), Err(InvalidAgent::NoMethods("a".into())));
    let unnamed = Method::new("m", schema::string(), async |_| Ok(()));
    assert_eq!(with(unnamed), Err(InvalidAgent::NoRecord("m".into())));
    let streaming = Agent::new("a").constructor(fields([("s", schema::option(schema::stream(schema::u8())))]));
    assert_eq!(of(vec![streaming.method(method())]), Err(InvalidAgent::Stream("a".into())));
    let dangling = with(Method::new("m", fields([("x", schema::named("nowhere"))]), async |_| Ok(())));
    assert!(matches!(dangling, Err(InvalidAgent::Schema { ref of, .. }) if of == "m"), "{dangling:?}");
}

#[tokio::test]
async fn method_is_given_its_parameters_and_those_of_its_instance() {
    let add =
        Method::new("m", fields([("a", schema::u32()), ("b", schema::option(schema::u32()))]), async |mut call| {
            let a: u32 = call.parameter("a")?;
            let b: Option<u32> = call.parameter("b")?;
            let base: u32 = call.constructor("base")?;
            assert!(call.parameter::<u32>("a").is_err(), "it was taken");
            assert_eq!(call.turn().invocation().map(|invocation| invocation.method.as_str()), Some("m"));
            Ok(Record((base + a, b)))
        });
    let agents = agents(fields([("base", schema::u32())]), add);
    let none = r#"{"kind":"option","value":{"inner":null}}"#;
    let parameters = record(&[&number("u32", "2"), none]);
    let mut host = invoke_on(agents, &record(&[&number("u32", "40")]), &parameters);
    host.expect_return(&record(&[&number("u32", "42"), none])).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn method_without_a_result_returns_nothing() {
    let mut host = invoke(Method::new("m", fields([]), async |_| Ok(())), &record(&[]));
    host.expect_return("").await;
    host.expect_completed().await;
}

#[tokio::test]
async fn parameters_that_do_not_fit_fail_the_invocation() {
    let method = || {
        Method::new("m", fields([("a", schema::u32())]), async |mut call| {
            call.parameter::<String>("a")?;
            Ok(())
        })
    };
    let mut other = invoke(method(), &record(&[&number("u32", "2")]));
    assert!(other.expect_failed().await.contains("u32"));
    let mut ill = invoke(method(), &record(&[&string("two")]));
    ill.expect_failed().await;
    let mut none = invoke(method(), "");
    none.expect_failed().await;
}

#[tokio::test]
async fn unknown_methods_and_plain_turns_fail() {
    let method = Method::new("other", fields([]), async |_| Ok(()));
    assert_eq!(invoke(method, &record(&[])).expect_failed().await, "there is no such agent or method");
    let mut plain = super::actors::Host::running(|turn, sink: &mut Sink| {
        Box::pin(
            async move { agents(fields([]), Method::new("m", fields([]), async |_| Ok(()))).run(turn, sink).await },
        )
    });
    assert_eq!(plain.expect_failed().await, "this harness takes invocations alone");
}

#[tokio::test]
async fn method_asks_for_effects_as_any_turn() {
    let method = Method::new("m", fields([]), async |mut call| {
        let message = call.sink().model(question()).await?;
        Ok(message.text_content())
    });
    let mut host = invoke(method.returns(schema::string()), &record(&[]));
    host.expect(EventKind::EventModelCall).await;
    assert_eq!(host.event().now_or_never(), None);
    host.send(answer("m1"));
    host.expect_return(&string("yes")).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn host_that_answers_what_was_not_asked_fails_the_invocation() {
    let method = Method::new("m", fields([]), async |mut call| {
        drop(call.sink().model(question()).await);
        Ok(())
    });
    let mut host = invoke(method, &record(&[]));
    host.expect(EventKind::EventModelCall).await;
    host.send(answer("m2"));
    host.expect_return("").await;
    assert!(host.expect_failed().await.contains("another call"));
}

#[tokio::test]
async fn values_of_many_types_go_both_ways() {
    type All = (Vec<i64>, Result<(), String>, (bool, char), Bytes, f64);
    let result = schema::result(None, schema::string());
    let pair = schema::tuple([schema::bool(), schema::char()]);
    let parts = [schema::list(schema::s64()), result, pair, schema::list(schema::u8()), schema::f64()];
    let all = schema::tuple(parts);
    let method = Method::new("m", fields([("all", all.clone())]), async |mut call| {
        let all: All = call.parameter("all")?;
        Ok(all)
    });
    let all = concat!(
        r#"{"kind":"tuple","value":{"elements":[{"kind":"list","value":{"elements":[{"kind":"s64","value":"-7"}]}},"#,
        r#"{"kind":"result","value":{"tag":"ok","value":null}},"#,
        r#"{"kind":"tuple","value":{"elements":[{"kind":"bool","value":true},{"kind":"char","value":"λ"}]}},"#,
        r#"{"kind":"list","value":{"elements":[{"kind":"u8","value":1}]}},{"kind":"f64","value":1.5}]}}"#,
    );
    let mut host = invoke(method, &record(&[all]));
    host.expect_return(all).await;
}
