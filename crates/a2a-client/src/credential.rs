//! What proves the caller to an agent or to a gateway.

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
#[error("the credential has characters that cannot be sent in a header")]
pub struct Unsendable;

impl Credential {
    /// A key in `X-API-Key`.
    #[must_use]
    pub fn api_key(key: impl Into<String>) -> Self {
        Self::ApiKey { header: HeaderName::from_static("x-api-key"), key: SecretString::from(key.into()) }
    }

    /// A bearer token or key.
    #[must_use]
    pub fn bearer(token: impl Into<String>) -> Self {
        Self::Bearer(SecretString::from(token.into()))
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_goes_into_its_header_and_no_secret_is_printed() {
        let sent = |credential: Credential| {
            assert!(!format!("{credential:?}").contains("sesame"));
            let mut headers = HeaderMap::new();
            credential.add_to(&mut headers).map(|()| headers)
        };
        let bearer = sent(Credential::bearer("sesame")).unwrap();
        assert_eq!(bearer.get("authorization").unwrap(), "Bearer sesame");
        let key = sent(Credential::api_key("sesame")).unwrap();
        assert_eq!(key.get("x-api-key").unwrap(), "sesame");
        assert!(!format!("{bearer:?}{key:?}").contains("sesame"));
        assert_eq!(sent(Credential::None).unwrap().len(), 0);
        assert_eq!(sent(Credential::bearer("sesame\r\nx: y")), Err(Unsendable));
    }
}
