//! One push notification configuration: as callers write it, as a store keeps it, as callers see it again.
//!
//! The credentials are in the kept form only.

use std::fmt;

use a2a::{Fault, Version};
use http::{HeaderMap, HeaderValue, header};
use json::{Json, Object};
use tokio_util::sync::CancellationToken;
use ulid::Ulid;

/// Longest URL, token and credentials, in bytes.
const TEXT_LIMIT: usize = 4096;

/// Where and how a task's events are sent.
#[derive(Clone)]
pub(crate) struct Config {
    id: String,
    url: String,
    token: Option<String>,
    scheme: Option<String>,
    credentials: Option<String>,
    /// Whose shape notifications have: the generation that registered it.
    pub(crate) version: Version,
    /// The name of a destination in this process.
    pub(crate) local: Option<String>,
    /// Stops the courier, once there is one.
    pub(crate) courier: Option<CancellationToken>,
}

impl Config {
    /// From v1.0 parameters.
    pub(crate) fn of_request(params: &Object, version: Version) -> Result<Self, Fault> {
        let url = text(params, "url").ok_or_else(|| Fault::invalid_params("url is missing"))?;
        let authentication = params.get("authentication").and_then(Json::as_object);
        let part = |key: &str| authentication.and_then(|authentication| text(authentication, key));
        let config = Self {
            id: text(params, "id").unwrap_or_else(|| unnamed(version)),
            url,
            token: text(params, "token"),
            scheme: part("scheme"),
            credentials: part("credentials"),
            version,
            local: None,
            courier: None,
        };
        let texts = [Some(&config.url), config.token.as_ref(), config.scheme.as_ref(), config.credentials.as_ref()];
        if texts.into_iter().flatten().any(|text| text.len() > TEXT_LIMIT) {
            return Err(Fault::invalid_params("the push notification configuration is too long"));
        }
        if config.headers().is_none() {
            return Err(Fault::invalid_params("token and authentication must be fit for a header"));
        }
        Ok(config)
    }

    /// From a store.
    pub(crate) fn of_kept(kept: &Json) -> Option<Self> {
        let kept = kept.as_object()?;
        Some(Self {
            id: text(kept, "id")?,
            url: text(kept, "url")?,
            token: text(kept, "token"),
            scheme: text(kept, "scheme"),
            credentials: text(kept, "credentials"),
            version: if kept.str("version") == Some(Version::V03.name()) { Version::V03 } else { Version::V10 },
            local: text(kept, "local"),
            courier: None,
        })
    }

    /// For a store: with the credentials.
    pub(crate) fn kept(&self) -> Json {
        let mut kept =
            Object::from([("id", self.id.as_str()), ("url", self.url.as_str()), ("version", self.version.name())]);
        let more = [
            ("token", &self.token),
            ("scheme", &self.scheme),
            ("credentials", &self.credentials),
            ("local", &self.local),
        ];
        for (key, value) in more {
            if let Some(value) = value {
                kept.insert(key, value.as_str());
            }
        }
        kept.into()
    }

    /// For callers: without the credentials.
    pub(crate) fn document(&self, task: &str) -> Json {
        let mut document = Object::from([("taskId", task), ("id", self.id.as_str()), ("url", self.url.as_str())]);
        if let Some(token) = &self.token {
            document.insert("token", token.as_str());
        }
        if let Some(scheme) = &self.scheme {
            document.insert("authentication", [("scheme", scheme.as_str())]);
        }
        document.into()
    }

    /// What a notification carries besides its body; `None` when something does not fit into a header.
    pub(crate) fn headers(&self) -> Option<HeaderMap> {
        let media_type = match self.version {
            Version::V10 => "application/a2a+json",
            Version::V03 => "application/json",
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        if let Some(token) = &self.token {
            headers.insert("x-a2a-notification-token", secret(token)?);
        }
        if let (Some(scheme), Some(credentials)) = (&self.scheme, &self.credentials) {
            headers.insert(header::AUTHORIZATION, secret(&format!("{scheme} {credentials}"))?);
        }
        Some(headers)
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) const fn is_followed(&self) -> bool {
        self.courier.is_some()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("id", &self.id).finish_non_exhaustive()
    }
}

/// In 0.3 the name is optional wherever there is one, so all that is not named is the same configuration, which a second one replaces.
fn unnamed(version: Version) -> String {
    match version {
        Version::V10 => Ulid::generate().to_string(),
        Version::V03 => "default".to_owned(),
    }
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn text(holder: &Object, key: &str) -> Option<String> {
    holder.str(key).filter(|text| !text.is_empty()).map(str::to_owned)
}
