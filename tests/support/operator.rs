//! The HarnessRegistry service as the suites call it.

use tonic::transport::{Channel, Endpoint};
use tonic::{Response, Status};
use wire::harness_registry_client::HarnessRegistryClient;
use wire::harness_spec::Placement;
use wire::{
    Capabilities, GetHarnessRequest, HarnessRegistration, HarnessSpec, ListHarnessesRequest, ListHarnessesResponse,
    RegisterHarnessRequest, RegisterHarnessResponse, RegisterOutcome, RemotePlacement, Resumability,
    RetireHarnessRequest,
};

/// An operator of one node.
#[derive(Clone, Debug)]
pub struct Operator {
    /// The generated client, for what has no shorthand here.
    pub client: HarnessRegistryClient<Channel>,
    /// Its connection.
    pub channel: Channel,
}

/// A stateless harness at `address`.
#[must_use]
pub fn remote_spec(address: &str) -> HarnessSpec {
    let capabilities = Capabilities { resumability: Resumability::StatelessReplay.into(), ..Capabilities::default() };
    HarnessSpec {
        placement: Some(Placement::Remote(RemotePlacement { address: address.into() })),
        capabilities: Some(capabilities),
        descriptor_id: String::new(),
    }
}

impl Operator {
    /// Connects to the listener for operators at `host:port`.
    pub async fn connect(address: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("host:port makes a URI");
        let channel = endpoint.connect().await.expect("the node accepts connections");
        Self { client: HarnessRegistryClient::new(channel.clone()), channel }
    }

    /// Registers a harness.
    pub async fn register(&mut self, name: &str, spec: HarnessSpec) -> Result<RegisterHarnessResponse, Status> {
        let request = RegisterHarnessRequest { name: name.into(), spec: Some(spec) };
        self.client.register_harness(request).await.map(Response::into_inner)
    }

    /// Registers a harness that is not registered yet.
    pub async fn create(&mut self, name: &str, spec: HarnessSpec) -> HarnessRegistration {
        let response = self.register(name, spec).await.expect("the harness is registered");
        assert_eq!(response.outcome(), RegisterOutcome::Created);
        response.harness.expect("a registration is returned")
    }

    /// Reads a harness.
    pub async fn get(&mut self, name: &str) -> Result<HarnessRegistration, Status> {
        self.client.get_harness(GetHarnessRequest { name: name.into(), observe: false }).await.map(Response::into_inner)
    }

    /// Reads a harness and has it asked what it is.
    pub async fn observe(&mut self, name: &str) -> Result<HarnessRegistration, Status> {
        self.client.get_harness(GetHarnessRequest { name: name.into(), observe: true }).await.map(Response::into_inner)
    }

    /// Reads one page of a listing.
    pub async fn list(&mut self, request: ListHarnessesRequest) -> Result<ListHarnessesResponse, Status> {
        self.client.list_harnesses(request).await.map(Response::into_inner)
    }

    /// Retires a harness.
    pub async fn retire(&mut self, name: &str, reason: &str) -> Result<HarnessRegistration, Status> {
        let request = RetireHarnessRequest { name: name.into(), reason: reason.into() };
        self.client.retire_harness(request).await.map(Response::into_inner)
    }
}
