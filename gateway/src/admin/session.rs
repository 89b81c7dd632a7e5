//! Sessions of browsers: sign in, sign out, who am I, and the very first account.
//!
//! A session is a random cookie whose digest is stored; signing in always makes a new one. It ends after 30 minutes
//! unused, after 12 hours (or what is configured for single sign-on, see `sso`), at sign-out, and with its account. Writes carry a second proof that a page of another site
//! can't have (T-ADM-2). Never says whether it was the name or the password that was wrong.

use super::Shared;
use super::access::{self, Way, Who};
use super::accounts::{self, NAME_RULE, Source};
use super::body::Document;
use super::error::ApiError;
use super::extract::State;
use super::password::Counted;
use super::resource::{new_id, rfc3339};
use super::roles::{Assignment, Roles};
use super::sso::{Sso, SsoOffer};
use crate::clock::Micros;
use crate::config::Passwords;
use axum::Json;
use axum::extract::{ConnectInfo, Extension};
use axum::response::{IntoResponse, Response};
use http::header::{COOKIE, HOST, ORIGIN, SET_COOKIE};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use store::{AdminRow, AdminSessionRow, AdminState, NewAdmin};
use subtle::ConstantTimeEq as _;
use utoipa::ToSchema;
use zeroize::Zeroizing;

/// What is typed in to sign in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SignIn {
    /// The account's name.
    name: String,
    /// Its password.
    password: String,
}

/// Who somebody is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Me {
    /// The account's or token's name.
    pub name: String,
    /// `bootstrap`, `token` or `session`.
    pub way: &'static str,
    /// Of a session: what its account signs in with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// What it may do.
    pub roles: Vec<Assignment>,
    /// What writes of a browser carry as `X-Chancery-CSRF`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csrf: Option<String>,
    /// When the session ends at the latest (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<String>,
    /// Where callers reach the gateway: what cards and examples name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
}

/// Whether the first account is still to be made.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SetupState {
    /// It is; the link for it was printed at the start.
    pub needed: bool,
    /// Whoever asks is signed in.
    pub signed_in: bool,
    /// Whether people sign in with passwords.
    pub passwords: bool,
    /// Single sign-on, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sso: Option<SsoOffer>,
}

/// The first account.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Setup {
    /// From the link that was printed.
    token: String,
    /// The account's name.
    name: String,
    /// Its password.
    password: String,
}

/// A change of one's own password.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnPassword {
    /// The one in force.
    current: String,
    /// The next one.
    password: String,
}

pub(super) type Peer = Option<Extension<ConnectInfo<SocketAddr>>>;

/// From which address.
pub(super) fn source(peer: &Peer) -> String {
    peer.as_ref().map(|Extension(ConnectInfo(peer))| peer.ip().to_string()).unwrap_or_default()
}

/// Signs in: sets a session's cookie.
#[utoipa::path(post, path = "/api/v1/session", tag = "session", request_body = SignIn,
    responses((status = 200, body = Me), (status = 401, body = ApiError), (status = 409, body = ApiError),
        (status = 429, body = ApiError)))]
pub(super) async fn sign_in(
    State(admin): State<Shared>,
    peer: Peer,
    headers: HeaderMap,
    Document { typed, .. }: Document<SignIn>,
) -> Result<Response, ApiError> {
    if admin.password_sign_in == Passwords::Refused {
        return Err(ApiError::at_odds("passwords_off", "nobody signs in with a password here; use single sign-on"));
    }
    let (now, source) = (admin.clock.now(), source(&peer));
    let counted = admin.passwords.begin(Counted::sign_in(&typed.name, &source), now);
    let counted = counted.map_err(ApiError::too_many_tries)?;
    let password = Zeroizing::new(typed.password);
    let row = admin.store.admin(&typed.name).await?.filter(|row| row.state == AdminState::Active);
    let stored = row.as_ref().and_then(|row| row.password.as_deref());
    let fits = admin.passwords.verify(password, stored).await.map_err(|_| ApiError::internal())?;
    let Some(row) = row.filter(|_| fits) else {
        tracing::warn!(source, "a sign-in of an administrator failed");
        return Err(ApiError::not_signed_in());
    };
    admin.passwords.succeeded(counted);
    end_earlier(&admin, &headers).await?;
    open(&admin, row, source, &headers).await
}

/// The session that the browser had before is not left lying about.
async fn end_earlier(admin: &Shared, headers: &HeaderMap) -> Result<(), ApiError> {
    if let Some(cookie) = cookie(headers) {
        admin.store.end_admin_session(&access::hash(cookie).hex()).await?;
    }
    Ok(())
}

