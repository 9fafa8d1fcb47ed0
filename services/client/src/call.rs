//! What every call has: a request id and a bound.

use std::future::Future;

use env::Env;
use tonic::{Request, Response, Status};

use crate::{Error, Options};

/// Makes the calls of a client.
#[derive(Clone)]
pub(crate) struct Caller {
    env: Env,
    options: Options,
}

impl Caller {
    pub(crate) fn new(options: Options) -> Self {
        Self { env: Env::system(), options }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Wraps a message with a fresh request id.
    pub(crate) fn request<T>(&self, message: T) -> (Request<T>, String) {
        let id = env::request_id(&self.env);
        let mut request = Request::new(message);
        let value = id.parse().expect("invariant: a minted id is lowercase hex");
        request.metadata_mut().insert("x-request-id", value);
        (request, id)
    }

    /// An unary call that must be answered within the bound.
    pub(crate) async fn bounded<Q, A, F>(&self, message: Q, call: impl FnOnce(Request<Q>) -> F) -> Result<A, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let bound = self.options.call_timeout;
        let (request, id) = self.request(message);
        match tokio::time::timeout(bound, call(request)).await {
            Ok(answered) => answer(answered, &id),
            Err(_) => Err(Error::no_answer(bound, &id)),
        }
    }
}

/// What an unary call answered.
pub(crate) fn answer<A>(answered: Result<Response<A>, Status>, request_id: &str) -> Result<A, Error> {
    answered.map(Response::into_inner).map_err(|status| Error::from_status(&status, request_id))
}
