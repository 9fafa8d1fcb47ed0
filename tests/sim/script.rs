//! The harness of the simulation: it does what the configuration of the turn says.

use std::sync::Arc;
use std::time::Duration;

use sdk::{Failure, Harness, Sink, Turn, async_trait};
use wire::protobuf::Struct;
use wire::{Capabilities, EventKind, HarnessDescriptor, Message, ModelCall, Resumability, ToolCall, ToolResult, Usage};

use crate::dice::Dice;
use crate::weather::Weather;
use crate::witness::Witness;

/// Longest time that a step of its own takes.
const LONGEST_STEP: Duration = Duration::from_secs(2);

/// One step of a turn; a configuration has a byte for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Output,
    Model,
    Tool,
    Gate,
    Usage,
    Report,
    Work,
}

const STEPS: [Step; 7] = [Step::Output, Step::Model, Step::Tool, Step::Gate, Step::Usage, Step::Report, Step::Work];

/// Draws the configuration of a turn. Gates are rarer than the rest: each takes several calls to get past.
pub fn draw(dice: &Dice) -> Vec<u8> {
    let length = 1 + dice.below(4);
    let step = |_| {
        let step = dice.below(STEPS.len());
        if STEPS[step] == Step::Gate && dice.chance(0.4) { 0 } else { step as u8 }
    };
    (0..length).map(step).collect()
}

/// The kinds of the records of a turn with this configuration.
pub fn records(config: &[u8]) -> Vec<EventKind> {
    use EventKind::*;
    let mut kinds = vec![EventExecutionStart, EventInput];
    for step in steps(config) {
        kinds.extend_from_slice(match step {
            Step::Output => &[EventOutput],
            Step::Model => &[EventModelCall, EventOutput],
            Step::Tool => &[EventToolCall, EventToolResult],
            Step::Gate => &[EventToolCall, EventApprovalRequest, EventApprovalResult, EventToolResult],
            Step::Usage => &[EventUsage],
            Step::Report => &[EventToolResult],
            Step::Work => &[],
        });
    }
    kinds.push(EventEnd);
    kinds
}

/// The first message of the model request that a turn makes after `made` others.
pub fn model_request(execution: &str, made: usize) -> String {
    format!("{execution}/{made}")
}

fn steps(config: &[u8]) -> impl Iterator<Item = Step> {
    config.iter().map(|&step| STEPS[usize::from(step) % STEPS.len()])
}

/// See the module.
pub struct Scripted {
    pub witness: Arc<Witness>,
    pub weather: Weather,
    pub dice: Dice,
}

#[async_trait]
impl Harness for Scripted {
    fn describe(&self) -> HarnessDescriptor {
        let resumability = Resumability::StatelessReplay.into();
        HarnessDescriptor {
            id: "scripted".into(),
            version: "1".into(),
            capabilities: Some(Capabilities { resumability, ..Capabilities::default() }),
            ..HarnessDescriptor::default()
        }
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        self.witness.told(turn.session(), turn.execution(), turn.history());
        let mut run = Run { turn: &turn, models: 0, told: turn.inputs().iter().map(Message::text_content).collect() };
        for (number, step) in steps(turn.config()).enumerate() {
            if self.weather.strikes(&self.dice) {
                return Err(Failure::new("the harness broke down"));
            }
            if step == Step::Work {
                tokio::time::sleep(self.dice.up_to(LONGEST_STEP)).await;
            }
            run.step(number, step, sink).await?;
        }
        Ok(())
    }
}

/// A turn under way. What it has been told goes into its next request, so that an answer that is not the recorded one
/// shows.
struct Run<'a> {
    turn: &'a Turn,
    models: usize,
    told: Vec<String>,
}

impl Run<'_> {
    async fn step(&mut self, number: usize, step: Step, sink: &mut Sink) -> Result<(), Failure> {
        match step {
            Step::Output => sink.output(Message::text("assistant", self.told.join(", "))).await?,
            Step::Usage => sink.usage(Usage { input_tokens: self.told.len() as i64, ..Usage::default() }).await?,
            Step::Report => sink.report(ToolResult { id: format!("own-{number}"), ..ToolResult::default() }).await?,
            Step::Model => {
                let request = model_request(self.turn.execution(), self.models);
                self.models += 1;
                let messages = std::iter::once(&request).chain(&self.told).map(|text| Message::text("user", text));
                let call = ModelCall { model: "m".into(), messages: messages.collect(), ..ModelCall::default() };
                self.told.push(sink.model(call).await?.text_content());
            }
            Step::Tool => {
                let result = sink.tool(self.call(number)).await?;
                self.told.push(result.error);
            }
            Step::Gate => {
                let decided = sink.gated(self.call(number)).await?;
                self.told.push(format!("{} {}", decided.approved, decided.result.error));
            }
            Step::Work => {}
        }
        Ok(())
    }

    fn call(&self, number: usize) -> ToolCall {
        ToolCall {
            id: format!("call-{number}"),
            tool: "t".into(),
            args: Some(Struct::default()),
            idempotency_key: format!("{}-{number}", self.turn.execution()),
            ..ToolCall::default()
        }
    }
}
