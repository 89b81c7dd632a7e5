//! Lists of public cards: a tenant's directory, and the gateway's API catalogue (RFC 9727).
//!
//! Both name public cards alone, whoever asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use json::{Json, Object};

use super::served::{Keep, Served};
use super::{CARD_MAX_AGE, NOTHING, NotServed, Reading, publish};
use crate::registry::{Card, TenantWorld, Visibility};

impl Reading<'_> {
    /// `GET /a2a/{tenant}?after=name`
    pub(super) async fn directory(&self, tenant: &str) -> Result<Response<Bytes>, NotServed> {
        let world = self.world.tenants.get(tenant).ok_or(NotServed::Missing(NOTHING))?;
        let after = self.parts.uri.query().and_then(|query| query.strip_prefix("after=")).unwrap_or_default();
        let page: Vec<Arc<Card>> = public_cards(world)
            .into_iter()
            .filter(|(name, _)| *name > after)
            .map(|(_, card)| card)
            .take(PAGE + 1)
            .collect();
        let mut entries = Vec::with_capacity(page.len());
        for card in page.iter().take(PAGE) {
            // One card that can't be published does not hide the others.
            match self.built(world, card).await {
                Ok(built) => entries.push(self.entry(world, card, &built.skill_tags)),
                Err(NotServed::Missing(_)) => {}
                Err(error @ NotServed::Unpublishable(_)) => tracing::error!(%error, "a card is missing in a directory"),
                Err(error @ NotServed::Unavailable(_)) => return Err(error),
            }
        }
        let mut directory = Object::new();
        directory.insert("tenant", world.name.as_str());
        directory.insert("jwks", publish::key_set_url(self.public_url.1.as_str(), &world.name));
        directory.insert("cards", Json::Array(entries));
        if let (true, Some(last)) = (page.len() > PAGE, page.get(PAGE - 1)) {
            directory.insert("next", format!("{}/a2a/{}?after={}", self.public_url.1.as_str(), world.name, last.name));
        }
        let body = json::write(&Json::Object(directory));
        let keep = Keep::Public(CARD_MAX_AGE);
        Ok(Served::new(body).answer("application/json", keep, &self.parts.method, &self.parts.headers))
    }

    fn entry(&self, world: &TenantWorld, card: &Card, skill_tags: &[String]) -> Json {
        let url = publish::card_url(self.public_url.1.as_str(), &world.name, &card.name);
        let mut entry = Object::new();
        entry.insert("name", card.name.as_str());
        entry.insert("card", format!("{url}/.well-known/agent-card.json"));
        entry.insert("url", url);
        entry.insert("tags", Json::Array(skill_tags.iter().map(|tag| Json::String(tag.clone())).collect()));
        Json::Object(entry)
    }

    /// `GET /.well-known/api-catalog`
    pub(super) fn catalog(&self) -> Result<Response<Bytes>, NotServed> {
        let tenants: BTreeMap<&String, &Arc<TenantWorld>> = self.world.tenants.iter().collect();
        let cards = tenants.values().flat_map(|world| public_cards(world).into_values());
        let links: Vec<Json> = cards.take(CATALOG).map(|card| self.link(&card)).collect();
        let mut catalog = Object::new();
        catalog.insert("linkset", Json::Array(links));
        let body = json::write(&Json::Object(catalog));
        let keep = Keep::Public(CARD_MAX_AGE);
        let mut response = Served::new(body).answer(LINKSET, keep, &self.parts.method, &self.parts.headers);
        let itself = format!("<{}/.well-known/api-catalog>; rel=\"api-catalog\"", self.public_url.1.as_str());
        if let Ok(link) = HeaderValue::try_from(itself) {
            response.headers_mut().insert(header::LINK, link);
        }
        Ok(response)
    }

    fn link(&self, card: &Card) -> Json {
        let url = publish::card_url(self.public_url.1.as_str(), &card.tenant, &card.name);
        let mut description = Object::new();
        description.insert("href", format!("{url}/.well-known/agent-card.json"));
        description.insert("type", "application/json");
        let mut link = Object::new();
        link.insert("anchor", url);
        link.insert("service-desc", Json::Array(vec![Json::Object(description)]));
        Json::Object(link)
    }
}

fn public_cards(world: &TenantWorld) -> BTreeMap<&str, Arc<Card>> {
    let public = world.cards.values().filter(|card| card.visibility == Visibility::Public);
    public.map(|card| (card.name.as_str(), Arc::clone(card))).collect()
}

const PAGE: usize = 100;
const CATALOG: usize = 10_000;
const LINKSET: &str = "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";
