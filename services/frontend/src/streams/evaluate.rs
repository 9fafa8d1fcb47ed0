//! Whether an invocation may start (protocol.md 14.2), and what an attempt that was accepted comes to (section 15).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use auth::{Caller, Denied, Wanted};
use controller::Agent;
use journal::invocations::{
    AcceptError, Accepted, Attempt, AttemptRecord, Cursor, Holder, Invocation, InvocationStart, Lease, NewInput,
    NewInvocation, Owner, Role, StreamId, StreamState, Terminal,
};
use journal::{CreateError, NewSession};
use stream_session::graph::{Graph, Type};
use stream_session::json::{self, Json};
use stream_session::message::{Node, Selector, Start};
use stream_session::server::{Acceptance, Element, InputTerminal, Stream, StreamWay};
use stream_session::token;
use stream_session::value::{StreamPolicy, StreamRef, Value};
use stream_session::{ErrorCode, Refusal};
use uuid::Uuid;

use super::identity::Instance;
use super::inbox::{Queues, insist};
use super::outputs::Outputs;
use super::session::Attached;
use super::tokens::SessionTokens;
use super::{Endpoint, descriptor};

/// Longest name of an application, an environment, an agent type or a method, in bytes: all are in tokens.
const NAME_BYTES: usize = 256;
/// How often an acceptance is tried that may or may not have succeeded, and the pause in between.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// What a first message comes to.
pub(super) struct Admitted {
    pub(super) acceptance: Acceptance,
    /// Nothing, if another attempt has the session (R3).
    pub(super) attached: Option<Attached>,
}

/// A first message that is refused, and whether a new attempt may succeed.
#[derive(Debug)]
pub(super) struct Refused(pub(super) Refusal, pub(super) bool);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal, false)
    }
}

/// A start whose values were read.
struct Evaluated {
    agent: Agent,
    constructor_parameters: Value,
    method_parameters: Value,
    /// The inputs among its parameters, in document order.
    inputs: Vec<(NewInput, Type)>,
}

impl Endpoint {
    /// Evaluates a start.
    ///
    /// # Errors
    /// [`Refused`], with the code of the first check that fails.
    pub(super) async fn start(&self, caller: &Caller, start: &Start<'_>) -> Result<Admitted, Refused> {
        let agent = self.find(&start.selector).await?;
        self.authorize(caller, &wanted(&start.selector))?;
        let evaluated = read(agent, start)?;
        let holder = Holder::mint(&self.env);
        let new = self.invocation(caller, start, &evaluated, holder);
        match self.accept(new).await? {
            Accepted::New(invocation, lease) => {
                self.host.drive(&invocation.session);
                let begun = self.begun(start, &invocation, lease.clone(), evaluated);
                self.keep(&lease, begun).await
            }
            Accepted::Known(record) => {
                // Whoever accepted it may not have come to this.
                self.host.drive(&record.session);
                self.replay(caller, start.attempt, &record, &[]).await
            }
        }
    }

    /// Whether there is such an agent (step 1).
    async fn find(&self, selector: &Selector<'_>) -> Result<Agent, Refusal> {
        let names = [&selector.application, &selector.environment, &selector.agent_type, &selector.method];
        let known = names.iter().all(|name| name.len() <= NAME_BYTES)
            && self.security.policy.knows(&selector.application, &selector.environment);
        let agent = match known {
            true => self.host.agent(&selector.agent_type, &selector.method).await,
            false => None,
        };
        agent.ok_or_else(not_found)
    }

    /// Whether the caller may invoke it (step 2).
    pub(super) fn authorize(&self, caller: &Caller, wanted: &Wanted<'_>) -> Result<(), Refusal> {
        self.security.policy.check(caller, *wanted).map_err(|denied| match denied {
            Denied::NotFound => not_found(),
            Denied::Unauthorized => Refusal::new(ErrorCode::Unauthorized, "the caller may not invoke this"),
        })
    }

