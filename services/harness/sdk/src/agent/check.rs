//! Which agents no host would take.

use std::collections::HashSet;

use stream_session::graph::{Graph, IllFormed, Shape, Type};
use thiserror::Error;

use super::{Agent, Agents, Method};

/// Why an agent cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InvalidAgent {
    /// An agent or a method without a name, or two with one.
    #[error("an agent or a method has no name, or shares it: {0:?}")]
    Name(String),
    /// An agent without methods.
    #[error("agent {0} has no methods")]
    NoMethods(String),
    /// Parameters have names.
    #[error("the parameters of {0} are no record")]
    NoRecord(String),
    /// What an instance is made from is known as a whole.
    #[error("an instance of {0} cannot be made from a stream")]
    Stream(String),
    /// A schema that is none.
    #[error("a schema of {of} is ill-formed")]
    Schema {
        /// An agent or a method.
        of: String,
        /// What is wrong with it.
        source: IllFormed,
    },
}

impl Agents {
    pub(super) fn check(&self) -> Result<(), InvalidAgent> {
        distinct(self.agents.iter().map(|agent| &agent.name))?;
        self.agents.iter().try_for_each(Agent::check)
    }
}

impl Agent {
    fn check(&self) -> Result<(), InvalidAgent> {
        well_formed(&self.name, &self.constructor)?;
        record(&self.name, &self.constructor)?;
        if types(&self.constructor).any(holds_stream) {
            return Err(InvalidAgent::Stream(self.name.clone()));
        }
        if self.methods.is_empty() {
            return Err(InvalidAgent::NoMethods(self.name.clone()));
        }
        distinct(self.methods.iter().map(|method| &method.name))?;
        self.methods.iter().try_for_each(Method::check)
    }
}

impl Method {
    fn check(&self) -> Result<(), InvalidAgent> {
        well_formed(&self.name, &self.parameters)?;
        self.result.as_ref().map_or(Ok(()), |result| well_formed(&self.name, &result.0))?;
        record(&self.name, &self.parameters)
    }
}

fn distinct<'n>(names: impl IntoIterator<Item = &'n String>) -> Result<(), InvalidAgent> {
    let mut seen = HashSet::new();
    let bad = names.into_iter().find(|&name| name.is_empty() || !seen.insert(name));
    bad.map_or(Ok(()), |name| Err(InvalidAgent::Name(name.clone())))
}

fn well_formed(of: &str, graph: &Graph) -> Result<(), InvalidAgent> {
    graph.check().map_err(|source| InvalidAgent::Schema { of: of.to_owned(), source })
}

fn record(of: &str, graph: &Graph) -> Result<(), InvalidAgent> {
    match graph.resolve(graph.root()).map(|root| &root.shape) {
        Some(Shape::Record(_)) => Ok(()),
        _ => Err(InvalidAgent::NoRecord(of.to_owned())),
    }
}

fn types(graph: &Graph) -> impl Iterator<Item = &Type> {
    graph.defs().iter().map(|def| &def.body).chain([graph.root()])
}

fn holds_stream(of: &Type) -> bool {
    matches!(of.shape, Shape::Stream(_)) || of.shape.parts().any(holds_stream)
}
