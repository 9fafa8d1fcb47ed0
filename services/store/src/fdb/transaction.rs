//! One transaction of the client.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use foundationdb::future::FdbSlice;
use foundationdb::options::{ConflictRangeType, MutationType, StreamingMode};
use foundationdb::{FdbResult, RangeOption, Transaction};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Shared;
use super::errors::{commit_error, read_error};
use crate::limits::{self, Account};
use crate::watches::{not_armed, too_many};
use crate::{
    AtomicOp, CommitError, EngineTransaction, Isolation, KeyRange, KeyValue, Page, RangeRead, StoreError, Versionstamp,
    Watch,
};

/// What the client counts for a row of a range beside its key and its value.
const ROW_BYTES: usize = 24;

/// A transaction on a cluster.
pub(super) struct FdbTransaction {
    shared: Arc<Shared>,
    transaction: Transaction,
    account: Account,
    /// What this process knows to have been so, as long as nothing is read beside it.
    remembered: Option<Remembered>,
    is_reading: bool,
    presumptions: Vec<Presumption>,
    /// Keys that were read or presumed, each with what it was set to.
    moved: Vec<(Vec<u8>, Option<Bytes>)>,
    watches: Vec<PendingWatch>,
    /// Whether a versionstamped key was set.
    stamped: bool,
}

/// A presumption that held at a version.
struct Remembered {
    key: Vec<u8>,
    presumed: Bytes,
    version: i64,
}

/// A read that is on its way, and what it is to find.
struct Presumption {
    found: BoxFuture<'static, FdbResult<Option<FdbSlice>>>,
    presumed: Option<Bytes>,
}

/// A watch that the client is asked for at the commit. Dropping it fails the watch.
struct PendingWatch {
    key: Vec<u8>,
    waiter: oneshot::Sender<BoxFuture<'static, FdbResult<()>>>,
}

impl FdbTransaction {
    pub(super) fn new(shared: Arc<Shared>, transaction: Transaction) -> Self {
        Self {
            shared,
            transaction,
            account: Account::default(),
            remembered: None,
            is_reading: false,
            presumptions: Vec::new(),
            moved: Vec::new(),
            watches: Vec::new(),
            stamped: false,
        }
    }

    fn count_point(&mut self, key: &[u8], isolation: Isolation) -> Result<(), StoreError> {
        limits::check_key(key)?;
        match isolation {
            Isolation::Serializable => self.account.count_point(key),
            Isolation::Snapshot => Ok(()),
        }
    }

    /// The first rows of what is read, and the bytes that the client takes them for. It stops short of its limits where the
    /// range goes on on other servers, or where what it knows already ends.
    async fn get_part(&mut self, read: &RangeRead, isolation: Isolation) -> Result<(Page, usize), StoreError> {
        let range = self.shared.subspace.range(&read.range);
        let option = RangeOption {
            limit: Some(read.limit),
            target_bytes: read.byte_limit,
            // The page is all that is wanted, and all of it.
            mode: StreamingMode::Exact,
            reverse: read.reverse,
            ..RangeOption::from((&range.begin[..], &range.end[..]))
        };
        let found = self.transaction.get_range(&option, 1, is_snapshot(isolation));
        let found = found.await.map_err(read_error)?;
        let row = |row: &foundationdb::future::FdbKeyValue| KeyValue {
            key: self.shared.subspace.strip(row.key()),
            value: Bytes::copy_from_slice(row.value()),
        };
        let bytes = found.iter().map(|row| ROW_BYTES + row.key().len() + row.value().len()).sum();
        Ok((Page { rows: found.iter().map(row).collect(), more: found.more() }, bytes))
    }

    /// A key that is remembered is kept in mind whether it was read or not: what is remembered is to be the latest.
    fn note_move(&mut self, key: &[u8], value: Option<&[u8]>) {
        let value = value.map(Bytes::copy_from_slice);
        match self.moved.iter_mut().find(|(moved, _)| moved == key) {
            Some((_, moved)) => *moved = value,
            None if self.shared.lately().knows(key) => self.moved.push((key.to_vec(), value)),
            None => {}
        }
    }

