//! The harness registry, for operators.

use std::future::Future;
use std::vec;

use tonic::transport::Channel;
use tonic::{Request, Response, Status};
use wire::harness_registry_client::HarnessRegistryClient;
use wire::{
    GetHarnessRequest, HarnessRegistration, HarnessSpec, ListHarnessesRequest, ListHarnessesResponse,
    RegisterHarnessRequest, RegisterHarnessResponse, RetireHarnessRequest,
};

use crate::call::Caller;
use crate::nodes::Nodes;
use crate::retry::Repeat;
use crate::{Addresses, ConnectError, Error, MAX_MESSAGE_BYTES, Options};

/// The registry listeners of some nodes. Cheap to clone; clones share the connections. They are re-established by
/// themselves. Every call is repeated, at the next node, when its node is lost: none does harm if it is made twice.
#[derive(Clone)]
pub struct Registry {
    caller: Caller,
}

impl Registry {
    /// Connects to the first of `addresses` that answers.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(addresses: &Addresses) -> Result<Self, ConnectError> {
        Self::connect_with(addresses, Options::default()).await
    }

    /// Connects with other bounds than the default ones.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect_with(addresses: &Addresses, options: Options) -> Result<Self, ConnectError> {
        let nodes = Nodes::connect(addresses, &options).await?;
        Ok(Self { caller: Caller::new(nodes, options) })
    }

    /// Registers a harness, or brings a retired one back. Registering again what is registered changes nothing.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn register(&self, name: &str, spec: HarnessSpec) -> Result<RegisterHarnessResponse, Error> {
        let request = RegisterHarnessRequest { name: name.to_owned(), spec: Some(spec) };
        self.call(request, async |mut harnesses, request| harnesses.register_harness(request).await).await
    }

    /// Reads a harness; with `observe` together with what it says about itself.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn get(&self, name: &str, observe: bool) -> Result<HarnessRegistration, Error> {
        let request = GetHarnessRequest { name: name.to_owned(), observe };
        self.call(request, async |mut harnesses, request| harnesses.get_harness(request).await).await
    }

    /// All harnesses by name, read page by page. A `page_size` of 0 leaves it to the host.
    #[must_use]
    pub fn list(&self, page_size: i32, include_retired: bool) -> HarnessPages {
        let first = ListHarnessesRequest { page_size, include_retired, ..Default::default() };
        HarnessPages { registry: self.clone(), page: Vec::new().into_iter(), next: Some(first) }
    }

    /// One page of a listing.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn list_page(&self, request: &ListHarnessesRequest) -> Result<ListHarnessesResponse, Error> {
        let request = request.clone();
        self.call(request, async |mut harnesses, request| harnesses.list_harnesses(request).await).await
    }

    /// Stops new sessions on a harness. Retiring again changes nothing.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn retire(&self, name: &str, reason: &str) -> Result<HarnessRegistration, Error> {
        let request = RetireHarnessRequest { name: name.to_owned(), reason: reason.to_owned() };
        self.call(request, async |mut harnesses, request| harnesses.retire_harness(request).await).await
    }

    async fn call<Q: Clone, A, F>(
        &self,
        message: Q,
        call: impl Fn(HarnessRegistryClient<Channel>, Request<Q>) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        self.caller.bounded(Repeat::Always, message, |channel, request| call(harnesses(channel), request)).await
    }
}

fn harnesses(channel: Channel) -> HarnessRegistryClient<Channel> {
    HarnessRegistryClient::new(channel)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

/// All harnesses, by name. The next page is asked for when the last one has been taken.
pub struct HarnessPages {
    registry: Registry,
    page: vec::IntoIter<HarnessRegistration>,
    /// What asks for the next page; `None` after the last one.
    next: Option<ListHarnessesRequest>,
}

impl HarnessPages {
    /// The next harness; `None` after the last.
    ///
    /// # Errors
    /// [`Error`]; calling again repeats the page that failed.
    pub async fn next(&mut self) -> Result<Option<HarnessRegistration>, Error> {
        loop {
            if let Some(harness) = self.page.next() {
                return Ok(Some(harness));
            }
            let Some(request) = &mut self.next else { return Ok(None) };
            let answer = self.registry.list_page(request).await?;
            request.page_token = answer.next_page_token;
            if request.page_token.is_empty() {
                self.next = None;
            }
            self.page = answer.harnesses.into_iter();
        }
    }
}
