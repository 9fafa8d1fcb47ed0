//! A world of nodes on one log in which calls are cut at any point: whatever happens, the caller has the turn's records once
//! and in order, and the log has the turn once.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// The events of a turn, one commit each; START stands for START and INPUT.
const COMMITS: usize = 4;

/// What happens, drawn one number at a time. After the last number everything goes well.
struct Chance(std::vec::IntoIter<u8>);

impl Chance {
    /// A number below `outcomes`; 0 is what goes well.
    fn draw(&mut self, outcomes: u8) -> u8 {
        self.0.next().map_or(0, |number| number % outcomes)
    }
}

struct World {
    chance: Chance,
    log: Vec<LogRecord>,
    /// What the node that runs Exec has committed and not sent; `None` if no stream is open.
    stream: Option<VecDeque<LogRecord>>,
    /// Calls of Exec that will arrive late.
    late: usize,
    /// Commits of a Resume under way.
    resuming: bool,
    /// Others use the session too.
    rivals: bool,
}

impl World {
    fn new(chance: Vec<u8>, rivals: bool) -> Self {
        let log = (1..=HEAD).map(|seq| output(seq, "earlier")).collect();
        Self { chance: Chance(chance.into_iter()), log, stream: None, late: 0, resuming: false, rivals }
    }

    fn next_seq(&self) -> i64 {
        self.log.len() as i64 + 1
    }

    fn of(&self, execution: &str) -> impl Iterator<Item = &LogRecord> {
        self.log.iter().filter(move |record| record.event.as_ref().is_some_and(|event| event.execution_id == execution))
    }

    fn effects(&self) -> usize {
        let is_effect =
            |record: &&LogRecord| record.event.as_ref().is_some_and(|event| event.kind() != EventKind::EventError);
        self.of(OURS).filter(is_effect).count()
    }

    fn has_begun(&self) -> bool {
        self.effects() > 0
    }

    fn has_ended(&self) -> bool {
        self.effects() == COMMITS
    }

    fn is_superseded(&self) -> bool {
        self.has_begun() && self.of(OTHER).next().is_some()
    }

    /// Whether Exec may begin the turn: compare-and-set on the head.
    fn may_begin(&self) -> bool {
        self.log.len() as i64 == HEAD
    }

    /// The next commit of the turn, unless it has ended.
    fn commit(&mut self) -> Option<LogRecord> {
        let seq = self.next_seq();
        let record = match self.effects() {
            0 => start(seq, OURS),
            COMMITS => return None,
            last if last + 1 == COMMITS => end(seq, OURS, "COMPLETED"),
            _ => output(seq, OURS),
        };
        self.log.push(record.clone());
        Some(record)
    }

    /// A node goes on for a while after its caller has lost it, and may say in the log that it was stopped.
    fn run_on(&mut self) {
        for _ in 0..self.chance.draw(4) {
            self.commit();
        }
        if self.has_begun() && !self.has_ended() && self.chance.draw(2) == 1 {
            let seq = self.next_seq();
            self.log.push(record(seq, OURS, EventKind::EventError, None));
        }
    }

    /// What the rest of the world does between two steps of the turn.
    fn pass(&mut self) {
        if self.late > 0 && self.chance.draw(3) == 1 {
            self.late -= 1;
            if self.may_begin() {
                self.commit();
                self.run_on();
            }
        }
        let idle = self.stream.is_none() && !self.resuming;
        if self.rivals && idle && self.of(OTHER).next().is_none() && self.chance.draw(8) == 1 {
            let seq = self.next_seq();
            self.log.extend([start(seq, OTHER), end(seq + 1, OTHER, "COMPLETED")]);
        }
    }

    fn exec(&mut self) -> Input {
        self.stream = None;
        match self.chance.draw(6) {
            1 => return Input::StreamFailed(refused(&Status::unavailable("draining"))),
            2 => return Input::StreamFailed(broken()),
            3 => {
                self.late += 1;
                return Input::StreamFailed(broken());
            }
            4 if self.late > 0 => return Input::StreamFailed(refused(&Status::aborted("busy"))),
            _ => {}
        }
        if self.has_begun() {
            return Input::StreamFailed(refused(&Status::already_exists("has it")));
        }
        if !self.may_begin() {
            return Input::StreamFailed(refused(&Status::aborted("head has moved")));
        }
        self.stream = Some(VecDeque::new());
        opened()
    }

    fn read_stream(&mut self) -> Input {
        if self.chance.draw(5) == 1 {
            self.stream = None;
            self.run_on();
            return Input::StreamFailed(broken());
        }
        let next = self.stream.as_mut().and_then(VecDeque::pop_front).or_else(|| self.commit());
        next.map_or(Input::StreamEnded, streamed)
    }