    /// The transaction reads the present: what is remembered of the past is read, too.
    fn begin_reading(&mut self) {
        self.is_reading = true;
        if let Some(Remembered { key, presumed, .. }) = self.remembered.take() {
            self.read_for(&key, Some(presumed));
        }
    }

    fn read_for(&mut self, key: &[u8], presumed: Option<Bytes>) {
        let found = self.transaction.get(key, false).boxed();
        self.presumptions.push(Presumption { found, presumed });
    }

    /// Has the commit conflict with whoever has written `key` since the version that the transaction is of. Said before the
    /// transaction writes the key: the client leaves reads of own writes out.
    fn conflict_on(&self, key: &[u8]) -> Result<(), StoreError> {
        let end = [key, &[0]].concat();
        self.transaction.add_conflict_range(key, &end, ConflictRangeType::Read).map_err(read_error)
    }

    /// What was presumed is compared only here, so that the reads run while the writes are prepared.
    async fn check_presumptions(&mut self) -> Result<(), CommitError> {
        for Presumption { found, presumed } in std::mem::take(&mut self.presumptions) {
            let found = found.await.map_err(read_error)?;
            if found.as_deref() != presumed.as_deref() {
                return Err(CommitError::Conflict);
            }
        }
        Ok(())
    }

    async fn send(mut self) -> Result<Option<Versionstamp>, CommitError> {
        // Asked for only now, so that they see all that the transaction writes.
        let watches = std::mem::take(&mut self.watches).into_iter();
        let watches: Vec<_> =
            watches.map(|pending| (pending.waiter, self.transaction.watch(&pending.key).boxed())).collect();
        let stamp = self.stamped.then(|| self.transaction.get_versionstamp());
        let committed = self.transaction.commit().await.map_err(|error| commit_error(error.into()))?;
        if let Ok(version) = committed.committed_version() {
            let (mut lately, now) = (self.shared.lately(), Instant::now());
            let moved = self.moved.into_iter().filter_map(|(key, value)| Some((key, value?)));
            moved.for_each(|(key, value)| lately.note(key, value, version, now));
        }
        for (waiter, watch) in watches {
            // An error means that nobody waits any more.
            let _ = waiter.send(watch);
        }
        match stamp {
            Some(stamp) => read_stamp(stamp.await).map(Some),
            None => Ok(None),
        }
    }
}

/// The stamp of a commit that has happened. Without it the caller cannot be told how it went.
fn read_stamp(stamp: FdbResult<FdbSlice>) -> Result<Versionstamp, CommitError> {
    let bytes = stamp.ok().and_then(|stamp| stamp[..].try_into().ok());
    bytes.map(Versionstamp).ok_or(CommitError::Unknown)
}

fn is_snapshot(isolation: Isolation) -> bool {
    isolation == Isolation::Snapshot
}

#[async_trait]
impl EngineTransaction for FdbTransaction {
    async fn get(&mut self, key: &[u8], isolation: Isolation) -> Result<Option<Bytes>, StoreError> {
        self.count_point(key, isolation)?;
        self.begin_reading();
        let key = self.shared.subspace.key(key);
        let found = self.transaction.get(&key, is_snapshot(isolation));
        let value = found.await.map_err(read_error)?;
        self.moved.push((key, None));
        Ok(value.map(|value| Bytes::copy_from_slice(&value)))
    }

    async fn get_range(&mut self, read: &RangeRead, isolation: Isolation) -> Result<Page, StoreError> {
        limits::check_range(&read.range)?;
        self.begin_reading();
        let (mut page, mut rest) = (Page { rows: Vec::new(), more: true }, Some(read.clone()));
        while let Some(read) = rest {
            let (part, bytes) = self.get_part(&read, isolation).await?;
            rest = read.after(&part).and_then(|rest| rest.less(part.rows.len(), bytes));
            page.more = part.more;
            page.rows.extend(part.rows);
        }
        if isolation == Isolation::Serializable {
            self.account.count_range(&read.covered_by(&page))?;
        }
        Ok(page)
    }

