//! `POST /oauth/token`: client credentials → a short-lived token of the gateway (RFC 6749 §4.4).
//!
//! Takes a form and one client credential: an API key as `Bearer`, `ApiKey` or `X-API-Key`, or the same key as the
//! secret of a client (HTTP Basic, or `client_id` and `client_secret` in the form). Gives a token that the caller may
//! use instead of its key, or an error of RFC 6749 §5.2. A call by a proven client counts under its limits and its
//! tenant's and leaves one audit record; others are counted, like everywhere. Not on the data path: it may wait for the store when a tenant gets its first key.

mod client;
mod form;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use store::{KeyPurpose, TenantId};
use tokio::sync::Mutex;

use self::form::Form;
use crate::app::App;
use crate::audit::Outcome;
use crate::clock::Micros;
use crate::pipeline::audit::Trail;
use crate::pipeline::authenticate::gateway_token::{self, Issued, SCOPE};
use crate::pipeline::authenticate::{AuthenticateError, Identity};
use crate::pipeline::body::{Body, full};
use crate::pipeline::decode::DecodeError;
use crate::pipeline::encode::whole_seconds;
use crate::pipeline::head::{CORRELATION_ID, Head, new_id_at};
use crate::pipeline::limit::{self, LimitError, Slot};
use crate::registry::mint;
use crate::reject::Reject;
use a2a::{Fault, FaultKind};

/// The endpoint's path.
pub const PATH: &str = "/oauth/token";

/// What the endpoint needs besides the parts of the process.
#[derive(Debug, Default)]
pub struct Endpoint {
    /// Only one request makes a tenant's first key.
    first_key: Mutex<()>,
}

/// Why there is no token (RFC 6749 §5.2, RFC 8707 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// No client was proven.
    #[error("the client could not be authenticated")]
    InvalidClient(AuthenticateError),
    /// The form or its client credential can't be understood.
    #[error("{0}")]
    InvalidRequest(&'static str),
    /// The client or its tenant has had as many calls as it may.
    #[error("{}", limited(*.0))]
    Limited(LimitError),
    /// A scope that nobody has.
    #[error("the only scope is a2a.invoke")]
    InvalidScope,
    /// A token for somebody else.
    #[error("a token is good for the client's own tenant alone")]
    InvalidTarget,
    /// Nothing can be recorded, or there is no key to sign with.
    #[error("no token can be issued now, try again")]
    Unavailable,
    /// Another grant.
    #[error("the only grant type is client_credentials")]
    UnsupportedGrantType,
}

/// Answers one request.
pub async fn answer(app: Arc<App>, source: SocketAddr, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let now = app.clock.now();
    let head = Head::read(&parts, now);
    if parts.method != Method::POST {
        let mut response = problem(&TokenError::InvalidRequest("a token is asked for with POST"));
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST, OPTIONS"));
        return finished(response, &head);
    }
    let mut trail = Trail::new(&app, source, &head, now);
    trail.entered_by("token");
    let response = match issued(&app, source, &head, body, &mut trail).await {
        Ok((issued, _in_flight)) => match trail.close(Outcome::Ok, StatusCode::OK.as_u16()).await {
            Ok(()) => success(&issued),
            // No token without a record.
            Err(_lost) => problem(&TokenError::Unavailable),
        },
        Err(error) => {
            let response = problem(&error);
            trail.refuse(&reject(error), response.status().as_u16()).await;
            response
        }
    };
    finished(response, &head)
}

async fn issued(
    app: &App,
    source: SocketAddr,
    head: &Head,
    body: Incoming,
    trail: &mut Trail,
) -> Result<(Issued, Slot), TokenError> {
    head.check().map_err(|_| TokenError::InvalidRequest("the request's head is ambiguous"))?;
    let form = read(app, head, body).await?;
    let now = app.clock.now();
    let throttled = |error| TokenError::InvalidClient(app.calls.throttle.judge(error, source.ip(), now));
    let world = app.registry.snapshot();
    let identity = match client::identify(head, &form, &world, now) {
        Err(TokenError::InvalidClient(error)) => return Err(throttled(error)),
        other => other?,
    };
    trail.identified(&identity);
    let principal = identity.principal();
    let tenant = world.tenants.get(&principal.tenant).ok_or(TokenError::Unavailable)?;
    let slot = limit::admit_cardless(principal, tenant, &app.calls.limits, now).map_err(TokenError::Limited)?;
    trail.open().map_err(|_full| TokenError::Unavailable)?;
    match form.one("grant_type")? {
        Some("client_credentials") => {}
        Some(_) => return Err(TokenError::UnsupportedGrantType),
        None => return Err(TokenError::InvalidRequest("grant_type is missing: client_credentials")),
    }
    if form.one("scope")?.is_some_and(|scopes| scopes.split(' ').any(|scope| !scope.is_empty() && scope != SCOPE)) {
        return Err(TokenError::InvalidScope);
    }
    Ok((sign(app, &identity, &form, now).await?, slot))
}

/// The token, after the tenant's first key was made where it has none.
async fn sign(app: &App, identity: &Identity, form: &Form, now: Micros) -> Result<Issued, TokenError> {
    let tenant = &identity.principal().tenant;
    let credential = identity.key().ok_or(TokenError::Unavailable)?;
    for attempt in [Attempt::First, Attempt::WithKey] {
        if attempt == Attempt::WithKey {
            make_first_key(app, tenant, now).await?;
        }
        let world = app.registry.snapshot();
        let issuer = &world.tenants.get(tenant).ok_or(TokenError::Unavailable)?.tokens;
        for target in ["resource", "audience"] {
            if form.all(target).any(|wanted| wanted != issuer.aud) {
                return Err(TokenError::InvalidTarget);
            }
        }
        let most = app.settings.limits.token_lifetime;
        if let Some(issued) = gateway_token::issue(issuer, credential, &new_id_at(now), most, now) {
            return Ok(issued);
        }
    }
    Err(TokenError::Unavailable)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    WithKey,
}

