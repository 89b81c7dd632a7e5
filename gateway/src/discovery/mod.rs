//! The public surface: signed cards, key sets, directories.
//!
//! Takes a GET or HEAD whose path [`route`] knows, gives the document, `304` or `404`. Cards are built and signed once
//! per version, signer set and public URL, and kept in a bounded cache over the store. A name that the snapshot does
//! not know never touches the store. `Host` and `Forwarded` only select among the configured public URLs. A card that
//! is not public looks missing to whoever may not read it. Credentials are judged as on calls wherever nothing is
//! served, be it hidden or not there, so that the judgement does not tell the two apart.

pub mod cors;
mod listing;
pub mod publish;
pub mod route;
pub mod served;

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use json::{Json, Object};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use store::TenantId;

pub use route::{Asked, is_well_known, route};

use self::served::{Keep, Served};
use crate::app::App;
use crate::config::PublicUrl;
use crate::listener::{Caller, dispatch, forwarded};
use crate::pipeline::authenticate::{self, AuthenticateError, Identity};
use crate::pipeline::authorize;
use crate::pipeline::encode::whole_seconds;
use crate::pipeline::head::Head;
use crate::registry::{Card, Snapshot, TenantWorld, Visibility};
use crate::reject::Reject;

/// Cards that were built and signed.
#[derive(Debug)]
pub struct Discovery {
    cards: Cache<Key, Built, Weight>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    card: String,
    revision: i64,
    signers: [u8; 32],
    public_url: usize,
}

