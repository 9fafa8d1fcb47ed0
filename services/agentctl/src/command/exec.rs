//! `agentctl exec`

use clap::Args;
use client::{Moved, Update};
use futures::TryStreamExt;
use wire::{ExecRequest, Message};

use super::Context;
use crate::output::text::{self, Record};
use crate::output::{Output, OutputError};

/// Runs a turn and prints its records as they become durable
#[derive(Args, Debug)]
pub struct Exec {
    /// Uid of the session; a new one is created if not given
    #[arg(long, value_name = "UID", default_value = "", hide_default_value = true)]
    session: String,

    /// Text of the user's message
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    input: Option<String>,

    /// Harness that runs this turn, or the new session; the session's own, or the host's default, if not given
    #[arg(long, default_value = "", hide_default_value = true)]
    harness: String,
}

impl Exec {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let mut created = self.session.is_empty();
        let inputs = self.input.iter().map(|text| Message::text("user", text)).collect();
        let request = ExecRequest { session: self.session, inputs, harness: self.harness, ..Default::default() };
        let mut updates = context.client.exec(request);
        let mut shown = Ok(());
        while let Some(update) = updates.try_next().await? {
            if shown.is_ok() {
                shown = show(&mut context.output, update, std::mem::take(&mut created));
            }
            // Going away would interrupt the turn, only because nobody reads on.
            if shown.as_ref().is_err_and(|error| !error.is_closed()) {
                break;
            }
        }
        Ok(shown?)
    }
}

/// Prints an update at once. A session frame is of interest to a person only if it names a session that is `new`.
pub(super) fn show(output: &mut Output, update: Update, new: bool) -> Result<(), OutputError> {
    if let Update::Moved(Moved { lost, to }) = &update {
        // On standard error, so that the output has nothing but the turn; after what is printed, to be read in this order.
        output.end_line()?;
        output.flush()?;
        eprintln!("agentctl: node {lost} lost, going on at {to}");
        return Ok(());
    }
    if output.is_json() {
        output.line("", &update.into_wire())?;
        return output.flush();
    }
    match update {
        Update::Session(session) if new => output.line(format_args!("session {}", text::uid(&session)), &*session)?,
        Update::Session(_) | Update::Moved(_) => {}
        Update::Record(record) => output.line(Record(&record), &*record)?,
        Update::Delta(delta) => output.streamed(&delta.chunk)?,
    }
    output.flush()
}
