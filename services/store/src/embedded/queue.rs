//! Who writes next: a lone commit at once and where it is, commits that meet as one group.

use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;

use super::gather::{Gather, Wait};
use super::writer::{Answer, Errand, Writer};
use crate::optimistic::Commit;
use crate::{CommitError, StoreError};

/// Most bytes of the commits that may wait together; whoever comes later waits for a place.
const BYTES: usize = 64 << 20;
/// What a commit takes of them at least, which bounds how many may wait.
const LEAST_BYTES: usize = 16 << 10;
/// Most commits in one group.
const GROUP: usize = 1_024;

/// The commits that wait, and the writer that takes them.
pub(super) struct Queue {
    places: Semaphore,
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// `None` once the store is closed.
    writer: Mutex<Option<Writer>>,
}

#[derive(Default)]
struct Waiting {
    commits: Vec<(Commit, oneshot::Sender<Answer>)>,
    errands: Vec<Errand>,
    /// How many commits the thread waits for.
    wanted: usize,
    gather: Gather,
    closed: bool,
}

impl Queue {
    pub(super) fn new(writer: Writer) -> Self {
        Self {
            places: Semaphore::new(BYTES),
            waiting: Mutex::default(),
            changed: Condvar::new(),
            writer: Mutex::new(Some(writer)),
        }
    }

    /// Commits, once there is a place.
    pub(super) async fn commit(&self, commit: Commit) -> Answer {
        let bytes = u32::try_from(commit.bytes.clamp(LEAST_BYTES, BYTES)).unwrap_or(u32::MAX);
        let Ok(_place) = self.places.acquire_many(bytes).await else {
            return Err(closed().into());
        };
        if let Some(answer) = self.commit_alone(&commit) {
            return answer;
        }
        let (answer, outcome) = oneshot::channel();
        self.push(commit, answer);
        // Whatever is taken is answered, unless the writer dies.
        outcome.await.unwrap_or(Err(CommitError::Unknown))
    }

    /// Commits on the calling thread if nobody else writes: a hand-off to the writing thread and back would take about
    /// as long as the commit.
    fn commit_alone(&self, commit: &Commit) -> Option<Answer> {
        if !can_block() {
            return None;
        }
        let mut writer = self.writer.try_lock().ok()?;
        let writer = writer.as_mut().filter(|_| self.lock().is_quiet())?;
        tokio::task::block_in_place(|| self.write(writer, [commit].into_iter()).pop())
    }

    fn write<'c>(&self, writer: &mut Writer, group: impl ExactSizeIterator<Item = &'c Commit> + Clone) -> Vec<Answer> {
        let begun = Instant::now();
        let answers = writer.commit(group);
        let mut waiting = self.lock();
        let others = waiting.commits.len();
        waiting.gather.answered(answers.len(), others);
        if let [Ok(_)] = answers[..] {
            waiting.gather.took_alone(begun.elapsed());
        }
        answers
    }

    fn push(&self, commit: Commit, answer: oneshot::Sender<Answer>) {
        let mut waiting = self.lock();
        if waiting.closed {
            // An error means that the transaction's future was dropped: nobody wants to know.
            let _ = answer.send(Err(closed().into()));
            return;
        }
        waiting.commits.push((commit, answer));
        if waiting.commits.len() >= waiting.wanted {
            drop(waiting);
            self.changed.notify_one();
        }
    }

    /// Has the writer do something beside the commits.
    pub(super) fn ask(&self, errand: Errand) {
        let mut waiting = self.lock();
        // More of the same would change nothing.
        if !waiting.errands.contains(&errand) {
            waiting.errands.push(errand);
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// Refuses what comes from now on. What waits is still committed.
    pub(super) fn close(&self) {
        self.places.close();
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Writes what waits, group by group, until the store is closed.
    pub(super) fn run(&self) {
        while self.wait() {
            // A commit that is alone may be under way: what comes meanwhile joins the group.
            let Ok(mut writer) = self.writer.lock() else {
                tracing::error!("a commit ended in a panic: the store is closed");
                break;
            };
            let Some(writer) = &mut *writer else { break };
            let (commits, errands) = self.lock().take();
            errands.into_iter().for_each(|errand| writer.run(errand));
            if !commits.is_empty() {
                let answers = self.write(writer, commits.iter().map(|(commit, _)| commit));
                for ((_, waiter), answer) in commits.into_iter().zip(answers) {
                    let _ = waiter.send(answer);
                }
            }
        }
        self.stop();
    }

    /// Waits for a group. Returns false when the store is closed and nothing waits.
    fn wait(&self) -> bool {
        let mut waiting = self.lock();
        waiting.wanted = 1;
        waiting = self.changed.wait_while(waiting, |waiting| waiting.is_idle()).unwrap_or_else(PoisonError::into_inner);
        if !waiting.closed
            && let Some(Wait { commits, bound }) = waiting.gather.next()
        {
            waiting.wanted = commits;
            let short = |waiting: &mut Waiting| waiting.commits.len() < waiting.wanted && !waiting.closed;
            waiting = self.changed.wait_timeout_while(waiting, bound, short).unwrap_or_else(PoisonError::into_inner).0;
            let came = waiting.commits.len();
            waiting.gather.gathered(came);
        }
        // Whoever comes before the group is taken joins it without a word.
        waiting.wanted = usize::MAX;
        !(waiting.closed && waiting.commits.is_empty())
    }

    /// Closes the file. Whatever still waits is told that its outcome is unknown.
    fn stop(&self) {
        self.close();
        self.lock().commits.clear();
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing is left half done while the lock is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Whether a commit that comes now is alone.
    fn is_quiet(&self) -> bool {
        self.commits.is_empty() && self.gather.is_alone() && !self.closed
    }

    fn is_idle(&self) -> bool {
        self.commits.is_empty() && self.errands.is_empty() && !self.closed
    }

    fn take(&mut self) -> (Vec<(Commit, oneshot::Sender<Answer>)>, Vec<Errand>) {
        let group = self.commits.len().min(GROUP);
        (self.commits.drain(..group).collect(), mem::take(&mut self.errands))
    }
}

/// Whether the runtime has a thread that takes over the other tasks of this one.
fn can_block() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

fn closed() -> StoreError {
    StoreError::Unavailable("store is closed".into())
}