/// Both forms of a card, and what listings need of it.
#[derive(Clone, Debug)]
struct Built {
    bare: Served,
    wrapper: Served,
    skill_tags: Arc<[String]>,
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Key, Built> for Weight {
    fn weight(&self, _: &Key, built: &Built) -> u64 {
        built.bare.weight() + built.wrapper.weight() + 256
    }
}

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
enum NotServed {
    /// No such document, or not for this reader.
    #[error("not found")]
    Missing(&'static str),
    /// The card can't be published; the administrator must act.
    #[error("the card can't be published")]
    Unpublishable(#[source] publish::PublishError),
    /// The store can't be read now.
    #[error("the store is unavailable")]
    Unavailable(#[source] store::Error),
}

impl Discovery {
    /// A cache of at most this many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let capacity = u64::try_from(bytes).unwrap_or(u64::MAX);
        Self { cards: Cache::with_weighter(bytes / TYPICAL_CARD_BYTES, capacity, Weight) }
    }
}

/// One request while it is answered.
struct Reading<'a> {
    app: &'a App,
    parts: &'a Parts,
    head: Head,
    world: Arc<Snapshot>,
    public_url: (usize, &'a PublicUrl),
}

/// Answers one request.
pub async fn answer(app: &App, caller: &Caller, parts: &Parts, asked: Asked) -> Response<Bytes> {
    let Some((which, url)) = forwarded::public_url(caller.peer, parts, &app.settings.public) else {
        return missing(NOTHING);
    };
    let head = Head::read(parts, app.clock.now());
    let reading = Reading { app, parts, head, world: app.registry.snapshot(), public_url: (which, url) };
    let answer = match &asked {
        Asked::Card { tenant, card } => reading.card(tenant, card, Form::Bare).await,
        Asked::Wrapper { tenant, card } => reading.card(tenant, card, Form::Wrapper).await,
        Asked::KeySet { tenant } => reading.key_set(tenant),
        Asked::TokenKeySet { tenant } => reading.token_key_set(tenant),
        Asked::Directory { tenant } => reading.directory(tenant).await,
        Asked::TenantDefault { tenant } => reading.tenant_default(tenant).await,
        Asked::Default => reading.default().await,
        Asked::Catalog => reading.catalog(),
    };
    answer.unwrap_or_else(|error| match error {
        NotServed::Missing(why) => match reading.judged(asked.tenant(), caller) {
            Ok(()) => missing(why),
            Err(reject) => refused(&reject),
        },
        NotServed::Unpublishable(error) => {
            tracing::error!(%error, "a card can't be published");
            let text = "this card can't be published at present; its administrator has been told";
            dispatch::document(StatusCode::INTERNAL_SERVER_ERROR, "unpublishable", text).map(Bytes::from)
        }
        NotServed::Unavailable(error) => {
            tracing::warn!(%error, "a card could not be read");
            let text = "the registry can't be read now";
            let mut response =
                dispatch::document(StatusCode::SERVICE_UNAVAILABLE, "unavailable", text).map(Bytes::from);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Bare,
    Wrapper,
}

impl Reading<'_> {
    async fn card(&self, tenant: &str, card: &str, form: Form) -> Result<Response<Bytes>, NotServed> {
        let world = self.world.tenants.get(tenant).ok_or(NotServed::Missing(NOTHING))?;
        let card = world.cards.get(card).ok_or(NotServed::Missing(NOTHING))?;
        if !self.may_read(card) {
            return Err(NotServed::Missing(NOTHING));
        }
        let built = self.built(world, card).await?;
        let served = match form {
            Form::Bare => &built.bare,
            Form::Wrapper => &built.wrapper,
        };
        let keep = match card.visibility {
            Visibility::Public => Keep::Public(CARD_MAX_AGE),
            Visibility::Tenant | Visibility::Hidden => Keep::Nobody,
        };
        Ok(served.answer("application/json", keep, &self.parts.method, &self.parts.headers))
    }

    fn key_set(&self, tenant: &str) -> Result<Response<Bytes>, NotServed> {
        let world = self.world.tenants.get(tenant).ok_or(NotServed::Missing(NOTHING))?;
        let keys: Vec<_> = world.signers.iter().map(|signer| signer.public.clone()).collect();
        Ok(self.keys(&keys))
    }

    /// The keys of the gateway's own tokens; never those of cards.
    fn token_key_set(&self, tenant: &str) -> Result<Response<Bytes>, NotServed> {
        let world = self.world.tenants.get(tenant).ok_or(NotServed::Missing(NOTHING))?;
        let keys: Vec<_> = world.tokens.keys.iter().map(|key| key.public.clone()).collect();
        Ok(self.keys(&keys))
    }

    fn keys(&self, keys: &[a2a::sign::PublicKey]) -> Response<Bytes> {
        let body = json::write(&Json::Object(a2a::sign::jwks::key_set(keys)));
        let keep = Keep::Public(KEY_SET_MAX_AGE);
        Served::new(body).answer("application/json", keep, &self.parts.method, &self.parts.headers)
    }

    async fn tenant_default(&self, tenant: &str) -> Result<Response<Bytes>, NotServed> {
        let world = self.world.tenants.get(tenant).ok_or(NotServed::Missing(TRAILING_SLASH))?;
        let card = world.default_card.as_ref().ok_or(NotServed::Missing(TRAILING_SLASH))?;
        self.card(tenant, card, Form::Bare).await.map_err(|error| match error {
            NotServed::Missing(_) => NotServed::Missing(TRAILING_SLASH),
            NotServed::Unpublishable(_) | NotServed::Unavailable(_) => error,
        })
    }

    async fn default(&self) -> Result<Response<Bytes>, NotServed> {
        let card = self.app.settings.public.default_card.as_ref().ok_or(NotServed::Missing(NO_DEFAULT))?;
        self.card(&card.tenant, &card.card, Form::Bare).await
    }

    /// Public cards are for everybody; the others for principals of the tenant, hidden ones only with a grant.
    fn may_read(&self, card: &Card) -> bool {
        match card.visibility {
            Visibility::Public => true,
            Visibility::Tenant => self.reader(card).is_some(),
            Visibility::Hidden => self.reader(card).is_some_and(|reader| is_granted(&reader, card, &self.world)),
        }
    }

    /// Who asks, if it is somebody of the card's tenant.
    fn reader(&self, card: &Card) -> Option<Identity> {
        self.head.check().ok()?;
        let identity = self.identify(&card.tenant).ok()?;
        (identity.principal().tenant == card.tenant).then_some(identity)
    }

    fn identify(&self, tenant: &str) -> Result<Identity, AuthenticateError> {
        authenticate::identify(&self.head, tenant, &self.world, self.app.clock.now())
    }

    /// What is to be said of the head and the credentials of a request that gets nothing. One that proves nobody
    /// counts against its source; below its limit it gets the same as no credential.
    fn judged(&self, tenant: &str, caller: &Caller) -> Result<(), Reject> {
        self.head.check()?;
        let Err(error) = self.identify(tenant) else { return Ok(()) };
        match self.app.calls.throttle.judge(error, caller.source.ip(), self.app.clock.now()) {
            error @ (AuthenticateError::Throttled { .. } | AuthenticateError::TwoCredentials) => {
                Err(Reject::Authenticate { error })
            }
            AuthenticateError::BadCredential | AuthenticateError::MissingCredential => Ok(()),
        }
    }

    /// From the cache, else built once however many ask at the same time.
    async fn built(&self, world: &TenantWorld, card: &Card) -> Result<Built, NotServed> {
        let key = Key {
            card: card.id.clone(),
            revision: card.revision,
            signers: signer_set(world),
            public_url: self.public_url.0,
        };
        self.app.discovery.cards.get_or_insert_async(&key, self.build(world, card)).await
    }

    async fn build(&self, world: &TenantWorld, card: &Card) -> Result<Built, NotServed> {
        let tenant = TenantId::new(&world.name).ok_or(NotServed::Missing(NOTHING))?;
        let row = self.app.store.card_by_id(&tenant, &card.id).await.map_err(NotServed::Unavailable)?;
        let row = row.ok_or(NotServed::Missing(NOTHING))?;
        let document = crate::registry::settings::read_card(&row.document).unwrap_or_default();
        let signed = publish::signed(&document, world, (&card.name, card.card_members), self.public_url)
            .map_err(NotServed::Unpublishable)?;
        self.app.metrics.cards_signed.inc();
        let skill_tags = skill_tags(&signed);
        let mut wrapper = Object::new();
        wrapper.insert("id", row.id.as_str());
        wrapper.insert("tenant_id", world.name.as_str());
        wrapper.insert("name", row.name.as_str());
        wrapper.insert("version", signed.str("version").unwrap_or_default());
        wrapper.insert("trust_tier", row.trust_tier.as_str());
        wrapper.insert("a2a_version", a2a::Version::V10.name());
        let bare = Served::new(json::write(&Json::Object(signed.clone())));
        wrapper.insert("card", Json::Object(signed));
        Ok(Built { bare, wrapper: Served::new(json::write(&Json::Object(wrapper))), skill_tags })
    }
}

fn is_granted(reader: &Identity, card: &Card, world: &Snapshot) -> bool {
    let tenant = world.tenants.get(&card.tenant);
    tenant.is_some_and(|tenant| authorize::judge(reader.principal(), reader.groups(), tenant, card).sees())
}

/// Who signs a card, and which ways to prove oneself it tells.
fn signer_set(world: &TenantWorld) -> [u8; 32] {
    let mut hash = Sha256::new();
    for issuer in world.issuers.iter().filter(|issuer| issuer.jwks_uri.is_none()) {
        hash.update(issuer.iss.as_bytes());
        hash.update([0]);
    }
    hash.update([u8::from(world.certificates.is_empty())]);
    for signer in world.signers.iter().filter(|signer| !signer.signing.is_empty()) {
        hash.update(signer.public.kid().as_bytes());
        hash.update([0]);
        hash.update(signer.public.as_bytes());
    }
    hash.finalize().into()
}

fn skill_tags(card: &Object) -> Arc<[String]> {
    let skills = card.get("skills").and_then(Json::as_array).unwrap_or_default();
    let tags = skills.iter().filter_map(|skill| skill.get("tags")?.as_array()).flatten();
    let mut tags: Vec<String> = tags.filter_map(|tag| tag.as_str().map(str::to_owned)).collect();
    tags.sort_unstable();
    tags.dedup();
    tags.into()
}

fn refused(reject: &Reject) -> Response<Bytes> {
    let fault = reject.fault();
    let status = StatusCode::from_u16(fault.kind.http_status()).unwrap_or(StatusCode::BAD_REQUEST);
    let mut response = dispatch::document(status, reject.name(), &fault.message).map(Bytes::from);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let wait = reject.retry_after().map(|wait| HeaderValue::from(whole_seconds(wait)));
    headers.extend(wait.map(|wait| (header::RETRY_AFTER, wait)));
    response
}

fn missing(why: &'static str) -> Response<Bytes> {
    let mut response = dispatch::document(StatusCode::NOT_FOUND, "not_found", why).map(Bytes::from);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// How long a card may be kept by others, in seconds.
const CARD_MAX_AGE: u32 = 60;
/// How long a key set may be kept; retired keys stay in it for longer than any card is kept.
const KEY_SET_MAX_AGE: u32 = 300;
const TYPICAL_CARD_BYTES: usize = 8 * 1024;
const NOTHING: &str = "there is no agent card at this address";
const NO_DEFAULT: &str = "no default card is configured (public.default_card); a card's own address is \
                          /a2a/{tenant}/{card}/.well-known/agent-card.json";
const TRAILING_SLASH: &str = "this tenant has no default card. A client that was given /a2a/{tenant}/{card} as its \
                              base without a trailing slash asks here by mistake: give it /a2a/{tenant}/{card}/ or \
                              the card's full address /a2a/{tenant}/{card}/.well-known/agent-card.json";
