//! Cards and their history. A deleted card leaves a tombstone; its name is free again, its id never.

use crate::{IfMatch, Page, Result, Store, TenantId};

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
    CardRow in Cards {
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
    CardFacts in Cards {
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
    CardVersion in CardVersions {
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
        todo!()
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
        todo!()
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
        todo!()
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
        todo!()
    }

    /// Leaves a tombstone without credential; the name is free again.
    pub async fn delete_card(&self, tenant: &TenantId, name: &str, expected: IfMatch, now: i64) -> Result<i64> {
        todo!()
    }

    /// A living card by name.
    pub async fn card(&self, tenant: &TenantId, name: &str) -> Result<Option<CardRow>> {
        todo!()
    }

    /// A living card by id.
    pub async fn card_by_id(&self, tenant: &TenantId, id: &str) -> Result<Option<CardRow>> {
        todo!()
    }

    /// A living card by id, without its document.
    pub async fn card_facts(&self, tenant: &TenantId, id: &str) -> Result<Option<CardFacts>> {
        todo!()
    }

    /// Living cards by name, without their documents.
    pub async fn cards(&self, tenant: &TenantId, page: Page<'_>) -> Result<Vec<CardFacts>> {
        todo!()
    }

    /// A card's versions below `before`, newest first (`i64::MAX` to begin). Deleted cards keep theirs.
    pub async fn card_history(&self, tenant: &TenantId, id: &str, before: i64, limit: u32) -> Result<Vec<CardVersion>> {
        todo!()
    }
}
