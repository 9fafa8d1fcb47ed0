//! What a method is given.

use std::future::Future;
use std::sync::Arc;

use stream_session::graph::{Graph, Shape};
use stream_session::value::{StreamPolicy, Value};
use wire::Invocation;

use super::{Agent, Method};
use crate::data::{Decode, Encode, Mismatch, Scope};
use crate::{Cancelled, Outlet, Output, Sink, Streams, Turn};

/// One invocation of a method: its parameters, its streams, and the way to models and tools.
pub struct Call {
    turn: Turn,
    sink: Sink,
    streams: Streams,
    constructor: Fields,
    parameters: Fields,
}

/// The fields of a record that nobody took yet.
struct Fields {
    fields: Vec<(String, Option<Value>)>,
    scope: Scope,
}

impl Call {
    pub(super) fn open(agent: &Agent, method: &Method, turn: Turn, sink: Sink) -> Result<Self, Mismatch> {
        let streams = sink.streams().clone();
        let Invocation { constructor_parameters, method_parameters, .. } =
            turn.invocation().cloned().unwrap_or_default();
        let constructor = Fields::read(&streams, &agent.constructor, StreamPolicy::None, &constructor_parameters)?;
        let parameters = Fields::read(&streams, &method.parameters, StreamPolicy::Stable, &method_parameters)?;
        Ok(Self { turn, sink, streams, constructor, parameters })
    }

    /// Takes a parameter of the method.
    ///
    /// # Errors
    /// It has no such parameter, or one of another type, or it was taken before.
    pub fn parameter<T: Decode>(&mut self, name: &str) -> Result<T, Mismatch> {
        self.parameters.take(name)
    }

    /// Takes a parameter that the instance was made from.
    ///
    /// # Errors
    /// It has no such parameter, or one of another type, or it was taken before.
    pub fn constructor<T: Decode>(&mut self, name: &str) -> Result<T, Mismatch> {
        self.constructor.take(name)
    }

    /// What is invoked, by whom, with what settings.
    #[must_use]
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Where to ask for models and tools.
    pub fn sink(&mut self) -> &mut Sink {
        &mut self.sink
    }

    /// The streams of the invocation, for work that makes outputs of its own.
    #[must_use]
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// [`Streams::output`].
    pub fn output<T: Encode>(&self) -> (Outlet<T>, Output<T>) {
        self.streams.output()
    }

    /// [`Streams::beside`].
    pub fn beside(&self, work: impl Future<Output = Result<(), Cancelled>> + Send + 'static) {
        self.streams.beside(work);
    }
}

impl Fields {
    fn read(streams: &Streams, graph: &Arc<Graph>, policy: StreamPolicy, text: &str) -> Result<Self, Mismatch> {
        let (value, scope) = Scope::read(streams, graph, graph.root(), policy, text)?;
        let names = match graph.resolve(graph.root()).map(|root| &root.shape) {
            Some(Shape::Record(fields)) => fields.iter().map(|field| field.name.clone()),
            _ => return Err(Mismatch::new("parameters are no record")),
        };
        let Value::Record(values) = value else { return Err(Mismatch::new("parameters are no record")) };
        Ok(Self { fields: names.zip(values.into_iter().map(Some)).collect(), scope })
    }

    fn take<T: Decode>(&mut self, name: &str) -> Result<T, Mismatch> {
        let field = self.fields.iter_mut().find(|(found, _)| found == name).and_then(|(_, value)| value.take());
        let value = field.ok_or_else(|| Mismatch::new(format!("there is no parameter {name}, or it was taken")))?;
        T::from_value(value, &self.scope)
    }
}
