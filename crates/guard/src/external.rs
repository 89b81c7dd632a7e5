//! What a policy says about guards outside of this process. Asking them is the gateway's work: nothing here does I/O.

use std::sync::Arc;
use std::time::Duration;

use crate::finding::Action;
use crate::pipeline::OnError;

/// How a guard is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The contract of docs/guardrails.md.
    Chancery,
    /// `POST /v1/moderations` as OpenAI defines it.
    OpenAi,
}

impl Format {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "chancery" => Some(Self::Chancery),
            "openai" => Some(Self::OpenAi),
            _ => None,
        }
    }
}

/// A guard outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// Its name in the policy.
    pub name: Arc<str>,
    /// What follows when it flags something.
    pub action: Action,
    /// Where it listens.
    pub url: Arc<str>,
    /// How it is spoken to.
    pub format: Format,
    /// How long it is waited for.
    pub timeout: Duration,
    /// Whether what it could not look at may pass; none: as the policy says.
    pub passes_on_error: Option<bool>,
    /// Characters of a stream that it sees at once.
    pub window: usize,
}

impl External {
    pub(crate) fn new(url: &str, format: Format, on_error: Option<OnError>, (timeout, window): (usize, usize)) -> Self {
        Self {
            name: Arc::from(""),
            action: Action::Block,
            url: Arc::from(url),
            format,
            timeout: Duration::from_millis(u64::try_from(timeout).unwrap_or(300)),
            passes_on_error: on_error.map(|on_error| on_error == OnError::Allow),
            window,
        }
    }
}
