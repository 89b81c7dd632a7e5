//! Who may come in: the first administrator's token, a token that an administrator made, or a browser's session. What
//! they may do is looked up in `roles`. (Host and origin were checked by the listener.)
//!
//! The first token is a file's content. A configured file that does not exist yet is made with a random token, so that
//! the first start needs no ceremony. Never says what was wrong with a token.

use super::author::{self, Deed};
use super::error::ApiError;
use super::roles::{self, Act, Need, Roles};
use super::{Shared, session};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{ConnectInfo, FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{Extensions, HeaderMap, Method};
use sha2::{Digest as _, Sha256};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use store::{AdminRow, AdminState, AdminTokenRow};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// The digest of the admin token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

/// Why the admin token can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file can't be read or made.
    #[error("admin.token_file can't be read or made")]
    File(#[source] std::io::Error),
    /// Others can read it.
    #[error("admin.token_file may be read by everybody (mode {0:03o}); run `chmod 600` on it")]
    Open(u32),
    /// No randomness.
    #[error("the machine has no randomness for an admin token")]
    NoRandomness,
    /// Too short to be a secret.
    #[error("admin.token_file holds less than 32 characters; delete it and a new one is made")]
    Short,
}

/// Reads the token, or makes one where the file is missing.
///
/// # Errors
/// [`TokenError`].
pub fn token(path: Option<&Path>) -> Result<Option<TokenHash>, TokenError> {
    let Some(path) = path else {
        tracing::warn!("admin.token_file is not set, so the admin API lets nobody in");
        return Ok(None);
    };
    let text = match std::fs::File::open(path) {
        Ok(mut file) => {
            let mode = file.metadata().map_err(TokenError::File)?.permissions().mode() & 0o777;
            if mode & 0o006 != 0 {
                return Err(TokenError::Open(mode));
            }
            let mut text = Zeroizing::new(String::new());
            file.read_to_string(&mut text).map_err(TokenError::File)?;
            text
        }
        Err(error) if error.kind() == ErrorKind::NotFound => made(path)?,
        Err(error) => return Err(TokenError::File(error)),
    };
    let token = text.trim();
    if token.len() < 32 { Err(TokenError::Short) } else { Ok(Some(hash(token))) }
}

fn made(path: &Path) -> Result<Zeroizing<String>, TokenError> {
    let (token, _) = secret()?;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path).map_err(TokenError::File)?;
    file.write_all(token.as_bytes()).map_err(TokenError::File)?;
    tracing::info!(file = %path.display(), "made an admin token");
    Ok(token)
}

pub(super) fn hash(token: &str) -> TokenHash {
    TokenHash(Sha256::digest(token.as_bytes()).into())
}

/// Who a request comes from, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The account's or token's name; `admin` for the first administrator's token.
    pub name: String,
    /// How it proved that.
    pub way: Way,
    /// What it may do.
    pub roles: Roles,
}

/// How somebody came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the token of the configured file.
    Bootstrap,
    /// By a token that an administrator made.
    Token {
        /// `tok-…`
        id: String,
    },
    /// By a browser's session.
    Session {
        /// The session's id.
        id: String,
        /// What its writes have to carry.
        csrf: String,
    },
}

impl Way {
    /// In one word.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstrap",
            Self::Token { .. } => "token",
            Self::Session { .. } => "session",
        }
    }

    /// What may be told of which one it was: a token's id, the beginning of a session's.
    pub(super) fn told_id(&self) -> &str {
        match self {
            Self::Bootstrap => "",
            Self::Token { id } => id,
            Self::Session { id, .. } => id.get(..16).unwrap_or_default(),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Who {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(ApiError::unauthenticated)
    }
}

/// Lets a request pass whose sender may do what it asks; handlers find out who it is by [`Who`], and have the store under
/// its name.
pub async fn admit(
    State(admin): State<Shared>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
    let need = roles::need(request.method(), &route);
    let source = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let source = source.map(|ConnectInfo(peer)| peer.ip().to_string()).unwrap_or_default();
    let deed = Deed::of(request.method(), &route, path.as_ref().ok());
    if need == Need::Open {
        let signed = deed.map(|deed| author::signed(&admin, &deed, None, source)).transpose();
        let Ok(signed) = signed else { return ApiError::internal().into_response() };
        request.extensions_mut().extend(signed.map(extension).unwrap_or_default());
        return next.run(request).await;
    }
    // Segments that are no UTF-8 name nothing.
    let Ok(path) = path else { return ApiError::not_found("this path").into_response() };
    let tenant = path.iter().find(|(name, _)| *name == "tenant").map(|(_, tenant)| tenant.to_owned());
    let tenant = tenant.or_else(|| in_query(request.uri().query().unwrap_or_default()));
    let who = match identify(&admin, request.headers()).await {
        Ok(who) => who,
        Err(error) => return error.into_response(),
    };
    let signed = deed.as_ref().map(|deed| author::signed(&admin, deed, Some(&who), source)).transpose();
    let Ok(signed) = signed else { return ApiError::internal().into_response() };
    let response = match admitted(&who, need, tenant.as_deref(), request.method(), request.headers()) {
        Ok(()) => {
            request.extensions_mut().insert(who.clone());
            request.extensions_mut().extend(signed.clone().map(extension).unwrap_or_default());
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    if let (Some(signed), Some(deed), Some(code)) = (&signed, &deed, author::refusal(&response)) {
        author::tell_refused(signed, deed, &who, code).await;
    }
    response
}

/// What `State` of the handlers finds.
fn extension(signed: Shared) -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(signed);
    extensions
}

fn in_query(query: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == "tenant").map(|(_, value)| value.into_owned())
}

/// Whether `who` may do this. A tenant that it has no part in looks missing.
fn admitted(who: &Who, need: Need, tenant: Option<&str>, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    if let Way::Session { csrf, .. } = &who.way
        && !method.is_safe()
    {
        session::check_write(csrf, headers)?;
    }
    let allowed = match need {
        Need::Open | Need::SignedIn => true,
        Need::Manager => who.roles.is_manager(),
        Need::Platform => who.roles.is_platform(),
        Need::Tenant(act) => {
            let Some(tenant) = tenant else {
                return Err(ApiError::invalid_field("tenant", "is missing"));
            };
            if !who.roles.sees(tenant) {
                return Err(ApiError::not_found("this tenant"));
            }
            who.roles.may(tenant, act)
        }
    };
    if allowed { Ok(()) } else { Err(ApiError::forbidden()) }
}

/// Who sends these headers. A token wins over a cookie, and one that is wrong is not made up for by a cookie.
pub(super) async fn identify(admin: &Shared, headers: &HeaderMap) -> Result<Who, ApiError> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    match (given.next(), given.next()) {
        (Some(value), None) => {
            let token = value.to_str().ok().and_then(bearer).ok_or_else(ApiError::unauthenticated)?;
            by_token(admin, token).await
        }
        (None, _) => session::identify(admin, headers).await,
        (Some(_), Some(_)) => Err(ApiError::unauthenticated()),
    }
}