    fn invocation(&self, caller: &Caller, start: &Start<'_>, evaluated: &Evaluated, holder: Holder) -> NewInvocation {
        let Evaluated { agent, constructor_parameters, method_parameters, inputs } = evaluated;
        let selector = &start.selector;
        let constructor_text = constructor_parameters.canonical();
        let instance = Instance {
            application: &selector.application,
            environment: &selector.environment,
            agent_type: &selector.agent_type,
            constructor_parameters: &constructor_text,
            phantom: selector.phantom,
        };
        let instance = instance.digest();
        let digest = descriptor::of_start(start, constructor_parameters, method_parameters);
        NewInvocation {
            session: new_session(agent, selector),
            instance,
            agent_id: instance.iter().map(|byte| format!("{byte:02x}")).collect(),
            attempt: Attempt { account: caller.account.clone(), id: start.attempt, digest },
            holder,
            streams: inputs.iter().map(|(input, _)| input.clone()).collect(),
            start: InvocationStart {
                application: selector.application.clone(),
                environment: selector.environment.clone(),
                agent_type: selector.agent_type.clone(),
                constructor_parameters: constructor_text,
                phantom_id: selector.phantom,
                method: selector.method.clone(),
                idempotency_key: start.idempotency_key.clone(),
                method_parameters: method_parameters.canonical(),
                configuration: start
                    .config
                    .iter()
                    .map(|entry| (entry.path.clone(), json::canonical(&entry.value)))
                    .collect(),
                parameters_schema: agent.method.parameters.text.clone(),
                result_schema: agent.method.result.as_ref().map_or_else(String::new, |schema| schema.text.clone()),
                account: caller.account.clone(),
                principal: caller.principal.clone(),
                issued_at: self.env.unix_time().as_secs(),
                stream_key_id: self.security.rings.current().active().to_owned(),
                component: agent.agent_type.component,
                revision: agent.agent_type.revision,
            },
        }
    }

    /// Steps 6 to 10. Whether an acceptance happened that is not known to have shows when it is tried again.
    async fn accept(&self, new: NewInvocation) -> Result<Accepted, Refused> {
        for _ in 1..ATTEMPTS {
            match self.host.journal().accept_invocation(new.clone()).await {
                Err(AcceptError::Unknown) => tokio::time::sleep(PAUSE).await,
                settled => return settled.map_err(refused),
            }
        }
        self.host.journal().accept_invocation(new).await.map_err(refused)
    }

    /// A new invocation, whose streams are those of its parameters.
    fn begun(
        &self,
        start: &Start<'_>,
        invocation: &Invocation,
        lease: Lease,
        evaluated: Evaluated,
    ) -> Result<Admitted, Refused> {
        let tokens = SessionTokens::new(Arc::clone(&self.security.rings), invocation);
        let Evaluated { agent, inputs, .. } = evaluated;
        let parameters = (!inputs.is_empty()).then(|| Arc::clone(&agent.method.parameters.graph));
        let mut streams = Vec::new();
        for (NewInput { provisional, fingerprint, .. }, of) in inputs {
            let id = StreamId::input(invocation.id, provisional);
            let Some(graph) = &parameters else { continue };
            let element = Box::new(Element::new(Arc::clone(graph), of));
            let way = StreamWay::Input { element, provisional: Some(provisional), high_water: 0, terminal: None };
            let token = tokens.stream(id, token::Role::Input, fingerprint)?;
            streams.push(Stream { id: id.as_uuid(), token, way });
        }
        let acceptance = Acceptance {
            attempt: start.attempt,
            idempotency_key: start.idempotency_key.clone(),
            session_token: tokens.session(&invocation.attachment),
            streams,
        };
        let (outputs, queues) = (Outputs::default(), Queues::default());
        Ok(Admitted { acceptance, attached: Some(Attached { lease, tokens, parameters, outputs, queues }) })
    }

