//! The form of a token request: `application/x-www-form-urlencoded`, each parameter at most once (RFC 6749 §3.2).
//!
//! Takes bytes, gives parameters. A parameter without a value counts as absent, as the RFC says. `Debug` shows names
//! alone, for a value may be a secret.

use super::TokenError;

/// The parameters.
pub(super) struct Form(Vec<(String, String)>);

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Form {
    /// Reads a body.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, TokenError> {
        let parameters: Vec<(String, String)> = url::form_urlencoded::parse(bytes)
            .take(MOST + 1)
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        if parameters.len() > MOST {
            return Err(TokenError::InvalidRequest("the form has too many parameters"));
        }
        Ok(Self(parameters))
    }

    /// A parameter that may occur once.
    pub(super) fn one(&self, name: &str) -> Result<Option<&str>, TokenError> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(TokenError::InvalidRequest("a parameter occurs twice")),
            (value, None) => Ok(value),
        }
    }

    /// A parameter that may occur several times.
    pub(super) fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

const MOST: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_counts_once_or_not_at_all() {
        let form = Form::read(b"a=1&b=&c=x%26y+z&d=1&d=2").unwrap();
        assert_eq!(form.one("a").unwrap(), Some("1"));
        assert_eq!(form.one("b").unwrap(), None);
        assert_eq!(form.one("c").unwrap(), Some("x&y z"));
        assert!(form.one("d").is_err());
        assert!(Form::read(&b"a=1&".repeat(40)).is_err());
        assert!(!format!("{form:?}").contains('1'));
    }
}
