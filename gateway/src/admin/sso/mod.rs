//! Single sign-on to the admin page: OpenID Connect, authorization code with PKCE.
//!
//! *Takes* a browser that wants in, sends it to the configured provider and takes what it brings back. *Gives* a session
//! like any other, of an account that the provider vouches for. *Refuses* an answer that this browser did not ask for,
//! that another provider gave, that comes twice, or whose token does not prove what it must; and whoever has no role
//! here. Every end is a redirect to a view of our own, with a word for what went wrong. *Never* takes an address from a
//! request, shows what a provider says, or takes over an account that has a password (docs/adr/0010).
//!
//! | file | holds |
//! |---|---|
//! | `flow` | the cookie that binds an answer to its browser |
//! | `provider` | discovery, keys, code → token |
//! | `proof` | what a token proves, and what that makes of a person |

mod flow;
mod proof;
mod provider;

use self::flow::{Cookies, Flow};
use self::proof::NoEntry;
use self::provider::{Provider, ProviderError};
use super::Shared;
use super::access;
use super::error::ApiError;
use super::extract::State;
use super::resource::new_id;
use super::roles::Roles;
use super::session::{self, LONGEST, Peer};
use crate::app::App;
use crate::clock::Micros;
use crate::config::Oidc;
use crate::pipeline::authenticate::jws::Token;
use axum::extract::RawQuery;
use axum::response::{IntoResponse as _, Response};
use egress::FetchLimits;
use http::header::{LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;
use store::{AdminSessionRow, NewAdmin, SsoEntry, SsoOutcome, SsoSubject};
use tokio::sync::Semaphore;
use utoipa::ToSchema;
use zeroize::Zeroizing;

/// Single sign-on as it is configured.
pub(super) struct Sso {
    oidc: Oidc,
    provider: Provider,
    origin: String,
    redirect: String,
    /// Sign-ins that are looked at at once, at most.
    room: Semaphore,
}

/// What the sign-in page offers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SsoOffer {
    /// What the button says after "Sign in with".
    pub label: String,
    /// Where the button leads; `?to=` names the view to show afterwards.
    pub start: String,
}

/// Why nobody comes in. The page has a sentence for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// No name for an account.
    Account,
    /// The provider does not answer.
    Away,
    /// The person or the provider said no.
    Denied,
    /// The account is disabled here.
    Disabled,
    /// Not this browser's sign-in, too late, or finished before.
    Expired,
    /// Another account has the name.
    NameTaken,
    /// No group has a role.
    NoRole,
    /// Neither domain nor group may come in.
    NotAllowed,
    /// The answer proves nobody.
    Unproven,
}

impl Stop {
    const fn word(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Away => "away",
            Self::Denied => "denied",
            Self::Disabled => "disabled",
            Self::Expired => "expired",
            Self::NameTaken => "name_taken",
            Self::NoRole => "no_role",
            Self::NotAllowed => "not_allowed",
            Self::Unproven => "unproven",
        }
    }
}

impl From<NoEntry> for Stop {
    fn from(reason: NoEntry) -> Self {
        match reason {
            NoEntry::Account => Self::Account,
            NoEntry::NotAllowed => Self::NotAllowed,
            NoEntry::NoRole => Self::NoRole,
        }
    }
}

impl Sso {
    /// For the page at `origin`, where a provider is configured.
    pub(super) fn new(app: &App, origin: &str) -> Option<Self> {
        let oidc = app.settings.admin.oidc.clone()?;
        let upstream = &app.settings.limits.upstream;
        let limits = FetchLimits { bytes: upstream.fetch_bytes, total: upstream.fetch };
        Some(Self {
            provider: Provider::new(&oidc, app.fetch.clone(), limits),
            oidc,
            redirect: format!("{origin}{CALLBACK}"),
            origin: origin.to_owned(),
            room: Semaphore::new(AT_ONCE),
        })
    }

    /// What the sign-in page offers.
    pub(super) fn offer(&self) -> SsoOffer {
        SsoOffer { label: self.oidc.label.clone(), start: format!("{}{START}", self.origin) }
    }

    /// How long a session lasts of somebody whom `issuer` vouches for; none where that is not the provider any more.
    pub(super) fn session_of(&self, issuer: &str) -> Option<Micros> {
        let length = Micros::try_from(self.oidc.session.as_micros()).unwrap_or(LONGEST).min(LONGEST);
        (self.oidc.issuer == issuer).then_some(length)
    }

