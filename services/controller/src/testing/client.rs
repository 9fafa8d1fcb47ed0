//! A client of invocations, as the journal sees it.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use journal::invocations::{
    Accepted, Attempt, FrameItem, Holder, InputChange, InputOutcome, InputWrite, InvocationId, InvocationStart, Lease,
    NewInput, NewInvocation, Outcome, Reattach, Role, StreamId, StreamState, Volume,
};
use journal::{Journal, NewOn, NewSession, SessionUid};
use uuid::Uuid;

/// What the methods of the tests take and return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Strings to strings.
    Strings,
    /// Octets to octets.
    Octets,
    /// Streams of strings to streams of strings.
    Nested,
    /// Nothing to nothing.
    Nothing,
}

/// The client of one invocation. Clones are the same.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) journal: Journal,
    pub(crate) session: SessionUid,
    pub(crate) id: InvocationId,
    pub(crate) lease: Lease,
    pub(crate) input: StreamId,
}

impl Kind {
    /// The type of the items.
    fn element(self) -> Option<&'static str> {
        match self {
            Self::Strings => Some(r#"{"kind":"string","value":{}}"#),
            Self::Octets => Some(r#"{"kind":"u8","value":{}}"#),
            Self::Nested => Some(r#"{"kind":"stream","value":{"inner":{"kind":"string","value":{}}}}"#),
            Self::Nothing => None,
        }
    }

    /// An invocation whose parameters are one stream of this name, or nothing.
    fn start(self, key: &str, provisional: Uuid) -> InvocationStart {
        let stream = |element| format!(r#"{{"kind":"stream","value":{{"inner":{element}}}}}"#);
        let stream = self.element().map(stream);
        let field = stream.as_ref().map(|stream| format!(r#"{{"body":{stream},"name":"items"}}"#));
        let record = |fields: Option<String>| {
            format!(r#"{{"kind":"record","value":{{"fields":[{}]}}}}"#, fields.unwrap_or_default())
        };
        InvocationStart {
            agent_type: "agent".into(),
            method: "echo".into(),
            idempotency_key: key.into(),
            method_parameters: record(stream.as_ref().map(|_| reference(provisional))),
            parameters_schema: format!(r#"{{"root":{}}}"#, record(field)),
            result_schema: stream.map(|stream| format!(r#"{{"root":{stream}}}"#)).unwrap_or_default(),
            ..InvocationStart::default()
        }
    }
}

impl Client {
    /// Has an invocation of the instance `instance` accepted.
    pub(crate) async fn start(journal: &Journal, instance: u8, key: &str, kind: Kind) -> Self {
        let provisional = provisional(key);
        let input = |element: &str| NewInput { provisional, element: element.into(), fingerprint: [0; 32] };
        let new = NewInvocation {
            session: session(),
            instance: [instance; 32],
            agent_id: format!("agent {instance}"),
            start: kind.start(key, provisional),
            attempt: Attempt { account: "a".into(), id: provisional, digest: [0; 32] },
            holder: Holder::mint(&env::Env::seeded(7)),
            streams: kind.element().map(input).into_iter().collect(),
        };
        let Accepted::New(invocation, lease) = journal.accept_invocation(new).await.unwrap() else {
            panic!("it was accepted before")
        };
        let (session, id) = (invocation.session.clone(), invocation.id);
        Self { journal: journal.clone(), session, id, lease, input: StreamId::input(id, provisional) }
    }

    /// The same client, attached once more after it was detached.
    pub(crate) async fn attach_again(self, journal: &Journal) -> Self {
        let attempt = Attempt { account: "a".into(), id: provisional("again"), digest: [1; 32] };
        let (session, invocation, holder) = (self.session.clone(), self.id, Holder::mint(&env::Env::seeded(8)));
        let reattach =
            Reattach { session, invocation, attempt, generation: 1, takeover: false, holder, cursors: Vec::new() };
        let Accepted::New(_, lease) = journal.attach(reattach).await.unwrap() else { panic!("it is a new attempt") };
        Self { journal: journal.clone(), lease, ..self }
    }

    /// Sends items on the input, from this sequence on.
    pub(crate) async fn send(&self, first: u64, items: &[FrameItem]) {
        let mut first = first;
        for item in items {
            let put = InputChange::Put { first, item: item.clone(), charge: item.size() as u64, streams: Vec::new() };
            first += item.count();
            self.change(self.input, put).await;
        }
    }

    /// Ends the input after so many items.
    pub(crate) async fn end(&self, count: u64) {
        self.change(self.input, InputChange::End(count)).await;
    }

    /// Changes an input.
    pub(crate) async fn change(&self, stream: StreamId, change: InputChange) {
        let outcomes = self.journal.put_inputs(&self.lease, vec![InputWrite { stream, change }]).await.unwrap();
        assert!(matches!(outcomes[..], [InputOutcome::Stored { .. }]), "{outcomes:?}");
    }

    /// How the invocation ends.
    pub(crate) async fn outcome(&self) -> Outcome {
        for _ in 0..20_000 {
            let standing = self.journal.standing(&self.session, self.id).await.unwrap().unwrap();
            if let Some(outcome) = standing.outcome {
                return outcome;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it does not end");
    }

    /// Waits until it is noted that the agent was handed so much of the input.
    pub(crate) async fn is_handed(&self, volume: Volume) {
        for _ in 0..20_000 {
            let standing = self.journal.standing(&self.session, self.id).await.unwrap().unwrap();
            if standing.streams.iter().any(|stream| stream.id == self.input && stream.handed == volume) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it is not noted");
    }

    /// Waits until the first output has so many items.
    pub(crate) async fn has_output(&self, count: u64) {
        for _ in 0..20_000 {
            if self.outputs().await.first().is_some_and(|output| output.progress.next >= count) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("there are fewer items");
    }

    /// Waits until a stream has ended.
    pub(crate) async fn has_ended(&self, stream: StreamId) {
        for _ in 0..20_000 {
            let streams = self.streams().await;
            if streams.iter().any(|state| state.progress.id == stream && state.progress.terminal.is_some()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it does not end");
    }

    /// The outputs.
    pub(crate) async fn outputs(&self) -> Vec<StreamState> {
        let mut streams = self.streams().await;
        streams.retain(|stream| stream.progress.role == Role::Output);
        streams.sort_by_key(|stream| stream.owner);
        streams
    }

    pub(crate) async fn streams(&self) -> Vec<StreamState> {
        self.journal.streams(&self.session, self.id).await.unwrap()
    }

    /// The items of a stream; octets as one.
    pub(crate) async fn items(&self, stream: StreamId) -> Vec<FrameItem> {
        let frames = self.journal.frames(&self.session, self.id, stream, 0, usize::MAX).await.unwrap();
        let mut items: Vec<FrameItem> = Vec::new();
        for frame in frames {
            match (items.last_mut(), frame.item) {
                (Some(FrameItem::Octets(before)), FrameItem::Octets(more)) => {
                    *before = Bytes::from([&before[..], &more[..]].concat());
                }
                (_, item) => items.push(item),
            }
        }
        items
    }

    /// The items of the only output.
    pub(crate) async fn output(&self) -> Vec<FrameItem> {
        let [output] = &self.outputs().await[..] else { panic!("there is one output") };
        self.items(output.progress.id).await
    }
}

fn session() -> NewSession {
    NewSession {
        project: "default".into(),
        name: String::new(),
        harness: "agents".into(),
        harness_source: NewOn::Static,
        model: String::new(),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        origin: None,
        identity: None,
    }
}

/// What a client calls a stream.
pub(crate) fn provisional(name: &str) -> Uuid {
    let bytes = Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).into_bytes();
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

/// A value that is this stream.
pub(crate) fn reference(provisional: Uuid) -> String {
    format!(r#"{{"kind":"stream","value":{{"provisionalRef":"{provisional}"}}}}"#)
}

/// An item that is a string.
pub(crate) fn text(text: &str) -> FrameItem {
    FrameItem::Value(super::agents::string(text))
}
