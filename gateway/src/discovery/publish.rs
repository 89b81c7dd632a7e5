//! A card's document → the signed union card behind the gateway, and the addresses that it names.
//!
//! Takes documents and signers, gives trees. URLs come from configured public URLs alone. Never reads a request.

use a2a::Version;
use a2a::rewrite::{self, Binding, Gateway, GrpcAddress, Relays, Scheme, SchemeKind};
use a2a::sign::{self, SignError, View, views};
use json::{Json, Object};

use crate::config::PublicUrl;
use crate::oauth;
use crate::pipeline::authenticate::gateway_token::SCOPE;
use crate::registry::{CardMembers, TenantWorld};

/// Why a card can't be published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The document lacks something.
    #[error("the card's document can't be published ({} problem(s))", .0.len())]
    Document(Vec<rewrite::Problem>),
    /// The tenant has no active signing key.
    #[error("the tenant has no active key that signs cards")]
    NoSigner,
    /// The signature could not be made.
    #[error("the card can't be signed")]
    Sign(#[from] SignError),
}

/// The one address of a card at the gateway.
#[must_use]
pub fn card_url(public_url: &str, tenant: &str, card: &str) -> String {
    format!("{public_url}/a2a/{tenant}/{card}")
}

/// The address of a tenant's key set.
#[must_use]
pub fn key_set_url(public_url: &str, tenant: &str) -> String {
    format!("{public_url}/.well-known/a2a-jwks/{tenant}")
}

/// What every card promises: the bindings that are served, and how to authenticate (`security`). Push notifications are not
/// relayed yet, so no card offers them.
#[must_use]
pub fn gateway(card_url: &str, grpc: Option<GrpcAddress>, security: Vec<Scheme>) -> Gateway {
    Gateway {
        url: card_url.to_owned(),
        interfaces: vec![
            (Binding::JsonRpc, Version::V10),
            (Binding::HttpJson, Version::V10),
            (Binding::JsonRpc, Version::V03),
            (Binding::HttpJson, Version::V03),
        ],
        grpc,
        security,
        relays: Relays { streaming: true, push_notifications: false, extended_card: true },
    }
}

/// The ways to prove oneself that the tenant really takes, each an alternative to the others.
#[must_use]
pub fn security(public_url: &str, world: Option<&TenantWorld>) -> Vec<Scheme> {
    let scheme = |name: &str, kind| Scheme { name: name.to_owned(), scope: SCOPE.to_owned(), kind };
    let mut schemes = vec![
        scheme("bearer", SchemeKind::Bearer { format: None }),
        scheme("apiKey", SchemeKind::ApiKey { header: "X-API-Key".into() }),
        scheme("oauth2", SchemeKind::ClientCredentials { token_url: format!("{public_url}{}", oauth::PATH) }),
    ];
    let issuers = world.iter().flat_map(|world| &world.issuers);
    let mut urls: Vec<String> = issuers
        .filter(|issuer| issuer.jwks_uri.is_none())
        .map(|issuer| format!("{}/.well-known/openid-configuration", issuer.iss.trim_end_matches('/')))
        .collect();
    urls.sort_unstable();
    urls.dedup();
    for (at, url) in urls.into_iter().enumerate() {
        let name = if at == 0 { "openId".to_owned() } else { format!("openId{}", at + 1) };
        schemes.push(scheme(&name, SchemeKind::OpenIdConnect { url }));
    }
    if world.is_some_and(|world| !world.certificates.is_empty()) {
        schemes.push(scheme("mutualTls", SchemeKind::MutualTls));
    }
    schemes
}

/// `document` as the gateway publishes it, with these members, signed with every active key of the tenant. `which` is the
/// place of `public_url` among the configured ones.
///
/// # Errors
/// [`PublishError`]
pub fn signed(
    document: &Object,
    world: &TenantWorld,
    (card, members): (&str, CardMembers),
    (which, public_url): (usize, &PublicUrl),
) -> Result<Object, PublishError> {
    let url = card_url(public_url.as_str(), &world.name, card);
    let grpc = public_url.grpc_authority().map(|authority| GrpcAddress { authority, tenant: card.to_owned() });
    let security = security(public_url.as_str(), Some(world));
    let published = rewrite::publish(document, &gateway(&url, grpc, security)).map_err(PublishError::Document)?;
    let published = match members {
        CardMembers::Union => published,
        CardMembers::V10 => views::project(&published, View::V1),
    };
    let mut signed: Option<Object> = None;
    for key in world.signers.iter().filter_map(|signer| signer.signing.get(which)) {
        let by_this = sign::sign(&published, key)?;
        match &mut signed {
            None => signed = Some(by_this),
            Some(signed) => append_signatures(signed, &by_this),
        }
    }
    signed.ok_or(PublishError::NoSigner)
}

fn append_signatures(signed: &mut Object, other: &Object) {
    if let (Some(Json::Array(all)), Some(Json::Array(more))) = (signed.get_mut("signatures"), other.get("signatures")) {
        all.extend(more.iter().cloned());
    }
}
