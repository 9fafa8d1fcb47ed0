//! Agent types as harnesses describe them, read and checked.

use std::collections::HashSet;
use std::sync::Arc;

use stream_session::Refusal;
use stream_session::graph::{Graph, IllFormed, Shape, Type};
use stream_session::json;
use thiserror::Error;

use super::{AgentMethod, AgentType, Schema};

/// Why an agent type is left out. For the author of the harness: the texts name what to change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
pub(super) enum IllDescribed {
    #[error("an agent type has no name")]
    Nameless,
    #[error("it has no methods")]
    NoMethods,
    #[error("a method has no name")]
    NamelessMethod,
    #[error("method {0:?} is there twice")]
    MethodTwice(String),
    #[error("schema of {of}: {problem}")]
    Schema { of: String, problem: String },
    #[error("schema of {0} is no record")]
    NoRecord(String),
    #[error("schema of {0} has a stream in it")]
    Stream(String),
}

/// What is known of an agent type before its schemas are read.
pub(super) struct Origin<'a> {
    pub(super) harness: &'a str,
    pub(super) source: journal::NewOn,
    pub(super) component: uuid::Uuid,
    pub(super) revision: u64,
}

/// Reads an agent type of a harness.
pub(super) fn agent_type(origin: &Origin<'_>, described: &wire::AgentType) -> Result<AgentType, IllDescribed> {
    if described.name.is_empty() {
        return Err(IllDescribed::Nameless);
    }
    let constructor = record("the constructor", &described.constructor_schema)?;
    if has_streams(&constructor.graph, constructor.graph.root()) {
        return Err(IllDescribed::Stream("the constructor".to_owned()));
    }
    Ok(AgentType {
        name: described.name.clone(),
        harness: origin.harness.to_owned(),
        harness_source: origin.source,
        constructor,
        component: origin.component,
        revision: origin.revision,
        methods: methods(&described.methods)?,
    })
}

/// Reads a graph, which must be one that an agent may announce.
pub(crate) fn graph(text: &str) -> Result<Arc<Graph>, UnusableGraph> {
    let graph = Graph::shared(text)?;
    graph.check()?;
    Ok(graph)
}

/// A text is no graph, or one that no agent may announce.
#[derive(Debug, Error)]
pub(crate) enum UnusableGraph {
    #[error(transparent)]
    Unreadable(#[from] Refusal),
    #[error(transparent)]
    IllFormed(#[from] IllFormed),
}

fn methods(described: &[wire::AgentMethod]) -> Result<Vec<Arc<AgentMethod>>, IllDescribed> {
    let mut names = HashSet::new();
    if described.is_empty() {
        return Err(IllDescribed::NoMethods);
    }
    let read = |method: &wire::AgentMethod| {
        let name = method.name.clone();
        if name.is_empty() {
            return Err(IllDescribed::NamelessMethod);
        }
        if !names.insert(name.clone()) {
            return Err(IllDescribed::MethodTwice(name));
        }
        let parameters = record(&format!("the parameters of {name:?}"), &method.parameters_schema)?;
        let of = format!("the result of {name:?}");
        let result = Some(method.result_schema.as_str()).filter(|text| !text.is_empty());
        let result = result.map(|text| schema(&of, text)).transpose()?;
        Ok(Arc::new(AgentMethod { name, parameters, result }))
    };
    described.iter().map(read).collect()
}

fn record(of: &str, text: &str) -> Result<Schema, IllDescribed> {
    let schema = schema(of, text)?;
    let root = schema.graph.resolve(schema.graph.root());
    let is_record = root.is_some_and(|root| matches!(root.shape, Shape::Record(_)));
    if is_record { Ok(schema) } else { Err(IllDescribed::NoRecord(of.to_owned())) }
}

fn schema(of: &str, text: &str) -> Result<Schema, IllDescribed> {
    let problem = |problem: UnusableGraph| IllDescribed::Schema { of: of.to_owned(), problem: problem.to_string() };
    let graph = graph(text).map_err(problem)?;
    let text = json::canonical(&graph.to_json());
    Ok(Schema { graph, text })
}

/// Whether a value of a type of the graph can hold a stream.
pub(crate) fn has_streams(graph: &Graph, of: &Type) -> bool {
    let mut seen = HashSet::new();
    let mut waiting = vec![of];
    while let Some(of) = waiting.pop() {
        match &of.shape {
            Shape::Stream(_) => return true,
            Shape::Ref(id) if seen.insert(id) => waiting.extend(graph.def(id).map(|def| &def.body)),
            shape => waiting.extend(shape.parts()),
        }
    }
    false
}
