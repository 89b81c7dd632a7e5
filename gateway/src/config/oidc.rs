//! `[admin.oidc]`: the provider that administrators sign in at, and what its word makes of them.
//!
//! Takes the raw section, gives [`Oidc`] or notes every problem. Reads the secret's file; asks the provider nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;

use super::Passwords;
use super::gather::Gather;
use super::raw;
use crate::admin::roles::{Assignment, Role, Roles};

/// Single sign-on to the admin page.
#[derive(Clone, Debug)]
pub struct Oidc {
    /// `iss` of the provider's tokens.
    pub issuer: String,
    /// The gateway's name there.
    pub client_id: String,
    /// Its secret, if it has one.
    pub client_secret: Option<SecretString>,
    /// What the button says after "Sign in with".
    pub label: String,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// The claim that names the account.
    pub account_claim: String,
    /// The claim with groups.
    pub groups_claim: String,
    /// What a group makes of a person.
    pub roles: BTreeMap<String, Roles>,
    /// Domains of e-mail addresses that may come in, in lower case; empty for any.
    pub allowed_domains: Vec<String>,
    /// Groups that may come in; empty for any.
    pub allowed_groups: Vec<String>,
    /// Whether people may sign in with a password besides.
    pub passwords: Passwords,
    /// How long a session lasts.
    pub session: Duration,
}

/// The section, where it names a provider.
pub(super) fn oidc(raw: Option<&raw::Oidc>, gather: &mut Gather) -> Option<Oidc> {
    let raw = raw?;
    let passwords = if raw.passwords.unwrap_or(true) { Passwords::Taken } else { Passwords::Refused };
    let Some(issuer) = Gather::optional(raw.issuer.as_ref()) else {
        if Gather::optional(raw.client_id.as_ref()).is_some() || passwords == Passwords::Refused {
            gather.note("admin.oidc.issuer", "is missing: `iss` of the provider, such as \"https://idp.example.com\"");
        }
        return None;
    };
    if !crate::registry::issuer::is_url(&issuer) {
        gather.note("admin.oidc.issuer", "must be an https:// URL without query, fragment, user or password");
    }
    let client_id = Gather::text(raw.client_id.as_ref());
    if client_id.is_empty() {
        gather.note("admin.oidc.client_id", "is missing: the gateway's name at the provider");
    }
    let scopes = raw.scopes.clone().unwrap_or_default();
    if !scopes.iter().any(|scope| scope == "openid") || !scopes.iter().all(|scope| is_scope(scope)) {
        gather.note("admin.oidc.scopes", "must be scopes, and \"openid\" among them");
    }
    let mut claim = |key: &str, value: Option<&String>| {
        let claim = Gather::text(value);
        if claim.is_empty() || claim.len() > 512 {
            gather.note(key, "must be the name of a claim, or a JSON pointer that begins with \"/\"");
        }
        claim
    };
    let account_claim = claim("admin.oidc.account_claim", raw.account_claim.as_ref());
    let groups_claim = claim("admin.oidc.groups_claim", raw.groups_claim.as_ref());
    let session = gather.duration("admin.oidc.session", raw.session.as_ref());
    if session > LONGEST_SESSION {
        gather.note("admin.oidc.session", "must be at most 12h");
    }
    Some(Oidc {
        issuer,
        client_id,
        client_secret: secret(raw, gather),
        label: Gather::optional(raw.label.as_ref()).unwrap_or_else(|| "single sign-on".to_owned()),
        scopes,
        account_claim,
        groups_claim,
        roles: roles(raw, gather),
        allowed_domains: domains(raw, gather),
        allowed_groups: raw.allowed_groups.clone().unwrap_or_default(),
        passwords,
        session,
    })
}

/// RFC 6749 §3.3.
fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

fn secret(raw: &raw::Oidc, gather: &mut Gather) -> Option<SecretString> {
    let Some(path) = Gather::optional(raw.client_secret_file.as_ref()) else {
        return Gather::optional(raw.client_secret.as_ref()).map(SecretString::from);
    };
    match read_secret(Path::new(&path)) {
        Ok(text) => Some(text),
        Err(problem) => {
            gather.note("admin.oidc.client_secret_file", format!("{path:?} {problem}"));
            None
        }
    }
}

fn read_secret(path: &Path) -> Result<SecretString, String> {
    let unreadable = |error: std::io::Error| format!("can't be read ({})", error.kind());
    let mode = std::fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o777;
    if mode & 0o006 != 0 {
        return Err(format!("may be read by everybody (mode {mode:03o}); run `chmod 600` on it"));
    }
    let text = zeroize::Zeroizing::new(std::fs::read_to_string(path).map_err(unreadable)?);
    let text = text.trim();
    if text.is_empty() { Err("is empty".to_owned()) } else { Ok(SecretString::from(text)) }
}

fn roles(raw: &raw::Oidc, gather: &mut Gather) -> BTreeMap<String, Roles> {
    let mut mapped = BTreeMap::new();
    for (group, given) in raw.roles.iter().flatten() {
        let read: Option<Vec<Assignment>> = given.iter().map(|text| assignment(text)).collect();
        match read.map(Roles).filter(|roles| roles.problems().is_empty()) {
            Some(roles) => drop(mapped.insert(group.clone(), roles)),
            None => gather.note(
                "admin.oidc.roles",
                format!(
                    "{group:?} must have a list of \"ROLE@TENANT\", or \"ROLE\" for every tenant; roles are \
                     platform_admin (of every tenant alone), tenant_admin, operator, auditor"
                ),
            ),
        }
    }
    if raw.roles.iter().flatten().next().is_none() {
        gather.note("admin.oidc.roles", "names no group, so nobody would come in");
    }
    mapped
}

fn assignment(text: &str) -> Option<Assignment> {
    let (role, tenant) = text.split_once('@').unwrap_or((text, "*"));
    let role = Role::ALL.into_iter().find(|one| one.name() == role)?;
    Some(Assignment { role, tenant: tenant.to_owned() })
}

fn domains(raw: &raw::Oidc, gather: &mut Gather) -> Vec<String> {
    let domains: Vec<String> = raw.allowed_domains.iter().flatten().map(|domain| domain.to_ascii_lowercase()).collect();
    if domains.iter().any(|domain| domain.is_empty() || domain.contains('@')) {
        gather.note("admin.oidc.allowed_domains", "must be domains, such as \"example.com\"");
    }
    domains
}

const LONGEST_SESSION: Duration = Duration::from_secs(12 * 3_600);
