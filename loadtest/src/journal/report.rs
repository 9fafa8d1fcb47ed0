//! What the rounds of a measurement of the journal say together.

use std::fmt;

use super::appends::Appends;

/// One round, per second.
pub struct Round {
    /// fdatasync after a write of one page.
    pub syncs: f64,
    /// Transactions of one insert in bare SQLite (WAL, synchronous FULL).
    pub sqlite: f64,
    /// The journal with one writer.
    pub one_writer: Appends,
    /// The journal with 64.
    pub many_writers: Appends,
}

/// Every round.
pub struct Report {
    pub rounds: Vec<Round>,
}

impl Report {
    fn sorted(&self, figure: impl Fn(&Round) -> f64) -> Sorted {
        Sorted::of(self.rounds.iter().map(figure))
    }

    /// A row of the table: the medians, and the quartiles of what the rounds say of bare SQLite.
    fn row(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        rate: impl Fn(&Round) -> f64,
        per_sync: impl Fn(&Round) -> f64,
    ) -> fmt::Result {
        let (rates, ratios) = (self.sorted(&rate), self.sorted(|round| rate(round) / round.sqlite));
        let (rate, per_sync) = (rates.median(), self.sorted(per_sync).median());
        let (low, ratio, high) = (ratios.at(0.25), ratios.median(), ratios.at(0.75));
        write!(f, "\n| {name} | {rate:.0} | {ratio:.2} | {low:.2} to {high:.2} | {per_sync:.1} |")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| durable, this disk | per s | x SQLite | quartiles | commits/fsync |")?;
        write!(f, "|---|--:|--:|--:|--:|")?;
        self.row(f, "fdatasync of one page", |round| round.syncs, |_| 1.0)?;
        self.row(f, "bare SQLite, one insert each", |round| round.sqlite, |_| 1.0)?;
        self.row(
            f,
            "journal, 1 writer",
            |round| round.one_writer.per_second,
            |round| round.one_writer.commits_per_sync,
        )?;
        self.row(
            f,
            "journal, 64 writers",
            |round| round.many_writers.per_second,
            |round| round.many_writers.commits_per_sync,
        )
    }
}

/// Figures in order.
pub struct Sorted(Vec<f64>);

impl Sorted {
    pub fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.collect();
        sorted.sort_by(f64::total_cmp);
        Self(sorted)
    }

    pub fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// The figure that this part of all is below; 0 if there are none.
    fn at(&self, part: f64) -> f64 {
        let place = (self.0.len() as f64 * part) as usize;
        self.0.get(place).copied().unwrap_or_default()
    }
}
