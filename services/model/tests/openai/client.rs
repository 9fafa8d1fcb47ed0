//! The side of the caller.

use std::time::Duration;

use async_trait::async_trait;
use controller::ports::{Completion, DeltaSink, ModelProvider};
use env::Env;
use model::{ApiKey, ModelConfig, OpenAi};
use tokio::time::timeout;
use wire::{Message, ModelCall};

/// Nothing in these tests takes so long.
const FOREVER: Duration = Duration::from_secs(30);

/// What came of a request.
#[derive(Debug)]
pub struct Outcome {
    pub deltas: Vec<String>,
    pub result: Result<Completion, String>,
}

impl Outcome {
    pub fn completion(&self) -> &Completion {
        self.result.as_ref().unwrap()
    }

    pub fn error(&self) -> &str {
        self.result.as_ref().unwrap_err()
    }
}

/// Keeps what it is given.
#[derive(Default)]
pub struct Deltas(pub Vec<String>);

#[async_trait]
impl DeltaSink for Deltas {
    async fn text(&mut self, chunk: String) {
        self.0.push(chunk);
    }
}

/// Retries come at once.
pub fn impatient(config: ModelConfig) -> ModelConfig {
    ModelConfig { retry_backoff: Duration::from_millis(1), ..config }
}

pub fn key(text: &str) -> ApiKey {
    ApiKey::from_variables(|_| Ok(text.to_owned())).unwrap().unwrap()
}

pub fn provider(config: &ModelConfig, key: Option<ApiKey>) -> OpenAi {
    OpenAi::new(config, key, Env::system()).unwrap()
}

pub fn hello() -> ModelCall {
    ModelCall { messages: vec![Message::text("user", "hello")], ..ModelCall::default() }
}

pub async fn complete(provider: &OpenAi, call: &ModelCall) -> Outcome {
    let mut deltas = Deltas::default();
    let result = timeout(FOREVER, provider.complete(call, &mut deltas)).await.expect("the call has an end");
    Outcome { deltas: deltas.0, result: result.map_err(|error| error.to_string()) }
}

/// One plain request to a provider of this configuration.
pub async fn ask(config: &ModelConfig) -> Outcome {
    complete(&provider(config, None), &hello()).await
}