    fn read_log(&mut self, cursor: i64) -> Input {
        self.stream = None;
        match self.chance.draw(8) {
            1 => Input::LogFailed(broken()),
            // A late writer may be faster than the reader.
            2 => {
                self.pass();
                self.read_log(cursor)
            }
            // A reader may begin before the cursor.
            3 => Input::Logged(self.log[cursor as usize - 1].clone()),
            _ => self.log.get(cursor as usize).map_or(Input::LogEnded, |record| Input::Logged(record.clone())),
        }
    }

    /// A Resume that runs commit by commit, or fails.
    fn resume(&mut self) -> Input {
        self.resuming = true;
        match self.chance.draw(8) {
            1 => self.resume_ends(Err(refused(&Status::unavailable("draining")))),
            2 => self.resume_ends(Err(refused(&Status::aborted("busy")))),
            3 => {
                self.run_on();
                self.resume_ends(Err(broken()))
            }
            4 => {
                self.commit();
                Input::StillResuming
            }
            _ => {
                while self.commit().is_some() {}
                let seq = self.next_seq();
                self.log.push(marker(seq, Kind::LifecycleResume));
                let last_seq = self.log.len() as i64;
                self.resume_ends(Ok(Session { last_seq, ..Session::default() }))
            }
        }
    }

    fn resume_ends(&mut self, answer: Result<Session, Error>) -> Input {
        self.resuming = false;
        answer.map_or_else(Input::ResumeFailed, Input::Resumed)
    }

    fn perform(&mut self, action: &Action, cursor: i64) -> Input {
        self.pass();
        match action {
            Action::Exec => self.exec(),
            Action::ReadStream => self.read_stream(),
            Action::ReadLog => self.read_log(cursor),
            // A turn that is over, or is another's by now, is not run.
            Action::Resume | Action::AwaitResume if self.is_superseded() => {
                self.resume_ends(Ok(Session { last_seq: self.log.len() as i64, ..Session::default() }))
            }
            Action::Resume | Action::AwaitResume => self.resume(),
            Action::ReadSession => Input::SessionRead(Session::default()),
            Action::Pause { .. } => Input::Paused,
            Action::Deliver(_) => Input::Delivered,
            Action::Finish(_) => unreachable!("nothing is done after the end"),
        }
    }
}

/// Runs a turn through the world and returns what its caller got.
fn run(world: &mut World) -> (Vec<LogRecord>, usize, Result<(), Error>) {
    let (mut records, mut sessions) = (Vec::new(), 0);
    let mut turn = turn();
    let mut action = Action::Exec;
    for _ in 0..1000 {
        match &action {
            Action::Finish(outcome) => return (records, sessions, outcome.clone()),
            Action::Deliver(Update::Record(record)) => records.push((**record).clone()),
            Action::Deliver(Update::Session(_)) => sessions += 1,
            _ => {}
        }
        let input = world.perform(&action, turn.cursor());
        action = turn.on(input);
    }
    panic!("the turn does not end");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn whatever_is_cut_the_caller_has_each_record_once_in_order_and_the_turn_ends(
        chance in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut world = World::new(chance, false);
        let (records, sessions, outcome) = run(&mut world);
        prop_assert!(world.of(OURS).filter(|record| record.event.as_ref().unwrap().kind() == EventKind::EventExecutionStart).count() <= 1);
        prop_assert_eq!(&records[..], &world.log[HEAD as usize..][..records.len()]);
        prop_assert!(outcome.is_ok(), "{:?}", outcome);
        prop_assert!(world.has_ended());
        let ends = records.iter().filter(|record| record.event.as_ref().unwrap().kind() == EventKind::EventEnd).count();
        prop_assert_eq!((ends, sessions <= 1), (1, true));
    }

    #[test]
    fn a_turn_among_rivals_ends_or_is_reported_as_lost_and_is_never_mistaken_for_another(
        chance in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut world = World::new(chance, true);
        let (records, _, outcome) = run(&mut world);
        prop_assert_eq!(&records[..], &world.log[HEAD as usize..][..records.len()]);
        prop_assert!(records.iter().all(|record| record.event.as_ref().unwrap().execution_id != OTHER));
        match outcome {
            Ok(()) => prop_assert!(world.has_ended()),
            Err(error) => {
                prop_assert_eq!(error.code(), Code::Aborted);
                prop_assert!(world.of(OTHER).next().is_some());
            }
        }
    }
}
