//! Reading invocations and their streams. No read conflicts with a write.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::FutureExt;
use store::{Isolation, KeyRange, KeyValue, RangeRead, TransactError, Transaction};

use super::accept::incarnation;
use super::frame::read_frames;
use super::{
    Attachment, Frame, Invocation, InvocationId, InvocationStart, Outcome, Returned, Role, Standing, StreamId,
    StreamProgress, StreamState,
};
use crate::error::refuse;
use crate::keys::{self, InvocationKeys, OfStream, SessionKeys};
use crate::pieces::Joiner;
use crate::rows::{
    self, AttachmentRow, DeliveredRow, HandedRow, ProgressRow, StartRow, StreamRow, StreamStateRow, WishRow,
    decode_uuid,
};
use crate::{Corrupt, Journal, JournalError, SessionUid};

const CORRUPT: Corrupt = Corrupt { what: "invocation" };
const STREAM: Corrupt = Corrupt { what: "stream" };
/// Most rows of the first page of a range that mostly has few: such a page costs no switch of threads.
const FEW: usize = 16;

impl Journal {
    /// An invocation; `None` if it is unknown or no longer retained.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn invocation(
        &self,
        session: &SessionUid,
        invocation: InvocationId,
    ) -> Result<Option<Invocation>, JournalError> {
        let read = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let session = session.clone();
                async move { read_invocation(transaction, &session, invocation).await }.boxed()
            })
            .await?;
        Ok(read)
    }

    /// What changes of an invocation, and how far its streams are: all that its connection or its runner needs to see
    /// what the other one did. `None` as for [`invocation`](Self::invocation).
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn standing(
        &self,
        session: &SessionUid,
        invocation: InvocationId,
    ) -> Result<Option<Standing>, JournalError> {
        let keys = SessionKeys::new(session).invocation(invocation);
        let standing = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let keys = keys.clone();
                async move { read_standing(transaction, &keys).await }.boxed()
            })
            .await?;
        Ok(standing)
    }

    /// All streams of an invocation, in the order of their ids.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn streams(
        &self,
        session: &SessionUid,
        invocation: InvocationId,
    ) -> Result<Vec<StreamState>, JournalError> {
        let keys = SessionKeys::new(session).invocation(invocation);
        let streams = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let keys = keys.clone();
                async move { read_streams(transaction, &keys).await }.boxed()
            })
            .await?;
        Ok(streams)
    }

    /// Whole frames of a stream in order, from the one that holds the item `from`; none if there is no such item yet.
    /// Ends with the frame that reaches `max_bytes`, or before that, but not before the first.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn frames(
        &self,
        session: &SessionUid,
        invocation: InvocationId,
        stream: StreamId,
        from: u64,
        max_bytes: usize,
    ) -> Result<Vec<Frame>, JournalError> {
        let keys = SessionKeys::new(session).invocation(invocation);
        let frames = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let keys = keys.clone();
                async move {
                    let Some(value) = transaction.get_snapshot(&keys.stream_state(stream)).await? else {
                        return Ok(Vec::new());
                    };
                    let state: StreamStateRow = rows::decode(STREAM.what, &value).map_err(refuse)?;
                    read_frames(transaction, &keys, stream, from..state.next, max_bytes).await
                }
                .boxed()
            })
            .await?;
        Ok(frames)
    }
}

/// All there is of an invocation but its streams.
pub(super) async fn read_invocation<E: From<Corrupt>>(
    transaction: &mut Transaction,
    uid: &SessionUid,
    id: InvocationId,
) -> Result<Option<Invocation>, TransactError<E>> {
    let session = SessionKeys::new(uid);
    let keys = session.invocation(id);
    let Some((attachment, progress)) = read_changing(transaction, &keys).await? else { return Ok(None) };
    let start = read_value(transaction, keys.start_rows()).await?.ok_or_else(|| refuse(CORRUPT))?;
    let mut start: StartRow = rows::decode(CORRUPT.what, &start).map_err(refuse)?;
    let value = match &progress.returned {
        Some(returned) if returned.value => {
            let value = read_value(transaction, keys.result_rows()).await?.ok_or_else(|| refuse(CORRUPT))?;
            Some(String::from_utf8(value.into()).map_err(|_| refuse(CORRUPT))?)
        }
        _ => None,
    };
    let agent_id = std::mem::take(&mut start.agent_id);
    let attempt = decode_uuid(CORRUPT.what, &start.attempt).map_err(refuse)?;
    Ok(Some(Invocation {
        id,
        session: uid.clone(),
        incarnation: incarnation(transaction, &session).await?,
        agent_id,
        attempt,
        start: InvocationStart::read(start).map_err(refuse)?,
        attachment,
        returned: progress.returned.map(|returned| Returned::read(id, returned, value)),
        outcome: progress.outcome.map(Outcome::read),
    }))
}

