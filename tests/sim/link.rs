//! The way from a node to the store: it takes time, fails as the fault plan says, and ends with the node.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use store::fault::Fault;
use store::memory::Memory;
use store::{
    AtomicOp, CommitError, Engine, EngineTransaction, Isolation, KeyRange, Page, RangeRead, StoreError, Versionstamp,
    Watch,
};

use crate::dice::Dice;
use crate::life::{Life, Phase};
use crate::scene::Scene;
use crate::weather::Weather;
use crate::witness::{RunId, Witness};

/// Longest time that a message to the store or back takes.
const LONGEST_WAY: Duration = Duration::from_millis(4);
/// How often a message takes time that a clock can tell.
const SLOW: f64 = 0.3;
/// Longest time that a message is held up somewhere, and how often that happens in the storm.
const LONGEST_HOLD: Duration = Duration::from_secs(3);
const HELD_UP: f64 = 0.01;
/// How often a commit arrives that was on its way when its node died or stopped.
const ARRIVES: f64 = 0.5;

/// The store as one run of a node reaches it. Clones are the same way.
#[derive(Clone)]
pub struct Link {
    pub memory: Memory,
    pub fault: Fault<Memory>,
    pub weather: Weather,
    pub life: Life,
    pub dice: Dice,
    pub witness: Arc<Witness>,
    pub run: RunId,
}

impl Link {
    async fn travel(&self) {
        if !self.weather.is_calm() && self.dice.chance(HELD_UP) {
            tokio::time::sleep(self.dice.up_to(LONGEST_HOLD)).await;
        }
        if self.dice.chance(SLOW) {
            tokio::time::sleep(self.dice.up_to(LONGEST_WAY)).await;
        }
    }

    fn note_scenes(&self, committed: bool) {
        if committed && self.life.phase() != Phase::Awake {
            self.witness.play(Scene::LateCommit);
        }
        if self.fault.is_crashed() && self.life.phase() != Phase::Dead {
            self.witness.play(Scene::DiedAtCommit);
        }
    }
}

#[async_trait]
impl Engine for Link {
    async fn begin(&self) -> Result<Box<dyn EngineTransaction>, StoreError> {
        self.life.awake().await;
        let begun = if self.weather.is_calm() { self.memory.begin().await } else { self.fault.begin().await };
        Ok(Box::new(Linked { link: self.clone(), inner: begun?, written: Vec::new() }))
    }
}

/// A transaction over a [`Link`].
struct Linked {
    link: Link,
    inner: Box<dyn EngineTransaction>,
    written: Vec<Bytes>,
}

impl Linked {
    fn note(&mut self, key: &[u8]) {
        self.written.push(Bytes::copy_from_slice(key));
    }
}

#[async_trait]
impl EngineTransaction for Linked {
    async fn get(&mut self, key: &[u8], isolation: Isolation) -> Result<Option<Bytes>, StoreError> {
        self.link.travel().await;
        let value = self.inner.get(key, isolation).await;
        self.link.life.awake().await;
        value
    }

    async fn get_range(&mut self, read: &RangeRead, isolation: Isolation) -> Result<Page, StoreError> {
        self.link.travel().await;
        let page = self.inner.get_range(read, isolation).await;
        self.link.life.awake().await;
        page
    }

    async fn presume(&mut self, key: &[u8], value: Option<&Bytes>) -> Result<(), StoreError> {
        self.inner.presume(key, value).await
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        self.note(key);
        self.inner.set(key, value);
    }

    fn clear(&mut self, key: &[u8]) {
        self.note(key);
        self.inner.clear(key);
    }

    fn clear_range(&mut self, range: &KeyRange) {
        self.note(&range.begin);
        self.inner.clear_range(range);
    }

    fn atomic(&mut self, op: AtomicOp, key: &[u8], operand: u64) {
        self.note(key);
        self.inner.atomic(op, key, operand);
    }

    fn set_versionstamped_key(&mut self, prefix: &[u8], suffix: &[u8], value: &[u8]) {
        self.note(prefix);
        self.inner.set_versionstamped_key(prefix, suffix, value);
    }

    fn watch(&mut self, key: &[u8]) -> Watch {
        self.inner.watch(key)
    }

    async fn commit(self: Box<Self>) -> Result<Option<Versionstamp>, CommitError> {
        let Self { link, inner, written } = *self;
        link.travel().await;
        if !link.dice.chance(ARRIVES) {
            link.life.awake().await;
        }
        let outcome = inner.commit().await;
        if !written.is_empty() {
            link.witness.look(link.run, &written, &outcome).await;
        }
        link.note_scenes(outcome.is_ok());
        if link.fault.is_crashed() && !link.weather.is_calm() {
            link.life.kill();
        }
        link.travel().await;
        link.life.awake().await;
        outcome
    }
}
