//! Who may come in: the admin token on every request. (Host and origin were checked by the listener.)
//!
//! The token is a file's content. A configured file that does not exist yet is made with a random token, so that the
//! first start needs no ceremony; without a configured file nobody comes in. Never says what was wrong with a token.

use super::Shared;
use super::error::ApiError;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use http::header::AUTHORIZATION;
use sha2::{Digest as _, Sha256};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
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
    let mut bytes = Zeroizing::new([0_u8; 32]);
    getrandom::fill(bytes.as_mut_slice()).map_err(|_| TokenError::NoRandomness)?;
    let token = Zeroizing::new(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes.as_slice()));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path).map_err(TokenError::File)?;
    file.write_all(token.as_bytes()).map_err(TokenError::File)?;
    tracing::info!(file = %path.display(), "made an admin token");
    Ok(token)
}

fn hash(token: &str) -> TokenHash {
    TokenHash(Sha256::digest(token.as_bytes()).into())
}

/// Lets a request with the admin token pass.
pub async fn require_token(State(admin): State<Shared>, request: Request, next: Next) -> Response {
    let mut given = request.headers().get_all(AUTHORIZATION).iter();
    let token = match (given.next(), given.next()) {
        (Some(value), None) => value.to_str().ok().and_then(bearer),
        (None | Some(_), _) => None,
    };
    let given = hash(token.unwrap_or_default());
    let wanted = admin.token.unwrap_or(TokenHash([0; 32]));
    if token.is_none() || admin.token.is_none() || !bool::from(given.0.ct_eq(&wanted.0)) {
        return ApiError::unauthenticated().into_response();
    }
    next.run(request).await
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}

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
