//! Where the states of sessions are: `<session>/live/<number>-<turn>`, as of a turn that has ended or may have, and snapshots
//! in `<session>/snapshots/<number>`.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use controller::ports::SessionPoint;
use journal::{ExecutionId, SessionUid};
use thiserror::Error;
use tokio::fs;
use url::Url;
use wire::{ComputeState, SnapshotRef};

use super::explain;

const LIVE: &str = "live";
const SNAPSHOTS: &str = "snapshots";
/// Stands for the turn where none has ended yet. No turn is called so.
const NO_TURN: &str = "none";

/// The states of the sessions of one harness. A file that has its name is whole and never written again.
#[derive(Clone, Debug)]
pub(super) struct States {
    root: PathBuf,
}

/// A live state. The later it was kept, the higher its number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LiveState {
    number: u64,
    turn: String,
}

impl LiveState {
    fn parse(name: &str) -> Option<Self> {
        let (number, turn) = name.split_once('-')?;
        Some(Self { number: number.parse().ok()?, turn: turn.to_owned() })
    }

    fn name(&self) -> String {
        format!("{}-{}", self.number, self.turn)
    }
}

/// A state cannot be read or kept.
#[derive(Debug, Error)]
pub(super) enum StateError {
    /// A uid or an execution id that was not minted here and would be a path of its own.
    #[error("the id of the session or of its turn cannot name a file")]
    Id,
    /// The snapshot was not taken here, or by another harness.
    #[error("the snapshot is not one of this runtime")]
    Foreign,
    /// The file system failed.
    #[error("its state cannot be read or written: {}", explain(.0))]
    Files(#[from] io::Error),
}

impl States {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// The live state of a session, if it has one.
    pub(super) async fn live(&self, of: &SessionPoint) -> Result<Option<PathBuf>, StateError> {
        let directory = self.live_directory(&of.session)?;
        let turn = turn_name(of)?;
        let last = live_states(&directory).await?.into_iter().filter(|state| state.turn == turn).max();
        Ok(last.map(|state| directory.join(state.name())))
    }

    /// Keeps a copy of `state` as that of a session as of its turn. States as of other turns stay: only the log can tell
    /// which of them it has seen the end of.
    pub(super) async fn keep(&self, of: &SessionPoint, state: &Path) -> Result<(), StateError> {
        let directory = self.live_directory(&of.session)?;
        let copy = copy_into(&directory, Some(state)).await?;
        let last = live_states(&directory).await?.into_iter().map(|state| state.number).max();
        let kept = LiveState { number: last.unwrap_or_default() + 1, turn: turn_name(of)?.to_owned() };
        copy.persist(directory.join(kept.name())).map_err(|error| error.error)?;
        Ok(sync(&directory).await?)
    }

    /// Removes what was kept before the live state of a session: the log will not go back there. Later ones may be of a
    /// turn that is about to end.
    pub(super) async fn remove_former(&self, of: &SessionPoint) -> Result<(), StateError> {
        let directory = self.live_directory(&of.session)?;
        let (states, turn) = (live_states(&directory).await?, turn_name(of)?);
        let live = states.iter().filter(|state| state.turn == turn).max().map(|state| state.number);
        for former in states.iter().filter(|state| Some(state.number) < live) {
            gone(fs::remove_file(directory.join(former.name())).await)?;
        }
        Ok(())
    }

    /// Takes a snapshot of a session's live state, or of its last snapshot, or of nothing; returns its URI.
    pub(super) async fn snapshot(&self, of: &SessionPoint) -> Result<String, StateError> {
        let directory = std::path::absolute(self.directory(&of.session)?)?.join(SNAPSHOTS);
        let last = last_number(&directory).await?;
        let state = match self.live(of).await? {
            Some(live) => Some(live),
            None => last.map(|number| directory.join(number.to_string())),
        };
        let mut copy = copy_into(&directory, state.as_deref()).await?;
        let mut number = last.unwrap_or_default();
        loop {
            number += 1;
            let named = directory.join(number.to_string());
            match copy.persist_noclobber(&named) {
                Ok(()) => {
                    sync(&directory).await?;
                    return Url::from_file_path(named).map(String::from).map_err(|()| StateError::Foreign);
                }
                // Another node has just taken that number.
                Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => copy = taken.path,
                Err(error) => return Err(error.error.into()),
            }
        }
    }

