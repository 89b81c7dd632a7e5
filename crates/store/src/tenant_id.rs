//! The id of a tenant, which is its name. It has no default and no empty value (a missing tenant must never equal a
//! missing tenant).

use std::fmt;

/// A tenant's name: `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenantId(String);

impl TenantId {
    /// The id, if the name is a legal one.
    pub fn new(name: &str) -> Option<Self> {
        let edge = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let bytes = name.as_bytes();
        let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
        let legal = bytes.len() <= 63 && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner);
        legal.then(|| Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for TenantId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for TenantId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

stored_text!(TenantId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legal_names_only() {
        for name in ["a", "default", "team-7", &"x".repeat(63)] {
            assert_eq!(TenantId::new(name).as_ref().map(TenantId::as_str), Some(name));
        }
        for name in ["", "-a", "a-", "A", "a.b", "a/b", "ü", "a\0", &"x".repeat(64)] {
            assert_eq!(TenantId::new(name), None, "{name:?}");
        }
    }
}
