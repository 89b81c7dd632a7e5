//! A caller's body → [`Call`], in two steps: first what is asked for, then (once that is permitted) with what.
//!
//! Takes the target, the head and the body; gives the operation, the voice to answer in, then the call. Refuses
//! everything that two readers might understand differently. Never guesses a version that was named.

use json::Limits;

use crate::{
    Call, Fault, OperationKind,
    dialect::{RequestFacts, Target, VersionMode, Voice},
};

/// A request whose operation is known and whose parameters are unread.
#[derive(Clone, Debug)]
pub struct Envelope {
    kind: OperationKind,
    voice: Voice,
}

/// A refusal, and the voice to tell it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// How to answer.
    pub voice: Voice,
    /// What to answer.
    pub fault: Fault,
}

impl Envelope {
    /// Reads the body (empty for requests without one) as far as the operation.
    ///
    /// # Errors
    /// A [`Refusal`] in the sharpest voice known when it failed.
    #[expect(clippy::todo, reason = "the interface lands before the body")]
    pub fn open(
        target: &Target,
        facts: &RequestFacts<'_>,
        mode: VersionMode,
        body: &[u8],
        limits: &Limits,
    ) -> Result<Self, Box<Refusal>> {
        let _ = (target, facts, mode, body, limits);
        todo!()
    }

    /// What is asked for.
    #[must_use]
    pub const fn kind(&self) -> OperationKind {
        self.kind
    }

    /// How to answer.
    #[must_use]
    pub const fn voice(&self) -> &Voice {
        &self.voice
    }

    /// Reads the parameters.
    ///
    /// # Errors
    /// The fault to answer with, in [`Envelope::voice`].
    #[expect(clippy::todo, reason = "the interface lands before the body")]
    pub fn call(self) -> Result<Call, Fault> {
        todo!()
    }
}
