//! Everything a listener serves, and the chain of layers around its service.

use std::convert::Infallible;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use env::Env;
use tonic::service::Routes;
use tonic_health::pb::health_server::{Health, HealthServer};
use tower::{Service, ServiceBuilder};

use crate::StartError;
use crate::layers::admission::{self, Admission};
use crate::layers::{bad_request, call_log, deadline, request_id};

/// `service`, whose name is `name`, behind its layers; health and reflection bare, so that they answer whatever state the
/// node is in.
pub(crate) fn router<S>(
    name: &'static str,
    service: S,
    health: HealthServer<impl Health>,
    admission: Admission,
    env: Env,
) -> Result<Router, StartError>
where
    S: Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Response: IntoResponse,
    S::Future: Send + 'static,
{
    let chain = ServiceBuilder::new()
        // First, so that every refusal below and every line about the call carries the id.
        .layer(from_fn_with_state(env, request_id::keep_or_mint))
        // Before anything that may refuse: refused calls are logged too.
        .layer(from_fn(call_log::observe))
        // Authentication belongs here: logged, but before the caller can use up anything.
        .layer(from_fn(bad_request::blame))
        .layer(from_fn(deadline::read))
        // Last, so that only calls about to run take up a place.
        .layer(from_fn_with_state(admission, admission::admit))
        .service(service);
    let path = format!("/{name}/{{*rpc}}");
    Ok(plain_services(name, health)?.route_service(&path, chain))
}

fn plain_services(name: &'static str, health: HealthServer<impl Health>) -> Result<Router, StartError> {
    let describe = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(wire::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .with_service_name(name)
            .with_service_name("grpc.health.v1.Health")
    };
    let routes = Routes::new(health)
        .add_service(describe().build_v1()?)
        // Older tools ask for the alpha version only.
        .add_service(describe().build_v1alpha()?);
    Ok(routes.into_axum_router())
}