async fn open(admin: &Shared, row: AdminRow, source: String, headers: &HeaderMap) -> Result<Response, ApiError> {
    let (text, digest) = access::secret().map_err(|_| ApiError::internal())?;
    let now = admin.clock.now();
    let session = AdminSessionRow { id: digest.hex(), admin_id: row.id.clone(), source, created: now, seen: now };
    admin.store.open_admin_session(&session, now - LONGEST).await?;
    tracing::info!(admin = row.name, "an administrator signed in");
    let source = Source::of(&row);
    let who =
        Who { name: row.name, way: Way::Session { id: session.id, csrf: csrf(&text) }, roles: Roles::read(&row.roles) };
    let me = me_of(admin, &who, Some((now + LONGEST, source)));
    let cookie = set_cookie(Transport::said(headers), &text, LONGEST / 1_000_000)?;
    Ok(([(SET_COOKIE, cookie)], Json(me)).into_response())
}

/// Signs out: the session ends on the server too.
#[utoipa::path(delete, path = "/api/v1/session", tag = "session",
    responses((status = 204), (status = 400, body = ApiError)))]
pub(super) async fn sign_out(State(admin): State<Shared>, who: Who, headers: HeaderMap) -> Result<Response, ApiError> {
    let Way::Session { id, .. } = &who.way else {
        return Err(ApiError::invalid_field("session", "a token has no session to end; revoke it instead"));
    };
    admin.store.end_admin_session(id).await?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, set_cookie(Transport::said(&headers), "", 0)?)]).into_response())
}

/// Who is asking.
#[utoipa::path(get, path = "/api/v1/me", tag = "session",
    responses((status = 200, body = Me), (status = 401, body = ApiError)))]
pub(super) async fn me(State(admin): State<Shared>, who: Who) -> Result<Json<Me>, ApiError> {
    let session = match &who.way {
        Way::Session { id, .. } => {
            let (session, row) = of(&admin, id).await?;
            Some((session.created + longest(&admin, &row).unwrap_or_default(), Source::of(&row)))
        }
        Way::Bootstrap | Way::Token { .. } => None,
    };
    Ok(Json(me_of(&admin, &who, session)))
}

fn me_of(admin: &Shared, who: &Who, session: Option<(Micros, Source)>) -> Me {
    let csrf = match &who.way {
        Way::Bootstrap | Way::Token { .. } => None,
        Way::Session { csrf, .. } => Some(csrf.clone()),
    };
    Me {
        name: who.name.clone(),
        way: who.way.name(),
        roles: who.roles.0.clone(),
        csrf,
        source: session.map(|(_, source)| source),
        ends_at: session.map(|(ends, _)| rfc3339(ends)),
        public_url: admin.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/').to_owned()),
    }
}

/// Changes one's own password; every other session ends. Tokens stay: revoke those that somebody else may have.
#[utoipa::path(put, path = "/api/v1/me/password", tag = "session", request_body = OwnPassword,
    responses((status = 204), (status = 400, body = ApiError), (status = 429, body = ApiError)))]
pub(super) async fn set_own_password(
    State(admin): State<Shared>,
    who: Who,
    Document { typed, .. }: Document<OwnPassword>,
) -> Result<StatusCode, ApiError> {
    let Way::Session { id, .. } = &who.way else {
        return Err(ApiError::invalid_field("session", "a token has no password"));
    };
    let row = admin.store.admin(&who.name).await?.ok_or_else(ApiError::unauthenticated)?;
    accounts::has_password(&row)?;
    let counted = admin.passwords.begin([Counted::Own(who.name.clone())], admin.clock.now());
    let counted = counted.map_err(ApiError::too_many_tries)?;
    let current = Zeroizing::new(typed.current);
    let fits = admin.passwords.verify(current, row.password.as_deref()).await.map_err(|_| ApiError::internal())?;
    if !fits {
        return Err(ApiError::invalid_field("current", "is not the password in force"));
    }
    admin.passwords.succeeded(counted);
    let hashed = accounts::hashed(&admin, &who.name, typed.password).await?;
    admin.store.set_admin_password(&who.name, &hashed, Some(id), admin.clock.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Whether the first account is still to be made, and whether whoever asks is signed in.
#[utoipa::path(get, path = "/api/v1/setup", tag = "session", responses((status = 200, body = SetupState)))]
pub(super) async fn setup_state(State(admin): State<Shared>, headers: HeaderMap) -> Result<Json<SetupState>, ApiError> {
    let signed_in = access::identify(&admin, &headers).await.is_ok();
    let passwords = admin.password_sign_in == Passwords::Taken;
    let needed = passwords && !admin.store.has_admins().await?;
    Ok(Json(SetupState { needed, signed_in, passwords, sso: admin.sso.as_ref().map(Sso::offer) }))
}

/// Makes the first account, a platform administrator, and signs it in. Needs the link that was printed at the start.
#[utoipa::path(post, path = "/api/v1/setup", tag = "session", request_body = Setup,
    responses((status = 200, body = Me), (status = 400, body = ApiError), (status = 409, body = ApiError)))]
