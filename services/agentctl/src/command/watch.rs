//! `agentctl watch`

use clap::Args;

use super::Context;
use super::exec::show;
use crate::output;

/// Prints the records of a session, and goes on with each new one and with the text of its turns, until it is interrupted
#[derive(Args, Debug)]
pub struct Watch {
    /// Uid of the session
    #[arg(long, value_name = "UID")]
    session: String,

    /// Seq of the first record to print
    #[arg(long, value_name = "SEQ", default_value_t = 1, allow_negative_numbers = true)]
    from: i64,
}

impl Watch {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        // A session may be quiet for long, and nothing be written that would fail.
        tokio::select! {
            shown = self.show_updates(context) => shown,
            closed = output::closed() => Err(closed.into()),
        }
    }

    async fn show_updates(&self, context: &mut Context) -> anyhow::Result<()> {
        let mut updates = context.client.watch(&self.session, self.from.max(1) - 1);
        while let Some(update) = updates.next().await? {
            show(&mut context.output, update, false)?;
        }
        Ok(())
    }
}
