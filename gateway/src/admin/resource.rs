//! What every resource has in common: its envelope, pages, `If-Match`, times, names.

use super::error::ApiError;
use super::extract::limit;
use crate::clock::Micros;
use crate::registry::mint;
use axum::extract::FromRequestParts;
use http::request::Parts;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use store::{IfMatch, TenantId};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use utoipa::{IntoParams, ToSchema};

/// A resource as the API shows it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Resource<S> {
    /// What it is, as in `apply` documents.
    pub kind: &'static str,
    /// The tenant it belongs to; for a tenant its own name.
    pub tenant: String,
    /// Its name.
    pub name: String,
    /// Its id, which never changes.
    pub id: String,
    /// Send it back as `If-Match` to change it.
    pub revision: i64,
    /// When it was made (RFC 3339, UTC).
    pub created_at: String,
    /// When it was last changed (RFC 3339, UTC).
    pub updated_at: String,
    /// What an administrator writes.
    pub spec: S,
}

/// What makes a resource.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Create<S> {
    /// Its name.
    #[serde(default, deserialize_with = "name")]
    #[schema(required = true)]
    pub name: String,
    /// What it should be.
    #[serde(default)]
    pub spec: S,
}

/// What changes a resource.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Update<S> {
    /// What it should be now, as a whole.
    #[serde(default)]
    #[schema(required = true)]
    pub spec: S,
}

/// One page of a listing.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Listing<T> {
    /// In ascending order of name.
    pub items: Vec<T>,
    /// Send it as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct PageQuery {
    /// At most this many items (1 to 200, default 50).
    #[serde(default, deserialize_with = "limit::<_, 200>")]
    pub limit: Option<u32>,
    /// From the page before.
    pub cursor: Option<String>,
}

impl PageQuery {
    /// How many items: one more is read to know whether a page follows.
    pub(super) fn size(&self) -> usize {
        self.limit.unwrap_or(50) as usize
    }

    /// The store's page.
    pub(super) fn page(&self) -> store::Page<'_> {
        store::Page {
            after: self.cursor.as_deref().unwrap_or_default(),
            limit: u32::try_from(self.size().saturating_add(1)).unwrap_or(u32::MAX),
        }
    }

    /// A listing of the rows that `sees` lets through, from what `read` gives after a key. It is read on until the page is
    /// full of them, so that neither its size nor its cursor tells of others.
    pub(super) async fn visible<R, T, F>(
        &self,
        read: impl Fn(String, u32) -> F,
        key: impl Fn(&R) -> String,
        sees: impl Fn(&R) -> bool,
        show: impl Fn(R) -> T,
    ) -> Result<Listing<T>, ApiError>
    where
        F: Future<Output = store::Result<Vec<R>>>,
    {
        let mut after = self.cursor.clone().unwrap_or_default();
        let mut seen = Vec::new();
        while seen.len() <= self.size() {
            let rows = read(after, READ_AT_ONCE).await?;
            let Some(last) = rows.last().map(&key) else { break };
            after = last;
            seen.extend(rows.into_iter().filter(&sees));
        }
        self.listing(seen, key, |row| Ok(show(row)))
    }

    /// A listing from the rows read for [`PageQuery::page`]; `key` is what the store orders by.
    pub(super) fn listing<R, T>(
        &self,
        mut rows: Vec<R>,
        key: impl Fn(&R) -> String,
        show: impl FnMut(R) -> Result<T, ApiError>,
    ) -> Result<Listing<T>, ApiError> {
        let more = rows.len() > self.size();
        rows.truncate(self.size());
        let next_cursor = if more { rows.last().map(key) } else { None };
        Ok(Listing { items: rows.into_iter().map(show).collect::<Result<_, _>>()?, next_cursor })
    }
}

/// Rows read at once where not all of them are shown.
const READ_AT_ONCE: u32 = 200;

/// The revision a change is based on.
pub(super) struct Expected(pub IfMatch);

impl<S: Send + Sync> FromRequestParts<S> for Expected {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        match if_match(parts)? {
            Some(revision) => Ok(Self(IfMatch::Revision(revision))),
            None => Err(ApiError::revision_required()),
        }
    }
}

/// The revision a change of state or credential is based on, if the caller cares.
pub(super) struct Perhaps(pub IfMatch);

impl<S: Send + Sync> FromRequestParts<S> for Perhaps {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Ok(Self(if_match(parts)?.map_or(IfMatch::Any, IfMatch::Revision)))
    }
}

fn if_match(parts: &Parts) -> Result<Option<i64>, ApiError> {
    let Some(value) = parts.headers.get(http::header::IF_MATCH) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().trim_matches('"').parse().ok());
    number.map(Some).ok_or_else(|| ApiError::invalid_field("If-Match", "must be the revision you read, a whole number"))
}

/// The tenant of the path. A name that can't be one is a tenant that does not exist.
pub(super) fn tenant_id(name: &str) -> Result<TenantId, ApiError> {
    TenantId::new(name).ok_or_else(|| ApiError::not_found("this tenant"))
}

/// A tenant of the path that exists.
pub(super) async fn existing_tenant(store: &store::Store, name: &str) -> Result<TenantId, ApiError> {
    let tenant = tenant_id(name)?;
    store.tenant(&tenant).await?.ok_or_else(|| ApiError::not_found("this tenant"))?;
    Ok(tenant)
}

/// Checks a new name. One that was sent was checked when it was read; this sees one that is missing or made up.
pub(super) fn check_name(name: &str) -> Result<(), ApiError> {
    problem_of_name(name).map_or(Ok(()), |problem| Err(ApiError::invalid_field("name", problem)))
}

fn problem_of_name(name: &str) -> Option<String> {
    const RESERVED: [&str; 5] = ["v1", "tasks", "message", "card", "extendedagentcard"];
    if TenantId::new(name).is_none() {
        return Some(String::from("must be 1 to 63 of a-z, 0-9 and -, beginning and ending with a letter or digit"));
    }
    RESERVED.contains(&name).then(|| format!("{name} is reserved; choose another"))
}

/// A new name while it is read, so that its problem is listed with all others.
fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    problem_of_name(&name).map_or(Ok(name), |problem| Err(D::Error::custom(problem)))
}

/// A new id with its type's prefix.
pub(super) fn new_id(prefix: &str, now: Micros) -> Result<String, ApiError> {
    mint::id(prefix, now).map_err(|_| ApiError::internal())
}

/// Microseconds as RFC 3339 in UTC.
pub(super) fn rfc3339(micros: i64) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1_000)
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_default()
}

/// RFC 3339 as microseconds.
pub(super) fn micros(path: &str, text: &str) -> Result<i64, ApiError> {
    OffsetDateTime::parse(text, &Rfc3339)
        .ok()
        .and_then(|time| i64::try_from(time.unix_timestamp_nanos() / 1_000).ok())
        .ok_or_else(|| ApiError::invalid_field(path, "must be an RFC 3339 time such as 2027-01-31T12:00:00Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_the_round_trip() {
        assert_eq!(micros("x", &rfc3339(1_700_000_000_123_456)).unwrap(), 1_700_000_000_123_456);
        assert!(micros("x", "yesterday").is_err());
    }

    #[test]
    fn reserved_and_illegal_names_are_refused() {
        for name in ["v1", "tasks", "Echo", "a--", "", "ü"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("hello-world-a2a").is_ok());
    }
}
