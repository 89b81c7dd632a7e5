//! Who calls: whose tasks a request may see, and whether the caller has proven who it is.
//!
//! Takes the head of a request; gives a [`Caller`], or the fault that refuses it. The author decides how
//! ([`crate::Agent::callers`]); a list of bearer tokens is ready-made. Never keeps a token where it could be printed.

use std::fmt;
use std::sync::Arc;

use a2a::{Fault, FaultKind};
use http::header::AUTHORIZATION;
use http::request::Parts;
use subtle::ConstantTimeEq;

/// Finds out who calls.
pub(crate) type Callers = Arc<dyn Fn(&Parts) -> Result<Caller, Fault> + Send + Sync>;

/// Who calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    scope: String,
    identity: Option<String>,
}

impl Caller {
    /// Somebody unknown; sees the tasks of all unknown callers of the same scope (a session, an address).
    #[must_use]
    pub fn unknown(scope: impl Into<String>) -> Self {
        Self { scope: scope.into(), identity: None }
    }

    /// A caller who has proven its identity; sees its own tasks.
    #[must_use]
    pub fn proven(identity: impl Into<String>) -> Self {
        let identity = identity.into();
        // No scope of an unknown caller can be the same: it would have to begin like this.
        Self { scope: format!("{PROVEN}{identity}"), identity: Some(identity) }
    }

    /// The same caller in the scope it had before it proved its identity, so that it can go on with what it began.
    #[must_use]
    pub fn with_identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// What decides which tasks it sees.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// What it has proven to be.
    #[must_use]
    pub fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }
}

/// What scopes of proven callers begin with; no header and no address can have it.
const PROVEN: &str = "\u{1}identity ";

/// The token of `Authorization: Bearer …`; `None` when there is none, or more than one.
#[must_use]
pub fn bearer_token(head: &Parts) -> Option<&str> {
    let mut values = head.headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

/// The fault for a missing or wrong credential.
#[must_use]
pub fn unauthenticated() -> Fault {
    FaultKind::Unauthenticated.into()
}

/// Tokens and whom each stands for.
pub(crate) struct Tokens(pub(crate) Vec<(String, String)>);

impl Tokens {
    pub(crate) fn caller(&self, head: &Parts) -> Result<Caller, Fault> {
        let token = bearer_token(head).ok_or_else(unauthenticated)?;
        // All are compared, whichever matches.
        let mut found = None;
        for (known, identity) in &self.0 {
            if bool::from(known.as_bytes().ct_eq(token.as_bytes())) {
                found = Some(identity);
            }
        }
        found.map(|identity| Caller::proven(identity.as_str())).ok_or_else(unauthenticated)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bearer tokens", self.0.len())
    }
}
