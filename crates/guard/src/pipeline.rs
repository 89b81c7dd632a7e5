//! A compiled policy, and how its detectors are run.

use std::sync::Arc;

use json::{Json, Path};

use crate::policy::{Options, PolicyError};
use crate::stream::Inspector;
use crate::surface::Surface;
use crate::verdict::Verdict;

/// A compiled policy.
pub struct Pipeline {}

impl Pipeline {
    /// Checks and compiles a policy document.
    ///
    /// # Errors
    /// Every problem of the document at once.
    pub fn compile(document: &Json, options: &Options<'_>) -> Result<Self, PolicyError> {
        let _ = (document, options);
        todo!()
    }

    /// Whether this policy guards `surface` at all.
    #[must_use]
    pub fn guards(&self, surface: Surface) -> bool {
        let _ = surface;
        todo!()
    }

    /// Looks at every leaf; redacts in place. `structural` names the leaves that may not be changed (ids, enums).
    pub fn inspect(&self, surface: Surface, json: &mut Json, structural: &dyn Fn(&Path<'_>) -> bool) -> Verdict {
        inspect_all(&[self], surface, json, structural)
    }

    /// An inspector for one stream.
    #[must_use]
    pub fn inspector(self: &Arc<Self>, surface: Surface) -> Inspector {
        Inspector::new(vec![Arc::clone(self)], surface)
    }
}

/// Several policies as one (the tenant's floor and the card's): the worst action wins, the redactions of all are applied.
pub fn inspect_all(
    pipelines: &[&Pipeline],
    surface: Surface,
    json: &mut Json,
    structural: &dyn Fn(&Path<'_>) -> bool,
) -> Verdict {
    let _ = (pipelines, surface, json, structural);
    todo!()
}
