//! gRPC at the door: which requests are, and what is answered without a call: health, and methods that do not exist.
//!
//! Takes a request whose `Content-Type` says gRPC; gives calls of the A2A service to the pipeline. There is no
//! reflection. Health tells what `/readyz` tells, to everybody, as that does.

use std::net::SocketAddr;
use std::sync::Arc;

use a2a::grpc;
use a2a::{Fault, FaultKind};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;

use super::dispatch::{Body, full};
use super::health;
use crate::app::App;
use crate::config::Grpc;
use crate::pipeline::body::with_trailers;
use crate::pipeline::encode::trailer_map;

/// What a gRPC request is for.
#[derive(Debug)]
pub enum Asked {
    /// An operation of A2A, for the pipeline.
    Call(Request<Incoming>),
    /// Anything else, answered.
    Answered(Response<Body>),
}

/// Whether the request says that it is gRPC.
#[must_use]
pub fn is_grpc(request: &Request<Incoming>) -> bool {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(grpc::CONTENT_TYPE.as_bytes()))
}

/// Sorts a gRPC request.
pub async fn sort(app: &Arc<App>, peer: SocketAddr, request: Request<Incoming>) -> Asked {
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if request.version() < Version::HTTP_2 {
        return Asked::Answered(bare(StatusCode::HTTP_VERSION_NOT_SUPPORTED));
    }
    if !content_type.is_some_and(grpc::is_grpc) {
        return Asked::Answered(bare(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    if app.settings.public.grpc == Grpc::Off {
        return Asked::Answered(unimplemented(app));
    }
    if request.uri().path() == HEALTH_CHECK {
        return Asked::Answered(check(app, request).await);
    }
    match grpc::target(request.method(), request.uri().path()) {
        Some(Ok(_)) => Asked::Call(request),
        Some(Err(_)) | None => {
            tracing::debug!(%peer, "a gRPC method that is not served");
            Asked::Answered(unimplemented(app))
        }
    }
}

/// `grpc.health.v1.Health/Check`: of the whole server, or of the A2A service by name.
async fn check(app: &App, request: Request<Incoming>) -> Response<Body> {
    const MOST: usize = 1024;
    let asked = match Limited::new(request.into_body(), MOST).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return refused(app, FaultKind::InvalidRequest),
    };
    // HealthCheckRequest { string service = 1 }
    let service = match grpc::one(&asked) {
        Ok([]) => "",
        Ok([0x0a, length, name @ ..]) if usize::from(*length) == name.len() => {
            str::from_utf8(name).unwrap_or("unreadable")
        }
        Ok(_) | Err(_) => return refused(app, FaultKind::InvalidRequest),
    };
    if !["", grpc::SERVICE].contains(&service) {
        let fault = Fault::new(FaultKind::AgentNotFound, "no such service here");
        return trailers_only(grpc::trailers(Some(&fault), &app.calls.own_domain));
    }
    // HealthCheckResponse { ServingStatus status = 1 }, SERVING = 1, NOT_SERVING = 2
    let status = if health::is_ready(app) { 1 } else { 2 };
    let message = Bytes::copy_from_slice(&[0, 0, 0, 0, 2, 0x08, status]);
    head(with_trailers(message, trailer_map(&grpc::trailers(None, ""))))
}

fn unimplemented(app: &App) -> Response<Body> {
    let fault = Fault::new(FaultKind::PathNotFound, "this method is not served here");
    trailers_only(grpc::trailers(Some(&fault), &app.calls.own_domain))
}

fn refused(app: &App, kind: FaultKind) -> Response<Body> {
    trailers_only(grpc::trailers(Some(&Fault::of(kind)), &app.calls.own_domain))
}

fn trailers_only(trailers: Vec<(&'static str, String)>) -> Response<Body> {
    let mut response = head(full(Bytes::new()));
    response.headers_mut().extend(trailer_map(&trailers));
    response
}

fn head(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(grpc::CONTENT_TYPE));
    response
}

fn bare(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() = status;
    response
}

const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";