    fn cookies(&self) -> Cookies {
        Cookies::of(&self.origin)
    }
}

/// Sends the browser to the provider.
#[utoipa::path(get, path = "/api/v1/session/sso", tag = "session",
    params(("to" = Option<String>, Query, description = "The view of the page to show afterwards.")),
    responses((status = 303, description = "to the provider, or back to the page with `?sso=` and a word for what is wrong"),
        (status = 404, body = ApiError)))]
pub(super) async fn start(State(admin): State<Shared>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let sso = admin.sso.as_ref().ok_or_else(not_configured)?;
    let to = one(query.as_deref().unwrap_or_default(), "to").unwrap_or_default();
    let now = admin.clock.now();
    let Ok(metadata) = sso.provider.metadata(now).await else { return stopped(sso, Stop::Away) };
    let flow = Flow::begin(&to, now).map_err(|_| ApiError::internal())?;
    let mut address = metadata.authorization.clone();
    address
        .query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &sso.oidc.client_id)
        .append_pair("redirect_uri", &sso.redirect)
        .append_pair("scope", &sso.oidc.scopes.join(" "))
        .append_pair("state", &flow.state)
        .append_pair("nonce", &flow.nonce)
        .append_pair("code_challenge", &flow.challenge())
        .append_pair("code_challenge_method", "S256");
    let cookie = flow.cookie(&admin.seal, sso.cookies()).ok_or_else(ApiError::internal)?;
    redirect(address.as_str(), [Some(cookie)])
}

/// Takes what the provider sent the browser back with: opens a session, or says on the sign-in page why not.
#[utoipa::path(get, path = "/api/v1/session/sso/callback", tag = "session",
    responses((status = 303, description = "to the page; with `?sso=` and a word where nobody was signed in"),
        (status = 404, body = ApiError)))]
pub(super) async fn callback(
    State(admin): State<Shared>,
    peer: Peer,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let sso = admin.sso.as_ref().ok_or_else(not_configured)?;
    let source = session::source(&peer);
    let Some(flow) = Flow::kept(&headers, &admin.seal, sso.cookies()) else { return stopped(sso, Stop::Expired) };
    match finished(&admin, sso, (&flow, &source), query.as_deref().unwrap_or_default()).await? {
        Ok(cookie) => redirect(&flow.to, [Some(cookie), sso.cookies().forget()]),
        Err(stop) => {
            tracing::warn!(source, reason = stop.word(), "a single sign-on of an administrator failed");
            stopped(sso, stop)
        }
    }
}

/// The session's cookie, or why there is none.
async fn finished(
    admin: &Shared,
    sso: &Sso,
    (flow, source): (&Flow, &str),
    query: &str,
) -> Result<Result<HeaderValue, Stop>, ApiError> {
    let now = admin.clock.now();
    let code = match answered(sso, flow, query, now).await {
        Ok(code) => code,
        Err(stop) => return Ok(Err(stop)),
    };
    let Ok(_place) = sso.room.try_acquire() else { return Ok(Err(Stop::Away)) };
    let token = match sso.provider.exchange((&code, &flow.verifier), &sso.redirect, now).await {
        Ok(token) => Zeroizing::new(token),
        Err(error) => return Ok(Err(failed(&error))),
    };
    let Some(token) = Token::read(token.as_bytes()) else { return Ok(Err(unproven("is none"))) };
    let key = match sso.provider.key(&token.kid, now).await {
        Ok(key) => key,
        Err(error) => return Ok(Err(failed(&error))),
    };
    if !token.is_signed_by(&key) {
        return Ok(Err(unproven("is not signed by the key that it names")));
    }
    let subject = match proof::subject(&token, &sso.oidc, &flow.nonce, now) {
        Ok(subject) => SsoSubject { issuer: sso.oidc.issuer.clone(), subject: subject.to_owned() },
        Err(why) => return Ok(Err(unproven(why))),
    };
    match proof::person(&token.claims, &sso.oidc) {
        Ok(person) => entered(admin, sso, (flow, source), (subject, person)).await,
        Err(no_entry) => {
            // The provider's word of now counts for what was opened before, too.
            admin.store.strip_sso_admin(&subject, &Roles::default().to_stored(), now).await?;
            Ok(Err(no_entry.into()))
        }
    }
}

