//! What proves the caller to an agent or to a gateway.

use std::pin::Pin;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::{ExposeSecret as _, SecretString};

/// One credential. `Debug` does not show it.
#[derive(Clone, Debug, Default)]
pub enum Credential {
    /// `X-API-Key: …`, or another header of that kind.
    ApiKey {
        /// The header's name.
        header: HeaderName,
        /// The key.
        key: SecretString,
    },
    /// `Authorization: Bearer …`
    Bearer(SecretString),
    /// None.
    #[default]
    None,
}

/// The credential has characters that no header can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the credential has characters that cannot be sent in a header; check for line ends around it")]
pub struct Unsendable;

impl Credential {
    /// A key in `X-API-Key`.
    #[must_use]
    pub fn api_key(key: impl Into<String>) -> Self {
        Self::in_header(HeaderName::from_static("x-api-key"), key)
    }

    /// A key in another header.
    #[must_use]
    pub fn in_header(header: HeaderName, key: impl Into<String>) -> Self {
        Self::ApiKey { header, key: SecretString::from(key.into()) }
    }

    /// A bearer token or key.
    #[must_use]
    pub fn bearer(token: impl Into<String>) -> Self {
        Self::Bearer(SecretString::from(token.into()))
    }

    /// A name and a password (HTTP Basic).
    #[must_use]
    pub fn basic(name: &str, password: &str) -> Self {
        Self::in_header(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))))
    }

    /// Puts it into `headers`.
    pub(crate) fn add_to(&self, headers: &mut HeaderMap) -> Result<(), Unsendable> {
        let (name, value) = match self {
            Self::None => return Ok(()),
            Self::ApiKey { header, key } => (header.clone(), HeaderValue::from_str(key.expose_secret())),
            Self::Bearer(token) => {
                (header::AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {}", token.expose_secret())))
            }
        };
        let mut value = value.map_err(|_| Unsendable)?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }

    const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// Why a caller's own function has no credential: whatever it says.
pub type NoCredential = Box<dyn std::error::Error + Send + Sync>;

type Asked = dyn Fn(String) -> Pin<Box<dyn Future<Output = Result<Credential, NoCredential>> + Send>> + Send + Sync;

/// Where credentials come from.
#[derive(Clone, Default)]
pub struct Auth(Source);

#[derive(Clone)]
enum Source {
    Fixed(Credential),
    Asked(Arc<Asked>),
}

impl Default for Source {
    fn default() -> Self {
        Self::Fixed(Credential::None)
    }
}

impl Auth {
    /// Asks `credential` before each request, with the URL that is about to be called: for tokens that run out.
    ///
    /// ```
    /// use a2a_client::{Auth, Credential};
    /// let auth = Auth::asked(|_url| async { Ok(Credential::bearer("a token that was fetched just now")) });
    /// # let _ = auth;
    /// ```
    pub fn asked<F, W>(credential: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Credential, NoCredential>> + Send + 'static,
    {
        Self(Source::Asked(Arc::new(move |url| Box::pin(credential(url)))))
    }

    pub(crate) const fn is_none(&self) -> bool {
        match &self.0 {
            Source::Fixed(credential) => credential.is_none(),
            Source::Asked(_) => false,
        }
    }

    pub(crate) async fn for_url(&self, url: &str) -> Result<Credential, NoCredential> {
        match &self.0 {
            Source::Fixed(credential) => Ok(credential.clone()),
            Source::Asked(ask) => ask(url.to_owned()).await,
        }
    }
}

impl From<Credential> for Auth {
    fn from(credential: Credential) -> Self {
        Self(Source::Fixed(credential))
    }
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Source::Fixed(credential) => credential.fmt(f),
            Source::Asked(_) => f.write_str("Asked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_goes_into_its_header_and_no_secret_is_printed() {
        let sent = |credential: Credential| {
            assert!(!format!("{credential:?}{:?}", Auth::from(credential.clone())).contains("sesame"));
            let mut headers = HeaderMap::new();
            credential.add_to(&mut headers).map(|()| headers)
        };
        let bearer = sent(Credential::bearer("sesame")).unwrap();
        assert_eq!(bearer.get("authorization").unwrap(), "Bearer sesame");
        let key = sent(Credential::api_key("sesame")).unwrap();
        assert_eq!(key.get("x-api-key").unwrap(), "sesame");
        assert!(!format!("{bearer:?}{key:?}").contains("sesame"));
        let basic = sent(Credential::basic("me", "sesame")).unwrap();
        assert_eq!(basic.get("authorization").unwrap(), "Basic bWU6c2VzYW1l");
        assert_eq!(sent(Credential::None).unwrap().len(), 0);
        assert_eq!(sent(Credential::bearer("sesame\r\nx: y")), Err(Unsendable));
    }
}