    /// Answers an attempt that was accepted before (R1): its connection comes to own the attachment that it made, if nobody
    /// else has the session since (R2), or is told that somebody has (R3).
    ///
    /// # Errors
    /// `unauthorized`, if it was an attempt of another principal of the account.
    pub(super) async fn replay(
        &self,
        caller: &Caller,
        attempt: Uuid,
        record: &AttemptRecord,
        cursors: &[Cursor],
    ) -> Result<Admitted, Refused> {
        let journal = self.host.journal();
        if self.retained(record).await?.start.principal != caller.principal {
            return Err(Refusal::new(ErrorCode::Unauthorized, "the attempt is that of another caller").into());
        }
        let holder = Holder::mint(&self.env);
        let reclaimed = insist(|| journal.reclaim(record, holder)).await.map_err(|error| internal(&error))?;
        if let Some((invocation, lease)) = reclaimed {
            let joined = self.joined(attempt, record.start, invocation, Some(lease.clone()), cursors).await;
            return self.keep(&lease, joined).await;
        }
        let invocation = self.retained(record).await?;
        self.joined(attempt, record.start, invocation, None, cursors).await
    }

    async fn retained(&self, record: &AttemptRecord) -> Result<Invocation, Refused> {
        let invocation = self.host.journal().invocation(&record.session, record.invocation).await;
        Ok(invocation.map_err(|error| internal(&error))?.ok_or_else(not_retained)?)
    }

    /// Gives up what cannot be served.
    pub(super) async fn keep(&self, lease: &Lease, served: Result<Admitted, Refused>) -> Result<Admitted, Refused> {
        if served.is_err() {
            // If this fails too, a takeover still works.
            let _ = insist(|| self.host.journal().detach(lease)).await;
        }
        served
    }

    /// An invocation that was accepted before, with all of its streams.
    pub(super) async fn joined(
        &self,
        attempt: Uuid,
        started: bool,
        invocation: Invocation,
        lease: Option<Lease>,
        cursors: &[Cursor],
    ) -> Result<Admitted, Refused> {
        let states = self.host.journal().streams(&invocation.session, invocation.id).await;
        let states = states.map_err(|error| internal(&error))?;
        let tokens = SessionTokens::new(Arc::clone(&self.security.rings), &invocation);
        let has_inputs = states.iter().any(|state| state.progress.role == Role::Input);
        let parameters = has_inputs.then(|| Graph::shared(&invocation.start.parameters_schema)).transpose()?;
        let (mut outputs, mut queues) = (Outputs::default(), Queues::default());
        let mut streams = Vec::new();
        for state in &states {
            let id = state.progress.id;
            let (role, way) = match (state.progress.role, &parameters) {
                (Role::Input, Some(graph)) => (token::Role::Input, input(graph, state, started)?),
                _ => (token::Role::Output, StreamWay::Output),
            };
            match role {
                token::Role::Output => outputs.add(id, cursors.iter().find(|cursor| cursor.stream == id).copied()),
                token::Role::Input => queues.place(&state.progress),
            }
            streams.push(Stream { id: id.as_uuid(), token: tokens.stream(id, role, state.fingerprint)?, way });
        }
        let acceptance = Acceptance {
            attempt,
            idempotency_key: invocation.start.idempotency_key,
            session_token: tokens.session(&invocation.attachment),
            streams,
        };
        let attached = lease.map(|lease| Attached { lease, tokens, parameters, outputs, queues });
        Ok(Admitted { acceptance, attached })
    }
}

/// Steps 3 and 4.
fn read(agent: Agent, start: &Start<'_>) -> Result<Evaluated, Refusal> {
    let constructor = &agent.agent_type.constructor.graph;
    let constructor_parameters = value(constructor, StreamPolicy::None, &start.selector.constructor_parameters);
    let (constructor_parameters, _) = constructor_parameters.map_err(|refusal| refusal.at("constructorParameters"))?;
    let graph = &agent.method.parameters.graph;
    let method_parameters = value(graph, StreamPolicy::Provisional, &start.method_parameters);
    let (method_parameters, streams) = method_parameters.map_err(|refusal| refusal.at("methodParameters"))?;
    let input = |(reference, of): (StreamRef, Type)| match reference {
        StreamRef::Provisional(provisional) => {
            let element = json::canonical(&of.to_json());
            Some((NewInput { provisional, element, fingerprint: graph.fingerprint(Some(&of)) }, of))
        }
        StreamRef::Stable(_) => None,
    };
    let inputs = streams.into_iter().filter_map(input).collect();
    Ok(Evaluated { constructor_parameters, method_parameters, inputs, agent })
}

