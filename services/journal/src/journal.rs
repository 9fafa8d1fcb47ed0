//! Opening a journal.

use std::sync::Arc;

use env::Env;
use futures::FutureExt;
use prost::Message;
use store::Store;

use crate::error::{JournalError, OpenError, refuse};
use crate::keys;
use crate::rows::{self, FormatRow};
use crate::{Incarnation, Seq, SessionUid};

/// The layout that `docs/journal-layout.md` describes.
const FORMAT: u32 = 2;
/// The oldest layout that this version still reads.
const OLDEST: u32 = 2;

/// What a journal says of its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Format {
    /// The latest of which something may be in it.
    version: u32,
    /// The oldest that a host must know to work with it.
    minimum: u32,
}

/// All sessions of a store. Cheap to clone.
#[derive(Clone)]
pub struct Journal {
    pub(crate) store: Store,
    pub(crate) env: Env,
    pub(crate) incarnation: Incarnation,
    observer: Option<Arc<dyn Observer>>,
}

/// Learns what is written through one [`Journal`], after it is durable.
pub trait Observer: Send + Sync + 'static {
    /// The log of `session` now ends at `last_seq`, or further on. Called before the append returns; must not block.
    fn appended(&self, session: &SessionUid, last_seq: Seq);

    /// Something about the invocations of `session`, or about their streams, has changed. As for
    /// [`appended`](Self::appended).
    fn streams_changed(&self, session: &SessionUid);
}

impl Format {
    fn of(row: &FormatRow) -> Self {
        let minimum = if row.minimum == 0 { row.version } else { row.minimum };
        Self { version: row.version, minimum }
    }
}

impl Journal {
    /// Opens the journal in `store`, or begins one.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open(store: Store, env: Env) -> Result<Self, OpenError> {
        let found = store
            .transact(|transaction, _| {
                async move {
                    if let Some(value) = transaction.get(&keys::format()).await? {
                        let row: FormatRow = rows::decode("format", &value).map_err(refuse::<JournalError>)?;
                        return Ok(Format::of(&row));
                    }
                    let row = FormatRow { version: FORMAT, minimum: FORMAT };
                    transaction.set(&keys::format(), &row.encode_to_vec());
                    Ok(Format::of(&row))
                }
                .boxed()
            })
            .await
            .map_err(JournalError::from)?;
        let Format { version, minimum } = found;
        if minimum > FORMAT {
            return Err(OpenError::TooNew { version, minimum, supported: FORMAT });
        }
        if version < OLDEST {
            return Err(OpenError::TooOld { version, supported: OLDEST });
        }
        if version > FORMAT {
            tracing::info!(version, supported = FORMAT, "the journal is shared with hosts of a later version");
        }
        let incarnation = Incarnation::mint(&env);
        Ok(Self { store, env, incarnation, observer: None })
    }

    /// The same journal, whose writes are told to `observer`.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Who is recorded as the owner of the sessions that are written through this.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    pub(crate) fn note_appended(&self, session: &SessionUid, last_seq: Seq) {
        if let Some(observer) = &self.observer {
            observer.appended(session, last_seq);
        }
    }

    pub(crate) fn note_streams_changed(&self, session: &SessionUid) {
        if let Some(observer) = &self.observer {
            observer.streams_changed(session);
        }
    }
}
