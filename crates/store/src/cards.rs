//! Cards and their history. A deleted card leaves a tombstone; its name is free again, its id never.

use crate::{ChangeKind, IfMatch, Page, Result, Store, Table, TenantId, revision, text};

word! {
    /// A card's life.
    CardState {
        /// Being written.
        Draft = "draft",
        /// Waiting for approval.
        Pending = "pending",
        /// Approved, not yet served.
        Approved = "approved",
        /// Served.
        Published = "published",
        /// Taken down.
        Disabled = "disabled",
    }
}

word! {
    /// What is proven about the agent's own card.
    TrustTier {
        /// Nothing.
        Unsigned = "unsigned",
        /// It carries a signature.
        Signed = "signed",
        /// The signature was checked.
        Verified = "verified",
        /// Checked against a pinned key.
        Pinned = "pinned",
    }
}

row! {
    /// A card with its document.
    pub CardRow in Cards {
        /// `card-…`
        id: String,
        /// Owner.
        tenant: TenantId,
        /// Unique among the tenant's living cards.
        name: String,
        /// The published document, as received.
        document: Vec<u8>,
        /// Settings document (JSON).
        settings: Vec<u8>,
        /// The upstream credential, sealed.
        sealed_credential: Option<Vec<u8>>,
        /// Its life.
        state: CardState,
        /// Its proof.
        trust_tier: TrustTier,
        /// Counts changes of document or settings, from 1.
        version: i64,
        /// Of its last change.
        revision: i64,
        /// Microseconds.
        created: i64,
        /// Microseconds.
        updated: i64,
    }
}

row! {
    /// A card without its document: what routing needs.
    pub CardFacts in Cards {
        /// `card-…`
        id: String,
        /// Owner.
        tenant: TenantId,
        /// Unique among the tenant's living cards.
        name: String,
        /// Settings document (JSON).
        settings: Vec<u8>,
        /// The upstream credential, sealed.
        sealed_credential: Option<Vec<u8>>,
        /// Its life.
        state: CardState,
        /// Its proof.
        trust_tier: TrustTier,
        /// Counts changes of document or settings, from 1.
        version: i64,
        /// Of its last change.
        revision: i64,
        /// Microseconds.
        created: i64,
        /// Microseconds.
        updated: i64,
    }
}

row! {
    /// A card as it once was.
    pub CardVersion in CardVersions {
        /// Whose history.
        card_id: String,
        /// Which version.
        version: i64,
        /// The document then.
        document: Vec<u8>,
        /// The settings then.
        settings: Vec<u8>,
        /// Who made it.
        changed_by: String,
        /// Microseconds.
        at: i64,
        /// Why.
        note: String,
    }
}

/// A card to be made; meanings as in [`CardRow`] and [`CardVersion`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in CardRow and CardVersion")]
pub struct NewCard {
    pub id: String,
    pub name: String,
    pub document: Vec<u8>,
    pub settings: Vec<u8>,
    pub sealed_credential: Option<Vec<u8>>,
    pub state: CardState,
    pub trust_tier: TrustTier,
    pub changed_by: String,
    pub note: String,
}

/// A new version of a card; meanings as in [`CardRow`] and [`CardVersion`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in CardRow and CardVersion")]
pub struct CardEdit {
    pub document: Vec<u8>,
    pub settings: Vec<u8>,
    pub trust_tier: TrustTier,
    pub changed_by: String,
    pub note: String,
}

impl Store {
    /// Makes a card at version 1; gives its revision.
    pub async fn create_card(&self, tenant: &TenantId, card: &NewCard, now: i64) -> Result<i64> {
        card.check()?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        x!(
            change,
            CREATE,
            tenant.as_str(),
            card.id.as_str(),
            card.name.as_str(),
            card.document.as_slice(),
            card.settings.as_slice(),
            card.sealed_credential.as_deref(),
            card.state.as_str(),
            card.trust_tier.as_str(),
            now,
            revision,
        )
        .map_err(|error| error.or_taken(Table::Cards))?;
        x!(change, KEEP_VERSION, tenant.as_str(), card.id.as_str(), card.changed_by.as_str(), now, card.note.as_str())?;
        change.commit_made(ChangeKind::Card, &card.id, &card.name).await
    }

