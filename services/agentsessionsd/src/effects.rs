//! What performs the effects of a node's turns.

use std::sync::Arc;

use controller::ports::{ModelProvider, ToolExecutor};
use env::Env;
use model::ApiKey;

use crate::StartError;
use crate::config::Config;

/// What performs the effects of a node's turns. [`crate::Node::start`] takes what the configuration says.
pub struct Effects {
    /// Answers model requests.
    pub models: Arc<dyn ModelProvider>,
    /// Runs tool calls.
    pub tools: Option<Arc<dyn ToolExecutor>>,
}

impl Effects {
    /// What `config` says, with credentials from the environment.
    ///
    /// # Errors
    /// What is wrong with model, key or tools.
    pub fn configured(config: &Config, env: &Env) -> Result<Self, StartError> {
        let models = model::provider(&config.model.provider(), ApiKey::from_environment()?, env.clone())?;
        let tools = tools::executor(&config.executors(), &|name| std::env::var_os(name), env)?;
        Ok(Self { models, tools })
    }
}
