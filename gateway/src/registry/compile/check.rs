//! What is wrong with a document before it is saved, by the same functions that compile what is stored. Takes documents,
//! gives problems; changes nothing.

use guard::card::{Remark, Severity};

use super::{Compiler, Problem, card, grant, is_group};
use crate::discovery::publish;
use crate::registry::conditions::Conditions;
use crate::registry::settings::{CardSettings, PrincipalSettings, TenantSettings, read_card};
use crate::seal::Place;

impl Compiler {
    /// What in a card document is written to the model that reads it, or to deceive: nothing of it is published unless
    /// somebody has reviewed it (T-CARD-1). `before` is the document that is published now.
    #[must_use]
    pub fn flags(&self, document: &[u8], before: Option<&[u8]>) -> Vec<Problem> {
        let Some(remarks) = self.flagged(document, before) else {
            return vec![Problem::new("/card", "could not be looked at")];
        };
        let problem = |remark: &Remark| format!("is flagged: {} ({})", remark.words(), remark.rule);
        remarks.iter().map(|remark| Problem::new(format!("/card{}", remark.pointer), problem(remark))).collect()
    }

    /// The rule that flags a card first, if one does.
    #[must_use]
    pub fn flagged_by(&self, document: &[u8]) -> Option<String> {
        match self.flagged(document, None) {
            None => Some("unreadable".to_owned()),
            Some(remarks) => remarks.into_iter().next().map(|remark| remark.rule),
        }
    }

    /// None if it can't be looked at.
    fn flagged(&self, document: &[u8], before: Option<&[u8]>) -> Option<Vec<Remark>> {
        let read = |bytes: &[u8]| json::read(bytes, &json::Limits::default()).ok();
        let (guard, card) = (self.card_guard.as_ref()?, read(document)?);
        let mut remarks = guard.remarks(&card, before.and_then(read).as_ref());
        remarks.retain(|remark| remark.severity == Severity::Flag);
        Some(remarks)
    }

    /// What is wrong with a card before it is saved. `policies` are the names that exist.
    #[must_use]
    pub fn check_card(&self, settings: &[u8], document: &[u8], policies: &[&str]) -> Vec<Problem> {
        let mut problems = match CardSettings::read(settings) {
            Ok(settings) => card::check(&settings, policies),
            Err(problems) => problems,
        };
        match read_card(document) {
            Ok(card) => {
                let gateway = publish::gateway(
                    "https://gateway.invalid/a2a/t/c",
                    None,
                    publish::security("https://gateway.invalid", None),
                );
                let faults = a2a::rewrite::publish(&card, &gateway).err().unwrap_or_default();
                problems.extend(
                    faults
                        .into_iter()
                        .map(|fault| Problem::new(format!("/card{}", fault.path), fault.fault.to_string())),
                );
            }
            Err(unreadable) => {
                problems.extend(unreadable.into_iter().map(|problem| Problem::new("/card", problem.problem)));
            }
        }
        problems
    }

    /// What is wrong with a policy document before it is saved.
    #[must_use]
    pub fn check_policy(&self, tenant: &str, name: &str, document: &[u8]) -> Vec<Problem> {
        self.pipeline(tenant, name, 0, document).err().unwrap_or_default()
    }

    /// What is wrong with conditions before they are saved.
    #[must_use]
    pub fn check_conditions(&self, document: &[u8]) -> Vec<Problem> {
        Conditions::compile("", (0, 0), document).err().unwrap_or_default()
    }

    /// What is wrong with a grant document before it is saved.
    #[must_use]
    pub fn check_grant(&self, document: &[u8]) -> Vec<Problem> {
        grant::facts(document).err().unwrap_or_default()
    }

    /// What is wrong with a principal's groups and limits before they are saved.
    #[must_use]
    pub fn check_principal(&self, settings: &PrincipalSettings) -> Vec<Problem> {
        grant::check_principal(settings)
    }

    /// What is wrong with a tenant's limits and times before they are saved.
    #[must_use]
    pub fn check_tenant(&self, settings: &TenantSettings) -> Vec<Problem> {
        check_tenant(settings)
    }

    /// What is wrong with the sealed credentials of a card, which are for `origin`, before they are saved.
    #[must_use]
    pub fn check_sealed(&self, tenant: &str, card_id: &str, origin: &str, blob: &[u8]) -> Option<Problem> {
        let place = Place::card_credential(tenant, card_id);
        crate::registry::sealed::open((&self.seal, place), blob, &[origin.to_owned()], &self.header_prefix).err()
    }

    /// What is wrong with a text that is to name a group.
    #[must_use]
    pub fn check_group(&self, name: &str) -> Option<String> {
        (!is_group(name)).then(|| format!("{name:?} {}", grant::NO_GROUP))
    }

    /// A compiled policy.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn pipeline(
        &self,
        tenant: &str,
        name: &str,
        version: i64,
        document: &[u8],
    ) -> Result<guard::Pipeline, Vec<Problem>> {
        let document = json::read(document, &json::Limits::default())
            .map_err(|error| vec![Problem::new("", format!("can't be read: {error}"))])?;
        let key = self.seal.derive("guard findings", tenant);
        guard::Pipeline::compile(&document, &guard::Options { key: key.as_slice(), policy: name, version })
            .map_err(|error| error.problems.into_iter().map(|fault| Problem::new(fault.path, fault.problem)).collect())
    }
}

/// What is wrong with a tenant's limits and times.
pub(super) fn check_tenant(settings: &TenantSettings) -> Vec<Problem> {
    const MOST_DAYS: u32 = 36_500;
    let mut problems = Vec::new();
    grant::check_limits(&settings.limits.unwrap_or_default(), "/limits", &mut problems);
    if settings.task_retention_days.is_some_and(|days| days == 0 || days > MOST_DAYS) {
        let problem = format!("must be 1 to {MOST_DAYS} days; without it tasks are kept for ever");
        problems.push(Problem::new("/task_retention_days", problem));
    }
    problems
}
