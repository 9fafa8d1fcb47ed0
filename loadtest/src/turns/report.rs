//! What a load measured.

use std::fmt;
use std::time::Duration;

use super::Phases;
use crate::histogram::{Durations, millis};
use crate::target::Usage;

/// The figures of a load in which every check held.
pub struct Report {
    pub in_flight: u32,
    /// From the first call to the end of the last turn.
    pub took: Duration,
    /// Records that the turns wrote.
    pub records: u64,
    /// Sessions that they wrote them to.
    pub chains: usize,
    /// What the turns used up.
    pub used: Usage,
    pub phases: Phases,
}

impl Report {
    /// The head of a table of [rows](Self::row).
    pub const HEAD: &str = "\
| in flight | turns/s | p50 ms | p99 ms | p99.9 ms | node CPU s/1,000 | load CPU s/1,000 | node peak MB | disk B/turn |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|";

    /// The load as a row of a table.
    pub fn row(&self) -> String {
        let turn = self.phases.turn.summary();
        let [p50, p99, p999] = [turn.p50, turn.p99, turn.p999].map(millis);
        let known = |figure: Option<String>| figure.unwrap_or_else(|| "-".to_owned());
        let Usage { own_cpu, host_cpu, host_memory, disk } = self.used;
        format!(
            "| {} | {:.0} | {p50} | {p99} | {p999} | {} | {} | {} | {} |",
            self.in_flight,
            self.turns_per_second(),
            known(host_cpu.map(|cpu| self.per_thousand(cpu))),
            self.per_thousand(own_cpu),
            known(host_memory.map(megabytes)),
            known(disk.map(|bytes| self.per_turn(bytes))),
        )
    }

    fn turns(&self) -> f64 {
        self.phases.turn.summary().count as f64
    }

    fn turns_per_second(&self) -> f64 {
        self.turns() / self.took.as_secs_f64()
    }

    fn per_thousand(&self, cpu: Duration) -> String {
        format!("{:.2}", cpu.as_secs_f64() * 1e3 / self.turns())
    }

    fn per_turn(&self, bytes: u64) -> String {
        format!("{:.0}", bytes as f64 / self.turns())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n", Self::HEAD, self.row())?;
        writeln!(f, "| ms | count | p50 | p99 | p99.9 | max |\n|---|--:|--:|--:|--:|--:|")?;
        let Phases { create, first_frame, turn, replay } = &self.phases;
        for (name, phase) in [("create", create), ("first frame", first_frame), ("turn", turn), ("replay", replay)] {
            write_phase(f, name, phase)?;
        }
        let Self { records, chains, .. } = self;
        write!(f, "\nchecked: {records} records of {chains} chains; no gap, no duplicate, replayed alike")
    }
}

fn write_phase(f: &mut fmt::Formatter<'_>, name: &str, phase: &Durations) -> fmt::Result {
    let it = phase.summary();
    let [p50, p99, p999, max] = [it.p50, it.p99, it.p999, it.max].map(millis);
    writeln!(f, "| {name} | {} | {p50} | {p99} | {p999} | {max} |", it.count)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0}", bytes as f64 / 1e6)
}
