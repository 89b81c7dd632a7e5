//! Path → which document is asked for. Syntax alone: whether it exists is another question.

use crate::registry::is_name;
use a2a::path;

/// A document that discovery serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A card in the registry's wrapper.
    Wrapper {
        /// Its tenant.
        tenant: String,
        /// Its name.
        card: String,
    },
    /// A bare card.
    Card {
        /// Its tenant.
        tenant: String,
        /// Its name.
        card: String,
    },
    /// A tenant's key set.
    KeySet {
        /// The tenant.
        tenant: String,
    },
    /// The keys of the gateway's own tokens for a tenant.
    TokenKeySet {
        /// The tenant.
        tenant: String,
    },
    /// A tenant's public cards.
    Directory {
        /// The tenant.
        tenant: String,
    },
    /// The card of a tenant's own well-known address.
    TenantDefault {
        /// The tenant.
        tenant: String,
    },
    /// The card of the gateway's own well-known address.
    Default,
    /// All public cards (RFC 9727).
    Catalog,
}

impl Asked {
    /// The tenant that is asked about; empty where none is named.
    #[must_use]
    pub fn tenant(&self) -> &str {
        match self {
            Self::Wrapper { tenant, .. }
            | Self::Card { tenant, .. }
            | Self::KeySet { tenant }
            | Self::TokenKeySet { tenant }
            | Self::Directory { tenant }
            | Self::TenantDefault { tenant } => tenant,
            Self::Default | Self::Catalog => "",
        }
    }
}

/// What `GET path` asks discovery for; `None` if it asks somebody else.
#[must_use]
pub fn route(raw_path: &str) -> Option<Asked> {
    let segments = path::split(raw_path).ok()?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let asked = match segments.as_slice() {
        [".well-known", "agent-card.json" | "agent.json"] => Asked::Default,
        [".well-known", "api-catalog"] => Asked::Catalog,
        [".well-known", "a2a-jwks", tenant] => Asked::KeySet { tenant: named(tenant)? },
        [".well-known", "jwks", tenant] => Asked::TokenKeySet { tenant: named(tenant)? },
        [".well-known", "agent-card", tenant, card] => Asked::Wrapper { tenant: named(tenant)?, card: named(card)? },
        ["a2a", tenant] => Asked::Directory { tenant: named(tenant)? },
        ["a2a", tenant, ".well-known", "agent-card.json" | "agent.json"] => {
            Asked::TenantDefault { tenant: named(tenant)? }
        }
        ["a2a", tenant, card] | ["a2a", tenant, card, ".well-known", "agent-card.json" | "agent.json"] => {
            Asked::Card { tenant: named(tenant)?, card: named(card)? }
        }
        _ => return None,
    };
    Some(asked)
}

/// Whether nothing but a document that is read lives at this path. Paths below a card are a call's to refuse, for it
/// leaves a record.
#[must_use]
pub fn is_well_known(raw_path: &str) -> bool {
    // Asked of every call: most paths can be nothing of the kind, however they are written.
    if !raw_path.contains("well-known") && !raw_path.contains('%') {
        return false;
    }
    match route(raw_path) {
        Some(
            Asked::Wrapper { .. }
            | Asked::KeySet { .. }
            | Asked::TokenKeySet { .. }
            | Asked::TenantDefault { .. }
            | Asked::Default
            | Asked::Catalog,
        ) => true,
        Some(Asked::Card { .. } | Asked::Directory { .. }) | None => false,
    }
}

/// Names that can't exist go to whoever answers "nothing here".
fn named(name: &str) -> Option<String> {
    is_name(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_discovery_address_is_known() {
        let (tenant, card) = ("acme".to_owned(), "echo".to_owned());
        let bare = Some(Asked::Card { tenant: tenant.clone(), card: card.clone() });
        let table = [
            ("/.well-known/agent-card/acme/echo", Some(Asked::Wrapper { tenant: tenant.clone(), card })),
            ("/.well-known/a2a-jwks/acme", Some(Asked::KeySet { tenant: tenant.clone() })),
            ("/.well-known/jwks/acme", Some(Asked::TokenKeySet { tenant: tenant.clone() })),
            ("/a2a/acme/echo", bare.clone()),
            ("/a2a/acme/echo/", bare.clone()),
            ("/a2a/acme/%65cho", bare.clone()),
            ("/a2a/acme/echo/.well-known/agent-card.json", bare.clone()),
            ("/a2a/acme/echo/.well-known/agent.json", bare),
            ("/a2a/acme", Some(Asked::Directory { tenant: tenant.clone() })),
            ("/a2a/acme/.well-known/agent-card.json", Some(Asked::TenantDefault { tenant })),
            ("/.well-known/agent-card.json", Some(Asked::Default)),
            ("/.well-known/agent.json", Some(Asked::Default)),
            ("/.well-known/api-catalog", Some(Asked::Catalog)),
        ];
        for (path, asked) in table {
            assert_eq!(route(path), asked, "{path}");
        }
    }

    #[test]
    fn other_addresses_are_left_to_others() {
        for path in [
            "/",
            "/a2a",
            "/a2a//echo",
            "/a2a/acme/echo/tasks",
            "/a2a/acme/tasks",
            "/a2a/ACME/echo",
            "/a2a/acme/echo%2Fx",
            "/a2a/acme/../echo",
            "/.well-known/agent-card/acme",
            "/.well-known/agent-card/acme/echo/more",
            "/.well-known/a2a-jwks/acme%2fx",
        ] {
            assert_eq!(route(path), None, "{path}");
        }
    }
}
