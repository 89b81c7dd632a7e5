//! Under whose name the admin API writes: made once for each request, before any handler runs, from who asks and from the
//! route alone. The store then tells each change in the change's own transaction, so no handler can forget to.
//!
//! Takes a method, a route's template and its variables; gives what the request is about to do, and the store that signs
//! it. What was refused is told afterwards, a bounded number a minute. Never sees a body.

use super::Shared;
use super::access::Who;
use super::error::{ApiError, Refusal};
use super::resource::new_id;
use crate::audit::record::clean;
use crate::clock::Micros;
use axum::extract::RawPathParams;
use axum::response::Response;
use http::Method;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use store::{Author, RefusedChange};

/// What a request is about to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deed {
    /// What is done.
    pub action: &'static str,
    /// To what kind of thing.
    pub kind: &'static str,
    /// Whose; empty where it is no tenant's.
    pub tenant: String,
    /// Which one; empty where the path names none.
    pub name: String,
}

impl Deed {
    /// What `method` on `route` does; nothing where it changes nothing that is told.
    pub(super) fn of(method: &Method, route: &str, path: Option<&RawPathParams>) -> Option<Self> {
        let (kind, action) = kind_and_action(method, route)?;
        let variable = |wanted: &str| {
            let found = path.into_iter().flatten().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| clean(value).into_owned())
        };
        let tenant = variable("tenant").unwrap_or_default();
        let name = variable("name").or_else(|| variable("id"));
        let name = name.unwrap_or_else(|| if kind == "tenant" { tenant.clone() } else { String::new() });
        Some(Self { action, kind, tenant, name })
    }
}

/// What kind of thing a route changes, and how. Routes that only ask, try or sign in change nothing.
fn kind_and_action(method: &Method, route: &str) -> Option<(&'static str, &'static str)> {
    let mut words = route.strip_prefix("/api/v1/")?.split('/');
    let first = words.next()?;
    let collection = match (first, words.next(), words.next()) {
        ("tenants", Some("{tenant}"), Some(collection)) => collection,
        (first, _, _) => first,
    };
    let last = route.rsplit('/').next()?;
    let kind = match collection {
        "admins" | "me" | "setup" => "admin",
        "session" if last == "callback" => return Some(("admin", "sign_in")),
        "tokens" => "token",
        "tenants" => "tenant",
        "cards" => "card",
        "conditions" => "conditions",
        "grants" => "grant",
        "issuers" => "issuer",
        "keys" => "key",
        "policies" => "policy",
        "principals" => "principal",
        "signing-keys" => "signing_key",
        _ => return None,
    };
    let action = match (method.as_str(), last) {
        ("POST", "try" | "sign" | "simulate") => return None,
        ("PUT" | "POST", "state") => "state",
        ("PUT" | "POST", "credential") => "credential",
        ("PUT" | "POST", "password") => "password",
        ("PUT" | "POST", "version") => "restore",
        ("POST", "rotate") => "rotate",
        ("POST", "import") => "import",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("DELETE", _) if matches!(kind, "key" | "token") => "revoke",
        ("DELETE", _) => "delete",
        _ => return None,
    };
    Some((kind, action))
}

/// The administration under the name of whoever asks; without anybody, under the way that the first account is made, or one
/// of single sign-on.
///
/// # Errors
/// The machine has no randomness.
pub(super) fn signed(admin: &Shared, deed: &Deed, who: Option<&Who>, source: String) -> Result<Shared, ApiError> {
    let at = admin.clock.now();
    let (actor, role, way, way_id) = match who {
        Some(who) => {
            let role = who.roles.greatest(Some(deed.tenant.as_str()).filter(|tenant| !tenant.is_empty()));
            let role = role.map(super::roles::Role::name).unwrap_or_default();
            (who.name.clone(), role, who.way.name(), who.way.told_id().to_owned())
        }
        None if deed.action == "sign_in" => (String::from("(single sign-on)"), "", "sso", String::new()),
        None => (String::from("(set-up link)"), "", "setup", String::new()),
    };
    let (role, way, action) = (role.to_owned(), way.to_owned(), deed.action.to_owned());
    let author = Author { id: new_id("chg-", at)?, at, actor, role, way, way_id, source, action };
    Ok(admin.by(author))
}

/// The word of an answer that refuses. What the gateway itself failed at is no refusal; it is in its log.
pub(super) fn refusal(response: &Response) -> Option<&'static str> {
    let refused = response.status().is_client_error();
    refused.then(|| response.extensions().get::<Refusal>().map_or("refused", |refusal| refusal.0))
}

