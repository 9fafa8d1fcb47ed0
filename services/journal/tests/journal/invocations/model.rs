//! One invocation against a model of it, while commits fail, conflict or go unanswered: whoever is alone gets exactly the
//! answers that the model gives.

use env::Env;
use journal::Journal;
use journal::invocations::{
    Accepted, Frame, FrameItem, InputChange, InputOutcome, InputWrite, Invocation, Lease, LeaseError, Outcome,
    OutputChange, OutputFault, OutputWrite, Reattach, Rule, Run, RunError, StreamId, Terminal, Volume,
};
use store::Engine;
use store::fault::{Fault, FaultPlan};
use store::memory::Memory;

use super::support::*;
#[cfg(feature = "fdb")]
use crate::support::cluster;
use crate::support::open_seeded;

const SEEDS: u64 = 12;
const STEPS: usize = 250;
const FAULTS: f64 = 0.4;

/// A stream as it should be.
#[derive(Default)]
struct Model {
    frames: Vec<Frame>,
    handed: Volume,
    terminal: Option<Terminal>,
}

impl Model {
    fn next(&self) -> u64 {
        self.frames.last().map_or(0, Frame::end)
    }

    /// What becomes of an item of an input (I3).
    fn put(&mut self, first: u64, item: &FrameItem) -> InputOutcome {
        match self.terminal {
            Some(Terminal::CancelledByServer(_)) => return InputOutcome::Dropped,
            Some(_) => return InputOutcome::Refused(Rule::ProtocolError),
            None => {}
        }
        let same = |frame: &&Frame| frame.first == first && frame.item == *item;
        match first {
            first if first == self.next() => {
                self.frames.push(Frame { first, item: item.clone(), streams: Vec::new(), charge: charge(item) });
                stored()
            }
            first if first > self.next() => InputOutcome::Refused(Rule::InputGap),
            _ if self.frames.iter().any(|frame| same(&frame)) => stored(),
            _ => InputOutcome::Refused(Rule::InputConflict),
        }
    }

    /// What becomes of an end (I6).
    fn end(&mut self, items: u64) -> InputOutcome {
        match &self.terminal {
            Some(Terminal::CancelledByServer(_)) => return InputOutcome::Dropped,
            Some(Terminal::CancelledByClient(_)) => return InputOutcome::Refused(Rule::ProtocolError),
            None if items > self.next() => return InputOutcome::Refused(Rule::InputGap),
            _ if items != self.next() => return InputOutcome::Refused(Rule::InputConflict),
            _ => {}
        }
        self.terminal = Some(Terminal::Ended);
        stored()
    }

    fn volume(&self) -> Volume {
        let mut volume = Volume::default();
        self.frames.iter().for_each(|frame| volume += Volume::entry(frame.charge));
        volume
    }

    fn covering(&self, from: u64) -> &[Frame] {
        let begin = self.frames.iter().position(|frame| frame.end() > from).unwrap_or(self.frames.len());
        &self.frames[begin..]
    }
}

struct World<'a> {
    journal: &'a Journal,
    choices: Env,
    invocation: Invocation,
    lease: Lease,
    /// Of connections that were superseded.
    old_leases: Vec<Lease>,
    generation: u64,
    attempts: u128,
    run: Run,
    old_runs: Vec<Run>,
    input: (StreamId, Model),
    output: (StreamId, Model),
}