pub(super) async fn setup(
    State(admin): State<Shared>,
    peer: Peer,
    headers: HeaderMap,
    Document { typed, .. }: Document<Setup>,
) -> Result<Response, ApiError> {
    let source = source(&peer);
    let counted = admin.passwords.begin([Counted::Setup { source: source.clone() }], admin.clock.now());
    let counted = counted.map_err(ApiError::too_many_tries)?;
    if !admin.setup.is_some_and(|setup| setup.fits(&typed.token)) {
        let problem = "is not of this start; take the link that the gateway printed when it last started";
        return Err(ApiError::invalid_field("token", problem));
    }
    admin.passwords.succeeded(counted);
    if !accounts::is_name(&typed.name) {
        return Err(ApiError::invalid_field("name", NAME_RULE));
    }
    let now = admin.clock.now();
    let new = NewAdmin {
        id: new_id("adm-", now)?,
        display_name: String::new(),
        password: Some(accounts::hashed(&admin, &typed.name, typed.password).await?),
        name: typed.name,
        roles: Roles::platform().to_stored(),
    };
    // The link is good for one account, also when that one is gone and there is none again.
    let spent = admin.setup_spent.load(Ordering::Acquire);
    if spent || !admin.store.create_first_admin(&new, now).await? {
        return Err(ApiError::at_odds("setup_done", "the first account was made already; sign in with it"));
    }
    admin.setup_spent.store(true, Ordering::Release);
    let row = admin.store.admin(&new.name).await?.ok_or_else(ApiError::internal)?;
    open(&admin, row, source, &headers).await
}

/// Who a session's cookie belongs to.
pub(super) async fn identify(admin: &Shared, headers: &HeaderMap) -> Result<Who, ApiError> {
    let cookie = cookie(headers).ok_or_else(ApiError::unauthenticated)?;
    let (session, row) = of(admin, &access::hash(cookie).hex()).await?;
    let now = admin.clock.now();
    if now - session.seen > access::MINUTE {
        // A store that takes no writes can still be looked at; the session is no longer for it.
        if let Err(error) = admin.store.touch_admin_session(&session.id, now).await {
            tracing::warn!(%error, "that a session was used could not be noted");
        }
    }
    let way = Way::Session { id: session.id, csrf: csrf(cookie) };
    Ok(Who { name: row.name, way, roles: Roles::read(&row.roles) })
}

/// A session that has not ended, and its account.
pub(super) async fn of(admin: &Shared, id: &str) -> Result<(AdminSessionRow, AdminRow), ApiError> {
    let session = admin.store.admin_session(id).await?.ok_or_else(ApiError::unauthenticated)?;
    let row = admin.store.admin_by_id(&session.admin_id).await?;
    let row = row.filter(|row| row.state == AdminState::Active).ok_or_else(ApiError::unauthenticated)?;
    let now = admin.clock.now();
    let in_time = |longest| now - session.seen <= IDLE && now - session.created <= longest;
    if !longest(admin, &row).is_some_and(in_time) {
        if let Err(error) = admin.store.end_admin_session(id).await {
            tracing::warn!(%error, "a session that has ended could not be removed");
        }
        return Err(ApiError::unauthenticated());
    }
    Ok((session, row))
}

/// How long a session of this account lasts; none where what it signed in with is not taken any more.
pub(super) fn longest(admin: &Shared, row: &AdminRow) -> Option<Micros> {
    match &row.sso_issuer {
        None => (admin.password_sign_in == Passwords::Taken).then_some(LONGEST),
        Some(issuer) => admin.sso.as_ref()?.session_of(issuer),
    }
}

/// A write with a session comes from our own page: its browser says so, and it knows what only our page was told.
pub(super) fn check_write(csrf: &str, headers: &HeaderMap) -> Result<(), ApiError> {
    // The listener has compared the origin with ours; here it must be there at all.
    let told = headers.get(ORIGIN).is_some();
    let given = headers.get(CSRF_HEADER).map(HeaderValue::as_bytes).unwrap_or_default();
    if told && bool::from(given.ct_eq(csrf.as_bytes())) { Ok(()) } else { Err(ApiError::forged()) }
}

fn csrf(cookie: &str) -> String {
    access::hash(&format!("csrf {cookie}")).hex()
}

