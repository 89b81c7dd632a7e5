//! Issuers of a tenant: who besides the gateway vouches for its principals, and for which.
//!
//! Takes an issuer's document, gives what the request path asks: the audiences it may speak for, whose principal a
//! subject is, and the keys as they are at present. Keys come later and from outside (`issuer_keys`); until then, and
//! when they are too old, the issuer proves nobody. Never fetches, never reads a token.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use arc_swap::ArcSwapOption;
use rustls::server::danger::ClientCertVerifier;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::Principal;
use super::document::{self, Problem};
use super::key_set::VerifyingKey;
use crate::clock::Micros;
use crate::config::ClientAuth;
use crate::listener::tls::authorities;

/// What an administrator writes of an issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IssuerDocument {
    /// What it makes: `oidc` (tokens) or `certificate` (client certificates).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<IssuerKind>,
    /// Of client certificates: the tenant's own authorities (PEM); without, those of the listener are believed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorities: Option<String>,
    /// `iss` of its tokens, an https:// URL: exactly as they have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// What `aud` of its tokens must name one of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audiences: Option<Vec<String>>,
    /// Its key set, where it has no discovery document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The claim that says who calls: `sub` unless said otherwise; a JSON pointer if it begins with `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_claim: Option<String>,
    /// The claim with the caller's groups: `groups` unless said otherwise; a JSON pointer if it begins with `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    /// Which principal (by name) a subject is; a certificate's subject is its SPIFFE id or its name (`CN=bot,O=Acme`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principals: Option<BTreeMap<String, String>>,
    /// What becomes of a subject that `principals` does not list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<Unlisted>,
    /// Whether it vouches at present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<IssuerState>,
}

/// What an issuer makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssuerKind {
    /// Tokens of OpenID Connect.
    #[default]
    Oidc,
    /// Client certificates.
    Certificate,
}

/// What becomes of a subject that is not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unlisted {
    /// It is nobody.
    #[default]
    Refuse,
    /// It is the principal of that very name, if there is one.
    ByName,
}

/// Whether an issuer vouches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssuerState {
    /// It does.
    #[default]
    Active,
    /// Its tokens are refused.
    Disabled,
}

/// An issuer of tokens (OpenID Connect), compiled.
#[derive(Debug)]
pub struct Issuer {
    /// `iss-…`
    pub id: String,
    /// The revision of its row.
    pub revision: i64,
    /// `iss` of its tokens.
    pub iss: String,
    /// What `aud` must name one of.
    pub audiences: Vec<String>,
    /// Where its keys are, if not where its discovery document says.
    pub jwks_uri: Option<String>,
    /// The claim that says who calls.
    pub subject_claim: String,
    /// The claim with the caller's groups.
    pub groups_claim: String,
    /// Whose subject is which principal.
    pub subjects: Subjects,
    /// The keys at present.
    pub keys: Arc<KeyCell>,
    /// Cancelled when it is removed, disabled or changed.
    pub cancelled: CancellationToken,
}

/// Whose subject is which principal.
#[derive(Debug, Default)]
pub struct Subjects {
    listed: HashMap<String, Arc<Principal>>,
    by_name: Option<HashMap<String, Arc<Principal>>>,
}

impl Subjects {
    /// As the document says, for these principals. A listed name that no active principal has proves nobody.
    #[must_use]
    pub fn new(document: &IssuerDocument, principals: &HashMap<String, Arc<Principal>>) -> Self {
        let named = |name: &str| principals.values().find(|principal| principal.name == name);
        let listed = document.principals.iter().flatten();
        let by_name = || principals.values().map(|one| (one.name.clone(), Arc::clone(one))).collect();
        Self {
            listed: listed.filter_map(|(subject, name)| Some((subject.clone(), Arc::clone(named(name)?)))).collect(),
            by_name: (document.unlisted == Some(Unlisted::ByName)).then(by_name),
        }
    }

    /// The principal that `subject` is.
    #[must_use]
    pub fn principal(&self, subject: &str) -> Option<&Arc<Principal>> {
        self.listed.get(subject).or_else(|| self.by_name.as_ref()?.get(subject))
    }
}

