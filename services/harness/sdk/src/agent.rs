//! Agents: methods with schemas, which can be invoked.

mod call;
mod check;
mod invoke;

use std::future::Future;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use stream_session::graph::Graph;
use stream_session::json;
use stream_session::value::Value;
use wire::{AgentMethod, AgentType, Capabilities, HarnessDescriptor, Invocation, Resumability};

pub use call::Call;
pub use check::InvalidAgent;

use crate::data::Encode;
use crate::schema::Schema;
use crate::{Failure, Harness, Sink, Turn, async_trait};

/// A harness of typed agents. A harness that takes plain turns too can hold one: it gives it the turns that have an
/// [invocation](Turn::invocation), and its [agent types](Agents::types) stand in the descriptor.
pub struct Agents {
    id: String,
    version: String,
    agents: Vec<Agent>,
}

/// An agent: what instances of it are made from, and what can be invoked on them.
pub struct Agent {
    name: String,
    description: String,
    constructor: Arc<Graph>,
    methods: Vec<Method>,
}

/// Something that can be invoked on an agent: an asynchronous function over a [`Call`].
pub struct Method {
    name: String,
    description: String,
    parameters: Arc<Graph>,
    result: Option<Schema>,
    act: Act,
}

type Act = Box<dyn Fn(Call) -> BoxFuture<'static, Result<Option<Value>, Failure>> + Send + Sync>;

impl Agents {
    /// A harness of these agents. Change `version` whenever a recorded invocation would no longer replay.
    ///
    /// # Errors
    /// [`InvalidAgent`]: what no host would take.
    pub fn new(
        id: impl Into<String>,
        version: impl Into<String>,
        agents: impl IntoIterator<Item = Agent>,
    ) -> Result<Self, InvalidAgent> {
        let agents = Self { id: id.into(), version: version.into(), agents: agents.into_iter().collect() };
        agents.check().map(|()| agents)
    }

    /// As they stand in the descriptor of a harness.
    #[must_use]
    pub fn types(&self) -> Vec<AgentType> {
        self.agents.iter().map(Agent::describe).collect()
    }

    fn find(&self, invocation: &Invocation) -> Option<(&Agent, &Method)> {
        let agent = self.agents.iter().find(|agent| agent.name == invocation.agent_type)?;
        let method = agent.methods.iter().find(|method| method.name == invocation.method)?;
        Some((agent, method))
    }
}

#[async_trait]
impl Harness for Agents {
    fn describe(&self) -> HarnessDescriptor {
        let resumability = Resumability::StatelessReplay.into();
        HarnessDescriptor {
            id: self.id.clone(),
            version: self.version.clone(),
            capabilities: Some(Capabilities { resumability, ..Capabilities::default() }),
            agent_types: self.types(),
            only_invocations: true,
            ..HarnessDescriptor::default()
        }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let invocation = turn.invocation().ok_or_else(|| Failure::new("this harness takes invocations alone"))?;
        let (agent, method) = self.find(invocation).ok_or_else(|| Failure::new("there is no such agent or method"))?;
        let call = Call::open(agent, method, turn, sink.hand_over())?;
        let streams = call.streams().clone();
        invoke::invoke(streams, (method.act)(call)).await
    }
}

impl Agent {
    /// An agent without methods, whose instances are made from nothing.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let nothing = Schema::from(crate::schema::record([]));
        Self { name: name.into(), description: String::new(), constructor: Arc::new(nothing.0), methods: Vec::new() }
    }

    /// With this said about it for people.
    #[must_use]
    pub fn described(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// With instances that are made from such a record.
    #[must_use]
    pub fn constructor(self, parameters: impl Into<Schema>) -> Self {
        Self { constructor: Arc::new(parameters.into().0), ..self }
    }

    /// With this method, too.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.methods.push(method);
        self
    }

    fn describe(&self) -> AgentType {
        AgentType {
            name: self.name.clone(),
            description: self.description.clone(),
            constructor_schema: text(&self.constructor),
            methods: self.methods.iter().map(Method::describe).collect(),
        }
    }
}

impl Method {
    /// A method that takes such a record, and does what `act` does.
    #[must_use]
    pub fn new<F, R>(
        name: impl Into<String>,
        parameters: impl Into<Schema>,
        act: impl Fn(Call) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<R, Failure>> + Send + 'static,
        R: Encode,
    {
        Self {
            name: name.into(),
            description: String::new(),
            parameters: Arc::new(parameters.into().0),
            result: None,
            act: Box::new(move |call| {
                let acting = act(call);
                async move { Ok(acting.await?.into_arm()) }.boxed()
            }),
        }
    }

    /// With such a result. Without it the method returns `()`.
    #[must_use]
    pub fn returns(self, result: impl Into<Schema>) -> Self {
        Self { result: Some(result.into()), ..self }
    }

    /// With this said about it for people.
    #[must_use]
    pub fn described(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }

    fn describe(&self) -> AgentMethod {
        AgentMethod {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters_schema: text(&self.parameters),
            result_schema: self.result.as_ref().map(|result| text(&result.0)).unwrap_or_default(),
        }
    }
}

fn text(graph: &Graph) -> String {
    json::canonical(&graph.to_json())
}