    async fn presume(&mut self, key: &[u8], value: Option<&Bytes>) -> Result<(), StoreError> {
        self.count_point(key, Isolation::Serializable)?;
        let key = self.shared.subspace.key(key);
        self.moved.push((key.clone(), None));
        // Alone, and before any write, which it would have to see.
        let is_alone = !self.is_reading && self.remembered.is_none() && !self.account.has_writes();
        let known = value.filter(|_| is_alone);
        let version = known.and_then(|value| self.shared.lately().version(&key, value, Instant::now()));
        match (known, version) {
            (Some(value), Some(version)) => {
                self.conflict_on(&key)?;
                self.remembered = Some(Remembered { key, presumed: value.clone(), version });
            }
            _ => {
                self.begin_reading();
                self.read_for(&key, value.cloned());
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        if self.account.allows_write(key, value) {
            let key = self.shared.subspace.key(key);
            self.transaction.set(&key, value);
            self.note_move(&key, Some(value));
        }
    }

    fn clear(&mut self, key: &[u8]) {
        if self.account.allows_write(key, &[]) {
            let key = self.shared.subspace.key(key);
            self.transaction.clear(&key);
            self.note_move(&key, None);
        }
    }

    fn clear_range(&mut self, range: &KeyRange) {
        if self.account.allows_clear(range) {
            let range = self.shared.subspace.range(range);
            self.transaction.clear_range(&range.begin, &range.end);
            self.moved.clear();
        }
    }

    fn atomic(&mut self, op: AtomicOp, key: &[u8], operand: u64) {
        let operand = operand.to_le_bytes();
        if self.account.allows_write(key, &operand) {
            let mutation = match op {
                AtomicOp::Add => MutationType::Add,
                AtomicOp::Max => MutationType::Max,
            };
            let key = self.shared.subspace.key(key);
            self.transaction.atomic_op(&key, &operand, mutation);
            self.note_move(&key, None);
        }
    }

    fn set_versionstamped_key(&mut self, prefix: &[u8], suffix: &[u8], value: &[u8]) {
        let key = [prefix, &[0; Versionstamp::BYTES], suffix].concat();
        if self.account.allows_write(&key, value) {
            let mut key = self.shared.subspace.key(&key);
            // Where in the key the stamp goes, as the client wants it told: at its end, in four bytes.
            let offset = (key.len() - suffix.len() - Versionstamp::BYTES) as u32;
            key.extend_from_slice(&offset.to_le_bytes());
            self.transaction.atomic_op(&key, value, MutationType::SetVersionstampedKey);
            self.stamped = true;
        }
    }

    fn watch(&mut self, key: &[u8]) -> Watch {
        if let Err(error) = limits::check_key(key) {
            return std::future::ready(Err(error)).boxed();
        }
        let Ok(room) = Arc::clone(&self.shared.watches).try_acquire_owned() else {
            return std::future::ready(Err(too_many())).boxed();
        };
        let (waiter, armed) = oneshot::channel();
        self.watches.push(PendingWatch { key: self.shared.subspace.key(key), waiter });
        async move {
            let _room = room;
            let watch = armed.await.map_err(|_| not_armed())?;
            watch.await.map_err(read_error)
        }
        .boxed()
    }

    async fn commit(mut self: Box<Self>) -> Result<Option<Versionstamp>, CommitError> {
        self.account.settle()?;
        // The reads of a transaction that writes nothing were of one instant: there is nothing to ask the cluster.
        let sends = self.account.has_writes() || !self.watches.is_empty();
        match self.remembered.take() {
            // A watch begins with what the transaction sees, which is to be the present.
            Some(Remembered { version, .. }) if self.watches.is_empty() && sends => {
                self.transaction.set_read_version(version);
            }
            remembered => {
                self.remembered = remembered;
                self.begin_reading();
            }
        }
        self.check_presumptions().await?;
        if sends { self.send().await } else { Ok(None) }
    }
}