impl IssuerDocument {
    /// Reads a stored document and says what is missing or can't be.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, Vec<Problem>> {
        let document: Self = document::read(bytes)?;
        let problems = document.problems();
        if problems.is_empty() { Ok(document) } else { Err(problems) }
    }

    fn problems(&self) -> Vec<Problem> {
        match self.kind.unwrap_or_default() {
            IssuerKind::Oidc => self.problems_of_oidc(),
            IssuerKind::Certificate => self.problems_of_certificates(),
        }
    }

    fn problems_of_certificates(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (path, is_said) in [
            ("/issuer", self.issuer.is_some()),
            ("/audiences", self.audiences.is_some()),
            ("/jwks_uri", self.jwks_uri.is_some()),
            ("/subject_claim", self.subject_claim.is_some()),
            ("/groups_claim", self.groups_claim.is_some()),
            ("/unlisted", self.unlisted.is_some()),
        ] {
            if is_said {
                problems.push(Problem::new(path, "says nothing of client certificates; take it out"));
            }
        }
        if self.principals.as_ref().is_none_or(BTreeMap::is_empty) {
            problems.push(Problem::new(
                "/principals",
                "must give a principal for each SPIFFE id (\"spiffe://…\") or subject (\"CN=bot,O=Acme\")",
            ));
        }
        if let Err(problem) = self.authorities() {
            problems.push(Problem::new("/authorities", problem));
        }
        problems
    }

    /// What proves a chain to the tenant's own authorities; `None` where it names none.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn authorities(&self) -> Result<Option<Arc<dyn ClientCertVerifier>>, String> {
        let Some(text) = &self.authorities else { return Ok(None) };
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
        let found = found.map_err(|error| format!("is no PEM: {error}"))?;
        if found.is_empty() {
            return Err("holds no certificate (PEM)".to_owned());
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        authorities(found, Vec::new(), ClientAuth::Required, &provider).map(Some).map_err(|error| error.to_string())
    }

    fn problems_of_oidc(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut note = |path: &str, problem: &str| problems.push(Problem::new(path, problem));
        if self.authorities.is_some() {
            note("/authorities", "is for kind \"certificate\"; tokens are proven by the issuer's key set");
        }
        match self.issuer.as_deref().map(is_url) {
            Some(true) => {}
            Some(false) => note("/issuer", "must be an https:// URL without query, fragment, user or password"),
            None => note("/issuer", "is missing: the `iss` of the tokens, such as \"https://idp.example.com\""),
        }
        if self.jwks_uri.as_deref().is_some_and(|url| !is_url(url.split('?').next().unwrap_or_default())) {
            note("/jwks_uri", "must be an https:// URL without fragment, user or password");
        }
        let audiences = self.audiences.as_deref().unwrap_or_default();
        if audiences.is_empty() || audiences.iter().any(|one| !is_text(one)) {
            note("/audiences", "must name at least one audience: a token that is for anybody is for nobody");
        }
        for (path, claim) in [("/subject_claim", &self.subject_claim), ("/groups_claim", &self.groups_claim)] {
            if claim.as_deref().is_some_and(|claim| !is_text(claim)) {
                note(path, "must be the name of a claim, or a JSON pointer that begins with \"/\"");
            }
        }
        let listed = self.principals.iter().flatten();
        if listed.into_iter().any(|(subject, name)| !is_text(subject) || !is_text(name)) {
            note("/principals", "must give the name of a principal for each subject");
        }
        if self.principals.as_ref().is_none_or(BTreeMap::is_empty) && self.unlisted != Some(Unlisted::ByName) {
            note("/principals", "must list at least one subject, or set unlisted to \"by_name\"");
        }
        problems
    }
}

/// Whether this can be an issuer: no query, fragment, user or password.
pub(crate) fn is_url(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "https" | "http")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    })
}

fn is_text(text: &str) -> bool {
    (1..=512).contains(&text.len()) && !text.contains('\0')
}

/// The keys of an issuer as they were last fetched, and whether they should be fetched again.
#[derive(Debug, Default)]
pub struct KeyCell {
    current: ArcSwapOption<Keys>,
    problem: ArcSwapOption<String>,
    /// When a fetch last began; 0 for never.
    attempted: AtomicI64,
    fetching: AtomicBool,
    wanted: AtomicBool,
}

/// A key set and when it was fetched.
#[derive(Debug)]
pub struct Keys {
    /// By `kid`.
    pub by_kid: HashMap<String, VerifyingKey>,
    /// When.
    pub fetched_at: Micros,
}

