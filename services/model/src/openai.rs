//! The client of an OpenAI-compatible chat completions service (registry.md §7.3).

mod answer;
mod chunk;
mod draft;
mod error;
mod request;
mod retry;
mod sse;
mod transport;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use controller::ports::{Completion, DeltaSink, ModelError, ModelProvider};
use env::Env;
use tokio::time::{Instant, sleep, timeout_at};
use wire::ModelCall;

use self::answer::Answer;
use self::error::CallError;
use self::retry::RetryPolicy;
use self::transport::Transport;
use crate::{ApiKey, ECHO, InvalidModelConfig, ModelConfig};

/// Completes model requests at a provider that speaks chat completions, streaming where the provider does.
pub struct OpenAi {
    model: String,
    timeout: Duration,
    transport: Transport,
    retry: RetryPolicy,
    key: Option<ApiKey>,
    env: Env,
}

impl OpenAi {
    /// A client of the provider that `config` names.
    ///
    /// # Errors
    /// What is wrong with `config`.
    pub fn new(config: &ModelConfig, key: Option<ApiKey>, env: Env) -> Result<Self, InvalidModelConfig> {
        Ok(Self {
            model: config.model.clone(),
            timeout: config.timeout,
            transport: Transport::new(config, key.as_ref())?,
            retry: RetryPolicy::new(config),
            key,
            env,
        })
    }

    /// The model that the provider is asked for.
    fn resolve<'a>(&'a self, requested: &'a str) -> &'a str {
        if matches!(requested, "" | ECHO) { &self.model } else { requested }
    }

    async fn run(&self, call: &ModelCall, model: &str, deltas: &mut dyn DeltaSink) -> Result<Completion, CallError> {
        let deadline = Instant::now() + self.timeout;
        let body = Bytes::from(request::body(call, model)?);
        let completion = async {
            let answer = self.ask(&body, deadline).await?;
            let streamed = answer.is_streamed();
            let draft = answer.read(deltas).await?;
            log_completion(&draft, model, streamed);
            Ok(Completion { message: draft.into_message(model)?, streamed })
        };
        timeout_at(deadline, completion).await.unwrap_or(Err(CallError::TimedOut(self.timeout)))
    }

    /// Sends the request until an answer begins, or until another attempt would be of no use.
    async fn ask(&self, body: &Bytes, deadline: Instant) -> Result<Answer, CallError> {
        let mut attempt = 0;
        loop {
            let error = match self.transport.send(body.clone(), &self.env).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let delay = self.retry.delay(attempt, &error, &self.env);
            let Some(delay) = delay.filter(|delay| Instant::now() + *delay < deadline) else { return Err(error) };
            tracing::debug!(attempt, ?delay, "model request is sent again: nothing of an answer arrived");
            sleep(delay).await;
            attempt += 1;
        }
    }
}

#[async_trait]
impl ModelProvider for OpenAi {
    async fn complete(&self, call: &ModelCall, deltas: &mut dyn DeltaSink) -> Result<Completion, ModelError> {
        let model = self.resolve(&call.model);
        self.run(call, model, deltas).await.map_err(|error| error.report(model, self.key.as_ref()))
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi").field("model", &self.model).finish_non_exhaustive()
    }
}

fn log_completion(draft: &draft::Draft, model: &str, streamed: bool) {
    let usage = draft.usage();
    tracing::debug!(
        model,
        streamed,
        input_tokens = usage.prompt_tokens,
        output_tokens = usage.completion_tokens,
        reasoning_tokens = usage.reasoning_tokens(),
        "model request completed"
    );
}