/// The two rows that change in the life of an invocation. Without an attachment it is not retained.
async fn read_changing<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &InvocationKeys,
) -> Result<Option<(Attachment, ProgressRow)>, TransactError<E>> {
    let Some(value) = transaction.get_snapshot(&keys.attachment()).await? else { return Ok(None) };
    let row: AttachmentRow = rows::decode("attachment", &value).map_err(refuse)?;
    let attachment = Attachment::read(&row).map_err(refuse)?;
    let progress = transaction.get_snapshot(&keys.progress()).await?.ok_or_else(|| refuse(CORRUPT))?;
    Ok(Some((attachment, rows::decode(CORRUPT.what, &progress).map_err(refuse)?)))
}

async fn read_standing<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &InvocationKeys,
) -> Result<Option<Standing>, TransactError<E>> {
    let Some((attachment, progress)) = read_changing(transaction, keys).await? else { return Ok(None) };
    let streams = read_progress(transaction, keys).await?;
    Ok(Some(Standing {
        attachment,
        returned: progress.returned.is_some(),
        outcome: progress.outcome.map(Outcome::read),
        streams: streams.into_values().collect(),
    }))
}

async fn read_progress<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &InvocationKeys,
) -> Result<BTreeMap<StreamId, StreamProgress>, TransactError<E>> {
    let mut streams = BTreeMap::new();
    for row in read_rows(transaction, keys.stream_progress()).await? {
        note_progress(&mut streams, &row).map_err(refuse)?;
    }
    Ok(streams)
}

/// Takes a row of [`InvocationKeys::stream_progress`]; the states come first.
fn note_progress(streams: &mut BTreeMap<StreamId, StreamProgress>, row: &KeyValue) -> Result<(), Corrupt> {
    let (of, id) = OfStream::decode(&row.key).ok_or(STREAM)?;
    if of == OfStream::State {
        let state: StreamStateRow = rows::decode(STREAM.what, &row.value)?;
        streams.insert(id, StreamProgress::read(id, state)?);
        return Ok(());
    }
    // Whoever noted something of a stream that is not there did no harm.
    let Some(stream) = streams.get_mut(&id) else { return Ok(()) };
    match (of, stream.role) {
        (OfStream::Reader, Role::Output) => stream.wish = Some(rows::decode::<WishRow>("wish", &row.value)?.reason),
        (OfStream::Reader, Role::Input) => stream.handed = rows::decode::<HandedRow>("handed", &row.value)?.into(),
        _ => stream.delivered = rows::decode::<DeliveredRow>("delivery", &row.value)?.position,
    }
    Ok(())
}

async fn read_streams<E: From<Corrupt>>(
    transaction: &mut Transaction,
    keys: &InvocationKeys,
) -> Result<Vec<StreamState>, TransactError<E>> {
    let mut progress = read_progress(transaction, keys).await?;
    let rows = read_rows(transaction, keys.streams()).await?;
    let stream = |row: KeyValue| {
        let id = keys::decode_stream(&row.key).ok_or(STREAM)?;
        let progress = progress.remove(&id).ok_or(STREAM)?;
        StreamState::read(rows::decode::<StreamRow>(STREAM.what, &row.value)?, progress)
    };
    rows.into_iter().map(stream).collect::<Result<_, Corrupt>>().map_err(refuse)
}

/// A value that may be in pieces; `None` if there is none.
pub(super) async fn read_value<E: From<Corrupt>>(
    transaction: &mut Transaction,
    range: KeyRange,
) -> Result<Option<Bytes>, TransactError<E>> {
    let mut joiner = Joiner::default();
    let mut value = None;
    for row in read_rows(transaction, range).await? {
        let piece = keys::decode_value_piece(&row.key).ok_or_else(|| refuse(CORRUPT))?;
        value = joiner.push((), piece, row.value).map_err(|_| refuse(CORRUPT))?;
    }
    if joiner.is_within() { Err(refuse(CORRUPT)) } else { Ok(value) }
}

/// All rows of a bounded range.
async fn read_rows<E>(transaction: &mut Transaction, range: KeyRange) -> Result<Vec<KeyValue>, TransactError<E>> {
    let read = RangeRead::forward(range);
    let first = transaction.get_range(&read.clone().limit(FEW), Isolation::Snapshot).await?;
    let mut rest = read.after(&first);
    let mut rows = first.rows;
    while let Some(read) = rest {
        let page = transaction.get_range(&read, Isolation::Snapshot).await?;
        rest = read.after(&page);
        rows.extend(page.rows);
    }
    Ok(rows)
}
