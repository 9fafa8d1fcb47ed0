//! `agentctl replay`

use clap::Args;
use client::SeqRange;

use super::Context;
use crate::output::text::Record;

/// Prints the records of a session
#[derive(Args, Debug)]
pub struct Replay {
    /// Uid of the session
    #[arg(long, value_name = "UID")]
    session: String,

    /// Seq of the first record to print
    #[arg(long, value_name = "SEQ", default_value_t = 1, allow_negative_numbers = true)]
    from: i64,
}

impl Replay {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let mut records = context.client.replay(&self.session, SeqRange { from: self.from, to: 0 });
        while let Some(record) = records.next().await? {
            context.output.line(Record(&record), &record)?;
        }
        Ok(())
    }
}
