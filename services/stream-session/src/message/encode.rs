//! Writing messages in their canonical form.

use super::{
    ClientMessage, ConfigEntry, InvocationOutcome, MethodResult, Node, OutputOutcome, Selector, ServerMessage, mapping,
};
use crate::ErrorCode;
use crate::json::Writer;

impl ClientMessage<'_> {
    /// The message as text.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut to = Writer::default();
        to.open('{');
        match self {
            Self::Start(start) => {
                to.text_member("attemptId", &start.attempt.to_string());
                to.name("config");
                to.array(&start.config, config_entry);
                to.text_member("idempotencyKey", &start.idempotency_key);
                node(&mut to, "methodParameters", &start.method_parameters);
                to.name("selector");
                selector(&mut to, &start.selector);
                to.text_member("type", "invocationStart");
            }
            Self::Attach(attach) => {
                to.text_member("attemptId", &attach.attempt.to_string());
                to.text_member("operation", attach.operation.as_str());
                to.name("outputCursors");
                to.array(&attach.output_cursors, |to, cursor| to.string(cursor));
                to.text_member("sessionToken", &attach.session_token);
                to.text_member("type", "resumeAttach");
            }
            Self::Item { channel, sequence, value } => {
                to.number_member("channel", *channel);
                to.text_member("sequence", &sequence.to_string());
                to.text_member("type", "inputStreamItem");
                node(&mut to, "value", value);
            }
            Self::End { channel, sequence } => {
                to.number_member("channel", *channel);
                to.text_member("sequence", &sequence.to_string());
                to.text_member("type", "inputStreamEnd");
            }
            Self::Cancel { channel, reason } => {
                to.number_member("channel", *channel);
                to.text_member("reason", reason.as_str());
                to.text_member("type", "streamCancel");
            }
        }
        version(to)
    }
}

impl ServerMessage<'_> {
    /// The message as text.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut to = Writer::default();
        to.open('{');
        match self {
            Self::Accepted { attempt, idempotency_key, mappings, session_token } => {
                to.text_member("attemptId", &attempt.to_string());
                to.text_member("idempotencyKey", idempotency_key);
                mapping::write(&mut to, mappings);
                to.text_member("sessionToken", session_token);
                to.text_member("type", "invocationAccepted");
            }
            Self::Rejected(rejection) => {
                if let Some(attempt) = rejection.attempt {
                    to.text_member("attemptId", &attempt.to_string());
                }
                to.text_member("code", rejection.code.as_str());
                to.text_member("message", &rejection.message);
                to.bool_member("retryable", rejection.retryable);
                to.text_member("type", "invocationRejected");
            }
            Self::Result { mappings, result } => {
                mapping::write(&mut to, mappings);
                to.name("result");
                method_result(&mut to, result);
                to.text_member("type", "invocationResult");
            }
            Self::Item { channel, sequence, cursor, mappings, value } => {
                to.number_member("channel", *channel);
                to.text_member("cursorToken", cursor);
                mapping::write(&mut to, mappings);
                to.text_member("sequence", &sequence.to_string());
                to.text_member("type", "outputStreamItem");
                node(&mut to, "value", value);
            }
            Self::End { channel, sequence, cursor, outcome } => {
                to.number_member("channel", *channel);
                if let Some(cursor) = cursor {
                    to.text_member("cursorToken", cursor);
                }
                to.name("outcome");
                output_outcome(&mut to, outcome);
                to.text_member("sequence", &sequence.to_string());
                to.text_member("type", "outputStreamEnd");
            }
            Self::Ack { channel, sequence, mappings, terminal } => {
                to.number_member("channel", *channel);
                to.text_member("highestContiguousSequence", &sequence.to_string());
                mapping::write(&mut to, mappings);
                to.bool_member("terminal", *terminal);
                to.text_member("type", "inputStreamAck");
            }
            Self::Cancel { channel, reason } => {
                to.number_member("channel", *channel);
                to.text_member("reason", reason.as_str());
                to.text_member("type", "streamCancel");
            }
            Self::Revoked => {
                to.text_member("reason", "replaced");
                to.text_member("type", "attachmentRevoked");
            }
            Self::Finished(outcome) => {
                to.name("outcome");
                invocation_outcome(&mut to, outcome);
                to.text_member("type", "invocationFinished");
            }
        }
        version(to)
    }
}

impl Node<'_> {
    /// The node as canonical text.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut to = Writer::default();
        self.write(&mut to);
        to.finish()
    }

    fn write(&self, to: &mut Writer) {
        match self {
            Self::Json(json) => to.value(json),
            Self::Value(value) => value.write(to),
            Self::Text(text) => to.raw(text),
        }
    }
}

/// Every message ends with its version.
fn version(mut to: Writer) -> String {
    to.number_member("version", 1);
    to.close('}');
    to.finish()
}

fn node(to: &mut Writer, name: &str, node: &Node<'_>) {
    to.name(name);
    node.write(to);
}

fn config_entry(to: &mut Writer, entry: &ConfigEntry<'_>) {
    to.open('{');
    to.name("path");
    to.array(&entry.path, |to, name| to.string(name));
    to.name("value");
    to.value(&entry.value);
    to.close('}');
}

fn selector(to: &mut Writer, selector: &Selector<'_>) {
    to.open('{');
    to.text_member("agentType", &selector.agent_type);
    to.text_member("application", &selector.application);
    node(to, "constructorParameters", &selector.constructor_parameters);
    to.text_member("environment", &selector.environment);
    to.text_member("method", &selector.method);
    if let Some(phantom) = selector.phantom {
        to.text_member("phantomId", &phantom.to_string());
    }
    to.close('}');
}

fn method_result(to: &mut Writer, result: &MethodResult<'_>) {
    to.open('{');
    match result {
        MethodResult::None => to.text_member("kind", "none"),
        MethodResult::Value { graph, value } => {
            node(to, "graph", graph);
            to.text_member("kind", "value");
            node(to, "value", value);
        }
    }
    to.close('}');
}

fn output_outcome(to: &mut Writer, outcome: &OutputOutcome) {
    to.open('{');
    match outcome {
        OutputOutcome::Ok => to.text_member("kind", "ok"),
        OutputOutcome::Error { code, message } => error(to, "error", *code, message),
        OutputOutcome::Cancelled(reason) => {
            to.text_member("kind", "cancelled");
            to.text_member("reason", reason.as_str());
        }
    }
    to.close('}');
}

fn invocation_outcome(to: &mut Writer, outcome: &InvocationOutcome) {
    to.open('{');
    match outcome {
        InvocationOutcome::Success => to.text_member("kind", "success"),
        InvocationOutcome::Failure { code, message } => error(to, "failure", *code, message),
    }
    to.close('}');
}

fn error(to: &mut Writer, kind: &str, code: ErrorCode, message: &str) {
    to.text_member("code", code.as_str());
    to.text_member("kind", kind);
    to.text_member("message", message);
}
