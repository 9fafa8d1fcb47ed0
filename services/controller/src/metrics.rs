//! What operators see of turns and of what they ask of the outside. Recorded by the host: the turn engine does no I/O.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};

use env::{Counters, Durations, begin_at_zero, durations, observe};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use tokio::time::Instant;

use crate::ports::DescribeError;
use crate::turn::{Input, Interruption, LostWriter, TurnFailure};

pub(crate) static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

pub(crate) struct Metrics {
    turns: Counters<2>,
    turns_live: Gauge,
    turn_duration: Durations,
    /// Model requests of turns.
    pub(crate) model_calls: Effects,
    /// Tool calls of turns.
    pub(crate) tool_calls: Effects,
    describe_failures: Counters<1>,
    connect_failures: Counter,
    /// Looks for new registrations that failed.
    pub(crate) registry_refresh_failures: Counter,
    invocations: Counters<1>,
    invocations_running: Gauge,
    invocations_queued: Gauge,
    takeovers: Counter,
}

/// How a run of a turn ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TurnOutcome<'a> {
    Completed,
    Parked,
    Canceled,
    /// Another writer was faster, or the outcome of a commit is unknown.
    Lost(LostWriter),
    Failed(&'a TurnFailure),
    /// It asked to be parked, and what that needs of the host failed.
    ParkFailed,
}

/// A turn that runs.
pub(crate) struct LiveTurn {
    begun: Instant,
}

/// An invocation that this node runs, and what waits behind it.
pub(crate) struct RunningInvocation {
    queued: AtomicI64,
}

/// Calls out of turns.
pub(crate) struct Effects {
    duration: Durations,
}

/// Adds what this crate measures to `registry`.
pub fn register(registry: &mut Registry) {
    let metrics = &*METRICS;
    registry.register(
        "turns",
        "Runs of turns by how they ended; lost: another writer has taken the session over or the outcome is unknown",
        metrics.turns.clone(),
    );
    registry.register("turns_live", "Turns that run", metrics.turns_live.clone());
    let seconds = [
        ("turn_duration", "Time that runs of turns took", &metrics.turn_duration),
        ("model_call_duration", "Time that model requests took", &metrics.model_calls.duration),
        ("tool_call_duration", "Time that tool calls took", &metrics.tool_calls.duration),
    ];
    for (name, help, durations) in seconds {
        registry.register_with_unit(name, help, Unit::Seconds, durations.clone());
    }
    registry.register(
        "harness_describe_failures",
        "Harnesses that could not be acquired or did not describe themselves before a turn",
        metrics.describe_failures.clone(),
    );
    registry.register(
        "harness_connect_failures",
        "Harnesses that described themselves and did not take their turn",
        metrics.connect_failures.clone(),
    );
    registry.register(
        "registry_refresh_failures",
        "Looks for harnesses registered through other nodes that failed",
        metrics.registry_refresh_failures.clone(),
    );
    registry.register("invocations", "Invocations that this node brought to their end", metrics.invocations.clone());
    registry.register(
        "invocations_running",
        "Invocations that this node runs: the first ones of the queues that it drives",
        metrics.invocations_running.clone(),
    );
    registry.register(
        "invocations_queued",
        "Invocations that wait behind those that this node runs; at most 1000 are counted for each of these",
        metrics.invocations_queued.clone(),
    );
    registry.register(
        "instance_takeovers",
        "Instances with invocations in their queues that this node took over from dead ones",
        metrics.takeovers.clone(),
    );
}

impl Metrics {
    fn new() -> Self {
        let metrics = Self {
            turns: Counters::default(),
            turns_live: Gauge::default(),
            turn_duration: durations(),
            model_calls: Effects { duration: durations() },
            tool_calls: Effects { duration: durations() },
            describe_failures: Counters::default(),
            connect_failures: Counter::default(),
            registry_refresh_failures: Counter::default(),
            invocations: Counters::default(),
            invocations_running: Gauge::default(),
            invocations_queued: Gauge::default(),
            takeovers: Counter::default(),
        };
        let lost = [LostWriter::Conflict, LostWriter::Fenced, LostWriter::Unknown].map(TurnOutcome::Lost);
        for outcome in [TurnOutcome::Completed, TurnOutcome::Parked, TurnOutcome::Canceled].into_iter().chain(lost) {
            drop(metrics.turns.get_or_create(&outcome.labels()));
            drop(metrics.turn_duration.get_or_create(&[outcome.labels()[0]]));
        }
        for effects in [&metrics.model_calls, &metrics.tool_calls] {
            for outcome in ["answered", "failed"] {
                drop(effects.duration.get_or_create(&[("outcome", outcome)]));
            }
        }
        begin_at_zero(&metrics.describe_failures, "reason", ["unavailable", "refused", "runtime", "late"]);
        begin_at_zero(&metrics.invocations, "outcome", ["success", "failure"]);
        metrics
    }

