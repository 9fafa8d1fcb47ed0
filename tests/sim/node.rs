//! A node: a host over the shared store, which can be stopped, killed and started again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use controller::ports::{HarnessDirectory, HarnessSource, ServedHarness};
use controller::{Host, HostParts, Powers, TurnLimits};
use env::{Env, Tasks, VirtualClock};
use harness::InProcess;
use journal::Journal;
use store::Store;
use store::fault::Fault;
use store::memory::Memory;
use wire::Resumability;

use crate::bus::Bus;
use crate::dice::Dice;
use crate::life::{Life, Phase};
use crate::link::Link;
use crate::outside::Outside;
use crate::script::Scripted;
use crate::trace::Trace;
use crate::weather::Weather;
use crate::witness::{PROJECT, RunId, Witness};

/// A harness that says nothing for so long has failed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// What all nodes share.
#[derive(Clone)]
pub struct World {
    pub memory: Memory,
    pub witness: Arc<Witness>,
    pub trace: Arc<Trace>,
    pub weather: Weather,
    pub bus: Bus,
}

/// A node. It outlives its runs.
pub struct Node {
    number: usize,
    world: World,
    dice: Dice,
    /// Runs on while the node does not.
    pub clock: VirtualClock,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    starts: usize,
    running: Option<Running>,
}

/// One run of a node.
#[derive(Clone)]
pub struct Running {
    pub host: Host,
    pub tasks: Tasks,
    pub life: Life,
}

impl Node {
    /// A node that does not run yet.
    pub fn new(number: usize, world: World, dice: Dice) -> Self {
        Self { number, world, dice, clock: VirtualClock::new(), state: Mutex::default() }
    }

    /// Where clients call it, if it runs.
    pub fn running(&self) -> Option<Running> {
        self.with(|state| state.running.clone()).filter(|running| running.life.phase() != Phase::Dead)
    }

    /// Starts it, unless it runs. A start that the store fails is repeated, as whatever supervises a node does.
    pub async fn start(&self) {
        while self.running().is_none() {
            if let Some(running) = self.try_start().await {
                self.with(|state| state.running = Some(running));
            }
        }
    }

    async fn try_start(&self) -> Option<Running> {
        let start = self.with(|state| {
            state.starts += 1;
            state.starts
        });
        let (world, run, life) = (&self.world, RunId { node: self.number, start }, Life::default());
        world.trace.note(format_args!("{run} starts"));
        let env = Env::simulated(self.dice.number(), self.clock.clone());
        let link = Link {
            memory: world.memory.clone(),
            fault: Fault::new(world.memory.clone(), world.weather.fault_plan(&self.dice)),
            weather: world.weather.clone(),
            life: life.clone(),
            dice: self.dice.split(),
            witness: Arc::clone(&world.witness),
            run,
        };
        let store = Store::new(link, env.clone()).with_policy(world.weather.retry_policy());
        // A run that dies at its first commit never comes up.
        let opened = tokio::select! {
            biased;
            () = life.death() => None,
            opened = Journal::open(store, env.clone()) => opened.ok(),
        };
        let tasks = Tasks::default();
        Some(Running { host: self.host(opened?, env, tasks.clone(), &life), tasks, life })
    }

    fn host(&self, journal: Journal, env: Env, tasks: Tasks, life: &Life) -> Host {
        let world = &self.world;
        let outside = Arc::new(Outside {
            life: life.clone(),
            dice: self.dice.split(),
            weather: world.weather.clone(),
            witness: Arc::clone(&world.witness),
        });
        let scripted =
            Scripted { witness: Arc::clone(&world.witness), weather: world.weather.clone(), dice: self.dice.split() };
        Host::new(HostParts {
            coordinator: Arc::new(world.bus.line(self.number, journal.incarnation(), life.clone())),
            journal,
            env,
            tasks,
            harnesses: Arc::new(OneHarness(InProcess::new(scripted))),
            models: Arc::clone(&outside) as _,
            tools: Some(outside),
            powers: Powers { cancel: true, delete_session: false },
            default_project: PROJECT.to_owned(),
            turn_limits: TurnLimits { idle_timeout: IDLE_TIMEOUT, max_events: 1_000 },
            history_cache: *self.dice.pick(&[0, 8 << 10, 1 << 20]),
            history_memory: 256 << 20,
        })
    }

    fn with<T>(&self, of: impl FnOnce(&mut State) -> T) -> T {
        of(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The only harness, whatever its name.
struct OneHarness(InProcess);

impl HarnessDirectory for OneHarness {
    fn default_name(&self) -> &str {
        "scripted"
    }

    fn find(&self, _: &str) -> Option<ServedHarness> {
        Some(ServedHarness {
            source: HarnessSource::Static,
            descriptor_id: String::new(),
            resumability: Resumability::StatelessReplay,
            runtime: Arc::new(self.0.clone()),
        })
    }

    fn names(&self) -> Vec<String> {
        vec![self.default_name().to_owned()]
    }
}
