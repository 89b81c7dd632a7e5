//! What a browser keeps while its person is at the provider: one sealed cookie that binds the answer to this browser.
//!
//! Holds state, nonce and PKCE verifier (RFC 7636), where to go afterwards, and until when. The gateway keeps nothing of
//! a sign-in that was only begun, so beginning many costs it nothing. Never opens after ten minutes.

use super::super::access;
use super::super::session;
use crate::clock::Micros;
use crate::seal::{Place, Seal};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// A sign-in under way.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Flow {
    /// Comes back in the address.
    pub state: String,
    /// Comes back in the token.
    pub nonce: String,
    /// Proves at the token endpoint that it was us who asked.
    pub verifier: String,
    /// The view to show at the end.
    pub to: String,
    /// It is too late afterwards.
    pub until: Micros,
}

impl Flow {
    /// A new one, to end at the view `to`.
    pub(super) fn begin(to: &str, now: Micros) -> Result<Self, access::TokenError> {
        let secret = || access::secret().map(|(text, _)| text.to_string());
        Ok(Self { state: secret()?, nonce: secret()?, verifier: secret()?, to: own_view(to), until: now + LIFE })
    }

    /// What the provider is told of the verifier (`S256`).
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.as_bytes()))
    }

    /// The digest under which its end is remembered.
    pub(super) fn digest(&self) -> String {
        access::hash(&format!("sso {}", self.state)).hex()
    }

    /// Whether `state` is this one's, and in time.
    pub(super) fn fits(&self, state: &str, now: Micros) -> bool {
        bool::from(self.state.as_bytes().ct_eq(state.as_bytes())) && now < self.until
    }

    /// The cookie that holds it. The provider's redirect comes from another site, so `Strict` would keep it back.
    pub(super) fn cookie(&self, seal: &Seal, cookies: Cookies) -> Option<HeaderValue> {
        let blob = seal.seal(PLACE, &serde_json::to_vec(self).ok()?).ok()?;
        cookies.set(&URL_SAFE_NO_PAD.encode(blob), LIFE / 1_000_000)
    }

    /// What the browser kept.
    pub(super) fn kept(headers: &HeaderMap, seal: &Seal, cookies: Cookies) -> Option<Self> {
        let (Some(text), false) = session::named(headers, cookies.name()) else { return None };
        let blob = URL_SAFE_NO_PAD.decode(text).ok()?;
        serde_json::from_slice(&seal.open(PLACE, &blob).ok()?).ok()
    }
}

/// How cookies are set, by the page's own origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cookies {
    /// On loopback without TLS.
    Loopback,
    /// Over TLS: bound to the host.
    Tls,
}

impl Cookies {
    pub(super) fn of(origin: &str) -> Self {
        if origin.starts_with("https://") { Self::Tls } else { Self::Loopback }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Loopback => "chancery-loopback-sso",
            Self::Tls => "__Host-chancery-sso",
        }
    }

    fn set(self, value: &str, seconds: i64) -> Option<HeaderValue> {
        let secure = match self {
            Self::Loopback => "",
            Self::Tls => "; Secure",
        };
        let name = self.name();
        HeaderValue::try_from(format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")).ok()
    }

    /// Has the browser forget it.
    pub(super) fn forget(self) -> Option<HeaderValue> {
        self.set("", 0)
    }
}

/// A view of our own page, or its first one: a path that no browser takes for another site's address.
fn own_view(to: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    let is_view = to.len() <= LONGEST_VIEW
        && to.starts_with('/')
        && !to.starts_with("//")
        && !to.starts_with("/api/")
        && to.bytes().all(plain);
    String::from(if is_view { to } else { "/" })
}

const PLACE: Place<'static> = Place { tenant: "", table: "admin_sso_uses", row: "", column: "cookie" };
/// How long somebody may be at the provider.
const LIFE: Micros = 10 * 60 * 1_000_000;
const LONGEST_VIEW: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_views_of_our_own_are_returned_to() {
        for fine in ["/", "/t/acme/agents?state=draft#x", "/audit?from=2026-01-01T00:00:00Z"] {
            assert_eq!(own_view(fine), fine);
        }
        let long = format!("/{}", "x".repeat(LONGEST_VIEW));
        for foreign in [
            "",
            "//evil.test",
            "///evil.test",
            "/\\evil.test",
            "\\\\evil.test",
            "https://evil.test/",
            "javascript:alert(1)",
            "evil.test",
            "/a\r\nset-cookie: x=y",
            "/\tevil.test",
            " /x",
            "/é",
            "/api/v1/session",
            &long,
        ] {
            assert_eq!(own_view(foreign), "/", "{foreign:?}");
        }
    }

    #[test]
    fn a_challenge_is_the_one_of_rfc_7636() {
        let flow = Flow {
            state: String::new(),
            nonce: String::new(),
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned(),
            to: String::new(),
            until: 0,
        };
        assert_eq!(flow.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
