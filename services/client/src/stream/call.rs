//! What is invoked, and the message that says so.

use std::sync::Arc;

use stream_session::client::Start;
use stream_session::graph::Graph;
use stream_session::json::{Json, Writer};
use stream_session::message::{self, ClientMessage, ConfigEntry, Node, Selector};
use stream_session::server::Element;
use stream_session::value::{StreamPolicy, StreamRef, Value};
use stream_session::{Refusal, limits};
use uuid::Uuid;

use super::Method;

/// An invocation that is to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// The application.
    pub application: String,
    /// The environment.
    pub environment: String,
    /// The method.
    pub method: Method,
    /// Which agent of the type: a record.
    pub constructor_parameters: Value,
    /// Which one of several such agents.
    pub phantom: Option<Uuid>,
    /// The arguments: a record. A stream in it is named by a fresh UUIDv4, and is an input of the session.
    pub method_parameters: Value,
    /// Settings for the agent: path, and JSON text.
    pub configuration: Vec<(Vec<String>, String)>,
    /// Names the invocation for its agent, so that it is made once.
    pub idempotency_key: String,
}

/// The inputs that a value introduces, in document order.
pub(super) type Inputs = Vec<(Uuid, Element)>;

impl Call {
    /// The selector, as canonical JSON.
    #[must_use]
    pub fn selector(&self) -> String {
        let mut to = Writer::default();
        to.open('{');
        to.text_member("agentType", &self.method.agent_type);
        to.text_member("application", &self.application);
        to.name("constructorParameters");
        self.constructor_parameters.write(&mut to);
        to.text_member("environment", &self.environment);
        to.text_member("method", &self.method.name);
        if let Some(phantom) = self.phantom {
            to.text_member("phantomId", &phantom.to_string());
        }
        to.close('}');
        to.finish()
    }

    /// The first message, held against the same rules as the server's (K14).
    pub(super) fn start(&self, attempt: Uuid) -> Result<Start, Refusal> {
        let inputs = self.check()?;
        let text = self.encode(attempt)?;
        ClientMessage::decode(text.as_bytes()).map_err(|undecodable| undecodable.refusal)?;
        Ok(Start { attempt, idempotency_key: self.idempotency_key.clone(), text, inputs, in_doubt: false })
    }

    /// The inputs of the call, if its values are of their types.
    pub(super) fn check(&self) -> Result<Inputs, Refusal> {
        let Method { constructor, parameters, .. } = &self.method;
        let constructed = check(constructor, &self.constructor_parameters, StreamPolicy::None);
        constructed.map_err(|refusal| refusal.at("constructor"))?;
        check(parameters, &self.method_parameters, StreamPolicy::Provisional)
    }

    fn encode(&self, attempt: Uuid) -> Result<String, Refusal> {
        let config = self
            .configuration
            .iter()
            .map(|(path, value)| Ok(ConfigEntry { path: path.clone(), value: Json::parse(value.as_bytes())? }));
        let start = message::Start {
            attempt,
            selector: Selector {
                application: self.application.clone(),
                environment: self.environment.clone(),
                agent_type: self.method.agent_type.clone(),
                method: self.method.name.clone(),
                constructor_parameters: Node::Value(&self.constructor_parameters),
                phantom: self.phantom,
            },
            config: config.collect::<Result<_, Refusal>>()?,
            idempotency_key: self.idempotency_key.clone(),
            method_parameters: Node::Value(&self.method_parameters),
        };
        let text = ClientMessage::Start(start).encode();
        match text.len() <= limits::MESSAGE_BYTES {
            true => Ok(text),
            false => Err(Refusal::exhausted("the call is too large for a message")),
        }
    }
}

fn check(graph: &Arc<Graph>, value: &Value, policy: StreamPolicy) -> Result<Inputs, Refusal> {
    let text = value.canonical();
    let node = Json::parse(text.as_bytes())?;
    inputs(graph, &node, policy)
}

/// Reads a value for the inputs that it introduces.
pub(super) fn inputs(graph: &Arc<Graph>, node: &Json<'_>, policy: StreamPolicy) -> Result<Inputs, Refusal> {
    let decoded = Value::read(graph, graph.root(), policy, node)?;
    let inputs = decoded.streams.into_iter().filter_map(|(stream, of)| match stream {
        StreamRef::Provisional(reference) => Some((reference, Element::new(Arc::clone(graph), of.clone()))),
        StreamRef::Stable(_) => None,
    });
    Ok(inputs.collect())
}
