//! What all grants that select a card say together.
//!
//! *Takes* a principal with its groups, and a card of its tenant. *Gives* the operations that are allowed and denied,
//! each as a set. Denials win over everything; what is in shadow mode decides nothing and is told.

use crate::registry::grants::{Effect, Mode, OperationSet};
use crate::registry::{Card, Grant, Principal, TenantWorld};
use a2a::OperationKind;
use std::sync::Arc;

/// What a principal may do with a card.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    allows: Vec<Arc<Grant>>,
    denies: Vec<Arc<Grant>>,
    allowed: OperationSet,
    shadow_allowed: OperationSet,
    denied: OperationSet,
    shadow_denied: OperationSet,
}

/// Judges by the grants of `principal`, of its stored groups and of `token_groups`.
#[must_use]
pub fn judge(principal: &Principal, token_groups: &[String], tenant: &TenantWorld, card: &Card) -> Judgement {
    let mut judgement = Judgement::default();
    judgement.hear(principal.grants.selecting(card));
    if !tenant.groups.is_empty() {
        for group in principal.groups.iter().chain(token_groups) {
            if let Some(grants) = tenant.groups.get(group) {
                judgement.hear(grants.selecting(card));
            }
        }
    }
    judgement
}

impl Judgement {
    fn hear<'a>(&mut self, grants: impl Iterator<Item = &'a Arc<Grant>>) {
        for grant in grants {
            let (heard, operations) = match (grant.effect, grant.mode) {
                (Effect::Allow, Mode::Enforce) => (&mut self.allows, &mut self.allowed),
                (Effect::Allow, Mode::Shadow) => (&mut self.allows, &mut self.shadow_allowed),
                (Effect::Deny, Mode::Enforce) => (&mut self.denies, &mut self.denied),
                (Effect::Deny, Mode::Shadow) => (&mut self.denies, &mut self.shadow_denied),
            };
            // A grant may name the card in two ways, and a group may come from two sides.
            if !heard.iter().any(|known| Arc::ptr_eq(known, grant)) {
                *operations = operations.with(grant.operations);
                heard.push(Arc::clone(grant));
            }
        }
    }

    /// The operations that may be done.
    #[must_use]
    pub const fn allowed(&self) -> OperationSet {
        self.allowed.with(self.shadow_allowed).without(self.denied)
    }

    /// Whether the card may be seen at all.
    #[must_use]
    pub const fn sees(&self) -> bool {
        !self.allowed().is_empty()
    }

    /// The grants by which `operation` is allowed; all by which anything is, as long as it is not known. One in shadow
    /// mode is among them only for what no other allows: its limits are not to be felt beside those that count.
    pub fn grants_for(&self, operation: Option<OperationKind>) -> impl Iterator<Item = &Arc<Grant>> {
        self.allows.iter().filter(move |grant| {
            let counts = match grant.mode {
                Mode::Enforce => grant.operations,
                Mode::Shadow => grant.operations.without(self.allowed),
            };
            operation.map_or(!counts.is_empty(), |wanted| counts.contains(wanted))
        })
    }

    /// The denial that counts against `operation`.
    #[must_use]
    pub fn denied_by(&self, operation: OperationKind) -> Option<&Arc<Grant>> {
        Self::first(&self.denies, Mode::Enforce, operation)
    }

    /// What is in shadow mode and would have the operation denied: a denial, or the only grant that allows it.
    #[must_use]
    pub fn would_deny(&self, operation: OperationKind) -> Option<&Arc<Grant>> {
        if self.shadow_denied.contains(operation) {
            return Self::first(&self.denies, Mode::Shadow, operation);
        }
        if self.allowed.contains(operation) {
            return None;
        }
        Self::first(&self.allows, Mode::Shadow, operation)
    }

    /// The grant that allows `operation`; one that counts goes before one in shadow mode.
    #[must_use]
    pub fn allowed_by(&self, operation: OperationKind) -> Option<&Arc<Grant>> {
        let counts = Self::first(&self.allows, Mode::Enforce, operation);
        counts.or_else(|| Self::first(&self.allows, Mode::Shadow, operation))
    }

    fn first(grants: &[Arc<Grant>], mode: Mode, operation: OperationKind) -> Option<&Arc<Grant>> {
        grants.iter().find(|grant| grant.mode == mode && grant.operations.contains(operation))
    }
}
