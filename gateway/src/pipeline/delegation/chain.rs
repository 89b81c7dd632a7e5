//! One chain: the text that is signed, its proof, and what may follow from it. Pure functions.
//!
//! The signed text is twelve fields, one a line, none empty: `v2`, key id, tenant, root, parent, depth, actor, subject,
//! chain, audience, seconds of issue, credentials. The audience is the principal of the agent that was called: it alone may
//! present the chain, so that a stolen one is worth nothing. The credentials are the ids of what proved the caller of each
//! hop, so that a chain ends with any of them. In `v1`, which still proves, there are none.

use super::headers::Written;
use super::key::{Key, Keys};
use crate::clock::Micros;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// How long a chain holds, in seconds.
const LIFETIME: i64 = 660;
/// How far clocks may be apart, in seconds.
pub(super) const LEEWAY: i64 = 60;
/// The most hops of any chain.
const MOST_HOPS: u32 = 8;
const VERSION: &str = "v2";
/// Of chains that do not say what proved their callers.
const WITHOUT_CREDENTIALS: &str = "v1";
/// Between credentials; in none of their ids.
const AND: &str = "+";
/// Where a credential would stand that is not known.
const UNKNOWN: &str = "-";
/// What stands before a principal that called an agent.
const ACTOR: &str = "agent:";

/// Why a chain does not hold. For the record alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadChain {
    /// It was given to another principal.
    #[error("it was given to another principal")]
    Audience,
    /// As many delegations as the grant allows, or more.
    #[error("it is too deep")]
    Depth,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
    /// A field is empty, or has a character that cannot be in one.
    #[error("a field cannot be read")]
    Field,
    /// It was issued later than now.
    #[error("it was issued in the future")]
    Future,
    /// A principal or a card in it is no longer there.
    #[error("a principal or a card in it is gone")]
    Gone,
    /// Its hops contradict its other fields.
    #[error("its hops do not fit its other fields")]
    Hops,
    /// Its key is unknown, or not one of today's and yesterday's.
    #[error("its key is not known")]
    Key,
    /// The card that is called is in it already.
    #[error("it leads back to a card in it")]
    Loop,
    /// Its proof is not that of its fields.
    #[error("its proof is wrong")]
    Mac,
    /// What proved one of its callers was revoked.
    #[error("a credential in it was revoked")]
    Revoked,
    /// A principal in it may not do this itself.
    #[error("a principal in it has no permit")]
    NotPermitted,
    /// Its proof cannot be read.
    #[error("its proof cannot be read")]
    Signature,
}

impl BadChain {
    /// One word for the record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Audience => "audience",
            Self::Depth => "depth",
            Self::Expired => "expired",
            Self::Field => "field",
            Self::Future => "future",
            Self::Gone => "gone",
            Self::Hops => "hops",
            Self::Key => "key",
            Self::Loop => "loop",
            Self::Mac => "mac",
            Self::NotPermitted => "not_permitted",
            Self::Revoked => "revoked",
            Self::Signature => "signature",
        }
    }
}

/// A proven chain. Only [`verify`] makes one of what a caller sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    root: String,
    parent: String,
    actor: String,
    subject: String,
    hops: Vec<Hop>,
}

/// One call of a chain: who called which card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// `prn-…`
    pub principal: String,
    /// The card's name.
    pub card: String,
    /// What proved the principal: `key-…`, `iss-…`. None where the chain does not say.
    pub credential: Option<String>,
}

/// The ids of a call that is forwarded.
#[derive(Clone, Copy, Debug)]
pub struct Ids<'a> {
    /// What a chain that begins with it is known by: one that no caller has chosen, else two trees could be made to
    /// look like one.
    pub root: &'a str,
    /// Its correlation id.
    pub call: &'a str,
}

