//! How an agent is found and called: everything a caller may want to say, and the way from a URL to an [`Agent`].

use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::time::Duration;

use a2a::Dialect;
use a2a::dialect::R3Bytes;
use egress::{ConnectorSettings, FetchLimits, Net};
use http::{HeaderMap, HeaderName, HeaderValue};
use json::Object;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use url::Url;

use crate::agent::Inner;
use crate::choose::{Origins, Wanted};
use crate::credential::{NoCredential, Unsendable};
use crate::exchange::Wire;
use crate::resolve::{Found, ResolveError, Search};
use crate::trust::KeysError;
use crate::{Agent, Auth, CallLimits, Card, Connections, NoInterface, NoTls, Proof, Reach, Resume, Signatures, choose};

/// Finds the agent at `url`, with everything by default: no credential, any interface that can be called, signatures
/// not looked at.
///
/// # Errors
/// [`ConnectError`].
pub async fn connect(url: &str) -> Result<Agent, ConnectError> {
    Options::new().connect(url).await
}

/// How an agent is found and called.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use a2a_client::{Credential, Dialect, Keys, Options, Resume, Signatures};
/// let agent = Options::new()
///     .auth(Credential::bearer("token"))
///     .signatures(Signatures::Required(Keys::from_file("their-keys.json")?))
///     .prefer([Dialect::J1, Dialect::R1])
///     .resume(Resume::default())
///     .connect("https://agents.example/a2a/planner")
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    auth: Auth,
    headers: Vec<(String, String)>,
    extensions: Vec<String>,
    wanted: Wanted,
    r3_bytes: R3Bytes,
    origins: Vec<String>,
    signatures: Signatures,
    limits: CallLimits,
    card: FetchLimits,
    connect: Duration,
    roots: Vec<CertificateDer<'static>>,
    system_roots: bool,
    reach: Reach,
    resume: Option<Resume>,
    net: Net,
}

