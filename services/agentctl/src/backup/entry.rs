//! The lines of a backup. Times are Unix nanoseconds, hashes hexadecimal.

use std::collections::BTreeMap;

use anyhow::Context as _;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use journal::backup::{Buried, LogEnd};
use journal::import::{ForeignName, ForeignSession, ForkPoint, Inheritance};
use journal::{Fence, Projection, Registration, Retirement, Seq, SessionUid};
use serde::{Deserialize, Serialize};
use wire::{IdentityRef, LogRecord, Origin};

/// The layout of a backup. A reader refuses another one.
pub const FORMAT: u32 = 1;

/// A line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Entry {
    /// The first line.
    Backup(Header),
    /// A harness that is registered.
    Harness(HarnessEntry),
    /// A harness name that may not be registered.
    Reserved(ReservedEntry),
    /// A session; its records follow.
    Session(Box<SessionEntry>),
    /// What forks read of a session that was deleted; its records follow.
    Remains(RemainsEntry),
    /// A record.
    Record(Box<LogRecord>),
    /// The audit record of a deletion.
    Deleted(DeletedEntry),
    /// The last line.
    Manifest(Manifest),
}

/// What a backup is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub format: u32,
    /// The program that wrote it.
    pub version: String,
    pub time: i64,
}

/// What a backup has in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub sessions: u64,
    pub records: u64,
    pub remains: u64,
    pub harnesses: u64,
    pub reserved_names: u64,
    pub deleted: u64,
    /// Sessions that are not whole here, because they were deleted or came into being while the backup was written. They
    /// count above, and are not imported.
    pub dropped: Vec<String>,
    /// Of all lines before this one, their ends included.
    pub sha256: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HarnessEntry {
    name: String,
    uid: String,
    spec: String,
    spec_digest: String,
    create_time: i64,
    update_time: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retired: Option<RetiredEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RetiredEntry {
    time: i64,
    reason: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReservedEntry {
    pub name: String,
    pub time: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionEntry {
    pub uid: String,
    project: String,
    name: String,
    harness: String,
    model: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<IdentityRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fork: Option<ForkEntry>,
    fence: i64,
    create_time: i64,
    update_time: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending_since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited: Option<InheritedEntry>,
    /// Of the whole log.
    pub last_seq: i64,
    /// Of the last record; empty for an empty log.
    pub head: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForkEntry {
    parent: String,
    at: i64,
}

/// What ancestors hold of a log.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InheritedEntry {
    pub last_seq: i64,
    /// Of the record there.
    pub hash: String,
    /// What the log up to there amounts to: the journal's own encoding, in base64.
    projection: String,
    /// Who holds it, in seq order. Empty for remains: their readers say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<HolderEntry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HolderEntry {
    pub uid: String,
    pub up_to: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemainsEntry {
    pub uid: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited: Option<InheritedEntry>,
    pub last_seq: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeletedEntry {
    pub uid: String,
    /// The audit record: the journal's own encoding, in base64.
    record: String,
}

impl HarnessEntry {
    pub fn of(registration: Registration) -> Self {
        let retired = registration.retired.map(|Retirement { time, reason }| RetiredEntry { time, reason });
        let Registration { name, uid, spec, spec_digest, create_time, update_time, .. } = registration;
        Self { name, uid, spec, spec_digest, create_time, update_time, retired }
    }

    pub fn into_name(self) -> ForeignName {
        let retired = self.retired.map(|RetiredEntry { time, reason }| Retirement { time, reason });
        let Self { name, uid, spec, spec_digest, create_time, update_time, .. } = self;
        ForeignName::Registered(Registration { name, uid, spec, spec_digest, create_time, update_time, retired })
    }
}

impl SessionEntry {
    pub fn of(session: &ForeignSession, end: &LogEnd) -> Self {
        let session = session.clone();
        Self {
            uid: session.uid.to_string(),
            project: session.project,
            name: session.name,
            harness: session.harness,
            model: session.model,
            labels: session.labels,
            annotations: session.annotations,
            origin: session.origin,
            identity: session.identity,
            fork: session.fork.map(|fork| ForkEntry { parent: fork.parent.to_string(), at: fork.at.to_wire() }),
            fence: session.fence.to_wire(),
            create_time: session.create_time,
            update_time: session.update_time,
            pending_since: session.pending_since,
            inherited: InheritedEntry::of(&session.inheritance),
            last_seq: end.seq.to_wire(),
            head: end.hash.clone(),
        }
    }

    /// The session, if the line makes sense.
    pub fn into_session(self) -> anyhow::Result<ForeignSession> {
        let fork =
            self.fork.map(|fork| Ok::<_, anyhow::Error>(ForkPoint { parent: uid(&fork.parent)?, at: seq(fork.at)? }));
        Ok(ForeignSession {
            uid: uid(&self.uid)?,
            project: self.project,
            name: self.name,
            harness: self.harness,
            model: self.model,
            labels: self.labels,
            annotations: self.annotations,
            origin: self.origin,
            identity: self.identity,
            fork: fork.transpose()?,
            fence: Fence::from_wire(self.fence).context("fence is negative")?,
            create_time: self.create_time,
            update_time: self.update_time,
            pending_since: self.pending_since,
            inheritance: inheritance(self.inherited)?,
        })
    }
}

impl RemainsEntry {
    pub fn of(uid: &SessionUid, inheritance: &Inheritance, last: Seq) -> Self {
        Self { uid: uid.to_string(), inherited: InheritedEntry::of(inheritance), last_seq: last.to_wire() }
    }

    pub fn into_parts(self) -> anyhow::Result<(SessionUid, Inheritance)> {
        Ok((uid(&self.uid)?, inheritance(self.inherited)?))
    }
}

impl DeletedEntry {
    pub fn of(buried: &Buried) -> Self {
        Self { uid: buried.uid.to_string(), record: BASE64_STANDARD.encode(&buried.row) }
    }

    pub fn into_buried(self) -> anyhow::Result<Buried> {
        let row = BASE64_STANDARD.decode(self.record).context("record is not base64")?;
        Ok(Buried::new(uid(&self.uid)?, row)?)
    }
}

impl InheritedEntry {
    fn of(inheritance: &Inheritance) -> Option<Self> {
        let hash = inheritance.hash?;
        let holder = |(uid, up_to): &(SessionUid, Seq)| HolderEntry { uid: uid.to_string(), up_to: up_to.to_wire() };
        Some(Self {
            last_seq: inheritance.last.to_wire(),
            hash: hash.hex(),
            projection: BASE64_STANDARD.encode(inheritance.projection.to_bytes()),
            lineage: inheritance.lineage.iter().map(holder).collect(),
        })
    }
}

fn inheritance(entry: Option<InheritedEntry>) -> anyhow::Result<Inheritance> {
    let Some(entry) = entry else { return Ok(Inheritance::default()) };
    let projection = BASE64_STANDARD.decode(entry.projection).context("projection is not base64")?;
    let holder = |holder: HolderEntry| Ok((uid(&holder.uid)?, seq(holder.up_to)?));
    Ok(Inheritance {
        last: seq(entry.last_seq)?,
        hash: Some(entry.hash.parse().context("hash of what is inherited")?),
        projection: Projection::from_bytes(&projection)?,
        lineage: entry.lineage.into_iter().map(holder).collect::<anyhow::Result<_>>()?,
    })
}

fn uid(text: &str) -> anyhow::Result<SessionUid> {
    SessionUid::parse(text).with_context(|| format!("uid {text:?}"))
}

fn seq(number: i64) -> anyhow::Result<Seq> {
    Seq::from_wire(number).with_context(|| format!("seq {number}"))
}