/// The fields that are signed.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// The key's id.
    pub key: &'a str,
    /// The tenant.
    pub tenant: &'a str,
    /// The headers.
    pub written: &'a Written,
    /// Who may present it.
    pub audience: &'a str,
    /// Seconds since 1970.
    pub issued_at: &'a str,
    /// What proved each caller; `None` in chains of `v1`.
    pub credentials: Option<&'a str>,
}

impl Signed<'_> {
    /// The text; `None` where a field is empty or has a character that could be mistaken for the end of one.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let Written { root, parent, depth, actor, subject, chain, .. } = self.written;
        let subject = subject.as_ref().unwrap_or(actor);
        let version = if self.credentials.is_some() { VERSION } else { WITHOUT_CREDENTIALS };
        let mut fields = vec![
            version,
            self.key,
            self.tenant,
            root,
            parent,
            depth,
            actor,
            subject,
            chain,
            self.audience,
            self.issued_at,
        ];
        fields.extend(self.credentials);
        let sound = |field: &&str| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_graphic());
        fields.iter().all(sound).then(|| fields.join("\n"))
    }
}

/// The parts of the `sig` header.
struct Sig<'a> {
    key: &'a str,
    issued_at: &'a str,
    audience: &'a str,
    credentials: Option<&'a str>,
    mac: Vec<u8>,
}

impl<'a> Sig<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.split('.');
        let (version, key, issued_at) = (parts.next()?, parts.next()?, parts.next()?);
        let audience = parts.next()?;
        let credentials = match version {
            VERSION => Some(parts.next()?),
            WITHOUT_CREDENTIALS => None,
            _ => return None,
        };
        let mac = URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
        parts.next().is_none().then_some(Self { key, issued_at, audience, credentials, mac })
    }
}

/// Proves a chain that `presenter` of `tenant` sent.
///
/// # Errors
/// [`BadChain`]
pub fn verify(
    written: &Written,
    (tenant, presenter): (&str, &str),
    keys: &Keys,
    now: Micros,
) -> Result<Chain, BadChain> {
    let sig = Sig::read(&written.sig).ok_or(BadChain::Signature)?;
    let Sig { key, issued_at, audience, credentials, .. } = sig;
    let signed = Signed { key, tenant, written, audience, issued_at, credentials };
    let text = signed.text().ok_or(BadChain::Field)?;
    let key = keys.named(sig.key, tenant, now).ok_or(BadChain::Key)?;
    if !key.proves(&text, &sig.mac) {
        return Err(BadChain::Mac);
    }
    // From here on every field is as we wrote it.
    if sig.audience != presenter {
        return Err(BadChain::Audience);
    }
    check_time(sig.issued_at, now)?;
    Chain::read(written, sig.credentials)
}

fn check_time(issued_at: &str, now: Micros) -> Result<(), BadChain> {
    let issued: i64 = issued_at.parse().map_err(|_| BadChain::Field)?;
    let age = now.div_euclid(1_000_000).saturating_sub(issued);
    if age < -LEEWAY {
        return Err(BadChain::Future);
    }
    if age > LIFETIME + LEEWAY { Err(BadChain::Expired) } else { Ok(()) }
}

impl Chain {
    /// What proven headers say.
    fn read(written: &Written, credentials: Option<&str>) -> Result<Self, BadChain> {
        let texts: Vec<&str> = written.chain.split(',').collect();
        let credentials = match credentials {
            Some(text) => text.split(AND).map(|id| (id != UNKNOWN).then(|| id.to_owned())).collect(),
            None => vec![None; texts.len()],
        };
        let hop = |(text, credential): (&str, Option<String>)| {
            let (principal, card) = text.split_once('>')?;
            Some(Hop { principal: principal.to_owned(), card: card.to_owned(), credential })
        };
        let one_each = credentials.len() == texts.len();
        let hops: Option<Vec<Hop>> = texts.into_iter().zip(credentials).map(hop).collect();
        let hops = hops
            .filter(|_| one_each)
            .filter(|hops| (1..=MOST_HOPS as usize).contains(&hops.len()))
            .ok_or(BadChain::Hops)?;
        let subject = written.subject.as_ref().unwrap_or(&written.actor);
        let is = |hop: Option<&Hop>, who: &str| {
            hop.is_some_and(|hop| who.strip_prefix(ACTOR) == Some(&hop.principal) && !hop.card.is_empty())
        };
        let fits =
            written.depth == hops.len().to_string() && is(hops.last(), &written.actor) && is(hops.first(), subject);
        if !fits {
            return Err(BadChain::Hops);
        }
        let Written { root, parent, actor, .. } = written.clone();
        Ok(Self { root, parent, actor, subject: subject.clone(), hops })
    }

