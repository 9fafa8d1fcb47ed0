//! Who completes model requests.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::{Period, Retries};

/// An OpenAI-compatible model provider. The key is taken from MODEL_API_KEY, else from OPENAI_API_KEY.
#[derive(Clone, Debug, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Model (key: MODEL_API_KEY, else OPENAI_API_KEY)")]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The provider's model id. Enables the chat harness, harnesses outside this process and real model calls; without
    /// it the built-in echo model answers
    #[arg(id = "model.name", long = "model", value_name = "ID")]
    pub name: String,

    /// Base URL of the provider
    #[arg(id = "model.base_url", long = "model-base-url", value_name = "URL")]
    pub base_url: String,

    /// Path of chat completions, appended to the base URL
    #[arg(id = "model.path", long = "model-path", value_name = "PATH")]
    pub path: String,

    /// Header that carries the key: as `Bearer KEY` in Authorization, bare in any other
    #[arg(id = "model.auth_header", long = "model-auth-header", value_name = "NAME")]
    pub auth_header: String,

    /// Longest time from a model request to its complete answer
    #[arg(id = "model.timeout", long = "model-timeout", value_name = "TIME")]
    pub timeout: Period,

    /// Longest wait for a connection to the provider, name resolution and TLS included
    #[arg(id = "model.connect_timeout", long = "model-connect-timeout", value_name = "TIME")]
    pub connect_timeout: Period,

    /// Longest silence of the provider, before its answer and within it; as long as the whole answer may take, if not
    /// given, because some models think in silence
    #[arg(id = "model.idle_timeout", long = "model-idle-timeout", value_name = "TIME")]
    pub idle_timeout: Option<Period>,

    /// How often a model request is sent again while nothing of an answer has arrived; 0: never
    #[arg(id = "model.retries", long = "model-retries", value_name = "N")]
    pub retries: Retries,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            base_url: "https://api.openai.com/v1".to_owned(),
            path: "/chat/completions".to_owned(),
            auth_header: "Authorization".to_owned(),
            timeout: Period::seconds(120),
            connect_timeout: Period::seconds(10),
            idle_timeout: None,
            retries: Retries::new(2),
        }
    }
}

impl ModelConfig {
    /// The same with a name, so that the rest is looked at whether there is a model or not.
    pub(super) fn named(&self) -> ::model::ModelConfig {
        let name = if self.name.is_empty() { "unnamed" } else { &self.name };
        ::model::ModelConfig { model: name.to_owned(), ..self.provider() }
    }

    /// What the provider needs.
    pub(crate) fn provider(&self) -> ::model::ModelConfig {
        ::model::ModelConfig {
            model: self.name.clone(),
            base_url: self.base_url.clone(),
            path: self.path.clone(),
            auth_header: self.auth_header.clone(),
            timeout: self.timeout.get(),
            connect_timeout: self.connect_timeout.get(),
            idle_timeout: self.idle_timeout.unwrap_or(self.timeout).get(),
            retries: self.retries.get(),
            ..::model::ModelConfig::default()
        }
    }
}
