//! Conditions of a tenant: what grants cannot say (time, network, release, metadata, extensions), written in Cedar.
//!
//! Takes a document when a tenant is compiled, and what was [`Asked`] for each call. Gives a [`Ruling`]. Conditions only
//! take away: they are asked about what grants allow, of the caller and of each one before it in the chain. Whatever fails
//! denies. Nothing is parsed here for a call, and a tenant without a document never comes here.
//!
//! | file | holds |
//! |---|---|
//! | `asked` | the facts of one call |
//! | `metadata` | a JSON tree → values by type and name |
//! | `cedar` | policies: checked against `chancery.cedarschema`, compiled, evaluated |
//! | `absent` | the same without the feature `cedar`: nothing can be saved, what is stored denies |

// Under test in every build: nobody tests the one that leaves conditions out.
#[cfg(any(test, not(feature = "cedar")))]
mod absent;
mod asked;
#[cfg(feature = "cedar")]
mod cedar;
mod metadata;

#[cfg(not(feature = "cedar"))]
use absent::Rules;
#[cfg(feature = "cedar")]
use cedar::Rules;

pub use asked::{Asked, AskedMessage, Behind};
pub use metadata::Metadata;

use super::document::{self, Problem};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The schema that documents are validated against.
pub const SCHEMA: &str = include_str!("chancery.cedarschema");

/// Largest text of policies, in bytes.
pub const MOST_BYTES: usize = 64 * 1024;

/// Most policies of one document.
pub const MOST_POLICIES: usize = 200;

/// What an administrator writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConditionsDocument {
    /// `enforce`; `shadow` refuses nothing and records what would be denied; `off` asks nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ConditionsMode>,
    /// What holds for a call that no policy speaks of: `permit` (then policies only forbid), or `deny` (then one must
    /// permit it, and none forbid it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Otherwise>,
    /// Policies in Cedar, each with an `@id("…")`; one with `@mode("shadow")` refuses nothing and is recorded.
    #[schema(required = true)]
    pub policies: String,
}

/// Whether a document counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConditionsMode {
    /// It decides.
    #[default]
    Enforce,
    /// What it would deny is recorded.
    Shadow,
    /// It is kept and not asked.
    Off,
}

impl ConditionsMode {
    /// As in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
            Self::Off => "off",
        }
    }
}

/// What holds where no policy speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// What the grants allow.
    #[default]
    Permit,
    /// Nothing.
    Deny,
}

/// A tenant's conditions, compiled.
#[derive(Debug)]
pub struct Conditions {
    /// Their name.
    pub name: String,
    /// The version of the document.
    pub version: i64,
    /// The revision of the row.
    pub revision: i64,
    /// Whether they count.
    pub mode: ConditionsMode,
    /// None where the row can't be read or has mistakes.
    rules: Option<Rules>,
}

impl Conditions {
    /// Compiles a document.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn compile(name: &str, (version, revision): (i64, i64), bytes: &[u8]) -> Result<Self, Vec<Problem>> {
        let document: ConditionsDocument = document::read(bytes)?;
        if document.policies.len() > MOST_BYTES {
            let problem = format!("is {} bytes long; at most {MOST_BYTES} are allowed", document.policies.len());
            return Err(vec![Problem::new("/policies", problem)]);
        }
        let mode = document.mode.unwrap_or_default();
        let rules = Rules::compile(&document.policies, document.otherwise.unwrap_or_default(), mode)?;
        Ok(Self { name: name.to_owned(), version, revision, mode, rules: Some(rules) })
    }

    /// Conditions that can't be read: nobody knows what they would allow, so they allow nothing.
    #[must_use]
    pub fn unreadable(name: &str, revision: i64) -> Self {
        Self { name: name.to_owned(), version: 0, revision, mode: ConditionsMode::Enforce, rules: None }
    }

    /// What they say to a call that grants allow.
    #[must_use]
    pub fn judge(&self, asked: &Asked) -> Ruling {
        let Some(rules) = &self.rules else {
            return Ruling::Denied(self.cause(Objection::of_all(Why::Unreadable)));
        };
        let (verdict, is_shadow) = match self.mode {
            ConditionsMode::Off => return Ruling::Allowed,
            ConditionsMode::Enforce | ConditionsMode::Shadow => rules.judge(asked),
        };
        match verdict {
            None => Ruling::Allowed,
            Some(objection) if is_shadow => Ruling::WouldDeny(self.cause(objection)),
            Some(objection) => Ruling::Denied(self.cause(objection)),
        }
    }

    fn cause(&self, objection: Objection) -> Cause {
        let Objection { why, policies, earlier } = objection;
        Cause { conditions: self.name.clone(), version: self.version, why, policies, earlier }
    }
}

/// What policies say against a call.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Objection {
    why: Why,
    policies: Vec<String>,
    earlier: Option<Earlier>,
}

impl Objection {
    /// Whoever calls.
    const fn of_all(why: Why) -> Self {
        Self { why, policies: Vec::new(), earlier: None }
    }
}

/// What conditions say to one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// Nothing against it.
    Allowed,
    /// No.
    Denied(Cause),
    /// They would say no if all of them counted.
    WouldDeny(Cause),
}

/// Why a call is denied, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The document's name.
    pub conditions: String,
    /// Its version.
    pub version: i64,
    /// In which way.
    pub why: Why,
    /// The policies that decide, by id; none where it is that none permits.
    pub policies: Vec<String>,
    /// Of whom they say it, where that is not the caller itself.
    pub earlier: Option<Earlier>,
}

/// Somebody who called before in the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Earlier {
    /// Its place in the chain, from 1: the first caller.
    pub hop: u32,
    /// Its name.
    pub principal: String,
}

/// In which way a call is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A policy failed while it was evaluated.
    Failed,
    /// A policy forbids it.
    Forbidden,
    /// No policy permits it, and one would have to.
    NotPermitted,
    /// The metadata has more values than are looked at.
    TooMuchMetadata,
    /// The document can't be read.
    Unreadable,
}

impl Why {
    /// One word for records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Forbidden => "forbidden",
            Self::NotPermitted => "not_permitted",
            Self::TooMuchMetadata => "too_much_metadata",
            Self::Unreadable => "unreadable",
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, policies) = (&self.conditions, self.policies.join(", "));
        match self.why {
            Why::Failed if policies.is_empty() => write!(f, "conditions {name} could not be asked"),
            Why::Failed => write!(f, "{policies} of conditions {name} failed"),
            Why::Forbidden => write!(f, "{policies} of conditions {name} forbids it"),
            Why::NotPermitted => write!(f, "no policy of conditions {name} permits it"),
            Why::TooMuchMetadata => write!(f, "its metadata has too many values for conditions {name}"),
            Why::Unreadable => write!(f, "conditions {name} can't be read"),
        }?;
        match &self.earlier {
            Some(Earlier { hop, principal }) => write!(f, " for {principal}, who called before (hop {hop})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
