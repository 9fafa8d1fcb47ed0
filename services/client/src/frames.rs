//! What one call that sends updates sends.

use futures::{Stream, StreamExt, stream};
use tonic::{Response, Status, Streaming};
use wire::{ExecRequest, ExecUpdate, WatchRequest};

use crate::call::{Caller, with_id};
use crate::client::sessions;
use crate::nodes::Node;
use crate::{Error, Update};

/// The updates of one call of Exec or Watch.
pub(crate) struct Frames {
    caller: Caller,
    node: Node,
    updates: Streaming<ExecUpdate>,
    request_id: String,
}

impl Frames {
    /// Calls Exec at `node`.
    pub(crate) async fn exec(
        caller: &Caller,
        node: Node,
        request: ExecRequest,
        request_id: &str,
    ) -> Result<Self, Error> {
        let answer = sessions(node.channel()).exec(with_id(request, request_id)).await;
        Self::begun(caller, node, request_id, answer)
    }

    /// Calls Watch at the node that takes the next call.
    pub(crate) async fn watch(caller: &Caller, request: WatchRequest) -> Result<Self, Error> {
        let node = caller.nodes().chosen();
        let (request, request_id) = caller.request(request);
        let answer = sessions(node.channel()).watch(request).await;
        Self::begun(caller, node, &request_id, answer)
    }

    fn begun(
        caller: &Caller,
        node: Node,
        request_id: &str,
        answer: Result<Response<Streaming<ExecUpdate>>, Status>,
    ) -> Result<Self, Error> {
        match answer {
            Ok(updates) => {
                let (caller, request_id) = (caller.clone(), request_id.to_owned());
                Ok(Self { caller, node, updates: updates.into_inner(), request_id })
            }
            Err(status) => Err(caller.nodes().failed(&node, &status, request_id)),
        }
    }

    /// The next update; `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Update>, Error> {
        loop {
            match self.updates.message().await {
                Ok(None) => return Ok(None),
                Ok(Some(frame)) => {
                    // A frame of a kind that this client does not know yet is skipped.
                    if let Some(update) = Update::from_wire(frame) {
                        return Ok(Some(update));
                    }
                }
                Err(status) => return Err(self.caller.nodes().failed(&self.node, &status, &self.request_id)),
            }
        }
    }

    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<Update, Error>> + Send + 'static {
        stream::try_unfold(self, |mut frames| async move { Ok(frames.next().await?.map(|update| (update, frames))) })
            .boxed()
    }
}
