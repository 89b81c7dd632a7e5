//! Who may do what, in one table: every operation of the admin API and what it needs.
//!
//! A role is given for one tenant or for all (`*`). Takes roles as they are stored, the method and the route's template;
//! gives a yes or no. An operation that the table does not name is the platform administrators' alone, and a test walks
//! the API's description to see that it names every one.

use super::error::FieldProblem;
use http::Method;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What an administrator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything, everywhere; makes tenants.
    PlatformAdmin,
    /// Everything in its tenant.
    TenantAdmin,
    /// Reads, takes agents down and up, tries them, revokes keys.
    Operator,
    /// Reads.
    Auditor,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::PlatformAdmin, Self::TenantAdmin, Self::Operator, Self::Auditor];

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PlatformAdmin => "platform_admin",
            Self::TenantAdmin => "tenant_admin",
            Self::Operator => "operator",
            Self::Auditor => "auditor",
        }
    }

    /// The one of the two that may less. Each role may all that the ones after it in [`Role::ALL`] may.
    fn lesser(self, other: Self) -> Self {
        Self::ALL.into_iter().rev().find(|role| *role == self || *role == other).unwrap_or(Self::Auditor)
    }

    const fn may(self, act: Act) -> bool {
        match (self, act) {
            (Self::PlatformAdmin | Self::TenantAdmin, _)
            | (Self::Operator, Act::Read | Act::Operate)
            | (Self::Auditor, Act::Read) => true,
            (Self::Operator, Act::Administer) | (Self::Auditor, Act::Operate | Act::Administer) => false,
        }
    }
}

/// What is done to a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Nothing changes.
    Read,
    /// What can't wait for an administrator, and what leaves no trace in the configuration.
    Operate,
    /// Whatever is written down.
    Administer,
}

/// What an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: how one comes in.
    Open,
    /// Any administrator; what it sees is cut to its tenants.
    SignedIn,
    /// A platform administrator, or a tenant's; whom it may touch is decided by [`Roles::covers`].
    Manager,
    /// A platform administrator.
    Platform,
    /// This, in the tenant that the path or the query names.
    Tenant(Act),
}

/// What `method` on the route `path` needs.
#[must_use]
pub fn need(method: &Method, path: &str) -> Need {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    let found = RULES.iter().find(|(of, at, _)| *of == method && *at == path);
    found.map_or(Need::Platform, |(.., need)| *need)
}

