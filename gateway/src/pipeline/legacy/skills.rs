//! Which skills a card has: read from its document, once for each version of it.
//!
//! Documents are not in memory (`registry`), so the first legacy call after a card has changed waits for the store.

use crate::registry::Card;
use json::{Json, Limits};
use quick_cache::sync::Cache;
use std::sync::Arc;
use store::{Store, TenantId};

/// How many cards' skills are kept.
const CARDS: usize = 10_000;

/// The skills of cards that were called.
pub struct Skills {
    known: Cache<(String, i64), Arc<Vec<String>>>,
}

/// The document could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the card's document could not be read")]
pub struct SkillsError;

impl std::fmt::Debug for Skills {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Skills").field("cards", &self.known.len()).finish()
    }
}

impl Default for Skills {
    fn default() -> Self {
        Self { known: Cache::new(CARDS) }
    }
}

impl Skills {
    /// The ids of the card's skills.
    ///
    /// # Errors
    /// [`SkillsError`]
    pub async fn of(&self, card: &Card, store: &Store) -> Result<Arc<Vec<String>>, SkillsError> {
        let key = (card.id.clone(), card.version);
        if let Some(known) = self.known.get(&key) {
            return Ok(known);
        }
        let tenant = TenantId::new(&card.tenant).ok_or(SkillsError)?;
        let row = store.card(&tenant, &card.name).await.map_err(|_| SkillsError)?.ok_or(SkillsError)?;
        let skills = Arc::new(listed(&row.document).ok_or(SkillsError)?);
        // Between two reads of the registry the store may be ahead.
        if row.version == card.version {
            self.known.insert(key, Arc::clone(&skills));
        }
        Ok(skills)
    }
}

fn listed(document: &[u8]) -> Option<Vec<String>> {
    let card = json::read(document, &Limits::default()).ok()?;
    let skills = card.get("skills").and_then(Json::as_array).unwrap_or_default();
    Some(skills.iter().filter_map(|skill| skill.get("id")?.as_str().map(str::to_owned)).collect())
}
