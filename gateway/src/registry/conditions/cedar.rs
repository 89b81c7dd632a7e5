//! Policies in Cedar: text → checked and compiled rules; the facts of a call → what they say.
//!
//! Everything is parsed and validated when a tenant is compiled. A call makes a request of plain values and asks; no text
//! of a caller's is ever read as a policy or as an expression. What Cedar would skip because it failed denies here.

mod check;
mod facts;
mod shape;

use super::{Asked, ConditionsMode, Earlier, Objection, Otherwise, SCHEMA, Why};
use crate::registry::document::Problem;
use cedar_policy::{Authorizer, Decision, Effect, Entities, Policy, PolicyId, PolicySet, Request, Schema};
use facts::{Caller, Facts, Names};
use serde_json::Value;

/// The policies of one document, ready to be asked.
pub(super) struct Rules {
    authorizer: Authorizer,
    names: Names,
    /// Those that count; none where the document does not.
    enforced: Option<PolicySet>,
    /// All of them, where some don't count.
    tried: Option<PolicySet>,
    reads_metadata: bool,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |set: &Option<PolicySet>| set.as_ref().map(PolicySet::num_of_policies);
        f.debug_struct("Rules").field("enforced", &count(&self.enforced)).field("tried", &count(&self.tried)).finish()
    }
}

impl Rules {
    /// Reads and validates policies.
    ///
    /// # Errors
    /// Everything that is wrong with them, with lines.
    pub(super) fn compile(text: &str, otherwise: Otherwise, mode: ConditionsMode) -> Result<Self, Vec<Problem>> {
        let problems = shape::problems(text);
        if !problems.is_empty() {
            return Err(problems);
        }
        // What is deep and still allowed needs more stack to be read than the threads that serve have.
        std::thread::scope(|scope| {
            let reading = std::thread::Builder::new().stack_size(STACK);
            let reading = reading.spawn_scoped(scope, || Self::read(text, otherwise, mode)).ok();
            let read = reading.and_then(|reading| reading.join().ok());
            read.unwrap_or_else(|| Err(vec![Problem::new("/policies", "could not be looked at; try again")]))
        })
    }

    fn read(text: &str, otherwise: Otherwise, mode: ConditionsMode) -> Result<Self, Vec<Problem>> {
        let ours = |error: String| vec![Problem::new("", format!("the schema of conditions is damaged: {error}"))];
        let (schema, _warnings) = Schema::from_cedarschema_str(SCHEMA).map_err(|error| ours(error.to_string()))?;
        let policies = check::policies(text, otherwise, &schema)?;
        let reads = |policy: &Policy| policy.to_json().map_or(true, |policy| mentions(&policy, "metadata"));
        let reads_metadata = policies.iter().any(reads);
        let names = Names::of(&schema).ok_or_else(|| ours("a name is missing".to_owned()))?;
        let counts: Vec<Policy> = policies.iter().filter(|policy| !check::is_shadow(policy)).cloned().collect();
        let some_are_tried = counts.len() < policies.len();
        let (enforced, tried) = match mode {
            ConditionsMode::Enforce => (Some(counts), some_are_tried.then_some(policies)),
            ConditionsMode::Shadow => (None, Some(policies)),
            ConditionsMode::Off => (None, None),
        };
        let set = |policies: Option<Vec<Policy>>| {
            let set = policies.map(|policies| set_of(policies, otherwise)).transpose();
            set.map_err(|error| vec![Problem::new("/policies", error)])
        };
        Ok(Self { authorizer: Authorizer::new(), names, enforced: set(enforced)?, tried: set(tried)?, reads_metadata })
    }

    /// What they say against a call, and whether that only would count. They are asked of the caller, then of each one
    /// before it; what counts is looked for in all of them first.
    pub(super) fn judge(&self, asked: &Asked) -> (Option<Objection>, bool) {
        if self.enforced.is_none() && self.tried.is_none() {
            return (None, false);
        }
        let is_shadow = self.enforced.is_none();
        if self.reads_metadata && is_excessive(asked) {
            return (Some(Objection::of_all(Why::TooMuchMetadata)), is_shadow);
        }
        let Some(facts) = self.names.facts(asked, self.reads_metadata) else {
            return (Some(Objection::of_all(Why::Failed)), is_shadow);
        };
        let callers = facts::callers(asked);
        match self.objection(self.enforced.as_ref(), &callers, &facts) {
            Some(objection) => (Some(objection), false),
            None => (self.objection(self.tried.as_ref(), &callers, &facts), true),
        }
    }

