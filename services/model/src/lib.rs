//! Model providers: an OpenAI-compatible client, and the built-in echo model where no provider is configured.
//!
//! A provider turns a [`wire::ModelCall`] into one complete message, relaying text as it arrives. Every wait has a bound,
//! a request is sent again only while nothing of an answer has arrived, and the key never leaves the request header.
//! Nothing here is recorded: the journal belongs to the caller.

mod config;
mod echo;
mod key;
mod openai;

use std::sync::Arc;

use controller::ports::ModelProvider;
use env::Env;

pub use config::{InvalidModelConfig, ModelConfig, Problem};
pub use echo::Echo;
pub use key::{ApiKey, InvalidApiKey};
pub use openai::OpenAi;

/// The model that is always there, and the name under which harnesses ask for whatever is configured.
pub const ECHO: &str = "echo";

/// The provider that answers a node's model requests: the configured one for every request, also for one of model
/// [`ECHO`]; without a configured model the built-in echo model.
///
/// # Errors
/// What is wrong with `config`.
pub fn provider(
    config: &ModelConfig,
    key: Option<ApiKey>,
    env: Env,
) -> Result<Arc<dyn ModelProvider>, InvalidModelConfig> {
    if config.is_enabled() { Ok(Arc::new(OpenAi::new(config, key, env)?)) } else { Ok(Arc::new(Echo)) }
}
