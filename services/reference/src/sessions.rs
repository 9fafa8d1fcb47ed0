//! The rows of sessions.

use std::collections::BTreeMap;

use journal::import::{ForeignSession, ForkPoint, Inheritance};
use journal::{Fence, Seq, SessionUid};
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{OptionalExtension, Row};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wire::ComputeState;

use crate::{CheckError, ReferenceFile, SessionFault};

/// Where columns are in [`SESSIONS`](crate::file::SESSIONS).
const SESSION: usize = 0;
const FENCE: usize = 1;
const PROJECT: usize = 2;
const NAME: usize = 3;
const HARNESS: usize = 4;
const MODEL: usize = 5;
const PARENT_UID: usize = 6;
const FORK_SEQ: usize = 7;
const COMPUTE_STATE: usize = 8;
const CREATED_AT: usize = 9;
const UPDATED_AT: usize = 10;
const LABELS: usize = 11;
const ANNOTATIONS: usize = 12;
const ORIGIN: usize = 13;
const IDENTITY: usize = 14;

/// A session, and what the file says that its log amounts to.
#[derive(Debug)]
pub(crate) struct StoredSession {
    pub(crate) session: ForeignSession,
    /// `None` in files of versions that did not keep it.
    pub(crate) compute_state: Option<ComputeState>,
}

impl ReferenceFile {
    /// The session after the one with the uid `after`, in the order of uids; the first if there is none.
    pub(crate) fn next_session(&self, after: Option<&str>, project: &str) -> Result<Option<StoredSession>, CheckError> {
        // The smallest uid would be the empty one, which no session may have; it must be found all the same.
        let beyond = if after.is_some() { ">" } else { ">=" };
        let columns = &self.session_columns;
        let sql = format!("SELECT {columns} FROM sessions WHERE session {beyond} ?1 ORDER BY session LIMIT 1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let read = statement.query_row([after.unwrap_or_default()], |row| Ok(read(row, project))).optional()?;
        read.transpose()
    }

    pub(crate) fn has_session(&self, uid: &SessionUid) -> rusqlite::Result<bool> {
        self.connection.prepare_cached("SELECT 1 FROM sessions WHERE session = ?1")?.exists([uid.as_str()])
    }
}

fn read(row: &Row<'_>, project: &str) -> Result<StoredSession, CheckError> {
    let uid: String =
        column(row, SESSION, "session").map_err(|fault| of(format!("{:?}", row.get_ref(SESSION)), fault))?;
    decode(row, &uid, project).map_err(|fault| of(uid, fault))
}

fn of(session: String, fault: SessionFault) -> CheckError {
    CheckError::Session { session, fault }
}

fn decode(row: &Row<'_>, uid: &str, project: &str) -> Result<StoredSession, SessionFault> {
    let stored_project: String = column(row, PROJECT, "project")?;
    let session = ForeignSession {
        uid: SessionUid::parse(uid)?,
        // Sessions from before there were projects belong to the default one, and so do those that name none.
        project: if stored_project.is_empty() { project.to_owned() } else { stored_project },
        name: column(row, NAME, "name")?,
        harness: column(row, HARNESS, "harness")?,
        model: column(row, MODEL, "model")?,
        labels: texts(row, LABELS, "labels")?,
        annotations: texts(row, ANNOTATIONS, "annotations")?,
        origin: message(row, ORIGIN, "origin")?,
        identity: message(row, IDENTITY, "identity")?,
        fork: fork_point(row)?,
        fence: Fence::from_wire(column(row, FENCE, "fence")?).ok_or_else(|| bad("fence", "it is negative"))?,
        create_time: column(row, CREATED_AT, "created_at")?,
        update_time: column(row, UPDATED_AT, "updated_at")?,
        pending_since: None,
        inheritance: Inheritance::default(),
    };
    Ok(StoredSession { session, compute_state: compute_state(row)? })
}

fn fork_point(row: &Row<'_>) -> Result<Option<ForkPoint>, SessionFault> {
    let parent: String = column(row, PARENT_UID, "parent_uid")?;
    if parent.is_empty() {
        return Ok(None);
    }
    let at = Seq::from_wire(column(row, FORK_SEQ, "fork_seq")?).ok_or_else(|| bad("fork_seq", "it is negative"))?;
    Ok(Some(ForkPoint { parent: SessionUid::parse(&parent)?, at }))
}

fn compute_state(row: &Row<'_>) -> Result<Option<ComputeState>, SessionFault> {
    let name: String = column(row, COMPUTE_STATE, "compute_state")?;
    if name.is_empty() {
        return Ok(None);
    }
    let state = ComputeState::from_str_name(&format!("COMPUTE_{name}"));
    state.map(Some).ok_or_else(|| bad("compute_state", format!("no state is named {name:?}")))
}

/// A column; what it lacks is what its type defaults to.
fn column<T: FromSql + Default>(row: &Row<'_>, index: usize, name: &'static str) -> Result<T, SessionFault> {
    match row.get::<_, Option<T>>(index) {
        Ok(value) => Ok(value.unwrap_or_default()),
        Err(error) => Err(bad(name, error.to_string())),
    }
}

/// A JSON object of texts.
fn texts(row: &Row<'_>, index: usize, name: &'static str) -> Result<BTreeMap<String, String>, SessionFault> {
    let object: Option<BTreeMap<String, String>> = json(row, index, name)?;
    Ok(object.unwrap_or_default())
}

/// A JSON object that stands for a message. Names of members count, not how they are capitalised.
fn message<M: DeserializeOwned>(row: &Row<'_>, index: usize, name: &'static str) -> Result<Option<M>, SessionFault> {
    let Some(members) = json::<Map<String, Value>>(row, index, name)? else { return Ok(None) };
    let members = members.into_iter().map(|(member, value)| (member.to_lowercase(), value)).collect();
    serde_json::from_value(Value::Object(members)).map(Some).map_err(|error| bad(name, error.to_string()))
}

/// A JSON text; none where there is nothing, or `null`.
fn json<T: DeserializeOwned>(row: &Row<'_>, index: usize, name: &'static str) -> Result<Option<T>, SessionFault> {
    let text = match row.get_ref(index) {
        Ok(ValueRef::Null) => return Ok(None),
        Ok(ValueRef::Text(text) | ValueRef::Blob(text)) => text,
        Ok(other) => return Err(bad(name, format!("it is of type {}", other.data_type()))),
        Err(error) => return Err(bad(name, error.to_string())),
    };
    match text {
        [] => Ok(None),
        text => serde_json::from_slice(text).map_err(|error| bad(name, error.to_string())),
    }
}

fn bad(column: &'static str, reason: impl Into<String>) -> SessionFault {
    SessionFault::Column { column, reason: reason.into() }
}
