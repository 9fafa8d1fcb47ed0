//! Typed agents: what the harnesses of this host offer to be invoked, in schemas that were checked.

mod catalog;
pub(crate) mod plain;
mod read;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use journal::NewOn;
use stream_session::graph::Graph;
use uuid::Uuid;

pub(crate) use catalog::{AgentCatalog, Found};
pub(crate) use read::{UnusableGraph, graph, has_streams};

/// A method that can be invoked, of the agent type that has it.
#[derive(Clone, Debug)]
pub struct Agent {
    /// The agent type.
    pub agent_type: Arc<AgentType>,
    /// The method.
    pub method: Arc<AgentMethod>,
}

/// An agent type as its harness describes it.
#[derive(Debug)]
pub struct AgentType {
    /// Its name, which no other agent type of this host has.
    pub name: String,
    /// Registry name of the harness that offers it: what instances are created on.
    pub harness: String,
    /// Where that harness is defined.
    pub harness_source: NewOn,
    /// What an instance is made from: a record without streams.
    pub constructor: Schema,
    /// Names the harness: the same on every node.
    pub component: Uuid,
    /// Names the version that the harness gives of itself: the same on every node.
    pub revision: u64,
    methods: Vec<Arc<AgentMethod>>,
}

/// A method of an agent type.
#[derive(Debug)]
pub struct AgentMethod {
    /// Its name, which no other method of the type has.
    pub name: String,
    /// Its parameters: a record. Streams in it are inputs.
    pub parameters: Schema,
    /// What it returns, if anything. Streams in it are outputs.
    pub result: Option<Schema>,
}

/// A well-formed graph.
#[derive(Debug)]
pub struct Schema {
    /// As it is read.
    pub graph: Arc<Graph>,
    /// As canonical JSON.
    pub text: String,
}

impl AgentType {
    /// Its methods, in the order in which the harness lists them.
    #[must_use]
    pub fn methods(&self) -> &[Arc<AgentMethod>] {
        &self.methods
    }

    /// As callers are told of it.
    pub(crate) fn to_wire(&self) -> wire::AgentType {
        wire::AgentType {
            name: self.name.clone(),
            description: String::new(),
            constructor_schema: self.constructor.text.clone(),
            methods: self.methods.iter().map(|method| method.to_wire()).collect(),
        }
    }

    /// The method of this name.
    #[must_use]
    pub fn method(&self, name: &str) -> Option<&Arc<AgentMethod>> {
        self.methods.iter().find(|method| method.name == name)
    }
}

impl AgentMethod {
    fn to_wire(&self) -> wire::AgentMethod {
        wire::AgentMethod {
            name: self.name.clone(),
            description: String::new(),
            parameters_schema: self.parameters.text.clone(),
            result_schema: self.result.as_ref().map(|result| result.text.clone()).unwrap_or_default(),
        }
    }
}