/// The code of an answer that this browser asked this provider for.
async fn answered(sso: &Sso, flow: &Flow, query: &str, now: Micros) -> Result<String, Stop> {
    if !one(query, "state").is_some_and(|state| flow.fits(&state, now)) {
        return Err(Stop::Expired);
    }
    // RFC 9207: an answer of another provider, sent on to us, must not be taken to ours.
    let issuer = one(query, "iss");
    let names_itself = sso.provider.metadata(now).await.map_err(|error| failed(&error))?.names_itself;
    if issuer.is_none() && (names_itself || says(query, "iss")) || issuer.is_some_and(|iss| iss != sso.oidc.issuer) {
        return Err(unproven("came from another issuer"));
    }
    if says(query, "error") {
        let denied = one(query, "error").is_some_and(|error| error == "access_denied");
        return Err(if denied { Stop::Denied } else { unproven("is an error of the provider") });
    }
    one(query, "code").filter(|code| !code.is_empty()).ok_or_else(|| unproven("has no code"))
}

/// Opens the session, if the account may have one.
async fn entered(
    admin: &Shared,
    sso: &Sso,
    (flow, source): (&Flow, &str),
    (subject, person): (SsoSubject, proof::Person),
) -> Result<Result<HeaderValue, Stop>, ApiError> {
    let (text, digest) = access::secret().map_err(|_| ApiError::internal())?;
    let now = admin.clock.now();
    let entry = SsoEntry {
        state: flow.digest(),
        subject,
        account: NewAdmin {
            id: new_id("adm-", now)?,
            name: person.account,
            display_name: person.display_name,
            password: None,
            roles: person.roles.to_stored(),
        },
        session: AdminSessionRow {
            id: digest.hex(),
            admin_id: String::new(),
            source: source.to_owned(),
            created: now,
            seen: now,
        },
        stale: now - LONGEST,
    };
    match admin.store.enter_by_sso(&entry, now).await? {
        SsoOutcome::Entered(row) => {
            tracing::info!(admin = row.name, "an administrator signed in by single sign-on");
            let length = sso.session_of(&sso.oidc.issuer).unwrap_or_default();
            let tls = session::Transport::of(&sso.origin);
            session::set_cookie(tls, &text, length / 1_000_000).map(Ok)
        }
        SsoOutcome::Disabled => Ok(Err(Stop::Disabled)),
        SsoOutcome::NameTaken => Ok(Err(Stop::NameTaken)),
        SsoOutcome::Replayed => Ok(Err(Stop::Expired)),
    }
}

fn failed(error: &ProviderError) -> Stop {
    tracing::warn!(%error, "a single sign-on could not be finished");
    match error {
        ProviderError::Away { .. } => Stop::Away,
        ProviderError::Refused(_) | ProviderError::Unusable(_) => Stop::Unproven,
    }
}

fn unproven(why: &'static str) -> Stop {
    tracing::warn!(why, "the answer of a single sign-on proves nobody");
    Stop::Unproven
}

/// The one value of a parameter: two are none.
fn one(query: &str, name: &str) -> Option<String> {
    let mut values = url::form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
    let value = values.next()?.1.into_owned();
    values.next().is_none().then_some(value)
}

fn says(query: &str, name: &str) -> bool {
    url::form_urlencoded::parse(query.as_bytes()).any(|(key, _)| key == name)
}

/// Back to the sign-in page, which says why.
fn stopped(sso: &Sso, stop: Stop) -> Result<Response, ApiError> {
    redirect(&format!("/?sso={}", stop.word()), [sso.cookies().forget()])
}

fn redirect<const N: usize>(to: &str, cookies: [Option<HeaderValue>; N]) -> Result<Response, ApiError> {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(LOCATION, HeaderValue::try_from(to).map_err(|_| ApiError::internal())?);
    for cookie in cookies {
        headers.append(SET_COOKIE, cookie.ok_or_else(ApiError::internal)?);
    }
    Ok(response)
}

fn not_configured() -> ApiError {
    ApiError::not_found("single sign-on ([admin.oidc])")
}

const START: &str = "/api/v1/session/sso";
const CALLBACK: &str = "/api/v1/session/sso/callback";
const AT_ONCE: usize = 16;