impl KeyCell {
    /// The keys, unless they are too old to be believed.
    #[must_use]
    pub fn usable(&self, now: Micros) -> Option<Arc<Keys>> {
        self.current.load_full().filter(|keys| now.saturating_sub(keys.fetched_at) <= STALE)
    }

    /// A token names a key that is not here: worth a look, as soon as one is due.
    pub fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Whether a fetch is to begin now; if so, it has begun. At most one at a time and one in [`COOL_DOWN`], however
    /// many tokens name however many keys.
    #[must_use]
    pub fn begin(&self, now: Micros) -> bool {
        let attempted = self.attempted.load(Ordering::Relaxed);
        let cooled = attempted == 0 || now.saturating_sub(attempted) >= COOL_DOWN;
        let aged = || self.current.load().as_ref().is_none_or(|keys| now.saturating_sub(keys.fetched_at) >= FRESH);
        if !cooled || !(self.wanted.load(Ordering::Relaxed) || aged()) {
            return false;
        }
        if self.fetching.swap(true, Ordering::AcqRel) {
            return false;
        }
        self.attempted.store(now.max(1), Ordering::Relaxed);
        self.wanted.store(false, Ordering::Relaxed);
        true
    }

    /// How the fetch ended. A failure leaves the keys that are there.
    pub fn end(&self, fetched: Result<Keys, String>) {
        match fetched {
            Ok(keys) => {
                self.current.store(Some(Arc::new(keys)));
                self.problem.store(None);
            }
            Err(problem) => self.problem.store(Some(Arc::new(problem))),
        }
        self.fetching.store(false, Ordering::Release);
    }

    /// The keys, however old, and why the last fetch failed if it did.
    #[must_use]
    pub fn state(&self) -> (Option<Arc<Keys>>, Option<Arc<String>>) {
        (self.current.load_full(), self.problem.load_full())
    }
}

/// How long keys are believed while their issuer is away.
pub const STALE: Micros = 3_600_000_000;
/// How old keys get before they are fetched again.
pub const FRESH: Micros = 300_000_000;
/// The shortest time between two fetches from one issuer.
pub const COOL_DOWN: Micros = 60_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(fetched_at: Micros) -> Keys {
        Keys { by_kid: HashMap::new(), fetched_at }
    }

    #[test]
    fn keys_are_fetched_once_in_a_cool_down_and_believed_for_an_hour() {
        let cell = KeyCell::default();
        assert!(cell.usable(1).is_none());
        assert!(cell.begin(1) && !cell.begin(1), "one at a time");
        cell.end(Err("away".to_owned()));
        assert!(!cell.begin(COOL_DOWN) && cell.begin(COOL_DOWN + 1));
        let fetched = COOL_DOWN + 1;
        cell.end(Ok(keys(fetched)));
        assert_eq!(cell.state().1, None);
        for _ in 0..1_000 {
            cell.want();
        }
        assert!(!cell.begin(fetched + COOL_DOWN - 1), "a flood of unknown keys changes nothing");
        assert!(cell.begin(fetched + COOL_DOWN));
        cell.end(Ok(keys(fetched + COOL_DOWN)));
        assert!(!cell.begin(fetched + COOL_DOWN + FRESH - 1), "nobody asked, and they are fresh");
        assert!(cell.begin(fetched + COOL_DOWN + FRESH));
        cell.end(Err("away".to_owned()));
        assert!(cell.usable(fetched + COOL_DOWN + STALE).is_some());
        assert!(cell.usable(fetched + COOL_DOWN + STALE + 1).is_none());
    }

    #[test]
    fn a_document_says_who_for_whom_and_of_whom() {
        let read = |text: &str| {
            let problems = IssuerDocument::read(text.as_bytes()).err().unwrap_or_default();
            problems.into_iter().map(|problem| problem.path).collect::<Vec<_>>()
        };
        let good = r#"{"issuer":"https://idp.test","audiences":["a"],"principals":{"u1":"bot"}}"#;
        assert_eq!(read(good), Vec::<String>::new());
        assert_eq!(read("{}"), ["/issuer", "/audiences", "/principals"]);
        assert_eq!(
            read(
                r#"{"issuer":"https://u:p@idp.test/?x","audiences":[""],"unlisted":"by_name","jwks_uri":"file:///x"}"#
            ),
            ["/issuer", "/jwks_uri", "/audiences"]
        );
        assert_eq!(read(r#"{"issuer":1,"algs":["none"]}"#), ["/issuer", "/algs"]);
    }
}
