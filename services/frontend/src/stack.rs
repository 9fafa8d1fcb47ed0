//! Everything the listener serves, and the chain of layers around the Sessions service.

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use env::Env;
use tonic::server::NamedService;
use tonic::service::Routes;
use tonic_health::pb::health_server::{Health, HealthServer};
use tower::ServiceBuilder;
use wire::sessions_server::SessionsServer;

use crate::layers::admission::{self, Admission};
use crate::layers::{bad_request, call_log, deadline, request_id};
use crate::sessions::SessionsService;
use crate::{Options, StartError};

/// What a record adds to the input it holds, with room to spare: every accepted input can be read back.
const RECORD_OVERHEAD: usize = 64 << 10;

/// Sessions behind its layers; health and reflection bare, so that they answer whatever state the node is in.
pub(crate) fn router(
    sessions: SessionsService,
    health: HealthServer<impl Health>,
    admission: Admission,
    env: Env,
    options: &Options,
) -> Result<Router, StartError> {
    let sessions = SessionsServer::new(sessions)
        .max_decoding_message_size(options.max_message_size)
        .max_encoding_message_size(options.max_message_size.saturating_add(RECORD_OVERHEAD));
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
        .service(sessions);
    let path = format!("/{}/{{*rpc}}", SessionsServer::<SessionsService>::NAME);
    Ok(plain_services(health)?.route_service(&path, chain))
}

fn plain_services(health: HealthServer<impl Health>) -> Result<Router, StartError> {
    let describe = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(wire::FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .with_service_name(SessionsServer::<SessionsService>::NAME)
            .with_service_name("grpc.health.v1.Health")
    };
    let routes = Routes::new(health)
        .add_service(describe().build_v1()?)
        // Older tools ask for the alpha version only.
        .add_service(describe().build_v1alpha()?);
    Ok(routes.into_axum_router())
}
