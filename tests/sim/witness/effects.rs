//! How often each effect happened outside.
//!
//! A run that calls a model or a tool has recorded the intent or found it recorded, under its fence. If it dies before it
//! records the result, nobody can know whether the effect happened, and the next run calls again, with the same key. So an
//! effect may happen once for every fence from the one of its intent to the one of its result, and not once more.

use std::collections::BTreeMap;

use journal::SessionUid;
use wire::event::Body;
use wire::{EventKind, LogRecord, Mediation, ToolCall};

use super::Broken;
use super::log::{SeenLog, call};
use crate::script;

#[derive(Default)]
pub(super) struct Effects {
    happened: BTreeMap<Effect, usize>,
}

/// What must not happen twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// A provider does not learn for which session it answers.
    Model(String),
    Tool(SessionUid, String),
}

impl Effects {
    pub(super) fn model_called(&mut self, request: &str) -> usize {
        self.happens(Effect::Model(request.to_owned()))
    }

    pub(super) fn tool_called(&mut self, session: &SessionUid, key: &str) {
        self.happens(Effect::Tool(session.clone(), key.to_owned()));
    }

    /// How many effects happened more than once.
    pub(super) fn repeated(&self) -> usize {
        self.happened.values().filter(|&&times| times > 1).count()
    }

    fn happens(&mut self, effect: Effect) -> usize {
        let count = self.happened.entry(effect).or_default();
        *count += 1;
        *count
    }

    pub(super) fn check(&self, logs: &BTreeMap<SessionUid, SeenLog>) -> Result<(), Broken> {
        let mut most: BTreeMap<Effect, usize> = BTreeMap::new();
        for (session, log) in logs {
            let intents = Intents { session, log };
            for (effect, runs) in intents.runs() {
                *most.entry(effect).or_default() += runs;
            }
        }
        for (effect, &times) in &self.happened {
            let most = most.get(effect).copied().unwrap_or_default();
            if times > most {
                return Err(format!("{effect:?} happened {times} times in {most} runs"));
            }
        }
        Ok(())
    }
}

/// The intents of one log.
struct Intents<'a> {
    session: &'a SessionUid,
    log: &'a SeenLog,
}

impl Intents<'_> {
    /// Each effect that is intended, and how many runs may have had it.
    fn runs(&self) -> Vec<(Effect, usize)> {
        let mut models: BTreeMap<&str, usize> = BTreeMap::new();
        let mut effects = Vec::new();
        for (at, record) in self.log.records().iter().enumerate() {
            let Some(event) = &record.event else { continue };
            if event.kind() == EventKind::EventModelCall {
                let made = models.entry(&event.execution_id).or_default();
                let request = script::model_request(&event.execution_id, *made);
                *made += 1;
                effects.push((Effect::Model(request), self.runs_of_model(at)));
            } else if let Some(call) = call(event) {
                let tool = Effect::Tool(self.session.clone(), call.idempotency_key.clone());
                effects.push((tool, self.runs_of_tool(at, call)));
            }
        }
        effects
    }

    fn runs_of_model(&self, intent: usize) -> usize {
        match self.after(intent, |body, kind| matches!(body, Body::Message(_)) && kind == EventKind::EventOutput) {
            Some(result) if self.log.is_inherited(result) => 0,
            result => self.fences(intent, result),
        }
    }

    fn runs_of_tool(&self, intent: usize, call: &ToolCall) -> usize {
        if self.log.is_inherited(intent) {
            return 0;
        }
        let result = self.after(intent, |body, _| matches!(body, Body::Result(result) if result.id == call.id));
        if call.mediation() == Mediation::ControllerMediated {
            return self.fences(intent, result);
        }
        let approved =
            |body: &Body, _| matches!(body, Body::ApprovalResult(d) if d.approved && d.tool_call_id == call.id);
        // The decision has a fence of its own, under which nothing runs.
        self.after(intent, approved).map_or(0, |decision| self.fences(decision, result) - 1)
    }

    /// The first record of the same turn after `intent` that is like this.
    fn after(&self, intent: usize, is_like: impl Fn(&Body, EventKind) -> bool) -> Option<usize> {
        let records = self.log.records();
        let execution = |record: &LogRecord| record.event.as_ref().map(|event| event.execution_id.clone());
        let turn = execution(&records[intent]);
        (intent + 1..records.len()).find(|&at| {
            let event = records[at].event.as_ref();
            execution(&records[at]) == turn
                && event.is_some_and(|event| event.body.as_ref().is_some_and(|body| is_like(body, event.kind())))
        })
    }

    /// How many fences there were from one record to another one, or up to now. Those of inherited records are of no
    /// account.
    fn fences(&self, intent: usize, result: Option<usize>) -> usize {
        let records = self.log.records();
        let first = if self.log.is_inherited(intent) { 2 } else { records[intent].fence };
        let last = result.map_or(self.log.fence().to_wire(), |result| records[result].fence);
        usize::try_from(last + 1 - first).unwrap_or_default()
    }
}