    /// The file that a snapshot is. Journals come from elsewhere too, so what they name is only read if it is one.
    pub(super) fn held(&self, snapshot: &SnapshotRef) -> Result<PathBuf, StateError> {
        let path = Url::parse(&snapshot.external_uri).ok().and_then(|uri| uri.to_file_path().ok());
        let path = path.ok_or(StateError::Foreign)?;
        let within = path.strip_prefix(std::path::absolute(&self.root)?).map_err(|_| StateError::Foreign)?;
        let parts: Vec<_> = within.iter().collect();
        match parts[..] {
            [session, snapshots, number]
                if is_name(session.to_str()) && snapshots == SNAPSHOTS && is_name(number.to_str()) =>
            {
                Ok(path)
            }
            _ => Err(StateError::Foreign),
        }
    }

    /// Removes the live states of a session.
    pub(super) async fn give_up(&self, session: &SessionUid) -> Result<(), StateError> {
        gone(fs::remove_dir_all(self.live_directory(session)?).await)?;
        // It stays where there are snapshots.
        let _ = fs::remove_dir(self.directory(session)?).await;
        Ok(())
    }

    pub(super) async fn status(&self, of: &SessionPoint) -> Result<ComputeState, StateError> {
        if self.live(of).await?.is_some() {
            return Ok(ComputeState::ComputeLive);
        }
        let last = last_number(&self.directory(&of.session)?.join(SNAPSHOTS)).await?;
        Ok(last.map_or(ComputeState::ComputeNone, |_| ComputeState::ComputeCold))
    }

    fn live_directory(&self, session: &SessionUid) -> Result<PathBuf, StateError> {
        Ok(self.directory(session)?.join(LIVE))
    }

    fn directory(&self, session: &SessionUid) -> Result<PathBuf, StateError> {
        if is_name(Some(session.as_str())) { Ok(self.root.join(session.as_str())) } else { Err(StateError::Id) }
    }
}

fn turn_name(of: &SessionPoint) -> Result<&str, StateError> {
    match of.last_turn.as_ref().map(ExecutionId::as_str) {
        None => Ok(NO_TURN),
        Some(turn) if is_name(Some(turn)) => Ok(turn),
        Some(_) => Err(StateError::Id),
    }
}

/// Whether a text can only be the name of something in a directory.
fn is_name(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'))
}

/// A durable copy of `state` in a directory, which is made if it is not there; removed unless it is given a name.
async fn copy_into(directory: &Path, state: Option<&Path>) -> io::Result<tempfile::TempPath> {
    make(directory)?;
    let copy = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?.into_temp_path();
    if let Some(state) = state {
        fs::copy(state, &copy).await?;
        fs::File::open(&copy).await?.sync_all().await?;
    }
    Ok(copy)
}

/// States are as private as the sessions that they are of.
fn make(directory: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Makes the names in a directory durable.
async fn sync(directory: &Path) -> io::Result<()> {
    fs::File::open(directory).await?.sync_all().await
}

async fn live_states(directory: &Path) -> io::Result<Vec<LiveState>> {
    Ok(names(directory).await?.iter().filter_map(|name| LiveState::parse(name)).collect())
}

async fn last_number(directory: &Path) -> io::Result<Option<u64>> {
    Ok(names(directory).await?.iter().filter_map(|name| name.parse().ok()).max())
}

/// What is in a directory, if it is there.
async fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut entries = match fs::read_dir(directory).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
        entries => entries?,
    };
    while let Some(entry) = entries.next_entry().await? {
        names.extend(entry.file_name().into_string());
    }
    Ok(names)
}

/// That something was not there is as good as that it was removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests;