    /// Makes the next version of a card; gives its new revision.
    pub async fn update_card(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: IfMatch,
        edit: &CardEdit,
        now: i64,
    ) -> Result<i64> {
        edit.check()?;
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Cards, FIND, name, expected).await?;
        x!(
            change,
            UPDATE,
            tenant.as_str(),
            id.as_str(),
            edit.document.as_slice(),
            edit.settings.as_slice(),
            edit.trust_tier.as_str(),
            now,
            revision,
        )?;
        x!(change, KEEP_VERSION, tenant.as_str(), id.as_str(), edit.changed_by.as_str(), now, edit.note.as_str())?;
        change.commit(ChangeKind::Card, &id).await
    }

    /// Moves a card through its life; gives its new revision. Makes no version.
    pub async fn set_card_state(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: IfMatch,
        state: CardState,
        now: i64,
    ) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Cards, FIND, name, expected).await?;
        x!(change, SET_STATE, tenant.as_str(), id.as_str(), state.as_str(), now, revision)?;
        change.commit(ChangeKind::Card, &id).await
    }

    /// Replaces or removes the sealed upstream credential; gives the card's new revision. Makes no version.
    pub async fn set_card_credential(
        &self,
        tenant: &TenantId,
        name: &str,
        expected: IfMatch,
        sealed: Option<&[u8]>,
        now: i64,
    ) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Cards, FIND, name, expected).await?;
        x!(change, SET_CREDENTIAL, tenant.as_str(), id.as_str(), sealed, now, revision)?;
        change.commit(ChangeKind::Card, &id).await
    }

    /// Leaves a tombstone without credential; the name is free again.
    pub async fn delete_card(&self, tenant: &TenantId, name: &str, expected: IfMatch, now: i64) -> Result<i64> {
        let mut change = self.change(tenant).await?;
        let revision = change.revision();
        let id = change.living(Table::Cards, FIND, name, expected).await?;
        x!(change, DELETE, tenant.as_str(), id.as_str(), now, revision)?;
        change.commit(ChangeKind::Card, &id).await
    }

    /// A living card by name.
    pub async fn card(&self, tenant: &TenantId, name: &str) -> Result<Option<CardRow>> {
        let mut reader = self.reader().await?;
        one!(reader, CardRow, BY_NAME, tenant.as_str(), name)
    }

    /// A living card by id.
    pub async fn card_by_id(&self, tenant: &TenantId, id: &str) -> Result<Option<CardRow>> {
        let mut reader = self.reader().await?;
        one!(reader, CardRow, BY_ID, tenant.as_str(), id)
    }

    /// A living card by id, without its document.
    pub async fn card_facts(&self, tenant: &TenantId, id: &str) -> Result<Option<CardFacts>> {
        let mut reader = self.reader().await?;
        one!(reader, CardFacts, FACTS_BY_ID, tenant.as_str(), id)
    }

    /// Living cards by name, without their documents.
    pub async fn cards(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<CardFacts>> {
        let mut reader = self.reader().await?;
        q!(reader, CardFacts, LIST, tenant.as_str(), page.after, page.limit())
    }

    /// A card's versions below `before`, newest first (`i64::MAX` to begin). Deleted cards keep theirs.
    pub async fn card_history(&self, tenant: &TenantId, id: &str, before: i64, limit: u32) -> Result<Vec<CardVersion>> {
        let mut reader = self.reader().await?;
        q!(reader, CardVersion, HISTORY, tenant.as_str(), id, before, revision::limit(limit))
    }
}

impl NewCard {
    fn check(&self) -> Result<()> {
        text::key("id", &self.id)?;
        text::key("name", &self.name)?;
        text::free("changed_by", &self.changed_by)?;
        text::free("note", &self.note)
    }
}

impl CardEdit {
    fn check(&self) -> Result<()> {
        text::free("changed_by", &self.changed_by)?;
        text::free("note", &self.note)
    }
}

/// All of a tenant's cards, for `load_tenant`.
pub(crate) const ALL: &str =
    "SELECT id, tenant, name, settings, sealed_credential, state, trust_tier, version, revision,
                created, updated
    FROM cards WHERE tenant = $1 AND deleted IS NULL ORDER BY name";

statements! {
    both {
        CREATE = "INSERT INTO cards (tenant, id, name, document, settings, sealed_credential, state, trust_tier, version,
                created, updated, revision)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9, $9, $10)";
        KEEP_VERSION = "INSERT INTO card_versions (tenant, card_id, version, document, settings, changed_by, at, note)
            SELECT tenant, id, version, document, settings, CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS TEXT)
            FROM cards WHERE tenant = $1 AND id = $2";
        FIND = "SELECT id, revision FROM cards WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        UPDATE = "UPDATE cards SET document = $3, settings = $4, trust_tier = $5, version = version + 1, updated = $6,
            revision = $7 WHERE tenant = $1 AND id = $2";
        SET_STATE = "UPDATE cards SET state = $3, updated = $4, revision = $5 WHERE tenant = $1 AND id = $2";
        SET_CREDENTIAL = "UPDATE cards SET sealed_credential = $3, updated = $4, revision = $5
            WHERE tenant = $1 AND id = $2";
        DELETE = "UPDATE cards SET sealed_credential = NULL, deleted = $3, updated = $3, revision = $4
            WHERE tenant = $1 AND id = $2";
        BY_NAME = "SELECT id, tenant, name, document, settings, sealed_credential, state, trust_tier, version,
                revision, created, updated
            FROM cards WHERE tenant = $1 AND name = $2 AND deleted IS NULL";
        BY_ID = "SELECT id, tenant, name, document, settings, sealed_credential, state, trust_tier, version,
                revision, created, updated
            FROM cards WHERE tenant = $1 AND id = $2 AND deleted IS NULL";
        FACTS_BY_ID = "SELECT id, tenant, name, settings, sealed_credential, state, trust_tier, version, revision,
                created, updated
            FROM cards WHERE tenant = $1 AND id = $2 AND deleted IS NULL";
        LIST = "SELECT id, tenant, name, settings, sealed_credential, state, trust_tier, version, revision,
                created, updated
            FROM cards WHERE tenant = $1 AND name > $2 AND deleted IS NULL ORDER BY name LIMIT $3";
        HISTORY = "SELECT card_id, version, document, settings, changed_by, at, note FROM card_versions
            WHERE tenant = $1 AND card_id = $2 AND version < $3 ORDER BY version DESC LIMIT $4";
    }
}
