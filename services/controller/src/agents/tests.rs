//! What becomes of what harnesses say of themselves.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use wire::{HarnessDescriptor, Resumability};

use super::*;
use crate::ports::{
    DescribeError, HarnessChannel, HarnessConnection, HarnessDirectory, HarnessFailure, HarnessPlacement,
    HarnessSource, HarnessUnavailable, ServedHarness, TurnStart,
};

const RECORD: &str = r#"{"root":{"kind":"record","value":{"fields":[]}}}"#;
const STRING: &str = r#"{"root":{"kind":"string","value":{}}}"#;

fn method(name: &str) -> wire::AgentMethod {
    let parameters_schema = RECORD.to_owned();
    wire::AgentMethod { name: name.into(), parameters_schema, ..wire::AgentMethod::default() }
}

fn agent_type(name: &str) -> wire::AgentType {
    let constructor_schema = RECORD.to_owned();
    wire::AgentType { name: name.into(), constructor_schema, methods: vec![method("run")], ..Default::default() }
}

/// Harnesses that describe themselves so, in this order.
#[derive(Clone, Default)]
struct Harnesses {
    described: Vec<(&'static str, HarnessDescriptor)>,
    unreachable: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl Harnesses {
    fn of(described: &[(&'static str, &[wire::AgentType])]) -> Self {
        let descriptor = |types: &[wire::AgentType]| HarnessDescriptor {
            version: "1".into(),
            agent_types: types.to_vec(),
            ..HarnessDescriptor::default()
        };
        let described = described.iter().map(|(name, types)| (*name, descriptor(types))).collect();
        Self { described, ..Self::default() }
    }

    async fn catalog(&self) -> AgentCatalog {
        let catalog = AgentCatalog::default();
        catalog.refresh(self).await;
        catalog
    }
}

impl HarnessDirectory for Harnesses {
    fn default_name(&self) -> &str {
        ""
    }

    fn find(&self, name: &str) -> Option<ServedHarness> {
        let (_, descriptor) = self.described.iter().find(|(found, _)| *found == name)?;
        Some(ServedHarness {
            source: HarnessSource::Static,
            descriptor_id: String::new(),
            resumability: Resumability::StatelessReplay,
            runtime: Arc::new(Placed { of: self.clone(), descriptor: descriptor.clone() }),
        })
    }

    fn names(&self) -> Vec<String> {
        self.described.iter().map(|(name, _)| (*name).to_owned()).collect()
    }
}

#[derive(Clone)]
struct Placed {
    of: Harnesses,
    descriptor: HarnessDescriptor,
}

#[async_trait]
impl HarnessPlacement for Placed {
    async fn acquire(&self) -> Result<Box<dyn HarnessChannel>, HarnessUnavailable> {
        self.of.asked.fetch_add(1, Ordering::Relaxed);
        match self.of.unreachable.load(Ordering::Relaxed) {
            true => Err(HarnessUnavailable("it is gone".into())),
            false => Ok(Box::new(self.clone())),
        }
    }
}

#[async_trait]
impl HarnessChannel for Placed {
    async fn describe(&mut self) -> Result<HarnessDescriptor, DescribeError> {
        Ok(self.descriptor.clone())
    }

    async fn connect(self: Box<Self>, _: TurnStart) -> Result<Box<dyn HarnessConnection>, HarnessFailure> {
        Err(HarnessFailure::new("it takes no turns"))
    }
}

fn found(catalog: &AgentCatalog, agent_type: &str, method: &str) -> Option<Agent> {
    match catalog.find(agent_type, method) {
        Found::Fresh(agent) | Found::Old(agent) => Some(agent),
        Found::Missing => None,
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_harness_that_offers_a_name_has_it() {
    let harnesses = Harnesses::of(&[("a", &[agent_type("x")]), ("b", &[agent_type("x"), agent_type("y")])]);
    let catalog = harnesses.catalog().await;
    let harness_of = |name| found(&catalog, name, "run").map(|agent| agent.agent_type.harness.clone());
    assert_eq!((harness_of("x"), harness_of("y")), (Some("a".into()), Some("b".into())));
    assert!(found(&catalog, "x", "walk").is_none() && found(&catalog, "z", "run").is_none());
}

#[tokio::test(start_paused = true)]
async fn an_agent_type_is_described_in_canonical_schemas() {
    let spaced = wire::AgentType { constructor_schema: RECORD.replace(':', " : "), ..agent_type("a") };
    let catalog = Harnesses::of(&[("one", &[spaced])]).catalog().await;
    let Found::Fresh(found) = catalog.find_type("a") else { panic!("it is offered") };
    assert_eq!(found.to_wire(), agent_type("a"));
    assert!(matches!(catalog.find_type("b"), Found::Missing));
}

#[tokio::test(start_paused = true)]
async fn a_harness_without_agent_types_is_one_itself() {
    let catalog = Harnesses::of(&[("echo", &[])]).catalog().await;
    let agent = found(&catalog, "echo", "turn").expect("the default method");
    let Schema { graph, .. } = agent.method.result.as_ref().expect("it streams what it says");
    assert_eq!(graph.root().shape.kind(), "stream");
    assert_eq!(agent.method.parameters.graph.root().shape.kind(), "record");
}

#[tokio::test(start_paused = true)]
async fn an_ill_formed_agent_type_is_left_out_and_the_others_are_not() {
    let with = |change: &dyn Fn(&mut wire::AgentType)| {
        let mut changed = agent_type("bad");
        change(&mut changed);
        changed
    };
    let stream = r#"{"root":{"kind":"record","value":{"fields":[{"name":"s","body":{"kind":"ref","value":{"id":"s"}}}]}},"defs":[{"id":"s","body":{"kind":"stream","value":{"inner":{"kind":"bool","value":{}}}}}]}"#;
    let nowhere = r#"{"root":{"kind":"ref","value":{"id":"nowhere"}}}"#;
    let bad = [
        with(&|of| of.name.clear()),
        with(&|of| of.methods.clear()),
        with(&|of| of.methods.push(method("run"))),
        with(&|of| of.methods[0].name.clear()),
        with(&|of| of.constructor_schema = STRING.into()),
        with(&|of| of.constructor_schema = stream.into()),
        with(&|of| of.methods[0].parameters_schema = STRING.into()),
        with(&|of| of.methods[0].parameters_schema.clear()),
        with(&|of| of.methods[0].result_schema = "not json".into()),
        with(&|of| of.methods[0].result_schema = nowhere.into()),
    ];
    for bad in bad {
        let catalog = Harnesses::of(&[("a", &[bad.clone(), agent_type("good")])]).catalog().await;
        assert!(found(&catalog, &bad.name, "run").is_none(), "{bad:?}");
        assert!(found(&catalog, "good", "run").is_some(), "{bad:?}");
    }
    let parameters = with(&|of| of.methods[0].parameters_schema = stream.into());
    assert!(found(&Harnesses::of(&[("a", &[parameters])]).catalog().await, "bad", "run").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_harness_that_does_not_answer_offers_what_it_did() {
    let harnesses = Harnesses::of(&[("a", &[agent_type("x")])]);
    let catalog = harnesses.catalog().await;
    harnesses.unreachable.store(true, Ordering::Relaxed);
    tokio::time::advance(std::time::Duration::from_secs(6)).await;
    assert!(matches!(catalog.find("x", "run"), Found::Old(_)));
    catalog.refresh(&harnesses).await;
    assert!(matches!(catalog.find("x", "run"), Found::Fresh(_)));
}

#[tokio::test(start_paused = true)]
async fn harnesses_are_not_asked_more_than_once_a_second() {
    let harnesses = Harnesses::of(&[("a", &[agent_type("x")])]);
    let catalog = harnesses.catalog().await;
    for _ in 0..3 {
        catalog.refresh(&harnesses).await;
    }
    assert_eq!(harnesses.asked.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn component_and_revision_follow_from_the_harness_and_its_version_alone() {
    let agent = |name, types: &[wire::AgentType], version: &str| {
        let mut harnesses = Harnesses::of(&[(name, types)]);
        harnesses.described[0].1.version = version.into();
        async move { found(&harnesses.catalog().await, "x", "run").expect("it is offered") }
    };
    let bindings = |agent: Agent| (agent.agent_type.component, agent.agent_type.revision);
    let (component, revision) = bindings(agent("a", &[agent_type("x")], "1").await);
    let again = bindings(agent("a", &[agent_type("w"), agent_type("x")], "1").await);
    assert_eq!(again, (component, revision));
    assert_ne!(bindings(agent("a", &[agent_type("x")], "2").await).1, revision);
    assert_ne!(bindings(agent("b", &[agent_type("x")], "1").await).0, component);
}
