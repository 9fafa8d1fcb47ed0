//! A method of an agent type, in its schemas.

use std::sync::Arc;

use stream_session::graph::Graph;
use stream_session::json::{Json, canonical};
use wire::AgentType;

use super::BadMethod;

/// What can be called. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Method {
    /// Name of the agent type.
    pub agent_type: String,
    /// Name of the method.
    pub name: String,
    /// What an instance is made from: a record.
    pub constructor: Arc<Graph>,
    /// What it takes: a record. Streams in it are inputs.
    pub parameters: Arc<Graph>,
    /// What it returns, if anything. Streams in it are outputs.
    pub result: Option<Arc<Graph>>,
    evidence: String,
}

impl Method {
    /// The method `name` of an agent type, as the host describes it.
    ///
    /// # Errors
    /// [`BadMethod`].
    pub fn of(described: &AgentType, name: &str) -> Result<Self, BadMethod> {
        let Some(method) = described.methods.iter().find(|method| method.name == name) else {
            let known: Vec<_> = described.methods.iter().map(|method| method.name.as_str()).collect();
            let (agent_type, method) = (described.name.clone(), name.to_owned());
            return Err(BadMethod::Unknown { agent_type, method, known: known.join(", ") });
        };
        let schema = |what, text: &str| {
            let read =
                Json::parse(text.as_bytes()).and_then(|json| Ok((Arc::new(Graph::read(&json)?), canonical(&json))));
            read.map_err(|refusal| BadMethod::Schema { what, method: name.to_owned(), refusal })
        };
        let (constructor, constructor_text) = schema("constructor", &described.constructor_schema)?;
        let (parameters, parameters_text) = schema("parameters", &method.parameters_schema)?;
        let result = match method.result_schema.as_str() {
            "" => None,
            text => Some(schema("result", text)?),
        };
        let result_text = result.as_ref().map_or("null", |(_, text)| text);
        let evidence = evidence(&format!("[{parameters_text},{result_text}]"), &constructor_text, name);
        Ok(Self {
            agent_type: described.name.clone(),
            name: name.to_owned(),
            constructor,
            parameters,
            result: result.map(|(graph, _)| graph),
            evidence,
        })
    }

    /// A digest of the schemas, for checkpoints: who resumes must mean the same method.
    #[must_use]
    pub fn evidence(&self) -> &str {
        &self.evidence
    }
}

/// Over the JSON of `[schema graph, constructor, method]` (checkpoint.md section 2).
fn evidence(schema: &str, constructor: &str, method: &str) -> String {
    let method = canonical(&Json::String(method.into()));
    blake3::hash(format!("[{schema},{constructor},{method}]").as_bytes()).to_hex().to_string()
}