/// Why there is no agent to call.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A header or an extension of the options cannot be sent.
    #[error("{0:?} cannot be sent as a header; check for line ends and other control characters")]
    BadHeader(String),
    /// The PEM certificates are none.
    #[error("the certificates are not in PEM form")]
    BadRoots,
    /// There is no card.
    #[error(transparent)]
    Card(#[from] ResolveError),
    /// The credential cannot be sent.
    #[error(transparent)]
    Credential(#[from] Unsendable),
    /// There are no keys to check signatures with.
    #[error("there are no keys to check the card's signatures with; check the key set's address or file")]
    Keys(#[from] KeysError),
    /// The caller's own function gave no credential.
    #[error("there is no credential")]
    NoCredential(#[source] NoCredential),
    /// The card has no interface that can be called.
    #[error(transparent)]
    NoInterface(#[from] NoInterface),
    /// TLS could not be set up.
    #[error(transparent)]
    NoTls(#[from] NoTls),
    /// No signature of the card holds, and one must.
    #[error("{}", unverified(.0))]
    Unverified(Proof),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            auth: Auth::default(),
            headers: Vec::new(),
            extensions: Vec::new(),
            wanted: Wanted::AgentsOrder,
            r3_bytes: R3Bytes::Auto,
            origins: Vec::new(),
            signatures: Signatures::Ignored,
            limits: CallLimits::default(),
            card: FetchLimits::default(),
            connect: Duration::from_secs(5),
            roots: Vec::new(),
            system_roots: false,
            reach: Reach::Everywhere,
            resume: None,
            net: Net::System,
        }
    }
}

impl Options {
    /// Everything by default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With a credential, or a function that is asked for one before each request. It goes to the origin of the URL
    /// that [`connect`](Self::connect) is given, and to those of [`trust_origin`](Self::trust_origin).
    #[must_use]
    pub fn auth(mut self, auth: impl Into<Auth>) -> Self {
        self.auth = auth.into();
        self
    }

    /// With a header of the caller's own in every request. It is guarded as a credential is.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With an extension activated (`A2A-Extensions`; towards agents of 0.3 `X-A2A-Extensions`).
    #[must_use]
    pub fn extension(mut self, uri: &str) -> Self {
        self.extensions.push(uri.to_owned());
        self
    }

    /// Interfaces of these dialects first, in this order; the others stand in.
    #[must_use]
    pub fn prefer(mut self, dialects: impl IntoIterator<Item = Dialect>) -> Self {
        self.wanted = Wanted::Prefer(dialects.into_iter().collect());
        self
    }

    /// Interfaces of these dialects alone.
    #[must_use]
    pub fn only(mut self, dialects: impl IntoIterator<Item = Dialect>) -> Self {
        self.wanted = Wanted::Only(dialects.into_iter().collect());
        self
    }

    /// How the agent puts files into HTTP+JSON of 0.3: agents made in Python encode them twice, and nothing tells.
    #[must_use]
    pub const fn r3_bytes(mut self, habit: R3Bytes) -> Self {
        self.r3_bytes = habit;
        self
    }

    /// Lets the credential go to another origin too (`https://host:port`), where the card leads there.
    #[must_use]
    pub fn trust_origin(mut self, origin: &str) -> Self {
        let origin = Url::parse(origin).map_or_else(|_| origin.to_owned(), |url| url.origin().ascii_serialization());
        self.origins.push(origin);
        self
    }

    /// What becomes of the card's signatures.
    #[must_use]
    pub fn signatures(mut self, signatures: Signatures) -> Self {
        self.signatures = signatures;
        self
    }

    /// How much a call may bring and how long it may take.
    #[must_use]
    pub const fn limits(mut self, limits: CallLimits) -> Self {
        self.limits = limits;
        self
    }

    /// How large the card may be and how long each place may take to answer.
    #[must_use]
    pub const fn card_limits(mut self, limits: FetchLimits) -> Self {
        self.card = limits;
        self
    }

    /// How long a connection may take, TLS included.
    #[must_use]
    pub const fn connect_timeout(mut self, most: Duration) -> Self {
        self.connect = most;
        self
    }

    /// Certificates to believe besides the public ones, in PEM form.
    ///
    /// # Errors
    /// [`ConnectError::BadRoots`].
    pub fn extra_roots(mut self, pem: &[u8]) -> Result<Self, ConnectError> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let found = found.map_err(|_| ConnectError::BadRoots)?;
        if found.is_empty() {
            return Err(ConnectError::BadRoots);
        }
        self.roots.extend(found);
        Ok(self)
    }

    /// Believes the certificates that the operating system does, besides the public ones.
    #[must_use]
    pub const fn system_roots(mut self) -> Self {
        self.system_roots = true;
        self
    }

    /// Which addresses may be called.
    #[must_use]
    pub const fn reach(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// Takes streams up again that break; without this, a broken stream ends with an error.
    #[must_use]
    pub const fn resume(mut self, resume: Resume) -> Self {
        self.resume = Some(resume);
        self
    }

    /// The network, for tests.
    #[must_use]
    pub fn net(mut self, net: Net) -> Self {
        self.net = net;
        self
    }

    /// Finds the agent: its card at one of the known places below or around `url`, then the best of its interfaces.
    /// The card is asked for without the credential, and with it where that is refused.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(self, url: &str) -> Result<Agent, ConnectError> {
        let wire = self.wire()?;
        let search = |headers| Search { connections: &wire.connections.http1, headers, limits: self.card };
        let found = match search(wire.headers.clone()).run(url).await {
            Err(error) if error.wants_credential() && !wire.auth.is_none() => {
                let credential = wire.auth.for_url(url).await.map_err(ConnectError::NoCredential)?;
                let mut headers = wire.headers.clone();
                credential.add_to(&mut headers)?;
                search(headers).run(url).await?
            }
            found => found?,
        };
        let Found { card, url, .. } = found;
        self.with_card(wire, card, url).await
    }

    /// The agent of a card that the caller has already; relative URLs in it are relative to `card_url`, and the
    /// credential goes to its origin.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect_card(self, card: Object, card_url: &str) -> Result<Agent, ConnectError> {
        let url = Url::parse(card_url).map_err(|_| ResolveError::BadUrl)?;
        let wire = self.wire()?;
        self.with_card(wire, card, url).await
    }

    async fn with_card(self, wire: Wire, card: Object, card_url: Url) -> Result<Agent, ConnectError> {
        let (card, proof) = self.judged(&wire, card).await?;
        let nothing_to_guard = wire.auth.is_none() && wire.headers.is_empty();
        let origins = if nothing_to_guard { Origins::Any } else { Origins::CardAnd(self.origins) };
        let mut interfaces = choose(&card, &card_url, &self.wanted, &origins)?;
        for interface in &mut interfaces {
            interface.address.r3_bytes = self.r3_bytes;
        }
        let best = interfaces.first().cloned().ok_or(NoInterface(Vec::new()))?;
        Ok(Agent::new(Inner {
            wire,
            interfaces,
            best,
            card: Card::from(card),
            card_url,
            proof,
            resume: self.resume,
            current: AtomicUsize::new(0),
            calls: AtomicU64::new(1),
        }))
    }

    /// The card, as far as it is to be believed, and what its signatures are worth.
    async fn judged(&self, wire: &Wire, card: Object) -> Result<(Object, Option<Proof>), ConnectError> {
        let keys = match &self.signatures {
            Signatures::Ignored => return Ok((card, None)),
            Signatures::Reported(keys) | Signatures::Required(keys) => keys.load(&wire.connections.http1).await?,
        };
        let proof = Proof::of(&card, &keys);
        match &self.signatures {
            Signatures::Required(_) => match proof.covered(&card) {
                Some(covered) => Ok((covered, Some(proof))),
                None => Err(ConnectError::Unverified(proof)),
            },
            Signatures::Ignored | Signatures::Reported(_) => Ok((card, Some(proof))),
        }
    }

    fn wire(&self) -> Result<Wire, ConnectError> {
        let mut extra_roots = self.roots.clone();
        if self.system_roots {
            extra_roots.extend(rustls_native_certs::load_native_certs().certs);
        }
        let settings = ConnectorSettings { timeout: self.connect, extra_roots, identity: None, net: self.net.clone() };
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let bad = || ConnectError::BadHeader(name.clone());
            let parsed = HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
            headers.append(parsed, HeaderValue::from_str(value).map_err(|_| bad())?);
        }
        let extensions = match self.extensions.join(", ") {
            none if none.is_empty() => None,
            uris => Some(HeaderValue::from_str(&uris).map_err(|_| ConnectError::BadHeader(uris.clone()))?),
        };
        let connections = Connections::new(settings, self.reach)?;
        Ok(Wire { connections, auth: self.auth.clone(), headers, extensions, limits: self.limits })
    }
}

fn unverified(proof: &Proof) -> String {
    if proof.verdicts.is_empty() {
        return "the card carries no signature, and one is required".to_owned();
    }
    let each = proof.verdicts.iter().map(|verdict| {
        let kid = verdict.kid.as_deref().unwrap_or("unknown key");
        match &verdict.outcome {
            Ok(view) => format!("{kid:?} holds for {view}"),
            Err(refusal) => format!("{kid:?} {refusal}"),
        }
    });
    let each: Vec<String> = each.collect();
    format!(
        "no signature of the card holds: {}; ask its owner for the right keys, or for a fresh card",
        each.join("; ")
    )
}