/// Tells what was refused to somebody who is known.
pub(super) async fn tell_refused(signed: &Shared, deed: &Deed, who: &Who, code: &'static str) {
    if !signed.refused_changes.takes(signed.clock.now(), &format!("{} {}", who.way.name(), who.name)) {
        return;
    }
    // A tenant that it has no part in hears nothing of it; the platform does.
    let sees = deed.tenant.is_empty() || who.roles.sees(&deed.tenant);
    let tenant = if sees { deed.tenant.clone() } else { String::new() };
    let name = if sees { deed.name.clone() } else { format!("{}/{}", deed.tenant, deed.name) };
    let refused = RefusedChange { tenant, kind: deed.kind.to_owned(), name, code: code.to_owned() };
    if let Err(error) = signed.store.tell_refused(&refused).await {
        tracing::warn!(%error, "that a change was refused could not be written down");
    }
}

/// How many refusals are written down a minute: whoever is refused again and again must neither fill the database nor take
/// the place of what is refused to others.
#[derive(Debug, Default)]
pub(super) struct Pace {
    minute: Mutex<Refused>,
}

/// What was refused in one minute.
#[derive(Debug, Default)]
struct Refused {
    minute: Micros,
    written: u32,
    by_actor: HashMap<String, u32>,
}

impl Pace {
    /// Whether one more of this actor's is written down now.
    fn takes(&self, now: Micros, actor: &str) -> bool {
        let mut held = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        let minute = now.div_euclid(super::access::MINUTE);
        if held.minute != minute {
            *held = Refused { minute, ..Refused::default() };
        }
        if held.written >= A_MINUTE {
            return false;
        }
        // An actor is held only with a refusal that is written, so that there are never more of them than of those.
        let its = held.by_actor.entry(actor.to_owned()).or_default();
        if *its >= OF_ONE {
            return false;
        }
        *its += 1;
        let last_of_one = *its == OF_ONE;
        held.written += 1;
        if last_of_one || held.written == A_MINUTE {
            tracing::warn!(actor, "is refused so often that the rest of this minute is not written down");
        }
        true
    }
}

const A_MINUTE: u32 = 600;

/// Of one actor's.
const OF_ONE: u32 = 60;

#[cfg(test)]
mod tests {
    use super::super::roles::{Act, Need, RULES};
    use super::*;

    #[test]
    fn every_operation_that_writes_is_told_and_no_other() {
        for (method, route, need) in RULES {
            let told = kind_and_action(&method.parse().unwrap(), route);
            let quiet = ["/try", "/api/v1/session"].iter().any(|end| route.ends_with(end));
            let writes = match need {
                Need::Tenant(Act::Read) => false,
                Need::Open | Need::SignedIn | Need::Manager | Need::Platform | Need::Tenant(_) => *method != "GET",
            };
            let by_sign_on = route.ends_with("/callback");
            assert_eq!(told.is_some(), writes && !quiet || by_sign_on, "{method} {route}: {told:?}");
        }
    }

    #[test]
    fn what_is_done_is_named_by_its_route() {
        let told = |method: Method, route: &str| kind_and_action(&method, route);
        let card = "/api/v1/tenants/{tenant}/cards/{name}";
        assert_eq!(told(Method::PUT, card), Some(("card", "update")));
        assert_eq!(told(Method::PUT, &format!("{card}/credential")), Some(("card", "credential")));
        assert_eq!(told(Method::POST, "/api/v1/tenants"), Some(("tenant", "create")));
        assert_eq!(told(Method::DELETE, "/api/v1/tenants/{tenant}"), Some(("tenant", "delete")));
        assert_eq!(told(Method::DELETE, "/api/v1/tenants/{tenant}/keys/{id}"), Some(("key", "revoke")));
        assert_eq!(told(Method::GET, card), None);
    }

    #[test]
    fn refusals_are_written_down_up_to_a_number_a_minute() {
        let pace = Pace::default();
        let all = |actor: &dyn Fn(u32) -> String| (0..A_MINUTE + 50).filter(|n| pace.takes(1, &actor(*n))).count();
        assert_eq!(all(&|_| String::from("loud")), OF_ONE as usize);
        assert!(pace.takes(1, "quiet"), "one who is refused often hides nothing of others");
        assert_eq!(all(&|n| format!("actor {n}")), (A_MINUTE - OF_ONE - 1) as usize);
        assert!(pace.takes(super::super::access::MINUTE, "loud"));
    }
}