    /// The chain of a call that is forwarded over `hop` under `ids`. Without one before it, it begins here.
    #[must_use]
    pub fn next(before: Option<&Self>, hop: Hop, ids: Ids<'_>) -> Self {
        let actor = format!("{ACTOR}{}", hop.principal);
        let mut next = before.cloned().unwrap_or_else(|| Self {
            root: ids.root.to_owned(),
            parent: String::new(),
            actor: String::new(),
            subject: actor.clone(),
            hops: Vec::new(),
        });
        ids.call.clone_into(&mut next.parent);
        next.actor = actor;
        next.hops.push(hop);
        next
    }

    /// Its headers, for `audience` alone; `None` where a name in it cannot be signed.
    #[must_use]
    pub fn written(&self, tenant: &str, audience: &str, key: &Key, now: Micros) -> Option<Written> {
        let issued_at = now.div_euclid(1_000_000).to_string();
        let mut written = Written {
            root: self.root.clone(),
            parent: self.parent.clone(),
            depth: self.depth().to_string(),
            actor: self.actor.clone(),
            subject: Some(self.subject.clone()),
            chain: self.text(),
            sig: String::new(),
        };
        let credentials: Vec<&str> = self.hops.iter().map(|hop| hop.credential.as_deref().unwrap_or(UNKNOWN)).collect();
        let credentials = credentials.join(AND);
        let (issued, known) = (issued_at.as_str(), Some(credentials.as_str()));
        let signed =
            Signed { key: key.id(), tenant, written: &written, audience, issued_at: issued, credentials: known };
        let mac = URL_SAFE_NO_PAD.encode(key.sign(&signed.text()?));
        written.sig = format!("{VERSION}.{}.{issued_at}.{audience}.{credentials}.{mac}", key.id());
        Some(written)
    }

    /// Refuses a call of a card that is in it already.
    ///
    /// # Errors
    /// [`BadChain::Loop`]
    pub fn check_loop(&self, card: &str) -> Result<(), BadChain> {
        if self.hops.iter().any(|hop| hop.card == card) { Err(BadChain::Loop) } else { Ok(()) }
    }

    /// Refuses one more delegation beyond `most`, or beyond what any chain may have.
    ///
    /// # Errors
    /// [`BadChain::Depth`]
    pub fn check_depth(&self, most: u32) -> Result<(), BadChain> {
        if self.depth() < most.min(MOST_HOPS) { Ok(()) } else { Err(BadChain::Depth) }
    }

    /// The id of the first call.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The id of the call that caused this one.
    #[must_use]
    pub fn parent(&self) -> &str {
        &self.parent
    }

    /// How many delegations there were.
    #[must_use]
    pub fn depth(&self) -> u32 {
        u32::try_from(self.hops.len()).unwrap_or(u32::MAX)
    }

    /// Who made the call that caused this one.
    #[must_use]
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// Whom it is all for.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The calls so far, the first one first.
    #[must_use]
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// The calls so far as the header has them.
    #[must_use]
    pub fn text(&self) -> String {
        let hops: Vec<String> = self.hops.iter().map(|hop| format!("{}>{}", hop.principal, hop.card)).collect();
        hops.join(",")
    }
}