    /// The first that one of a set says against one of the callers.
    fn objection(&self, set: Option<&PolicySet>, callers: &[Caller<'_>], facts: &Facts<'_>) -> Option<Objection> {
        let set = set?;
        callers.iter().find_map(|caller| {
            let (why, policies) = match self.names.request(facts, caller) {
                Some((request, entities)) => self.ask(set, &request, &entities)?,
                None => (Why::Failed, Vec::new()),
            };
            let earlier = caller.hop.map(|hop| Earlier { hop, principal: caller.name.to_owned() });
            Some(Objection { why, policies, earlier })
        })
    }

    fn ask(&self, set: &PolicySet, request: &Request, entities: &Entities) -> Option<(Why, Vec<String>)> {
        let response = self.authorizer.is_authorized(request, set, entities);
        let diagnostics = response.diagnostics();
        let failed = sorted(diagnostics.errors().map(|error| match error {
            cedar_policy::AuthorizationError::PolicyEvaluationError(error) => error.policy_id(),
        }));
        match response.decision() {
            Decision::Deny => {
                let forbidding = sorted(diagnostics.reason());
                Some(match (forbidding.is_empty(), failed.is_empty()) {
                    (false, _) => (Why::Forbidden, forbidding),
                    (true, false) => (Why::Failed, failed),
                    (true, true) => (Why::NotPermitted, Vec::new()),
                })
            }
            // A policy that failed may have been one that forbids.
            Decision::Allow if !failed.is_empty() => Some((Why::Failed, failed)),
            Decision::Allow => None,
        }
    }
}

fn is_excessive(asked: &Asked) -> bool {
    asked.metadata.excess || asked.message.as_ref().is_some_and(|message| message.metadata.excess)
}

fn sorted<'a>(ids: impl Iterator<Item = &'a PolicyId>) -> Vec<String> {
    let mut ids: Vec<String> = ids.map(ToString::to_string).collect();
    ids.sort_unstable();
    ids
}

/// The policies, and one that permits everything where that holds otherwise.
fn set_of(policies: Vec<Policy>, otherwise: Otherwise) -> Result<PolicySet, String> {
    let mut set = PolicySet::from_policies(policies).map_err(|error| error.to_string())?;
    if otherwise == Otherwise::Permit {
        // No id of a document's can be this one.
        let all = Policy::parse(Some(PolicyId::new("*")), "permit(principal, action, resource);");
        set.add(all.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    }
    Ok(set)
}

/// Whether a policy names a member; in its JSON form, where no escape can hide it.
fn mentions(value: &Value, name: &str) -> bool {
    match value {
        Value::String(text) => text == name,
        Value::Array(items) => items.iter().any(|item| mentions(item, name)),
        Value::Object(members) => members.iter().any(|(key, item)| key == name || mentions(item, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a policy permits.
fn permits(policy: &Policy) -> bool {
    policy.effect() == Effect::Permit
}

/// Room to read the deepest text, for as long as that takes.
const STACK: usize = 64 << 20;

/// Whether the request and the entities of a call are what the schema says.
#[cfg(test)]
pub(super) fn fits_schema(asked: &Asked) -> Result<(), String> {
    let (schema, _) = Schema::from_cedarschema_str(SCHEMA).map_err(|error| error.to_string())?;
    let names = Names::of(&schema).ok_or("a name is missing")?;
    let facts = names.facts(asked, true).ok_or("a value can't be made")?;
    for caller in facts::callers(asked) {
        let (request, entities) = names.request(&facts, &caller).ok_or("a value can't be made")?;
        let (principal, action) = (request.principal().cloned(), request.action().cloned());
        let (resource, context) = (request.resource().cloned(), request.context().cloned());
        let (Some(principal), Some(action), Some(resource), Some(context)) = (principal, action, resource, context)
        else {
            return Err("something is unknown".to_owned());
        };
        Request::new(principal, action, resource, context, Some(&schema)).map_err(|error| error.to_string())?;
        Entities::from_entities(entities.iter().cloned(), Some(&schema)).map_err(|error| error.to_string())?;
    }
    Ok(())
}
