//! Earlier versions of cards, policies and conditions, newest first, and which of them is to be in force again.

use super::error::ApiError;
use super::extract::limit;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A document as it once was.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Version {
    /// Counts changes, from 1.
    pub version: i64,
    /// RFC 3339.
    pub at: String,
    /// Who made it.
    pub changed_by: String,
    /// Why.
    pub note: String,
    /// What was written then.
    pub spec: serde_json::Value,
}

/// The versions of one thing.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct History {
    /// Newest first.
    pub items: Vec<Version>,
    /// Send it as `before` for older ones; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_before: Option<i64>,
}

/// Which versions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryQuery {
    /// Only versions before this one.
    pub before: Option<i64>,
    /// At most this many (1 to 100, default 20).
    #[serde(default, deserialize_with = "limit::<_, 100>")]
    pub limit: Option<u32>,
}

impl HistoryQuery {
    /// The store's arguments: versions below, how many (one more, to know whether older ones follow).
    pub(super) fn bounds(&self) -> (i64, u32) {
        (self.before.unwrap_or(i64::MAX), self.size().saturating_add(1))
    }

    fn size(&self) -> u32 {
        self.limit.unwrap_or(20)
    }

    /// The page from the versions read for [`HistoryQuery::bounds`].
    pub(super) fn page(&self, mut items: Vec<Version>) -> History {
        let size = self.size() as usize;
        let more = items.len() > size;
        items.truncate(size);
        History { next_before: if more { items.last().map(|version| version.version) } else { None }, items }
    }
}

/// Which version is to be in force again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Return {
    /// Its number.
    #[schema(required = true)]
    pub version: i64,
}

impl Return {
    /// The store's arguments: the one version.
    pub(super) fn bounds(&self) -> (i64, u32) {
        (self.version.saturating_add(1), 1)
    }

    /// The version among those read for [`Return::bounds`].
    pub(super) fn among<V>(&self, found: Vec<V>, number: impl Fn(&V) -> i64) -> Result<V, ApiError> {
        let earlier = found.into_iter().find(|one| number(one) == self.version);
        earlier.ok_or_else(|| ApiError::invalid_field("version", "there is no such version; see history"))
    }

    /// What the history says of the version that is made.
    pub(super) fn note(&self) -> String {
        format!("as version {}", self.version)
    }
}