/// A tenant's tokens have a key of their own purpose (D22). Replicas that make one at the same time make two, and both
/// are published.
async fn make_first_key(app: &App, tenant: &str, now: Micros) -> Result<(), TokenError> {
    let _turn = app.oauth.first_key.lock().await;
    let has_one = app.registry.snapshot().tenants.get(tenant).is_some_and(|world| world.tokens.signer().is_some());
    if has_one {
        return Ok(());
    }
    let made = async {
        let name = TenantId::new(tenant)?;
        let key = mint::signing_key(&app.seal, tenant, KeyPurpose::Token, now).ok()?;
        app.store.create_signing_key(&name, &key, now).await.ok()?;
        app.refresh.catch_up().await.ok()
    };
    match made.await {
        Some(_changed) => Ok(()),
        None => {
            tracing::warn!(tenant, "the first key for tokens could not be made");
            Err(TokenError::Unavailable)
        }
    }
}

async fn read(app: &App, head: &Head, body: Incoming) -> Result<Form, TokenError> {
    const FORM: &[u8] = b"application/x-www-form-urlencoded";
    let essence = head.content_type.as_ref().map(|value| value.as_bytes().split(|byte| *byte == b';').next());
    if !essence.flatten().is_some_and(|essence| essence.trim_ascii().eq_ignore_ascii_case(FORM)) {
        return Err(TokenError::InvalidRequest("the body must be application/x-www-form-urlencoded"));
    }
    let whole = Limited::new(body, LARGEST_FORM).collect();
    match tokio::time::timeout(app.settings.limits.connection.head_timeout, whole).await {
        Ok(Ok(collected)) => Form::read(&collected.to_bytes()),
        Ok(Err(_)) | Err(_) => Err(TokenError::InvalidRequest("the body is too large, too slow or broke off")),
    }
}

/// RFC 6749 §5.1.
fn success(issued: &Issued) -> Response<Body> {
    let document = serde_json::json!({
        "access_token": issued.text,
        "token_type": "Bearer",
        "expires_in": issued.lifetime.as_secs(),
        "scope": SCOPE,
    });
    Response::new(full(document.to_string()))
}

/// RFC 6749 §5.2.
fn problem(error: &TokenError) -> Response<Body> {
    let (status, code) = match error {
        TokenError::InvalidClient(AuthenticateError::Throttled { .. }) => {
            (StatusCode::TOO_MANY_REQUESTS, "invalid_client")
        }
        TokenError::InvalidClient(AuthenticateError::TwoCredentials) => (StatusCode::BAD_REQUEST, "invalid_request"),
        TokenError::InvalidClient(AuthenticateError::BadCredential | AuthenticateError::MissingCredential) => {
            (StatusCode::UNAUTHORIZED, "invalid_client")
        }
        TokenError::InvalidRequest(_) => (StatusCode::BAD_REQUEST, "invalid_request"),
        TokenError::Limited(LimitError::NoRoom) => (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable"),
        TokenError::Limited(_) => (StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable"),
        TokenError::InvalidScope => (StatusCode::BAD_REQUEST, "invalid_scope"),
        TokenError::InvalidTarget => (StatusCode::BAD_REQUEST, "invalid_target"),
        TokenError::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable"),
        TokenError::UnsupportedGrantType => (StatusCode::BAD_REQUEST, "unsupported_grant_type"),
    };
    let document = serde_json::json!({"error": code, "error_description": error.to_string()});
    let mut response = Response::new(full(document.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"oauth\""));
    }
    let wait = match error {
        TokenError::InvalidClient(AuthenticateError::Throttled { retry_after }) => Some(*retry_after),
        TokenError::Limited(limit) => Reject::Limit(*limit).retry_after(),
        TokenError::Unavailable => Some(Duration::from_secs(1)),
        TokenError::InvalidClient(_)
        | TokenError::InvalidRequest(_)
        | TokenError::InvalidScope
        | TokenError::InvalidTarget
        | TokenError::UnsupportedGrantType => None,
    };
    if let Some(wait) = wait {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
    }
    response
}

fn finished(mut response: Response<Body>, head: &Head) -> Response<Body> {
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    if let Ok(id) = HeaderValue::from_str(&head.correlation_id) {
        headers.insert(CORRELATION_ID, id);
    }
    response
}

/// In the words of a call that is refused for the same.
fn limited(error: LimitError) -> String {
    Reject::Limit(error).fault().message
}

/// How it is counted and recorded.
fn reject(error: TokenError) -> Reject {
    match error {
        TokenError::InvalidClient(error) => Reject::Authenticate { error },
        TokenError::Limited(error) => Reject::Limit(error),
        TokenError::Unavailable => Reject::Audit,
        TokenError::InvalidRequest(_)
        | TokenError::InvalidScope
        | TokenError::InvalidTarget
        | TokenError::UnsupportedGrantType => {
            Reject::Decode(DecodeError::Refused(Fault::of(FaultKind::InvalidRequest)))
        }
    }
}

const LARGEST_FORM: usize = 16 * 1024;
