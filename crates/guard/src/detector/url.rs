//! Detector `url`: addresses in text against lists of hosts and schemes, and addresses written to deceive.
//!
//! | kind | what |
//! |---|---|
//! | `url.denied` | the host is on the list of those not wanted, or not on the list of those wanted |
//! | `url.scheme` | the scheme is not one of those wanted |
//! | `url.ip_literal` | a number in place of a name |
//! | `url.userinfo` | `https://bank.example@evil.test/` |
//! | `url.mixed_script` | a host whose labels mix alphabets |
//!
//! Nothing is ever fetched or resolved.
#![expect(clippy::arithmetic_side_effects, reason = "offsets into a text in memory")]

use super::class::Class;
use super::{Found, Tail, floor};
use crate::pace::Pace;
use url::Url as Parsed;

/// Most characters up to the end of the host.
pub(crate) const LONGEST: usize = 360;
/// Fewest characters of an address.
pub(crate) const SHORTEST: usize = 4;
/// Most hosts of one list.
pub(crate) const MOST_HOSTS: usize = 10_000;

/// Compiled lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// Hosts and their subdomains; empty: all but the denied.
    pub(crate) allow: Vec<String>,
    /// Hosts and their subdomains.
    pub(crate) deny: Vec<String>,
    /// Empty: all.
    pub(crate) schemes: Vec<String>,
    /// Whether deceptive forms are findings.
    pub(crate) deceptive: bool,
}

impl Addresses {
    /// Every address that is minded.
    pub(crate) fn scan(&self, text: &str) -> Vec<Found> {
        let mut pace = Pace::default();
        let signs = text.match_indices("://").inspect(|(at, _)| pace.at(*at));
        signs.filter_map(|(at, _)| self.look(text, at)).collect()
    }

    fn look(&self, text: &str, sign: usize) -> Option<Found> {
        let bytes = text.as_bytes();
        let start = sign - Class::Token.run_back(bytes.get(..sign)?, 24);
        let start = start
            + text
                .get(start..sign)?
                .rfind(|one: char| !one.is_ascii_alphanumeric() && one != '+')
                .map_or(0, |at| at + 1);
        // `?a=b://c` is no address.
        if sign - start < 2 {
            return None;
        }
        let rest = text.get(sign + 3..floor(text, sign + 3 + 320))?;
        let authority =
            rest.find(|one: char| one.is_whitespace() || one.is_control() || "/?#\\\"'<>`{}|^,;)]".contains(one));
        // `[::1]` holds what ends others.
        let authority = if rest.starts_with('[') { rest.find(']').map(|at| at + 1) } else { authority };
        let end = sign + 3 + authority.unwrap_or(rest.len());
        let written = text.get(start..end)?;
        let kind = self.minded(written.trim_end_matches('.'))?;
        Some(Found::new(kind, start..end).with_tail(Tail::Run(Class::Url)))
    }

    /// Why the address is minded, if it is.
    fn minded(&self, written: &str) -> Option<&'static str> {
        let Ok(parsed) = Parsed::parse(written) else { return self.deceptive.then_some("url.denied") };
        if !self.schemes.is_empty() && !self.schemes.iter().any(|scheme| scheme == parsed.scheme()) {
            return Some("url.scheme");
        }
        let host = parsed.host_str()?.trim_end_matches('.').to_ascii_lowercase();
        let of = |list: &[String]| {
            list.iter()
                .any(|one| host == *one || host.strip_suffix(one.as_str()).is_some_and(|head| head.ends_with('.')))
        };
        if of(&self.deny) || (!self.allow.is_empty() && !of(&self.allow)) {
            return Some("url.denied");
        }
        if !self.deceptive {
            return None;
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Some("url.userinfo");
        }
        if matches!(parsed.host(), Some(url::Host::Ipv4(_) | url::Host::Ipv6(_))) {
            return Some("url.ip_literal");
        }
        mixes_scripts(written).then_some("url.mixed_script")
    }
}

/// Latin letters next to letters of an alphabet that has look-alikes, in one label.
fn mixes_scripts(written: &str) -> bool {
    let host = written.split_once("://").map_or(written, |(_, host)| host);
    host.split('.').any(|label| {
        let latin = label.chars().any(|one| one.is_ascii_alphabetic());
        latin
            && label
                .chars()
                .any(|one| matches!(one, '\u{370}'..='\u{52f}' | '\u{531}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(addresses: &Addresses, text: &str) -> Vec<(&'static str, String)> {
        addresses.scan(text).into_iter().map(|found| (found.kind, text[found.span].to_owned())).collect()
    }

    fn list(hosts: &[&str]) -> Vec<String> {
        hosts.iter().map(|host| (*host).to_owned()).collect()
    }

    #[test]
    fn hosts_and_their_subdomains_are_meant() {
        let denied = Addresses { deny: list(&["evil.test"]), ..Addresses::default() };
        let found = kinds(&denied, "see https://a.evil.test/x, http://EVIL.test. and https://notevil.test");
        assert_eq!(
            found,
            [("url.denied", "https://a.evil.test".to_owned()), ("url.denied", "http://EVIL.test.".to_owned())]
        );
        let allowed = Addresses { allow: list(&["good.test"]), ..Addresses::default() };
        assert_eq!(kinds(&allowed, "https://good.test/ https://docs.good.test https://bad.test").len(), 1);
    }

    #[test]
    fn deceptive_addresses_are_named() {
        let deceptive = Addresses { deceptive: true, schemes: list(&["https"]), ..Addresses::default() };
        for (text, kind) in [
            ("https://bank.test@evil.test/", "url.userinfo"),
            ("https://127.1/", "url.ip_literal"),
            ("https://2130706433/", "url.ip_literal"),
            ("https://[::1]:80/", "url.ip_literal"),
            ("https://b\u{430}nk.test/", "url.mixed_script"),
            ("ftp://good.test", "url.scheme"),
        ] {
            assert_eq!(kinds(&deceptive, text).first().map(|(kind, _)| *kind), Some(kind), "{text}");
        }
        assert!(kinds(&deceptive, "https://good.test/a?b=c://d and ://nothing").is_empty());
    }
}