/// The session's cookie; two of a name are none. The plain name counts on loopback alone: elsewhere a neighbour of the
/// domain could have set it.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    match (named(headers, SECURE_COOKIE), named(headers, PLAIN_COOKIE)) {
        ((Some(cookie), false), _) => Some(cookie),
        ((None, _), (Some(cookie), false)) if is_loopback(headers) => Some(cookie),
        _ => None,
    }
}

/// The cookie of this name, and whether there is more than one.
pub(super) fn named<'a>(headers: &'a HeaderMap, wanted: &str) -> (Option<&'a str>, bool) {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut found = pairs.flat_map(|value| value.split(';')).filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == wanted && !value.is_empty()).then_some(value)
    });
    (found.next(), found.next().is_some())
}

/// Whether the request names this machine itself.
fn is_loopback(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| match host.host().trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host.host().eq_ignore_ascii_case("localhost"),
    })
}

/// How browsers reach the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// Without TLS, on this machine.
    Plain,
    /// Over TLS.
    Tls,
}

impl Transport {
    /// Of a page at `origin`.
    pub(super) fn of(origin: &str) -> Self {
        if origin.starts_with("https://") { Self::Tls } else { Self::Plain }
    }

    /// As the browser says of the page that asks; the listener has compared the origin with ours.
    fn said(headers: &HeaderMap) -> Self {
        let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
        Self::of(origin.unwrap_or_default())
    }
}

/// Over TLS the cookie is bound to this host; on plain loopback browsers would not keep such a one.
pub(super) fn set_cookie(transport: Transport, value: &str, seconds: i64) -> Result<HeaderValue, ApiError> {
    let (name, secure) = match transport {
        Transport::Plain => (PLAIN_COOKIE, ""),
        Transport::Tls => (SECURE_COOKIE, "; Secure"),
    };
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).map_err(|_| ApiError::internal())
}

const CSRF_HEADER: &str = "x-chancery-csrf";
const SECURE_COOKIE: &str = "__Host-chancery";
const PLAIN_COOKIE: &str = "chancery-loopback";
/// A session unused for so long has ended.
const IDLE: Micros = 30 * 60 * 1_000_000;
/// A session ends after so long in any case.
pub(super) const LONGEST: Micros = 12 * 60 * 60 * 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_cookie_is_found_once_or_not_at_all() {
        let of = |host: &str, cookies: &[&str]| {
            let pairs: Vec<_> = cookies.iter().map(|value| ("cookie", *value)).chain([("host", host)]).collect();
            cookie(&headers(&pairs)).map(str::to_owned)
        };
        let found = |value: &str| Some(value.to_owned());
        for host in ["127.0.0.1:9901", "[::1]:9901", "localhost", "127.9.9.9"] {
            assert_eq!(of(host, &["a=b; chancery-loopback=x"]), found("x"), "{host}");
            assert_eq!(of(host, &["chancery-loopback=x; __Host-chancery=y"]), found("y"), "{host}");
            assert_eq!(of(host, &["chancery-loopback=x", "chancery-loopback=z"]), None, "{host}");
            assert_eq!(of(host, &["chancery-loopback="]), None, "{host}");
            assert_eq!(of(host, &["__Host-chancery=y; __Host-chancery=z; chancery-loopback=x"]), None, "{host}");
        }
        for host in ["admin.example.com", "localhost.example.com", "10.0.0.1:9901", "127.0.0.1.example.com", ""] {
            assert_eq!(of(host, &["chancery-loopback=x"]), None, "{host}");
            assert_eq!(of(host, &["__Host-chancery=y; chancery-loopback=x"]), found("y"), "{host}");
        }
    }

    #[test]
    fn cookies_are_bound_to_the_host_over_tls() {
        let over_tls = set_cookie(Transport::said(&headers(&[("origin", "https://a.test")])), "v", 5).unwrap();
        assert_eq!(over_tls, "__Host-chancery=v; Path=/; Max-Age=5; HttpOnly; SameSite=Strict; Secure");
        let plain = set_cookie(Transport::said(&headers(&[("origin", "http://127.0.0.1:1")])), "v", 5).unwrap();
        assert_eq!(plain, "chancery-loopback=v; Path=/; Max-Age=5; HttpOnly; SameSite=Strict");
    }

    #[test]
    fn writes_need_origin_and_proof() {
        let proof = csrf("cookie");
        assert!(check_write(&proof, &headers(&[("origin", "http://x"), ("x-chancery-csrf", &proof)])).is_ok());
        assert!(check_write(&proof, &headers(&[("x-chancery-csrf", &proof)])).is_err());
        assert!(check_write(&proof, &headers(&[("origin", "http://x"), ("x-chancery-csrf", "cookie")])).is_err());
        assert!(check_write(&proof, &headers(&[("origin", "http://x")])).is_err());
    }
}
