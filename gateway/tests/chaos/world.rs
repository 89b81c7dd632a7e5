//! A store with one tenant, one caller and the cards that a test or a measurement calls.
//!
//! Takes an opened store and the agents' addresses; writes the rows that an administrator would write and gives the
//! caller's key. Used by the kill rounds and by the load comparison. Never starts anything.

use anyhow::Context as _;
use chancery::registry::mint;
use store::{
    CardState, NewCard, NewGrant, NewKey, NewPolicy, NewPrincipal, PrincipalKind, Store, TenantFields, TenantId,
    TenantState, TrustTier,
};

/// The tenant.
pub(crate) const TENANT: &str = "acme";

/// A master key for a store that is thrown away.
pub(crate) const MASTER_KEY: &str = "9f8e7d6c5b4a39281706f5e4d3c2b1a0112233445566778899aabbccddeeff01";

/// A card to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CardOf<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The agent's URL.
    pub(crate) agent: &'a str,
    /// `JSONRPC` or `HTTP+JSON`, v1.0.
    pub(crate) binding: &'a str,
}

/// Words and patterns on both surfaces: what a tenant would have as a start.
pub(crate) const POLICY: &str = r#"{"surfaces":["a2a_inbound","a2a_outbound"],"detectors":[
    {"id":"words","name":"code-names","words":["Blue Heron","Project Cassowary","Night Kestrel"],"whole_word":true,"action":"block"},
    {"id":"pattern","name":"injection","pattern":"(?i)ignore\\s{1,8}all\\s{1,8}previous\\s{1,8}instructions","max_length":200,"action":"block"},
    {"id":"pattern","name":"aws-key","pattern":"AKIA[0-9A-Z]{16}","max_length":20,"action":"redact"},
    {"id":"pattern","name":"github-token","pattern":"gh[pousr]_[A-Za-z0-9]{36}","max_length":44,"action":"redact"}]}"#;

/// A policy that does not compile closes every card, which is a poor way to hear of it.
fn check_policy() -> anyhow::Result<()> {
    let document = json::read(POLICY.as_bytes(), &json::Limits::default())?;
    let options = guard::Options { key: b"", policy: "start", version: 1 };
    match guard::Pipeline::compile(&document, &options) {
        Ok(_) => Ok(()),
        Err(error) => anyhow::bail!("{:?}", error.problems),
    }
}

/// Fills `store`, which must be migrated and empty; gives the key of a caller that may do everything.
pub(crate) async fn furnish(store: &Store, cards: &[CardOf<'_>], now: i64) -> anyhow::Result<String> {
    check_policy()?;
    let tenant = TenantId::new(TENANT).context("the tenant's name is legal")?;
    let fields = TenantFields {
        display_name: "Acme".to_owned(),
        state: TenantState::Active,
        default_card: None,
        default_policy: Some("start".to_owned()),
        floor_policy: None,
        settings: b"{}".to_vec(),
    };
    store.create_tenant(&tenant, &fields, now).await?;
    let policy = NewPolicy {
        id: mint::id("pol-", now)?,
        name: "start".to_owned(),
        document: POLICY.as_bytes().to_vec(),
        changed_by: "test".to_owned(),
        note: String::new(),
    };
    store.create_policy(&tenant, &policy, now).await?;
    for card in cards {
        store.create_card(&tenant, &card.row(now)?, now).await?;
    }
    caller(store, &tenant, now).await
}

/// The caller, its grant and its key.
async fn caller(store: &Store, tenant: &TenantId, now: i64) -> anyhow::Result<String> {
    let principal =
        NewPrincipal { id: mint::id("prn-", now)?, name: "caller".to_owned(), kind: PrincipalKind::Service };
    store.create_principal(tenant, &principal, now).await?;
    let grant = NewGrant {
        id: mint::id("grt-", now)?,
        name: "all".to_owned(),
        principal_id: principal.id.clone(),
        document: br#"{"cards":["*"],"operations":["*"]}"#.to_vec(),
    };
    store.create_grant(tenant, &grant, now).await?;
    let key = mint::api_key("sk_brutor_api_")?;
    let row = NewKey {
        id: mint::id("key-", now)?,
        principal_id: principal.id,
        label: String::new(),
        hash: key.hash.to_vec(),
        hint: key.hint.clone(),
        expires: None,
    };
    store.create_key(tenant, &row, now).await?;
    Ok(key.text.to_string())
}

impl CardOf<'_> {
    fn row(&self, now: i64) -> anyhow::Result<NewCard> {
        let Self { name, agent, binding } = self;
        let document = serde_json::json!({
            "name": name, "description": "An agent of a test.", "version": "1.0.0",
            "supportedInterfaces": [{"url": agent, "protocolBinding": binding, "protocolVersion": "1.0"}],
            "capabilities": {"streaming": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "echo", "name": "Echo", "description": "Says it again.", "tags": ["echo"]}],
        });
        let settings = serde_json::json!({
            "upstream": {"interfaces": [{"url": agent, "binding": binding, "version": "1.0"}]},
            "capabilities": {"streaming": true, "extended_card": false},
        });
        Ok(NewCard {
            id: mint::id("card-", now)?,
            name: (*name).to_owned(),
            document: serde_json::to_vec(&document)?,
            settings: serde_json::to_vec(&settings)?,
            sealed_credential: None,
            state: CardState::Published,
            trust_tier: TrustTier::Unsigned,
            changed_by: "test".to_owned(),
            note: String::new(),
        })
    }
}
