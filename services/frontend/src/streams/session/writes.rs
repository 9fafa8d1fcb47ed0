//! From the client to the journal: items, ends and cancels, and the detach at the end (protocol.md sections 9, 10 and 13).

use std::sync::Arc;
use std::time::Duration;

use env::TaskKind;
use futures::FutureExt;
use futures::future::BoxFuture;
use journal::invocations::{Comparison, InputOutcome, Lease, LeaseError, Rule, StreamId};
use stream_session::server::{Element, Event, InputItem, NestedInput, Stream, StreamWay};
use stream_session::{ErrorCode, Refusal, token};
use uuid::Uuid;

use super::{Attached, Session, Written};
use crate::streams::Endpoint;
use crate::streams::inbox::{Change, Done, Item, Request, Told, insist};

/// Pause before it is tried again to detach a session.
const DETACH_PAUSE: Duration = Duration::from_secs(1);

/// What is to be done with an item.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Store,
    Compare,
}

impl Session {
    pub(super) fn take(&mut self, stream: Uuid, first: u64, item: InputItem, purpose: Purpose) {
        let request = Item::new(StreamId::new(stream), first, item).and_then(|item| match purpose {
            Purpose::Compare => Ok(Request::Compare(item)),
            Purpose::Store => {
                let graph = self.attached.parameters.as_deref();
                graph.map(|graph| Request::Change(Change::put(item, graph))).ok_or_else(unknown_stream)
            }
        });
        match request {
            Ok(request) => self.inbox.push(request),
            Err(refusal) => self.on(Event::Contradiction(refusal)),
        }
    }

    pub(super) fn next_write(&mut self) -> Option<BoxFuture<'static, Written>> {
        let (journal, lease) = (self.endpoint.host.journal(), &self.attached.lease);
        if self.detaching {
            return (!self.times.is_detached()).then(|| detach(Arc::clone(&self.endpoint), lease.clone()).boxed());
        }
        if let Some(positions) = self.unnoted.take_due() {
            let (journal, lease) = (journal.clone(), lease.clone());
            let note = async move { insist(|| journal.note_delivered(&lease, &positions)).await };
            return Some(note.map(Written::Noted).boxed());
        }
        Some(self.inbox.next(journal, lease)?.map(Written::Requests).boxed())
    }

    pub(super) fn written(&mut self, written: Written) {
        self.times.moved();
        match written {
            Written::Requests(done) => {
                self.inbox.settle(&done);
                self.settled(done);
            }
            Written::Noted(Ok(())) => {}
            Written::Noted(Err(error)) => self.failed_write(&error),
            Written::Detached => {
                self.times.detached();
                self.on(Event::Detached);
            }
        }
    }

    fn settled(&mut self, done: Done) {
        match done {
            Done::Changed(changes, Ok(outcomes)) => {
                for (change, outcome) in changes.into_iter().zip(outcomes) {
                    self.changed(change, outcome);
                }
            }
            Done::Changed(_, Err(error)) | Done::CancelledOutput(Err(error)) => self.failed_write(&error),
            Done::CancelledOutput(Ok(())) => {}
            Done::Compared(item, Ok(Comparison::Same(_))) => {
                let through = item.first + item.item.count();
                self.stored(item.stream, through, item.nested);
            }
            Done::Compared(_, Ok(Comparison::Different)) => self.on(contradiction(Rule::InputConflict)),
            Done::Compared(_, Err(error)) => self.failed(&error),
        }
    }

    fn changed(&mut self, change: Change, outcome: InputOutcome) {
        let stream = change.write.stream;
        match (outcome, change.told) {
            (InputOutcome::Refused(rule), _) => self.on(contradiction(rule)),
            // It is told when the standing says why.
            (InputOutcome::Dropped, _) => self.times.hear_news(),
            (InputOutcome::Stored { .. }, Told::Item { through, nested }) => self.stored(stream, through, nested),
            (InputOutcome::Stored { .. }, Told::End) => self.on(Event::EndStored { stream: stream.as_uuid() }),
            (InputOutcome::Stored { .. }, Told::Cancel(reason)) => {
                self.on(Event::CancelStored { stream: stream.as_uuid(), reason });
            }
        }
    }

    fn stored(&mut self, stream: StreamId, through: u64, nested: Vec<NestedInput>) {
        let streams = nested.into_iter().map(|nested| self.attached.introduced(nested)).collect::<Result<_, _>>();
        match streams {
            Ok(streams) => self.on(Event::Stored { stream: stream.as_uuid(), through, streams }),
            Err(refusal) => self.failed(&refusal),
        }
    }

    fn failed_write(&mut self, error: &LeaseError) {
        match error {
            // The standing tells who has it now.
            LeaseError::Lost => {
                self.inbox.clear();
                self.times.hear_news();
            }
            LeaseError::TooLarge(_) => {
                let text = "an item is larger than what can be kept";
                self.on(Event::Contradiction(Refusal::new(ErrorCode::ResourceExhausted, text)));
            }
            LeaseError::Unknown | LeaseError::Journal(_) => self.failed(error),
        }
    }

    /// The client is not kept waiting any longer (W1); the session is detached all the same.
    pub(super) fn detach_later(&mut self) {
        if let Some(write) = self.writing.take() {
            let stop = self.endpoint.tasks.cancelled(TaskKind::Background);
            let (endpoint, lease) = (Arc::clone(&self.endpoint), self.attached.lease.clone());
            self.endpoint.tasks.spawn("detach", TaskKind::Background, async move {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = async {
                        if !matches!(write.await, Written::Detached) {
                            detach(endpoint, lease).await;
                        }
                    } => {}
                }
            });
        }
        self.times.detached();
        self.on(Event::Detached);
    }
}

impl Attached {
    /// A stream that an item of the client has introduced, as its acknowledgement maps it.
    fn introduced(&self, nested: NestedInput) -> Result<Stream, Refusal> {
        let graph = self.parameters.as_ref().ok_or_else(unknown_stream)?;
        let id = StreamId::input(self.lease.invocation(), nested.provisional);
        let fingerprint = graph.fingerprint(Some(&nested.element));
        Ok(Stream {
            id: id.as_uuid(),
            token: self.tokens.stream(id, token::Role::Input, fingerprint)?,
            way: StreamWay::Input {
                element: Box::new(Element::new(Arc::clone(graph), nested.element)),
                provisional: Some(nested.provisional),
                high_water: 0,
                terminal: None,
            },
        })
    }
}

/// Gives the session up; tries until it is, because nobody else would for as long as this node lives.
async fn detach(endpoint: Arc<Endpoint>, lease: Lease) -> Written {
    while insist(|| endpoint.host.journal().detach(&lease)).await.is_err() {
        tokio::time::sleep(DETACH_PAUSE).await;
    }
    Written::Detached
}

fn contradiction(rule: Rule) -> Event {
    let code = ErrorCode::parse(rule.code()).unwrap_or(ErrorCode::ProtocolError);
    Event::Contradiction(Refusal::new(code, "what was sent contradicts what was accepted, or goes beyond a limit"))
}

fn unknown_stream() -> Refusal {
    Refusal::new(ErrorCode::InternalError, "a stream has no type")
}
