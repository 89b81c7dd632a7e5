//! Which part of the gateway answers a request, by method and path alone.
//!
//! Public listener: health, discovery (GET and HEAD of cards, key sets, directories), CORS, and everything else below
//! `/a2a/` to the pipeline. Admin listener: health, metrics, and the admin router, behind a check of `Host` and
//! `Origin`. No header ever changes the route (`X-HTTP-Method-Override` and the like are not looked at).

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::response::IntoResponse as _;
use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use tower::ServiceExt as _;

use super::{Caller, forwarded, grpc, health};
use crate::admin::Desk;
use crate::admin::error::ApiError;
use crate::app::App;
use crate::config::MetricsFor;
use crate::telemetry::Labels;
use crate::{discovery, oauth, pipeline};

/// The body of every answer on the public listener.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A body of these bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// Answers one request of the public listener. A panic below becomes a 500 and takes nothing else down.
pub async fn public(app: Arc<App>, caller: Caller, request: Request<Incoming>) -> Response<Body> {
    let origin = request.headers().get(header::ORIGIN).cloned();
    // Boxed, because hyper moves it about; what is rare below is boxed too, so that this one stays small.
    let answer = AssertUnwindSafe(Box::pin(public_route(Arc::clone(&app), caller, request))).catch_unwind().await;
    let mut response = answer.unwrap_or_else(|_| {
        tracing::error!("a request panicked");
        plain(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error")
    });
    discovery::cors::allow(&app.settings.public.cors, origin.as_ref(), response.headers_mut());
    response
}

async fn public_route(app: Arc<App>, caller: Caller, request: Request<Incoming>) -> Response<Body> {
    let target_len = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    if target_len > app.settings.limits.connection.url_bytes {
        return plain(StatusCode::URI_TOO_LONG, "url_too_long", "the request target is too long");
    }
    if header_bytes(request.headers()) > app.settings.limits.connection.header_bytes {
        return plain(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "header_too_large",
            "the header section is too large",
        );
    }
    let path = request.uri().path();
    let reads = request.method() == Method::GET || request.method() == Method::HEAD;
    if reads && let Some(response) = health::answer(&app, path, health::Detail::Verdict) {
        return response.map(full);
    }
    if request.method() == Method::OPTIONS {
        return discovery::cors::preflight(&app.settings.public.cors, request.headers()).map(full);
    }
    if reads && let Some(found) = discovery::route(path) {
        let (parts, _) = request.into_parts();
        return Box::pin(discovery::answer(&app, &caller, &parts, found)).await.map(full);
    }
    if discovery::is_well_known(path) {
        let mut response =
            plain(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this document can only be read");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
        return response;
    }
    if path.starts_with("/a2a/") || pipeline::legacy::side(path).is_some() {
        let source = forwarded::source(caller.peer, request.headers(), &app.settings.public.trusted_proxies);
        return call(app, Caller { source, ..caller }, request).await;
    }
    if path == oauth::PATH {
        let source = forwarded::source(caller.peer, request.headers(), &app.settings.public.trusted_proxies);
        return Box::pin(oauth::answer(app, source, request)).await;
    }
    if grpc::is_grpc(&request) {
        let source = forwarded::source(caller.source, request.headers(), &app.settings.public.trusted_proxies);
        return match Box::pin(grpc::sort(&app, source, request)).await {
            grpc::Asked::Call(request) => call(app, Caller { source, ..caller }, request).await,
            grpc::Asked::Answered(response) => response,
        };
    }
    plain(StatusCode::NOT_FOUND, "not_found", "there is nothing at this address")
}

/// One call, counted as in flight until the last byte of its answer.
async fn call(app: Arc<App>, caller: Caller, request: Request<Incoming>) -> Response<Body> {
    let in_flight = InFlight::new(app.metrics.in_flight.clone());
    let timer = app.metrics.request_seconds.start_timer();
    let response = pipeline::handle(app, caller, request).await;
    timer.observe_duration();
    response.map(|body| pipeline::body::holding(body, in_flight))
}

struct InFlight(prometheus::IntGauge);

impl InFlight {
    fn new(gauge: prometheus::IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// As they came over the wire, with separators; hyper's own limit is on its buffer and lets a little more through.
fn header_bytes(headers: &http::HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + b": \r\n".len()).sum()
}

/// Answers one request of the admin listener.
pub async fn admin(
    app: Arc<App>,
    desk: Desk,
    caller: Caller,
    request: Request<Incoming>,
) -> Response<axum::body::Body> {
    let path = request.uri().path();
    // A probe names the machine as it likes, and is told no name.
    if !brings_proof(&request)
        && let Some(response) = health::answer(&app, path, health::Detail::Parts)
    {
        return response.map(axum::body::Body::from);
    }
    if !is_our_host(&app, &request) || !is_our_origin(&app, &request) {
        return document(
            StatusCode::MISDIRECTED_REQUEST,
            "wrong_host",
            "the admin listener is not reached by this name; add its origin to admin.origins",
        )
        .map(axum::body::Body::from);
    }
    if path == "/metrics" && request.method() == Method::GET {
        return match metrics_for(&app, &desk, &request).await {
            Ok(labels) => metrics(&app, labels).map(axum::body::Body::from),
            Err(error) => error.into_response(),
        };
    }
    if path == "/readyz" || path == "/healthz" {
        return probed(&app, &desk, &request).await;
    }
    let mut request = request.map(axum::body::Body::new);
    request.extensions_mut().insert(axum::extract::ConnectInfo(caller.peer));
    match AssertUnwindSafe(desk.router.oneshot(request)).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(_) => {
            tracing::error!("an admin request panicked");
            document(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error").map(axum::body::Body::from)
        }
    }
}

/// Whether there is anything by which somebody could be an administrator.
fn brings_proof(request: &Request<Incoming>) -> bool {
    request.headers().contains_key(header::AUTHORIZATION) || request.headers().contains_key(header::COOKIE)
}

/// Health for whoever brings a proof: names for administrators. A cookie may be anybody's of this host and refuses nobody;
/// a token that proves nobody is a mistake to be told. While the store is away a probe still hears the verdict.
async fn probed(app: &App, desk: &Desk, request: &Request<Incoming>) -> Response<axum::body::Body> {
    let detail = match desk.roles(request.headers()).await {
        Ok(roles) => health::Detail::Named(roles),
        Err(error) if error.is_unauthenticated() && request.headers().contains_key(header::AUTHORIZATION) => {
            return error.into_response();
        }
        Err(_) => health::Detail::Parts,
    };
    let answer = health::answer(app, request.uri().path(), detail);
    answer.unwrap_or_else(|| document(StatusCode::NOT_FOUND, "not_found", "no probe")).map(axum::body::Body::from)
}

/// Which labels of metrics whoever asks is shown. Scrapes go on while the store is away, without names.
async fn metrics_for(app: &App, desk: &Desk, request: &Request<Incoming>) -> Result<Labels, ApiError> {
    if app.settings.admin.metrics == MetricsFor::Everybody {
        return Ok(Labels::All);
    }
    if !request.headers().contains_key(header::AUTHORIZATION) {
        return Ok(Labels::WithoutNames);
    }
    match desk.roles(request.headers()).await {
        Ok(roles) if roles.sees_all() => Ok(Labels::All),
        Ok(_) => Err(ApiError::forbidden()),
        Err(error) if error.is_unauthenticated() => Err(error),
        Err(_) => Ok(Labels::WithoutNames),
    }
}

/// A page of another site can make a browser ask us, but only under that site's own name (DNS rebinding): `Host` must
/// be an address, this machine, or a configured origin's.
fn is_our_host(app: &App, request: &Request<Incoming>) -> bool {
    let said = match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => request.headers().get(header::HOST).and_then(|host| host.to_str().ok()),
    };
    let Some(authority) = said.and_then(|said| said.parse::<http::uri::Authority>().ok()) else { return false };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let ours = |origin: &String| origin.split_once("://").is_some_and(|(_, rest)| rest == authority.as_str());
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok() || app.settings.admin.origins.iter().any(ours)
}

fn is_our_origin(app: &App, request: &Request<Incoming>) -> bool {
    let Some(origin) = request.headers().get(header::ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let same = origin.split_once("://").is_some_and(|(_, rest)| Some(rest) == host);
    same || app.settings.admin.origins.iter().any(|ours| ours == origin)
}

fn metrics(app: &App, labels: Labels) -> Response<Vec<u8>> {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let (backlog, metrics) = (app.audit.backlog(), &app.metrics);
    metrics.task_panics.set(number(app.tasks.panics()));
    metrics.streams.set(i64::try_from(app.calls.limits.open_streams()).unwrap_or(i64::MAX));
    metrics.bytes_in_flight.set(i64::try_from(app.calls.limits.bytes_in_flight()).unwrap_or(i64::MAX));
    metrics.audit_spool_bytes.set(number(backlog.bytes));
    metrics.audit_open.set(number(backlog.open));
    metrics.audit_shipped.set(number(backlog.shipped));
    metrics.audit_lost.set(number(backlog.lost.saturating_add(backlog.unrecorded)));
    metrics.audit_rejected.set(number(backlog.rejected));
    metrics.audit_store_failures.set(number(backlog.store_failures));
    let mut response = Response::new(app.metrics.render(labels));
    let content_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

fn plain(status: StatusCode, code: &str, message: &str) -> Response<Body> {
    document(status, code, message).map(full)
}

/// An error outside A2A, in the form of the admin API.
pub(crate) fn document(status: StatusCode, code: &str, message: &str) -> Response<Vec<u8>> {
    let mut response = Response::new(serde_json::json!({"code": code, "message": message}).to_string().into_bytes());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
