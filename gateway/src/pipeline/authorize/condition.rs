//! What the tenant's conditions say to a call that its grants allow.
//!
//! *Takes* the permit, the decoded call, the head and the caller's address. *Gives* the permit with the ruling in it.
//! *Refuses* as if the operation were not granted, also where it is somebody earlier in the chain who may not. Asked once, when the call is decoded and before anybody looks whose
//! task it is about. An open stream is judged again when the conditions change, also when they are the tenant's first:
//! by the same call, and by what its caller and its card are then. *Never* reads a message's parts, and does nothing
//! with other calls where the tenant has no conditions.

use super::{AuthorizeError, Permit};
use crate::clock::Micros;
use crate::pipeline::head::Head;
use crate::registry::Direction;
use crate::registry::conditions::{Asked, AskedMessage, Behind, Metadata, Ruling};
use a2a::Call;
use std::net::IpAddr;
use std::sync::Arc;

/// What was asked, and what the conditions said; nothing where there were none.
#[derive(Debug)]
pub(super) struct Judged {
    asked: Asked,
    ruling: Option<Ruling>,
}

impl Permit {
    /// The same permit for this call, judged by the tenant's conditions.
    #[must_use]
    pub fn conditioned(self, call: &Call, (head, source): (&Head, IpAddr), now: Micros) -> Self {
        if self.tenant.conditions.is_none() && !call.kind.is_streaming() {
            return self;
        }
        let asked = self.asked(call, (head, source), now);
        self.judged_as(asked)
    }

    /// The permit as the conditions now in force judge the same call.
    ///
    /// # Errors
    /// What they say, where they deny it.
    pub(super) fn conditioned_again(self, judged: &Judged) -> Result<Self, Ruling> {
        let asked = self.as_it_is(judged.asked.clone());
        let permit = self.judged_as(asked);
        match permit.ruling() {
            Some(denied @ Ruling::Denied(_)) => Err(denied.clone()),
            Some(Ruling::Allowed | Ruling::WouldDeny(_)) | None => Ok(permit),
        }
    }

    fn judged_as(self, asked: Asked) -> Self {
        let ruling = self.tenant.conditions.as_ref().map(|conditions| conditions.judge(&asked));
        Self { judged: Some(Arc::new(Judged { asked, ruling })), ..self }
    }

    /// What the conditions said, where there are any.
    #[must_use]
    pub fn ruling(&self) -> Option<&Ruling> {
        self.judged.as_ref().and_then(|judged| judged.ruling.as_ref())
    }

    /// Whether the conditions let the call through.
    ///
    /// # Errors
    /// [`AuthorizeError::Condition`]
    pub fn check_conditions(&self) -> Result<(), AuthorizeError> {
        match self.judged.as_deref() {
            Some(Judged { asked, ruling: Some(Ruling::Denied(_)) }) => {
                Err(AuthorizeError::Condition { operation: asked.operation })
            }
            Some(Judged { ruling: None | Some(Ruling::Allowed | Ruling::WouldDeny(_)), .. }) | None => Ok(()),
        }
    }

    fn asked(&self, call: &Call, (head, source): (&Head, IpAddr), now: Micros) -> Asked {
        self.as_it_is(Asked {
            principal: String::new(),
            groups: Vec::new(),
            scheme: self.scheme().name(),
            card: String::new(),
            tags: Vec::new(),
            direction: direction(self.card.direction),
            release: None,
            revision: 0,
            operation: call.kind,
            now,
            source,
            extensions: head.extensions.clone(),
            delegation: None,
            metadata: Metadata::of(call.params.get("metadata")),
            message: AskedMessage::of(call),
        })
    }

    /// The same call by what is known now of whoever makes it, whoever is behind it, and the card.
    fn as_it_is(&self, call: Asked) -> Asked {
        let card = &self.card;
        let groups = self.principal.groups.iter().chain(self.identity.groups());
        let hops = |chain: &crate::pipeline::delegation::Chain| {
            let each = chain.hops().iter().zip(self.behind());
            each.map(|(hop, who)| (who.principal.name.clone(), who.principal.groups.clone(), hop.card.clone()))
                .collect()
        };
        Asked {
            principal: self.principal.name.clone(),
            groups: groups.cloned().collect(),
            card: card.name.clone(),
            tags: card.tags.clone(),
            direction: direction(card.direction),
            release: card.release.clone(),
            revision: card.version,
            delegation: self.chain().map(|chain| Behind { root: chain.root().to_owned(), hops: hops(chain) }),
            ..call
        }
    }
}

/// As in the schema.
#[must_use]
pub const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Inbound => "inbound",
        Direction::Outbound => "outbound",
    }
}
