//! What carries messages between the nodes: it loses, delays, reorders and repeats them, and can cut a node off.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cluster::{Coordinator, Follower, News, Newsroom, NoAnswer, Node, Peer, Question};
use env::{TaskKind, Tasks};
use journal::{Incarnation, SessionUid};

use crate::dice::Dice;
use crate::life::Life;
use crate::weather::Weather;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest time on the way, while nothing goes wrong and in the storm.
const WAY: Duration = Duration::from_millis(3);
const LONG_WAY: Duration = Duration::from_secs(3);
/// How often a message of the storm takes long, comes twice, is lost.
const LATE: f64 = 0.1;
const TWICE: f64 = 0.1;
const LOST: f64 = 0.1;

/// All lines of the cluster. Clones are the same bus.
#[derive(Clone)]
pub struct Bus {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    weather: Weather,
    dice: Dice,
    tasks: Tasks,
}

#[derive(Default)]
struct State {
    seats: BTreeMap<Incarnation, Seat>,
    /// Nodes that hear nobody and that nobody hears.
    cut_off: BTreeSet<usize>,
    /// Who follows which session.
    followed: BTreeSet<(SessionUid, Incarnation)>,
}

#[derive(Clone)]
struct Seat {
    node: usize,
    life: Life,
    peer: Option<Arc<dyn Peer>>,
    newsroom: Newsroom,
}

/// One run of a node on the bus.
pub struct Line {
    node: Node,
    life: Life,
    bus: Bus,
}

impl Bus {
    /// A bus that behaves as `weather` and `dice` say.
    pub fn new(weather: Weather, dice: Dice) -> Self {
        let (state, tasks) = (Mutex::default(), Tasks::default());
        Self { shared: Arc::new(Shared { state, weather, dice, tasks }) }
    }

    /// The line of one run of a node.
    pub fn line(&self, node: usize, incarnation: Incarnation, life: Life) -> Line {
        let seat = Seat { node, life: life.clone(), peer: None, newsroom: Newsroom::default() };
        self.with(|state| state.seats.insert(incarnation, seat));
        Line { node: Node { name: format!("node {node}"), incarnation }, life, bus: self.clone() }
    }

    /// Cuts a node off, or takes it in again.
    pub fn cut_off(&self, node: usize, cut: bool) {
        self.with(|state| if cut { state.cut_off.insert(node) } else { state.cut_off.remove(&node) });
    }

    fn seat(&self, of: Incarnation) -> Option<Seat> {
        self.with(|state| state.seats.get(&of).cloned())
    }

    /// How many copies of a message arrive.
    fn copies(&self, from: Incarnation, to: Incarnation) -> usize {
        if self.shared.weather.is_calm() {
            return 1;
        }
        let cut = self.with(|state| {
            let is_cut = |of| state.seats.get(&of).is_none_or(|seat: &Seat| state.cut_off.contains(&seat.node));
            is_cut(from) || is_cut(to)
        });
        match () {
            () if cut || self.shared.dice.chance(LOST) => 0,
            () if self.shared.dice.chance(TWICE) => 2,
            () => 1,
        }
    }

    async fn travel(&self) {
        let late = !self.shared.weather.is_calm() && self.shared.dice.chance(LATE);
        tokio::time::sleep(self.shared.dice.up_to(if late { LONG_WAY } else { WAY })).await;
    }

    /// Lets a message arrive as often as it does, each copy after a time of its own.
    fn send<F>(&self, from: Incarnation, to: Incarnation, arrive: impl Fn(Seat) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send,
    {
        let arrive = Arc::new(arrive);
        for _ in 0..self.copies(from, to) {
            let (bus, arrive) = (self.clone(), Arc::clone(&arrive));
            self.shared.tasks.spawn("message", TaskKind::Background, async move {
                bus.travel().await;
                let Some(seat) = bus.seat(to) else { return };
                seat.life.awake().await;
                arrive(seat).await;
            });
        }
    }

    fn with<T>(&self, of: impl FnOnce(&mut State) -> T) -> T {
        of(&mut self.shared.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Line {
    /// Asks and hears the answer, unless one of the two is lost. A copy of the question is answered as well, to nobody.
    async fn exchange(&self, owner: Incarnation, question: Question) -> Option<bool> {
        let (me, bus) = (self.node.incarnation, &self.bus);
        let (answer, mut heard) = tokio::sync::mpsc::channel(2);
        bus.send(me, owner, move |seat| {
            let (question, answer) = (question.clone(), answer.clone());
            async move {
                let Some(peer) = seat.peer else { return };
                let answered = peer.answer(question).await;
                // Whoever asked may have heard the other copy, or given up.
                let _ = answer.try_send(answered);
            }
        });
        let answered = heard.recv().await??;
        bus.travel().await;
        (bus.copies(owner, me) > 0).then_some(answered)
    }
}

#[async_trait]
impl Coordinator for Line {
    fn node(&self) -> &Node {
        &self.node
    }

    fn serve(&self, peer: Arc<dyn Peer>) {
        self.bus.with(|state| {
            if let Some(seat) = state.seats.get_mut(&self.node.incarnation) {
                seat.peer = Some(peer);
            }
        });
    }

    async fn ask(&self, owner: Incarnation, question: Question) -> Result<bool, NoAnswer> {
        let answered = tokio::time::timeout(PATIENCE, self.exchange(owner, question)).await;
        self.life.awake().await;
        answered.ok().flatten().ok_or(NoAnswer)
    }

    fn dispossess(&self, owner: Incarnation, session: &SessionUid) {
        let session = session.clone();
        self.bus.send(self.node.incarnation, owner, move |seat| {
            let session = session.clone();
            async move {
                if let Some(peer) = seat.peer {
                    peer.dispossessed(&session).await;
                }
            }
        });
    }

    fn tell(&self, session: &SessionUid, news: News) {
        let me = self.node.incarnation;
        let followers: Vec<Incarnation> = self.bus.with(|state| {
            state.followed.iter().filter(|(followed, _)| followed == session).map(|(_, by)| *by).collect()
        });
        for follower in followers {
            let (session, news) = (session.clone(), news.clone());
            let tell = move |seat: Seat| {
                seat.newsroom.tell(&session, news.clone());
                std::future::ready(())
            };
            match self.bus.seat(me).filter(|_| follower == me) {
                Some(own) => drop(tell(own)),
                None => self.bus.send(me, follower, tell),
            }
        }
    }

    fn follow(&self, session: &SessionUid) -> Follower {
        let me = self.node.incarnation;
        let bus = self.bus.clone();
        let closed = move |session: &SessionUid| {
            bus.with(|state| state.followed.remove(&(session.clone(), me)));
        };
        let newsroom = self.bus.seat(me).map(|seat| seat.newsroom).unwrap_or_default();
        self.bus.with(|state| state.followed.insert((session.clone(), me)));
        newsroom.follow(session, closed).0
    }

    fn registry_changed(&self) {}

    async fn registry_change(&self) {
        std::future::pending().await
    }
}