async fn by_token(admin: &Shared, token: &str) -> Result<Who, ApiError> {
    let given = hash(token);
    let wanted = admin.token.unwrap_or(TokenHash([0; 32]));
    if admin.token.is_some() && bool::from(given.0.ct_eq(&wanted.0)) {
        return Ok(Who { name: String::from("admin"), way: Way::Bootstrap, roles: Roles::platform() });
    }
    let row = admin.store.admin_token(&given.hex()).await?.ok_or_else(ApiError::unauthenticated)?;
    let now = admin.clock.now();
    if row.revoked.is_some() || row.expires.is_some_and(|at| at <= now) {
        return Err(ApiError::unauthenticated());
    }
    if row.used.is_none_or(|used| now - used > MINUTE) {
        // A store that takes no writes can still be looked at.
        if let Err(error) = admin.store.touch_admin_token(&row.id, now).await {
            tracing::warn!(%error, "that a token was used could not be noted");
        }
    }
    let roles = token_roles(admin, &row).await?;
    Ok(Who { name: row.name, way: Way::Token { id: row.id }, roles })
}

/// What a token may do now: what it was made with, as far as the account that made it may still do it. Where that one is
/// gone or disabled, nobody is let in.
async fn token_roles(admin: &Shared, token: &AdminTokenRow) -> Result<Roles, ApiError> {
    let made_with = Roles::read(&token.roles);
    if token.made_by == BOOTSTRAP {
        return Ok(made_with);
    }
    let maker = admin.store.admin(&token.made_by).await?;
    // Whom nobody vouches for any more, has no tokens either.
    let vouched = |maker: &AdminRow| maker.sso_issuer.is_none() || session::longest(admin, maker).is_some();
    let maker = maker.filter(|maker| maker.state == AdminState::Active && vouched(maker));
    let maker = maker.ok_or_else(ApiError::unauthenticated)?;
    Ok(made_with.meet(&Roles::read(&maker.roles)))
}

/// Whether whoever came in would still be let in: streams that last ask again and again.
pub(super) async fn still_in(admin: &Shared, who: &Who, tenant: &str) -> bool {
    let roles = match &who.way {
        Way::Bootstrap => return true,
        Way::Token { id } => match admin.store.admin_token_by_id(id).await {
            Ok(Some(row)) if row.revoked.is_none() && row.expires.is_none_or(|at| at > admin.clock.now()) => {
                match token_roles(admin, &row).await {
                    Ok(roles) => roles,
                    Err(_) => return false,
                }
            }
            Ok(_) | Err(_) => return false,
        },
        Way::Session { id, .. } => match session::of(admin, id).await {
            Ok((_, account)) => Roles::read(&account.roles),
            Err(_) => return false,
        },
    };
    roles.may(tenant, Act::Read)
}

impl TokenHash {
    /// In hexadecimal, as it is stored.
    pub(super) fn hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether `text` is what was hashed.
    pub(super) fn fits(self, text: &str) -> bool {
        bool::from(hash(text).0.ct_eq(&self.0))
    }
}

/// A secret of 256 bits that can stand in a URL, and its digest.
pub(super) fn secret() -> Result<(Zeroizing<String>, TokenHash), TokenError> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    getrandom::fill(bytes.as_mut_slice()).map_err(|_| TokenError::NoRandomness)?;
    let text = Zeroizing::new(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes.as_slice()));
    let digest = hash(&text);
    Ok((text, digest))
}

/// The secret of the one-time link by which the first account is made; nothing where none is to be made so.
///
/// # Errors
/// No randomness.
pub fn setup_secret(no_setup: bool) -> Result<Option<(Zeroizing<String>, TokenHash)>, TokenError> {
    if no_setup { Ok(None) } else { secret().map(Some) }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}

/// Who made a token by the token of the configured file: no account can have this name.
pub(super) const BOOTSTRAP: &str = "(bootstrap)";
/// How exactly it is remembered when something was last used.
pub(super) const MINUTE: crate::clock::Micros = 60_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_made_and_then_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let made = token(Some(&path)).unwrap();
        assert!(made.is_some());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(token(Some(&path)).unwrap(), made);
    }

    #[test]
    fn weak_or_open_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "x".repeat(40)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(token(Some(&path)), Err(TokenError::Open(0o644))));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "short").unwrap();
        assert!(matches!(token(Some(&path)), Err(TokenError::Short)));
        assert!(matches!(token(None), Ok(None)));
    }
}
