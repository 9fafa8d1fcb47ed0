//! Progress of long commands, on standard error, for people only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How far a command is. Shows nothing where nobody watches, and is gone when it is dropped.
pub struct Progress(ProgressBar);

/// How often the display changes, at most.
const UPDATES_PER_SECOND: u8 = 10;

impl Progress {
    /// Counts `what` up to `total`, or without an end. Hidden if standard error is no terminal, or if `beside_output`:
    /// the lines of the output show the progress then, and a bar between them would only disturb.
    pub fn new(what: &'static str, total: Option<u64>, beside_output: bool) -> Self {
        let bar = match total {
            Some(total) => ProgressBar::new(total).with_style(style("{bar:40} {human_pos}/{human_len} {msg} {eta}")),
            None => ProgressBar::no_length().with_style(style("{spinner} {human_pos} {msg}")),
        };
        bar.set_draw_target(match beside_output {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(UPDATES_PER_SECOND),
        });
        Self(bar.with_message(what))
    }

    /// One more.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
