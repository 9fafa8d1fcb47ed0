//! The handlers of `agentsessions.v1.HarnessRegistry`: decode, one call to the registry, encode.
//!
//! The generated server is not used: it would drop the fields of a spec that it does not know before anyone can refuse
//! them.

mod codec;

use std::convert::Infallible;
use std::future::Future;

use axum::extract::Request;
use controller::Registry;
use tonic::codec::Codec;
use tonic::server::Grpc;
use tonic::{Response, Status, body};
use tonic_prost::ProstCodec;
use tower::Service;
use wire::strict::Received;
use wire::{
    GetHarnessRequest, HarnessRegistration, ListHarnessesRequest, ListHarnessesResponse, RegisterHarnessResponse,
    RetireHarnessRequest,
};

use crate::call::Call;
use codec::ReceivedCodec;

/// The gRPC service of a registry, for messages up to a size.
pub(crate) fn service(
    registry: Registry,
    max_message_size: usize,
) -> impl Service<Request, Response = http::Response<body::Body>, Error = Infallible, Future: Send> + Clone {
    let rpcs = Rpcs { registry, max_message_size };
    tower::service_fn(move |request| {
        let rpcs = rpcs.clone();
        async move { Ok(rpcs.dispatch(request).await) }
    })
}

#[derive(Clone)]
struct Rpcs {
    registry: Registry,
    max_message_size: usize,
}

impl Rpcs {
    async fn dispatch(self, request: Request) -> http::Response<body::Body> {
        let rpc = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        match rpc.as_str() {
            "RegisterHarness" => self.unary(ReceivedCodec, register, request).await,
            "GetHarness" => self.unary(ProstCodec::new(), get, request).await,
            "ListHarnesses" => self.unary(ProstCodec::new(), list, request).await,
            "RetireHarness" => self.unary(ProstCodec::new(), retire, request).await,
            _ => Status::unimplemented("HarnessRegistry has no such rpc").into_http(),
        }
    }

    async fn unary<C, F>(
        &self,
        codec: C,
        handler: fn(Registry, tonic::Request<C::Decode>) -> F,
        request: Request,
    ) -> http::Response<body::Body>
    where
        C: Codec,
        F: Future<Output = Result<Response<C::Encode>, Status>>,
    {
        let limit = Some(self.max_message_size);
        let handle = tower::service_fn(|message| handler(self.registry.clone(), message));
        Grpc::new(codec).apply_max_message_size_config(limit, limit).unary(handle, request).await
    }
}

async fn register(
    registry: Registry,
    request: tonic::Request<Received>,
) -> Result<Response<RegisterHarnessResponse>, Status> {
    let call = Call::enter(&request, "");
    call.answer_in_time(registry.register(request.into_inner())).await
}

async fn get(
    registry: Registry,
    request: tonic::Request<GetHarnessRequest>,
) -> Result<Response<HarnessRegistration>, Status> {
    let call = Call::enter(&request, "");
    call.answer(registry.get(request.get_ref(), call.context().deadline)).await
}

async fn list(
    registry: Registry,
    request: tonic::Request<ListHarnessesRequest>,
) -> Result<Response<ListHarnessesResponse>, Status> {
    let call = Call::enter(&request, "");
    let response = call.answer_in_time(registry.list(request.get_ref())).await?;
    call.count(response.get_ref().harnesses.len());
    Ok(response)
}

async fn retire(
    registry: Registry,
    request: tonic::Request<RetireHarnessRequest>,
) -> Result<Response<HarnessRegistration>, Status> {
    let call = Call::enter(&request, "");
    call.answer_in_time(registry.retire(request.get_ref())).await
}