    /// Notes that a turn runs.
    pub(crate) fn turn_begins(&self) -> LiveTurn {
        self.turns_live.inc();
        LiveTurn { begun: Instant::now() }
    }

    /// Notes that an invocation runs.
    pub(crate) fn invocation_begins(&self) -> RunningInvocation {
        self.invocations_running.inc();
        RunningInvocation { queued: AtomicI64::new(0) }
    }

    /// Counts instances that were taken over from a dead node.
    pub(crate) fn taken_over(&self, instances: usize) {
        self.takeovers.inc_by(instances as u64);
    }

    /// Counts a harness that could not be asked what it is; `None`: not in time.
    pub(crate) fn not_described(&self, error: Option<&DescribeError>) {
        let reason = match error {
            Some(DescribeError::Unavailable(_)) => "unavailable",
            Some(DescribeError::Refused(_)) => "refused",
            Some(DescribeError::Runtime(_)) => "runtime",
            None => "late",
        };
        self.describe_failures.get_or_create(&[("reason", reason)]).inc();
    }

    /// Counts a harness that did not take its turn.
    pub(crate) fn not_connected(&self) {
        self.connect_failures.inc();
    }
}

impl LiveTurn {
    pub(crate) fn ended(self, outcome: TurnOutcome<'_>) {
        let labels = outcome.labels();
        METRICS.turns.get_or_create(&labels).inc();
        observe(&METRICS.turn_duration, &[labels[0]], self.begun.elapsed());
    }
}

impl Drop for LiveTurn {
    fn drop(&mut self) {
        METRICS.turns_live.dec();
    }
}

impl RunningInvocation {
    /// Most invocations of a queue that are looked at.
    pub(crate) const COUNTED: usize = 1_001;

    /// Notes how many invocations are in the queue of which it is the first.
    pub(crate) fn leads(&self, queue: usize) {
        let queued = i64::try_from(queue.saturating_sub(1)).unwrap_or(i64::MAX);
        METRICS.invocations_queued.inc_by(queued - self.queued.swap(queued, Ordering::Relaxed));
    }

    /// Counts it as over.
    pub(crate) fn finished(&self, success: bool) {
        let outcome = if success { "success" } else { "failure" };
        METRICS.invocations.get_or_create(&[("outcome", outcome)]).inc();
    }
}

impl Drop for RunningInvocation {
    fn drop(&mut self) {
        METRICS.invocations_running.dec();
        self.leads(1);
    }
}

impl Effects {
    /// Measures a call that ended just now.
    pub(crate) fn ended(&self, begun: Instant, done: &Result<Input, Interruption>) {
        let outcome = match done {
            Ok(Input::ModelAnswered(_) | Input::ToolAnswered(_)) => "answered",
            Ok(Input::NoToolExecutor(_)) => "not_configured",
            Ok(_) => "failed",
            Err(_) => "interrupted",
        };
        observe(&self.duration, &[("outcome", outcome)], begun.elapsed());
    }
}

impl TurnOutcome<'_> {
    fn labels(self) -> [(&'static str, &'static str); 2] {
        let (outcome, reason) = match self {
            Self::Completed => ("completed", ""),
            Self::Parked => ("parked", ""),
            Self::Canceled => ("canceled", ""),
            Self::Lost(LostWriter::Conflict) => ("lost", "conflict"),
            Self::Lost(LostWriter::Fenced) => ("lost", "fenced"),
            Self::Lost(LostWriter::Unknown) => ("lost", "unknown"),
            Self::Failed(failure) => ("failed", failure.reason()),
            Self::ParkFailed => ("failed", "park"),
        };
        [("outcome", outcome), ("reason", reason)]
    }
}
