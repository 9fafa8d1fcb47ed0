//! The message as it grows out of chunks. No I/O.

use std::collections::BTreeMap;

use thiserror::Error;
use wire::part::Part;
use wire::reasoning_part::Opaque;
use wire::{Message, ReasoningPart, ToolCall, protobuf};

use super::chunk::{CallFragment, Chunk, Fragment, Usage};

/// The provider's name in reasoning parts.
const PROVIDER: &str = "openai";

/// A message that is not yet complete.
#[derive(Debug)]
pub(super) struct Draft {
    text: String,
    reasoning: String,
    /// By the provider's index, which orders them.
    calls: BTreeMap<u32, CallDraft>,
    usage: Usage,
    has_choice: bool,
    /// Bytes of text, reasoning and tool calls so far.
    size: usize,
    limit: usize,
}

#[derive(Debug, Default)]
struct CallDraft {
    id: String,
    name: String,
    arguments: String,
}

/// An answer that is no message.
#[derive(Debug, Error)]
pub(super) enum BadAnswer {
    #[error("the provider sent something that is no chat completion")]
    Malformed,
    #[error("the provider reported an error: {0}")]
    Reported(String),
    #[error("the answer holds no choice")]
    NoChoice,
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    #[error("a tool call names no tool")]
    NamelessCall,
    #[error("the arguments of a tool call are not a JSON object")]
    Arguments,
}

impl Draft {
    /// An empty draft of a message of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            reasoning: String::new(),
            calls: BTreeMap::new(),
            usage: Usage::default(),
            has_choice: false,
            size: 0,
            limit,
        }
    }

    /// Adds a chunk; returns the text that it brought, if any.
    pub(super) fn add(&mut self, chunk: &[u8]) -> Result<Option<String>, BadAnswer> {
        let chunk: Chunk = serde_json::from_slice(chunk).map_err(|_| BadAnswer::Malformed)?;
        if let Some(complaint) = chunk.error {
            return Err(BadAnswer::Reported(complaint.text().unwrap_or("it gave no reason").to_owned()));
        }
        self.usage = chunk.usage.unwrap_or(self.usage);
        let Some(choice) = chunk.choices.into_iter().find(|choice| choice.index == 0) else { return Ok(None) };
        self.has_choice = true;
        choice.delta.or(choice.message).map_or(Ok(None), |fragment| self.add_fragment(fragment))
    }

    /// What the answer cost, as far as the provider told.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// The complete message: reasoning, then text, then tool calls. There is a text part unless there are only calls.
    pub(super) fn into_message(self, model: &str) -> Result<Message, BadAnswer> {
        if !self.has_choice {
            return Err(BadAnswer::NoChoice);
        }
        let mut parts = Vec::new();
        if !self.reasoning.is_empty() {
            parts.push(Part::Reasoning(reasoning_part(self.reasoning, model)).into());
        }
        if !self.text.is_empty() || self.calls.is_empty() {
            parts.push(wire::Part::text(self.text));
        }
        for call in self.calls.into_values() {
            parts.push(Part::ToolCall(call.into_call()?).into());
        }
        Ok(Message { role: "assistant".into(), parts })
    }

    fn add_fragment(&mut self, fragment: Fragment) -> Result<Option<String>, BadAnswer> {
        let reasoning = fragment.reasoning_content.unwrap_or_default();
        self.grow(reasoning.len())?;
        self.reasoning.push_str(&reasoning);
        for call in fragment.tool_calls.unwrap_or_default() {
            self.add_call(call)?;
        }
        let text = fragment.content.unwrap_or_default();
        self.grow(text.len())?;
        self.text.push_str(&text);
        Ok((!text.is_empty()).then_some(text))
    }

    fn add_call(&mut self, fragment: CallFragment) -> Result<(), BadAnswer> {
        let index = self.index_of(&fragment);
        let id = fragment.id.unwrap_or_default();
        let (name, arguments) = fragment.function.map_or((None, None), |function| (function.name, function.arguments));
        let (name, arguments) = (name.unwrap_or_default(), arguments.unwrap_or_default());
        self.grow(id.len() + name.len() + arguments.len())?;
        let call = self.calls.entry(index).or_default();
        // Some providers repeat id and name with every piece, so the first ones stay.
        set_once(&mut call.id, id);
        set_once(&mut call.name, name);
        call.arguments.push_str(&arguments);
        Ok(())
    }

    /// Without an index, a piece that names a tool begins a call, and any other goes on with the last one.
    fn index_of(&self, fragment: &CallFragment) -> u32 {
        let last = self.calls.last_key_value().map(|(index, _)| *index);
        let begins = fragment.function.as_ref().is_some_and(|function| function.name.is_some());
        match (fragment.index, last) {
            (Some(index), _) => index,
            (None, None) => 0,
            (None, Some(last)) if begins => last.saturating_add(1),
            (None, Some(last)) => last,
        }
    }

    fn grow(&mut self, by: usize) -> Result<(), BadAnswer> {
        self.size += by;
        if self.size > self.limit { Err(BadAnswer::TooLong(self.limit)) } else { Ok(()) }
    }
}

impl CallDraft {
    fn into_call(self) -> Result<ToolCall, BadAnswer> {
        if self.name.is_empty() {
            return Err(BadAnswer::NamelessCall);
        }
        // A function without parameters is called with no arguments at all by some models.
        let arguments = if self.arguments.trim().is_empty() { "{}" } else { &self.arguments };
        let args: protobuf::Struct = serde_json::from_str(arguments).map_err(|_| BadAnswer::Arguments)?;
        Ok(ToolCall { id: self.id, tool: self.name, args: Some(args), ..ToolCall::default() })
    }
}

fn set_once(member: &mut String, value: String) {
    if member.is_empty() {
        *member = value;
    }
}

fn reasoning_part(reasoning: String, model: &str) -> ReasoningPart {
    ReasoningPart {
        provider: PROVIDER.into(),
        model_id: model.into(),
        opaque: Some(Opaque::OpaqueBytes(reasoning.into_bytes())),
        ..ReasoningPart::default()
    }
}

#[cfg(test)]
mod tests;
