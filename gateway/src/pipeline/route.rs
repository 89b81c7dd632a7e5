//! Who is addressed: method and path → a [`Route`].
//!
//! *Takes* the head. *Gives* the names of tenant and card and what below the card is meant. *Refuses* paths that have
//! two readings and heads that are ambiguous. *Never* looks at `Host`, forwarding headers, an overridden method, the
//! body or a credential, and never says whether something exists: a path or verb that nobody has is kept for later,
//! because a caller without a credential hears of that first.

use crate::pipeline::head::{Head, HeadError};
use crate::pipeline::legacy::{self, Entrance};
use crate::pipeline::said::SaidError;
use a2a::Target;
use a2a::dialect::TargetError;
use a2a::path::{self, PathError};

/// Why there is no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The head is ambiguous.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// The path has two readings.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A header that describes the run cannot be recorded.
    #[error(transparent)]
    Said(#[from] SaidError),
    /// Not a path below a card.
    #[error("the path is not below /a2a/{{tenant}}/{{card}}")]
    Elsewhere,
}

/// What a request addresses, by its syntax alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The tenant's name as it was written; it need not exist. Empty in a gRPC call until its caller is known.
    pub tenant: String,
    /// The card's name as it was written; it need not exist. Empty in a gRPC call until its message is read.
    pub card: String,
    /// What below the card is meant, or why nothing is.
    pub target: Result<Target, TargetError>,
    /// By which door it came.
    pub entrance: Entrance,
}

/// Reads the path.
///
/// # Errors
/// [`RouteError`]
pub fn resolve(head: &Head) -> Result<Route, RouteError> {
    // A method has one spelling, and neither tenant nor card is in the path: see `early`.
    if let Some(Ok(target)) = a2a::grpc::target(&head.method, &head.path) {
        return Ok(Route { tenant: String::new(), card: String::new(), target: Ok(target), entrance: Entrance::Call });
    }
    if let Some(side) = legacy::side(&head.path) {
        return Ok(legacy::route(side, &head.method));
    }
    let segments = path::split(&head.path)?;
    let [root, tenant, card, rest @ ..] = segments.as_slice() else { return Err(RouteError::Elsewhere) };
    if root != "a2a" {
        return Err(RouteError::Elsewhere);
    }
    if !tenant.is_ascii() || !card.is_ascii() {
        return Err(PathError::NotAscii.into());
    }
    let target = a2a::dialect::target(&head.method, rest);
    Ok(Route { tenant: tenant.clone(), card: card.clone(), target, entrance: Entrance::Call })
}

impl Route {
    /// The operation, if the path alone names it.
    #[must_use]
    pub fn operation(&self) -> Option<a2a::OperationKind> {
        match &self.target {
            Ok(Target::Http { operation, .. } | Target::Grpc(operation)) => Some(*operation),
            Ok(Target::Rpc | Target::Card) | Err(_) => None,
        }
    }
}
