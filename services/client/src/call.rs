//! What every call has: a node, a request id, a bound, and a rule for making it again.

use std::future::Future;
use std::time::Duration;

use env::Env;
use tokio::time::Instant;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use crate::nodes::{Node, Nodes};
use crate::retry::{Attempts, Repeat};
use crate::{Error, Options};

/// Makes the calls of a client.
#[derive(Clone)]
pub(crate) struct Caller {
    nodes: Nodes,
    env: Env,
    options: Options,
}

impl Caller {
    pub(crate) fn new(nodes: Nodes, options: Options) -> Self {
        Self { nodes, env: Env::system(), options }
    }

    pub(crate) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// A fresh request id.
    pub(crate) fn request_id(&self) -> String {
        env::request_id(&self.env)
    }

    /// Wraps a message with a fresh request id.
    pub(crate) fn request<T>(&self, message: T) -> (Request<T>, String) {
        let id = self.request_id();
        (with_id(message, &id), id)
    }

    /// An unary call that must be answered within the bound of a call, however often it is made.
    pub(crate) async fn bounded<Q: Clone, A, F>(
        &self,
        repeat: Repeat,
        message: Q,
        call: impl Fn(Channel, Request<Q>) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        self.unary(repeat, self.options.call_timeout, message, call).await
    }

    /// An unary call that may take as long as it takes.
    pub(crate) async fn unbounded<Q: Clone, A, F>(
        &self,
        repeat: Repeat,
        message: Q,
        call: impl Fn(Channel, Request<Q>) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        self.unary(repeat, Duration::MAX, message, call).await
    }

    async fn unary<Q: Clone, A, F>(
        &self,
        repeat: Repeat,
        bound: Duration,
        message: Q,
        call: impl Fn(Channel, Request<Q>) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let (mut attempts, begun) = (Attempts::new(repeat), Instant::now());
        loop {
            let node = self.nodes.chosen();
            match self.once(&node, (begun, bound), message.clone(), &call).await {
                Ok(answer) => return Ok(answer),
                Err(error) if begun.elapsed() >= bound => return Err(error),
                Err(error) => attempts.after(error, &self.options.retry, &self.env).await?,
            }
        }
    }

    /// One attempt at `node`, which is given up if it turns out to be of no use. The call as a whole was begun at an instant
    /// and has a bound.
    async fn once<Q, A, F>(
        &self,
        node: &Node,
        (begun, bound): (Instant, Duration),
        message: Q,
        call: impl FnOnce(Channel, Request<Q>) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let (request, id) = self.request(message);
        let left = bound.saturating_sub(begun.elapsed());
        let answered = tokio::time::timeout(left, call(node.channel(), request)).await;
        match answered {
            Ok(answer) => answer.map(Response::into_inner).map_err(|status| self.nodes.failed(node, &status, &id)),
            Err(_elapsed) => Err(self.nodes.silent(node, bound, &id)),
        }
    }
}

/// Wraps a message with a request id that was minted here.
pub(crate) fn with_id<T>(message: T, id: &str) -> Request<T> {
    let mut request = Request::new(message);
    let value = id.parse().expect("invariant: a minted id is lowercase hex");
    request.metadata_mut().insert("x-request-id", value);
    request
}
