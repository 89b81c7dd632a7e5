//! Rows of grants, principals and API keys → who may do what, and what proves it. What did not change keeps its meter, its
//! standing and its cancellation.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use store::{GrantRow, KeyRow, PrincipalRow, PrincipalState};

use super::{Problem, Tenant, grant};
use crate::registry::grants::{Effect, Grant, GrantSet, Grantee, Mode};
use crate::registry::last_use::LastUse;
use crate::registry::meter::{Meter, Metered};
use crate::registry::{Credential, Principal, Snapshot, Standing};

/// Grants by whose they are.
type GrantsOf = HashMap<String, Vec<Arc<Grant>>>;

impl Tenant<'_> {
    /// Grants by the principal's id, and by the group's name.
    pub(super) fn grants(&mut self) -> (GrantsOf, HashMap<String, Arc<GrantSet>>) {
        let old = self.old;
        let sets = old.into_iter().flat_map(|old| {
            let own = old.principals.values().map(|principal| &principal.grants);
            own.chain(old.groups.values().map(Arc::as_ref))
        });
        let before: HashMap<&str, &Arc<Grant>> =
            sets.flat_map(|set| set.iter()).map(|grant| (grant.id.as_str(), grant)).collect();
        let (mut granted, mut groups): (GrantsOf, GrantsOf) = Default::default();
        for row in &self.rows.grants {
            match self.grant(row, before.get(row.id.as_str()).copied()) {
                Ok(grant) => match &grant.grantee {
                    Grantee::Group(group) => groups.entry(group.clone()).or_default().push(grant),
                    Grantee::Principal(id) => granted.entry(id.clone()).or_default().push(grant),
                },
                Err(problems) => self.note("grant", &row.name, problems),
            }
        }
        (granted, groups.into_iter().map(|(group, grants)| (group, Arc::new(grants.into()))).collect())
    }

    fn grant(&self, row: &GrantRow, before: Option<&Arc<Grant>>) -> Result<Arc<Grant>, Vec<Problem>> {
        match before {
            Some(same) if same.revision == row.revision => Ok(Arc::clone(same)),
            _ => {
                let meter = before.map(|before| Arc::clone(&before.metered.meter));
                grant::grant(row, meter, &self.cancelled).map(Arc::new)
            }
        }
    }

    pub(super) fn principals(
        &mut self,
        granted: &mut HashMap<String, Vec<Arc<Grant>>>,
        groups: &HashMap<String, Arc<GrantSet>>,
    ) -> HashMap<String, Arc<Principal>> {
        let of_groups: BTreeSet<_> = groups.values().flat_map(|set| denials(set)).collect();
        let before = self.old.into_iter().flat_map(|old| old.groups.values()).flat_map(|set| denials(set)).collect();
        // Groups may come with a token, so a new denial of a group may be anybody's.
        let denied_anew = !of_groups.is_subset(&before);
        let mut principals = HashMap::with_capacity(self.rows.principals.len());
        for row in self.rows.principals.iter().filter(|row| row.state == PrincipalState::Active) {
            let grants = granted.remove(row.id.as_str()).unwrap_or_default();
            match self.principal(row, grants.into(), denied_anew) {
                Ok(principal) => {
                    principals.insert(row.id.clone(), Arc::new(principal));
                }
                Err(problems) => self.note("principal", &row.name, problems),
            }
        }
        principals
    }

    fn principal(&self, row: &PrincipalRow, grants: GrantSet, denied_anew: bool) -> Result<Principal, Vec<Problem>> {
        let (groups, allowance) = grant::principal(row)?;
        let old = self.old.and_then(|old| old.principals.get(&row.id));
        let meter = old.map(|old| Arc::clone(&old.metered.meter));
        let standing = match old {
            Some(old)
                if !denied_anew
                    && old.groups.iter().all(|group| groups.contains(group))
                    && denials(&grants).collect::<BTreeSet<_>>().is_subset(&denials(&old.grants).collect()) =>
            {
                old.standing.clone()
            }
            Some(_) | None => Standing { since: self.rows.revision, replaced: self.cancelled.child_token() },
        };
        Ok(Principal {
            id: row.id.clone(),
            tenant: self.name().to_owned(),
            name: row.name.clone(),
            grants,
            groups,
            metered: Metered {
                allowance,
                meter: meter.unwrap_or_else(|| Meter::of(self.name(), &format!("principal/{}", row.id))),
            },
            cancelled: old.map_or_else(|| self.cancelled.child_token(), |old| old.cancelled.clone()),
            standing,
        })
    }

    pub(super) fn keys(
        &mut self,
        principals: &HashMap<String, Arc<Principal>>,
        before: &Snapshot,
    ) -> Vec<Arc<Credential>> {
        let mut keys = Vec::with_capacity(self.rows.keys.len());
        for row in &self.rows.keys {
            // The key of a disabled principal is no mistake; it just proves nobody.
            let Some(principal) = principals.get(&row.principal_id) else { continue };
            match self.key(row, principal, before) {
                Ok(key) => keys.push(key),
                Err(problem) => self.note("key", &row.id, vec![problem]),
            }
        }
        keys
    }

    fn key(&self, row: &KeyRow, principal: &Arc<Principal>, before: &Snapshot) -> Result<Arc<Credential>, Problem> {
        let hash: [u8; 32] = row.hash.as_slice().try_into().map_err(|_| Problem::new("/hash", "is no SHA-256"))?;
        let old = before.keys.get(&hash).filter(|old| old.key_id == row.id);
        Ok(Arc::new(Credential {
            key_id: row.id.clone(),
            hash,
            principal: Arc::clone(principal),
            expires_at: row.expires,
            last_use: old.map_or_else(|| Arc::new(LastUse::of(row.last_used)), |old| Arc::clone(&old.last_use)),
            cancelled: old.map_or_else(|| self.cancelled.child_token(), |old| old.cancelled.clone()),
        }))
    }
}

/// Denials that count, by id and revision.
fn denials(grants: &GrantSet) -> impl Iterator<Item = (&str, i64)> {
    let denies = grants.iter().filter(|grant| grant.effect == Effect::Deny && grant.mode == Mode::Enforce);
    denies.map(|grant| (grant.id.as_str(), grant.revision))
}
