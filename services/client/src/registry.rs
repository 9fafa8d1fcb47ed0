//! The harness registry, for operators.

use std::vec;

use tonic::transport::Channel;
use wire::harness_registry_client::HarnessRegistryClient;
use wire::{
    GetHarnessRequest, HarnessRegistration, HarnessSpec, ListHarnessesRequest, ListHarnessesResponse,
    RegisterHarnessRequest, RegisterHarnessResponse, RetireHarnessRequest,
};

use crate::call::Caller;
use crate::retry::repeat;
use crate::{Address, ConnectError, Error, MAX_MESSAGE_BYTES, Options};

/// A connection to the registry listener of a host. Cheap to clone; clones share the connection. It is re-established by
/// itself.
#[derive(Clone)]
pub struct Registry {
    harnesses: HarnessRegistryClient<Channel>,
    caller: Caller,
}

impl Registry {
    /// Connects to `address`, see [`Address`].
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(address: &str) -> Result<Self, ConnectError> {
        Self::connect_with(address, Options::default()).await
    }

    /// Connects to `address` with other bounds than the default ones.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect_with(address: &str, options: Options) -> Result<Self, ConnectError> {
        let address: Address = address.parse()?;
        let harnesses = HarnessRegistryClient::new(address.connect(&options).await?)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        Ok(Self { harnesses, caller: Caller::new(options) })
    }

    /// Registers a harness, or brings a retired one back. Registering again what is registered changes nothing, so a call
    /// whose outcome is not known may be repeated.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn register(&self, name: &str, spec: HarnessSpec) -> Result<RegisterHarnessResponse, Error> {
        let request = RegisterHarnessRequest { name: name.to_owned(), spec: Some(spec) };
        let mut harnesses = self.harnesses.clone();
        self.caller.bounded(request, async |request| harnesses.register_harness(request).await).await
    }

    /// Reads a harness; with `observe` together with what it says about itself. Repeated when the connection breaks.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn get(&self, name: &str, observe: bool) -> Result<HarnessRegistration, Error> {
        repeat(&self.caller.options().retry, || {
            let request = GetHarnessRequest { name: name.to_owned(), observe };
            let mut harnesses = self.harnesses.clone();
            self.caller.bounded(request, async move |request| harnesses.get_harness(request).await)
        })
        .await
    }

    /// All harnesses by name, read page by page. A `page_size` of 0 leaves it to the host.
    #[must_use]
    pub fn list(&self, page_size: i32, include_retired: bool) -> HarnessPages {
        let first = ListHarnessesRequest { page_size, include_retired, ..Default::default() };
        HarnessPages { registry: self.clone(), page: Vec::new().into_iter(), next: Some(first) }
    }

    /// One page of a listing. Repeated when the connection breaks.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn list_page(&self, request: &ListHarnessesRequest) -> Result<ListHarnessesResponse, Error> {
        repeat(&self.caller.options().retry, || {
            let mut harnesses = self.harnesses.clone();
            self.caller.bounded(request.clone(), async move |request| harnesses.list_harnesses(request).await)
        })
        .await
    }

    /// Stops new sessions on a harness. Retiring again changes nothing, so a call whose outcome is not known may be
    /// repeated.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn retire(&self, name: &str, reason: &str) -> Result<HarnessRegistration, Error> {
        let request = RetireHarnessRequest { name: name.to_owned(), reason: reason.to_owned() };
        let mut harnesses = self.harnesses.clone();
        self.caller.bounded(request, async |request| harnesses.retire_harness(request).await).await
    }
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