/// A value of the root of a graph, and its streams.
fn value(graph: &Graph, policy: StreamPolicy, node: &Node<'_>) -> Result<(Value, Vec<(StreamRef, Type)>), Refusal> {
    let Node::Json(node) = node else { return Err(Refusal::malformed("a value was not read")) };
    let decoded = Value::read(graph, graph.root(), policy, node)?;
    let streams = decoded.streams.into_iter().map(|(reference, of)| (reference, of.clone())).collect();
    Ok((decoded.value, streams))
}

/// An input as a client comes to know of it that has attached, or has started what it started before.
fn input(graph: &Arc<Graph>, state: &StreamState, started: bool) -> Result<StreamWay, Refusal> {
    let of = Type::read(&Json::parse(state.element.as_bytes())?)?;
    Ok(StreamWay::Input {
        element: Box::new(Element::new(Arc::clone(graph), of)),
        provisional: state.provisional.filter(|_| started && state.owner == Owner::Start),
        high_water: state.progress.next,
        terminal: state.progress.terminal.as_ref().map(|terminal| match terminal {
            Terminal::Ended => InputTerminal::Ended,
            Terminal::CancelledByClient(_) => InputTerminal::CancelledByClient,
            Terminal::CancelledByServer(_) | Terminal::Error { .. } => InputTerminal::CancelledByServer,
        }),
    })
}

fn new_session(agent: &Agent, selector: &Selector<'_>) -> NewSession {
    let labels = [
        ("application", &selector.application),
        ("environment", &selector.environment),
        ("agent-type", &selector.agent_type),
    ];
    NewSession {
        project: selector.application.clone(),
        name: selector.agent_type.clone(),
        harness: agent.agent_type.harness.clone(),
        harness_source: agent.agent_type.harness_source,
        model: String::new(),
        labels: labels.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect(),
        annotations: BTreeMap::new(),
        origin: None,
        identity: None,
    }
}

fn wanted<'s>(selector: &'s Selector<'_>) -> Wanted<'s> {
    Wanted {
        application: &selector.application,
        environment: &selector.environment,
        agent_type: &selector.agent_type,
        method: &selector.method,
    }
}

fn refused(error: AcceptError) -> Refused {
    let refusal = match error {
        AcceptError::AttemptConflict => {
            Refusal::new(ErrorCode::AttemptConflict, "the attempt is known with other content")
        }
        AcceptError::KeyUsed => Refusal::new(ErrorCode::IdempotencyConflict, "the idempotency key is used already"),
        AcceptError::Streams(rule) => {
            let code = ErrorCode::parse(rule.code()).unwrap_or(ErrorCode::ValidationError);
            Refusal::new(code, "the streams among the parameters break a rule")
        }
        AcceptError::TooLarge(_) | AcceptError::Create(CreateError::TooLarge(_)) => {
            Refusal::exhausted("the invocation is larger than what can be kept")
        }
        AcceptError::Create(
            CreateError::HarnessNotRegistered(_) | CreateError::HarnessCollision(_) | CreateError::HarnessRetired(_),
        ) => not_found(),
        error @ (AcceptError::Create(CreateError::Unknown | CreateError::Journal(_))
        | AcceptError::Unknown
        | AcceptError::Journal(_)) => internal(&error),
    };
    refusal.into()
}

pub(super) fn not_found() -> Refusal {
    Refusal::new(ErrorCode::NotFound, "there is no such application, environment, agent type or method")
}

pub(super) fn not_retained() -> Refusal {
    Refusal::new(ErrorCode::TokenInvalid, "the session is not retained any longer")
}

/// What nobody outside can mend.
pub(super) fn internal(error: &dyn std::error::Error) -> Refusal {
    tracing::warn!(%error, "a first message cannot be evaluated");
    Refusal::new(ErrorCode::InternalError, "the server could not do what was asked")
}
