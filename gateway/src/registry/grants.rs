//! Grants, compiled: who may do what on which cards, and who may not.
//!
//! A [`GrantSet`] holds the grants of one principal or one group and finds those that select a card by name and tag,
//! without looking at the others. What they allow and deny are sets of operations, made once at load.

use super::Card;
use super::meter::Metered;
use a2a::OperationKind;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What may be done with cards, or may not.
#[derive(Debug)]
pub struct Grant {
    /// `grt-…`
    pub id: String,
    /// Its name.
    pub name: String,
    /// The revision of its row.
    pub revision: i64,
    /// Who is granted.
    pub grantee: Grantee,
    /// Whether it allows or denies.
    pub effect: Effect,
    /// Whether it counts, or only says what it would do.
    pub mode: Mode,
    /// Which cards.
    pub cards: Vec<CardSelector>,
    /// Which operations, within the modes (unary, stream) that it names.
    pub operations: OperationSet,
    /// How many delegations may lie between the first caller and this one; none sets no bound of its own.
    pub max_delegation_depth: Option<u32>,
    /// Whether a card may be called that is in the chain of delegations already.
    pub delegation_loops: bool,
    /// How much, all its cards and everybody it is for together.
    pub metered: Metered,
    /// Cancelled when it is withdrawn or changed.
    pub cancelled: CancellationToken,
}

/// Who is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grantee {
    /// Everybody in a group.
    Group(String),
    /// One principal, by id.
    Principal(String),
}

/// What a grant does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Allows what it names.
    Allow,
    /// Denies it, whatever else allows it.
    Deny,
}

impl Effect {
    /// As in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

/// Whether something counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It decides.
    Enforce,
    /// A denial is recorded and not made; what only such a grant allows is allowed, and recorded as it were denied.
    Shadow,
}

impl Mode {
    /// As in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
        }
    }
}

/// How a grant names cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardSelector {
    /// Every card of the tenant (`*`).
    Any,
    /// One card by name.
    Name(String),
    /// Every card with this tag (`tag:finance`).
    Tag(String),
}

impl Grant {
    /// Whether it names the card.
    #[must_use]
    pub fn selects(&self, card: &Card) -> bool {
        self.cards.iter().any(|selector| match selector {
            CardSelector::Any => true,
            CardSelector::Name(name) => *name == card.name,
            CardSelector::Tag(tag) => card.tags.contains(tag),
        })
    }
}

/// Some of the eleven operations.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct OperationSet(u16);

impl OperationSet {
    /// Whether `kind` is in it.
    #[must_use]
    pub const fn contains(self, kind: OperationKind) -> bool {
        self.0 & Self::bit(kind) != 0
    }

    /// Whether nothing is in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in either.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in this one alone.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// What is in it, in the order of the specification.
    pub fn iter(self) -> impl Iterator<Item = OperationKind> {
        OperationKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }

    const fn bit(kind: OperationKind) -> u16 {
        1 << (kind as u16)
    }
}

impl FromIterator<OperationKind> for OperationSet {
    fn from_iter<T: IntoIterator<Item = OperationKind>>(kinds: T) -> Self {
        Self(kinds.into_iter().fold(0, |set, kind| set | Self::bit(kind)))
    }
}

impl std::fmt::Debug for OperationSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The grants of one principal or one group.
#[derive(Debug, Default)]
pub struct GrantSet {
    all: Vec<Arc<Grant>>,
    any_card: Vec<Arc<Grant>>,
    by_name: HashMap<String, Vec<Arc<Grant>>>,
    by_tag: HashMap<String, Vec<Arc<Grant>>>,
}

impl GrantSet {
    /// Those that select `card`; one that selects it in two ways comes twice.
    pub fn selecting<'a>(&'a self, card: &'a Card) -> impl Iterator<Item = &'a Arc<Grant>> {
        let named = self.by_name.get(&card.name).into_iter().flatten();
        // Most sets name no tag at all.
        let tags = if self.by_tag.is_empty() { &[][..] } else { card.tags.as_slice() };
        let tagged = tags.iter().filter_map(|tag| self.by_tag.get(tag)).flatten();
        self.any_card.iter().chain(named).chain(tagged).filter(|grant| !grant.cancelled.is_cancelled())
    }
}

impl From<Vec<Arc<Grant>>> for GrantSet {
    fn from(all: Vec<Arc<Grant>>) -> Self {
        let mut set = Self::default();
        for grant in &all {
            for selector in &grant.cards {
                match selector {
                    CardSelector::Any => set.any_card.push(Arc::clone(grant)),
                    CardSelector::Name(name) => set.by_name.entry(name.clone()).or_default().push(Arc::clone(grant)),
                    CardSelector::Tag(tag) => set.by_tag.entry(tag.clone()).or_default().push(Arc::clone(grant)),
                }
            }
        }
        set.all = all;
        set
    }
}

impl Deref for GrantSet {
    type Target = [Arc<Grant>];

    fn deref(&self) -> &[Arc<Grant>] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_place_of_its_own() {
        for kind in OperationKind::ALL {
            let alone: OperationSet = [kind].into_iter().collect();
            assert_eq!(alone.iter().collect::<Vec<_>>(), [kind]);
        }
        let all: OperationSet = OperationKind::ALL.into_iter().collect();
        let send: OperationSet = [OperationKind::SendMessage].into_iter().collect();
        assert_eq!(all.without(send).iter().count(), 10);
        assert_eq!(all.without(send).with(send), all);
        assert!(all.without(all).is_empty());
    }
}