/// The table.
pub const RULES: &[(&str, &str, Need)] = &[
    ("POST", "/api/v1/session", Need::Open),
    ("GET", "/api/v1/session/sso", Need::Open),
    ("GET", "/api/v1/session/sso/callback", Need::Open),
    ("GET", "/api/v1/setup", Need::Open),
    ("POST", "/api/v1/setup", Need::Open),
    ("DELETE", "/api/v1/session", Need::SignedIn),
    ("GET", "/api/v1/me", Need::SignedIn),
    ("PUT", "/api/v1/me/password", Need::SignedIn),
    ("GET", "/api/v1/health", Need::SignedIn),
    ("GET", "/api/v1/admins", Need::Manager),
    ("POST", "/api/v1/admins", Need::Manager),
    ("GET", "/api/v1/admins/{name}", Need::Manager),
    ("PUT", "/api/v1/admins/{name}", Need::Manager),
    ("DELETE", "/api/v1/admins/{name}", Need::Manager),
    ("PUT", "/api/v1/admins/{name}/password", Need::Manager),
    ("GET", "/api/v1/tokens", Need::Manager),
    ("POST", "/api/v1/tokens", Need::Manager),
    ("DELETE", "/api/v1/tokens/{id}", Need::Manager),
    ("GET", "/api/v1/audit", Need::Tenant(Act::Read)),
    ("GET", "/api/v1/audit/export/{format}", Need::Tenant(Act::Read)),
    ("GET", "/api/v1/audit/refusals", Need::Tenant(Act::Read)),
    ("GET", "/api/v1/audit/shadow", Need::Tenant(Act::Read)),
    ("GET", "/api/v1/changes", Need::Platform),
    ("GET", "/api/v1/live", Need::Tenant(Act::Read)),
    ("GET", "/api/v1/stats", Need::Tenant(Act::Read)),
    ("GET", "/api/v1/tenants", Need::SignedIn),
    ("POST", "/api/v1/tenants", Need::Platform),
    ("GET", "/api/v1/tenants/{tenant}", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}", Need::Tenant(Act::Administer)),
    ("DELETE", "/api/v1/tenants/{tenant}", Need::Platform),
    ("POST", "/api/v1/tenants/{tenant}/authz/check", Need::Tenant(Act::Read)),
    ("GET", "/api/v1/tenants/{tenant}/authz/explain", Need::Tenant(Act::Read)),
    ("GET", "/api/v1/tenants/{tenant}/cards", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/cards", Need::Tenant(Act::Administer)),
    ("POST", "/api/v1/tenants/{tenant}/cards/import", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/cards/{name}", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}/cards/{name}", Need::Tenant(Act::Administer)),
    ("DELETE", "/api/v1/tenants/{tenant}/cards/{name}", Need::Tenant(Act::Administer)),
    ("PUT", "/api/v1/tenants/{tenant}/cards/{name}/credential", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/cards/{name}/history", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/cards/{name}/sign", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/cards/{name}/state", Need::Tenant(Act::Operate)),
    ("POST", "/api/v1/tenants/{tenant}/cards/{name}/try", Need::Tenant(Act::Operate)),
    ("PUT", "/api/v1/tenants/{tenant}/cards/{name}/version", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/changes", Need::Tenant(Act::Read)),
    ("GET", "/api/v1/tenants/{tenant}/conditions", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/conditions", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/conditions/{name}", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}/conditions/{name}", Need::Tenant(Act::Administer)),
    ("DELETE", "/api/v1/tenants/{tenant}/conditions/{name}", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/conditions/{name}/history", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}/conditions/{name}/version", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/guard-key", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/grants", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/grants", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/grants/{name}", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}/grants/{name}", Need::Tenant(Act::Administer)),
    ("DELETE", "/api/v1/tenants/{tenant}/grants/{name}", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/issuers", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/issuers", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/issuers/{name}", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}/issuers/{name}", Need::Tenant(Act::Administer)),
    ("DELETE", "/api/v1/tenants/{tenant}/issuers/{name}", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/issuers/{name}/keys", Need::Tenant(Act::Read)),
    ("GET", "/api/v1/tenants/{tenant}/keys", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/keys", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/keys/{id}", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}/keys/{id}", Need::Tenant(Act::Administer)),
    ("DELETE", "/api/v1/tenants/{tenant}/keys/{id}", Need::Tenant(Act::Operate)),
    ("GET", "/api/v1/tenants/{tenant}/limits", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/keys/{id}/rotate", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/policies", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/policies", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/policies/{name}", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}/policies/{name}", Need::Tenant(Act::Administer)),
    ("DELETE", "/api/v1/tenants/{tenant}/policies/{name}", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/policies/{name}/history", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/policies/{name}/simulate", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}/policies/{name}/version", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/principals", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/principals", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/principals/{name}", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}/principals/{name}", Need::Tenant(Act::Administer)),
    ("DELETE", "/api/v1/tenants/{tenant}/principals/{name}", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/signing-keys", Need::Tenant(Act::Read)),
    ("POST", "/api/v1/tenants/{tenant}/signing-keys", Need::Tenant(Act::Administer)),
    ("GET", "/api/v1/tenants/{tenant}/signing-keys/{id}", Need::Tenant(Act::Read)),
    ("PUT", "/api/v1/tenants/{tenant}/signing-keys/{id}", Need::Tenant(Act::Administer)),
];

/// A role in a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// What one is.
    pub role: Role,
    /// Where; `*` for every tenant.
    pub tenant: String,
}

impl Assignment {
    fn reaches(&self, tenant: &str) -> bool {
        self.tenant == EVERYWHERE || self.tenant == tenant
    }

    /// The lesser role, in the tenant that both reach.
    fn meet(&self, other: &Self) -> Option<Self> {
        let tenant = match (self.tenant.as_str(), other.tenant.as_str()) {
            (EVERYWHERE, tenant) | (tenant, EVERYWHERE) => tenant,
            (one, other) if one == other => one,
            _ => return None,
        };
        Some(Self { role: self.role.lesser(other.role), tenant: tenant.to_owned() })
    }
}

/// All roles of one administrator or token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct Roles(pub Vec<Assignment>);

impl Roles {
    /// Everything, everywhere.
    #[must_use]
    pub fn platform() -> Self {
        Self(vec![Assignment { role: Role::PlatformAdmin, tenant: EVERYWHERE.to_owned() }])
    }

    /// As stored. What can't be read gives no power.
    #[must_use]
    pub fn read(stored: &[u8]) -> Self {
        serde_json::from_slice(stored).unwrap_or_else(|_| {
            tracing::error!("the roles of an administrator can't be read");
            Self::default()
        })
    }

    /// As they are stored.
    #[must_use]
    pub fn to_stored(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// What keeps these from being roles that can be given.
    #[must_use]
    pub fn problems(&self) -> Vec<FieldProblem> {
        let problem = |path: String, problem: &str| FieldProblem { path, problem: problem.to_owned() };
        if self.0.is_empty() || self.0.len() > MOST {
            return vec![problem(String::from("roles"), "must be 1 to 64 of {\"role\": …, \"tenant\": …}")];
        }
        let each = self.0.iter().enumerate().filter_map(|(at, one)| {
            if one.role == Role::PlatformAdmin && one.tenant != EVERYWHERE {
                return Some(problem(format!("roles.{at}.tenant"), "must be * for a platform_admin"));
            }
            let named = one.tenant == EVERYWHERE || store::TenantId::new(&one.tenant).is_some();
            (!named).then(|| problem(format!("roles.{at}.tenant"), "must be a tenant's name, or * for all"))
        });
        each.collect()
    }

    /// Whether these may do `act` in `tenant`.
    #[must_use]
    pub fn may(&self, tenant: &str, act: Act) -> bool {
        self.0.iter().any(|one| one.reaches(tenant) && one.role.may(act))
    }

    /// Whether these may read of every tenant there is.
    #[must_use]
    pub fn sees_all(&self) -> bool {
        self.0.iter().any(|one| one.tenant == EVERYWHERE && one.role.may(Act::Read))
    }

    /// Whether there is any role in `tenant`; else it looks missing.
    #[must_use]
    pub fn sees(&self, tenant: &str) -> bool {
        self.0.iter().any(|one| one.reaches(tenant))
    }

    /// The greatest role in `tenant`, or anywhere.
    #[must_use]
    pub fn greatest(&self, tenant: Option<&str>) -> Option<Role> {
        let mine = |role: Role| self.0.iter().any(|one| one.role == role && tenant.is_none_or(|at| one.reaches(at)));
        Role::ALL.into_iter().find(|role| mine(*role))
    }

    /// Whether these are a platform administrator's.
    #[must_use]
    pub fn is_platform(&self) -> bool {
        self.0.iter().any(|one| one.role == Role::PlatformAdmin)
    }

    /// Whether these may make and change other accounts at all.
    #[must_use]
    pub fn is_manager(&self) -> bool {
        self.0.iter().any(|one| matches!(one.role, Role::PlatformAdmin | Role::TenantAdmin))
    }

    /// What both allow: a token has what it was made with and its maker still has.
    #[must_use]
    pub fn meet(&self, others: &Self) -> Self {
        let mut both: Vec<Assignment> = Vec::new();
        for met in self.0.iter().flat_map(|one| others.0.iter().filter_map(|other| one.meet(other))) {
            if !both.contains(&met) {
                both.push(met);
            }
        }
        Self(both)
    }

    /// Whether whoever has these may give, change and take `others`: nobody gives what it lacks.
    #[must_use]
    pub fn covers(&self, others: &Self) -> bool {
        let covered = |other: &Assignment| {
            self.0.iter().any(|mine| match mine.role {
                Role::PlatformAdmin => true,
                Role::TenantAdmin => mine.reaches(&other.tenant) && other.role != Role::PlatformAdmin,
                Role::Operator | Role::Auditor => false,
            })
        };
        !others.0.is_empty() && others.0.iter().all(covered) || self.is_platform()
    }
}

const EVERYWHERE: &str = "*";
const MOST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn roles(all: &[(Role, &str)]) -> Roles {
        Roles(all.iter().map(|(role, tenant)| Assignment { role: *role, tenant: (*tenant).to_owned() }).collect())
    }

    #[test]
    fn the_table_names_every_operation_of_the_api_and_no_other() {
        let description = serde_json::to_value(super::super::openapi()).unwrap();
        let mut described = BTreeSet::new();
        for (path, item) in description["paths"].as_object().unwrap() {
            for method in item.as_object().unwrap().keys() {
                described.insert((method.to_ascii_uppercase(), path.clone()));
            }
        }
        let named: BTreeSet<_> = RULES.iter().map(|(m, p, _)| ((*m).to_owned(), (*p).to_owned())).collect();
        let missing: Vec<_> = described.difference(&named).collect();
        assert!(missing.is_empty(), "say in RULES (roles.rs) what these need: {missing:?}");
        assert_eq!(named.difference(&described).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
        assert_eq!(named.len(), RULES.len(), "each operation has one line");
        for (method, path, need) in RULES {
            let by_tenant =
                path.contains("{tenant}") || path.contains("audit") || path.contains("live") || path.contains("stats");
            assert_eq!(
                by_tenant,
                matches!(need, Need::Tenant(_)) || *path == "/api/v1/tenants/{tenant}" && *method == "DELETE",
                "{method} {path}"
            );
        }
    }

    #[test]
    fn an_operation_without_a_line_is_for_platform_administrators() {
        assert_eq!(need(&Method::GET, "/api/v1/secrets"), Need::Platform);
        assert_eq!(need(&Method::HEAD, "/api/v1/me"), Need::SignedIn);
    }

    #[test]
    fn roles_reach_their_tenants_and_no_further() {
        let operator = roles(&[(Role::Operator, "acme")]);
        assert!(operator.may("acme", Act::Operate) && operator.may("acme", Act::Read));
        assert!(!operator.may("acme", Act::Administer) && !operator.may("other", Act::Read) && !operator.sees("other"));
        let everywhere = roles(&[(Role::Auditor, "*")]);
        assert!(everywhere.may("other", Act::Read) && !everywhere.may("other", Act::Operate));
        assert!(Roles::platform().may("any", Act::Administer));
        assert!(!Roles::read(b"nonsense").sees("acme"));
    }

    #[test]
    fn a_token_has_what_its_maker_still_has() {
        use Role::{Auditor, Operator, PlatformAdmin, TenantAdmin};
        let met = |one: &[(Role, &str)], other: &[(Role, &str)]| roles(one).meet(&roles(other));
        let platform: &[(Role, &str)] = &[(PlatformAdmin, "*")];
        assert_eq!(met(platform, platform), roles(platform));
        assert_eq!(met(&[(Operator, "acme")], platform), roles(&[(Operator, "acme")]));
        assert_eq!(met(platform, &[(TenantAdmin, "acme")]), roles(&[(TenantAdmin, "acme")]));
        assert_eq!(met(platform, &[(Auditor, "*")]), roles(&[(Auditor, "*")]));
        assert_eq!(met(&[(TenantAdmin, "acme")], &[(Operator, "*")]), roles(&[(Operator, "acme")]));
        assert_eq!(met(&[(TenantAdmin, "acme")], &[(TenantAdmin, "other")]), Roles::default());
        assert_eq!(met(platform, &[]), Roles::default());
        let two = [(TenantAdmin, "acme"), (Auditor, "other")];
        assert_eq!(
            met(&two, &[(Operator, "other"), (Operator, "acme")]),
            roles(&[(Operator, "acme"), (Auditor, "other")])
        );
        let pairs = Role::ALL.into_iter().flat_map(|role| ["*", "acme", "other"].map(|at| (role, at)));
        let every: Vec<_> = pairs.filter(|(role, at)| *role != PlatformAdmin || *at == "*").collect();
        // What both allow, and nothing else: every pair of roles, every act, in every tenant.
        for (one, at) in every.iter().copied() {
            for (two, there) in every.iter().copied() {
                let (first, second) = (roles(&[(one, at)]), roles(&[(two, there)]));
                for act in [Act::Read, Act::Operate, Act::Administer] {
                    for tenant in ["acme", "other"] {
                        let both = first.may(tenant, act) && second.may(tenant, act);
                        assert_eq!(first.meet(&second).may(tenant, act), both, "{one:?}@{at} {two:?}@{there} {act:?}");
                    }
                }
                assert_eq!(first.meet(&second).is_platform(), first.is_platform() && second.is_platform());
            }
        }
    }

    #[test]
    fn nobody_gives_what_it_lacks() {
        let platform = Roles::platform();
        let acme = roles(&[(Role::TenantAdmin, "acme")]);
        assert!(platform.covers(&acme) && platform.covers(&platform));
        assert!(acme.covers(&roles(&[(Role::Operator, "acme"), (Role::TenantAdmin, "acme")])));
        for beyond in [(Role::PlatformAdmin, "*"), (Role::Auditor, "other"), (Role::Auditor, "*")] {
            assert!(!acme.covers(&roles(&[(Role::Auditor, "acme"), beyond])), "{beyond:?}");
        }
        assert!(!acme.covers(&Roles::default()));
        assert!(!roles(&[(Role::Operator, "acme")]).covers(&roles(&[(Role::Auditor, "acme")])));
        assert!(!roles(&[(Role::PlatformAdmin, "acme")]).problems().is_empty());
    }
}