impl World<'_> {
    fn choose(&self, of: u64) -> u64 {
        self.choices.random_u64() % of
    }

    fn item(&self) -> FrameItem {
        let size = match self.choose(20) {
            0 => 250_000 + self.choose(10) as usize,
            1 => 5 << 20,
            2..6 => 99_990 + self.choose(10) as usize,
            _ => 1 + self.choose(5) as usize,
        };
        let content = self.choose(3) as u8;
        match self.choose(3) {
            0 => value(char::from(b'a' + content).to_string().repeat(size)),
            1 => octets(vec![content; size]),
            _ => FrameItem::Binary { data: vec![content; size].into(), mime: (content == 0).then(|| "a/b".to_owned()) },
        }
    }

    /// Where an item begins: mostly where it should.
    fn place(&self, model: &Model) -> u64 {
        match self.choose(8) {
            0 => self.choose(model.next() + 3),
            1 => model.frames.last().map_or(0, |frame| frame.first),
            _ => model.next(),
        }
    }

    async fn step(&mut self) {
        match self.choose(20) {
            0..8 => self.put_inputs().await,
            8..13 => self.put_output().await,
            13 => self.hand().await,
            14 => self.attach().await,
            15 => self.claim().await,
            16 => self.be_refused().await,
            17 if self.choose(10) == 0 => self.end().await,
            _ => self.read().await,
        }
    }

    async fn put_inputs(&mut self) {
        let count = 1 + self.choose(4);
        let mut writes = Vec::new();
        let mut expected = Vec::new();
        for _ in 0..count {
            let repeats = self.choose(6) == 0;
            let frame = self.input.1.frames.last().filter(|_| repeats);
            let (first, item) = match frame {
                Some(frame) => (frame.first, frame.item.clone()),
                None => (self.place(&self.input.1), self.item()),
            };
            let outcome = self.input.1.put(first, &item);
            writes.push(put(self.input.0, first, item));
            expected.push(outcome);
            if let Some(InputOutcome::Refused(_)) = expected.last() {
                break;
            }
        }
        assert_eq!(self.journal.put_inputs(&self.lease, writes).await.unwrap(), expected);
    }

    async fn put_output(&mut self) {
        let (stream, item) = (self.output.0, self.item());
        let first = self.place(&self.output.1);
        let next = self.output.1.next();
        let result =
            self.journal.put_outputs(&self.run, self.invocation.id, vec![emit(stream, first, item.clone())]).await;
        match &result {
            Ok(()) => {
                assert_eq!(first, next);
                self.output.1.frames.push(Frame { first, item, streams: Vec::new(), charge: 0 });
            }
            Err(RunError::Fault(of, OutputFault::OutOfSequence)) => assert!(*of == stream && first != next),
            Err(error) => panic!("{error}"),
        }
    }

    async fn hand(&mut self) {
        self.input.1.handed += Volume { entries: self.choose(3), charge: self.choose(1_000) };
        let write = OutputWrite { stream: self.input.0, change: OutputChange::Handed(self.input.1.handed) };
        self.journal.put_outputs(&self.run, self.invocation.id, vec![write]).await.unwrap();
    }

    async fn attach(&mut self) {
        self.attempts += 1;
        let detached = self.choose(2) == 0;
        if detached {
            assert!(self.journal.detach(&self.lease).await.unwrap());
        }
        let reattach = Reattach {
            session: self.invocation.session.clone(),
            invocation: self.invocation.id,
            attempt: attempt(self.attempts),
            generation: self.generation,
            takeover: !detached,
            holder: holder(self.choices.random_u64()),
            cursors: Vec::new(),
        };
        let Accepted::New(_, lease) = self.journal.attach(reattach).await.unwrap() else { panic!("attached before") };
        self.old_leases.push(std::mem::replace(&mut self.lease, lease));
        self.generation += 1;
    }

    async fn claim(&mut self) {
        let run = self.journal.claim_run(&self.invocation.session).await.unwrap().unwrap();
        self.old_runs.push(std::mem::replace(&mut self.run, run));
    }

    async fn be_refused(&self) {
        if let Some(lease) = self.old_leases.last() {
            let refused =
                self.journal.put_inputs(lease, vec![put(self.input.0, self.input.1.next(), octets("old"))]).await;
            assert!(matches!(refused, Err(LeaseError::Lost)));
            assert!(!self.journal.detach(lease).await.unwrap());
        }
        if let Some(run) = self.old_runs.last() {
            let write = emit(self.output.0, self.output.1.next(), octets("old"));
            assert!(matches!(
                self.journal.put_outputs(run, self.invocation.id, vec![write]).await,
                Err(RunError::Lost)
            ));
        }
    }

    async fn end(&mut self) {
        let items = self.place(&self.input.1);
        let expected = self.input.1.end(items);
        let write = InputWrite { stream: self.input.0, change: InputChange::End(items) };
        assert_eq!(self.journal.put_inputs(&self.lease, vec![write]).await.unwrap(), [expected]);
    }

    async fn read(&self) {
        for (stream, model) in [&self.input, &self.output] {
            let from = self.choose(model.next() + 2);
            let max_bytes = 1 << self.choose(24);
            let read = self
                .journal
                .frames(&self.invocation.session, self.invocation.id, *stream, from, max_bytes)
                .await
                .unwrap();
            let expected = model.covering(from);
            assert_eq!(read.is_empty(), expected.is_empty());
            assert!(expected.starts_with(&read), "from {from} up to {max_bytes} bytes");
            let sizes = read.iter().map(|frame| frame.item.size());
            assert!(read.len() < 2 || sizes.take(read.len() - 1).sum::<usize>() < max_bytes);
        }
    }

    async fn check(&self, journal: &Journal) {
        for (stream, model) in [&self.input, &self.output] {
            assert_eq!(frames(journal, &self.invocation, *stream, 0).await, model.frames);
            let progress = progress(journal, &self.invocation, *stream).await;
            assert_eq!((progress.next, progress.terminal), (model.next(), model.terminal.clone()));
            assert_eq!((progress.volume, progress.handed), (model.volume(), model.handed));
        }
        let standing = journal.standing(&self.invocation.session, self.invocation.id).await.unwrap().unwrap();
        assert_eq!(standing.attachment.generation, self.generation);
        assert_eq!(standing.attachment.holder, Some((journal.incarnation(), self.lease.holder())));
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_alone_gets_the_answers_of_the_model() {
    for seed in 0..SEEDS {
        follow_model(Memory::default(), FaultPlan { delay: 0.0, ..FaultPlan::mixed(seed, FAULTS) }, STEPS).await;
    }
}

/// On a real cluster, whose limits are its own.
#[cfg(feature = "fdb")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_alone_gets_the_answers_of_the_model_on_foundationdb() {
    let Some(engine) = cluster().await else { return };
    let plan = FaultPlan { unknown_committed: FAULTS / 2.0, unknown_lost: FAULTS / 2.0, ..FaultPlan::none(1) };
    follow_model(engine, plan, STEPS).await;
}

async fn follow_model(engine: impl Engine + Clone, plan: FaultPlan, steps: usize) {
    let seed = plan.seed;
    let faulty = Fault::new(engine, plan);
    let journal = open_seeded(faulty.clone(), seed).await;
    let (invocation, lease, run, from, to) = returned(&journal).await;
    let mut world = World {
        journal: &journal,
        choices: Env::seeded(seed + 1_000),
        invocation,
        lease,
        old_leases: Vec::new(),
        generation: 1,
        attempts: 1,
        run,
        old_runs: Vec::new(),
        input: (from, Model::default()),
        output: (to, Model::default()),
    };
    for _ in 0..steps {
        world.step().await;
    }
    world.check(&journal).await;
    finish(&journal, &world.run, &world.invocation).await;
    let read = journal.invocation(&world.invocation.session, world.invocation.id).await.unwrap().unwrap();
    assert_eq!(read.outcome, Some(Outcome::Success));
    assert!(faulty.faults() > steps as u64 / 10);
}
