//! What an ID token proves, and what that makes of a person.
//!
//! Takes a token that the provider's key has signed. Gives the subject, the account's name and its roles. Refuses what
//! OpenID Connect Core §3.1.3.7 has refused, and more: every audience must be ours or `azp` say so, `iat` is needed and
//! fresh, an e-mail address counts only when the provider says that it is verified. Never shows what a token says.

use super::super::accounts;
use super::super::roles::Roles;
use crate::clock::Micros;
use crate::config::Oidc;
use crate::pipeline::authenticate::claims;
use crate::pipeline::authenticate::issuer_token::{claim, groups};
use crate::pipeline::authenticate::jws::Token;
use json::{Json, Object};
use subtle::ConstantTimeEq as _;

/// Somebody who may come in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Person {
    /// The account's name, if it is to be made.
    pub account: String,
    /// For people.
    pub display_name: String,
    /// What the groups make of it.
    pub roles: Roles,
}

/// Why somebody who is proven does not come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoEntry {
    /// The claim that names the account is missing, unverified, or no account's name.
    Account,
    /// Neither domain nor group is among the allowed ones.
    NotAllowed,
    /// No group has a role.
    NoRole,
}

/// The subject that the token proves, its signature apart.
pub(super) fn subject<'a>(
    token: &'a Token<'_>,
    oidc: &Oidc,
    nonce: &str,
    now: Micros,
) -> Result<&'a str, &'static str> {
    let said = &token.claims;
    if token.typ.as_deref().is_some_and(|typ| typ != "jwt") {
        return Err("is of another type");
    }
    if said.str("iss") != Some(&oidc.issuer) {
        return Err("is another issuer's");
    }
    if !claims::is_for(said, std::slice::from_ref(&oidc.client_id)) {
        return Err("is for somebody else");
    }
    let others = said.get("aud").and_then(Json::as_array).is_some_and(|all| all.len() > 1);
    match said.get("azp") {
        None if others => return Err("is for several, and names nobody who asked for it"),
        Some(azp) if azp.as_str() != Some(&oidc.client_id) => return Err("was asked for by somebody else"),
        Some(_) | None => {}
    }
    if claims::in_time(said, now).is_none() {
        return Err("is not in its time");
    }
    let oldest = now.saturating_sub(OLDEST).saturating_sub(claims::LEEWAY);
    if claims::issued(said).is_none_or(|at| at < oldest) {
        return Err("does not say that it was just issued");
    }
    let given = said.str("nonce").unwrap_or_default();
    if !bool::from(given.as_bytes().ct_eq(nonce.as_bytes())) {
        return Err("belongs to another sign-in");
    }
    claims::text(said, "sub").ok_or("has no subject")
}

/// What the settings make of what the token says.
pub(super) fn person(said: &Object, oidc: &Oidc) -> Result<Person, NoEntry> {
    let groups = groups(claim(said, &oidc.groups_claim)).ok_or(NoEntry::NotAllowed)?;
    let email = said.str("email").filter(|_| is_verified(said));
    let domain = email.and_then(|email| email.rsplit_once('@')).map(|(_, domain)| domain.to_ascii_lowercase());
    let domains = &oidc.allowed_domains;
    if !domains.is_empty() && !domain.is_some_and(|domain| domains.contains(&domain)) {
        return Err(NoEntry::NotAllowed);
    }
    if !oidc.allowed_groups.is_empty() && !groups.iter().any(|group| oidc.allowed_groups.contains(group)) {
        return Err(NoEntry::NotAllowed);
    }
    let mut roles = Roles::default();
    for given in groups.iter().filter_map(|group| oidc.roles.get(group)).flat_map(|roles| &roles.0) {
        if !roles.0.contains(given) {
            roles.0.push(given.clone());
        }
    }
    if roles.0.is_empty() {
        return Err(NoEntry::NoRole);
    }
    let account =
        if oidc.account_claim == "email" { email } else { claim(said, &oidc.account_claim).and_then(Json::as_str) };
    let account =
        account.map(str::to_ascii_lowercase).filter(|name| accounts::is_name(name)).ok_or(NoEntry::Account)?;
    let shown = said.str("name").unwrap_or_default();
    let display_name = shown.chars().filter(|one| !one.is_control()).take(100).collect();
    Ok(Person { account, display_name, roles })
}

/// Some providers say it as a text.
fn is_verified(said: &Object) -> bool {
    match said.get("email_verified") {
        Some(Json::Bool(verified)) => *verified,
        Some(Json::String(text)) => text == "true",
        Some(Json::Null | Json::Number(_) | Json::Array(_) | Json::Object(_)) | None => false,
    }
}

/// A token is made when its code is exchanged, a moment ago.
const OLDEST: Micros = 10 * 60 * 1_000_000;

#[cfg(test)]
mod tests {
    use super::super::super::roles::{Assignment, Role};
    use super::*;
    use crate::config::Passwords;
    use std::time::Duration;

    fn oidc() -> Oidc {
        let role = |role, tenant: &str| Roles(vec![Assignment { role, tenant: tenant.to_owned() }]);
        Oidc {
            issuer: "https://idp.test".to_owned(),
            client_id: "chancery".to_owned(),
            client_secret: None,
            label: String::new(),
            scopes: Vec::new(),
            account_claim: "email".to_owned(),
            groups_claim: "groups".to_owned(),
            roles: [
                ("admins".to_owned(), Roles::platform()),
                ("ops".to_owned(), role(Role::Operator, "acme")),
                ("more-ops".to_owned(), role(Role::Operator, "acme")),
            ]
            .into(),
            allowed_domains: Vec::new(),
            allowed_groups: Vec::new(),
            passwords: Passwords::Taken,
            session: Duration::from_secs(60),
        }
    }

    fn said(text: &str) -> Object {
        json::read(text.as_bytes(), &json::Limits::default()).unwrap().as_object().unwrap().clone()
    }

    #[test]
    fn groups_make_roles_and_none_is_no_entry() {
        let of = |groups: &str| {
            let text = format!(r#"{{"email":"Ann@Example.com","email_verified":true,"groups":{groups}}}"#);
            person(&said(&text), &oidc())
        };
        let ann = of(r#"["ops","more-ops","choir"]"#).unwrap();
        assert_eq!((ann.account.as_str(), ann.roles.0.len()), ("ann@example.com", 1));
        assert_eq!(of(r#""admins""#).unwrap().roles, Roles::platform());
        for none in ["[]", r#"["choir"]"#, r#"["OPS"]"#] {
            assert_eq!(of(none), Err(NoEntry::NoRole), "{none}");
        }
        for odd in [r#"{"ops":true}"#, "[1]", "null"] {
            assert_eq!(of(odd), Err(NoEntry::NotAllowed), "{odd}");
        }
        assert_eq!(person(&said("{}"), &oidc()), Err(NoEntry::NoRole));
    }

    #[test]
    fn addresses_count_when_they_are_verified() {
        let allowing = Oidc { allowed_domains: vec!["example.com".to_owned()], ..oidc() };
        let of = |rest: &str, oidc: &Oidc| person(&said(&format!(r#"{{"groups":["ops"],{rest}}}"#)), oidc).err();
        assert_eq!(of(r#""email":"a@example.com","email_verified":"true""#, &allowing), None);
        for refused in [
            r#""email":"a@example.com""#,
            r#""email":"a@example.com","email_verified":false"#,
            r#""email":"a@example.com","email_verified":1"#,
            r#""email":"a@example.com.evil.test","email_verified":true"#,
            r#""email":"a@evil.test","email_verified":true"#,
            r#""email":"example.com","email_verified":true"#,
            r#""sub":"example.com""#,
        ] {
            assert_eq!(of(refused, &allowing), Some(NoEntry::NotAllowed), "{refused}");
        }
        for nameless in [r#""email":"a@example.com""#, r#""email":"a b@x.test","email_verified":true"#, r#""sub":"x""#]
        {
            assert_eq!(of(nameless, &oidc()), Some(NoEntry::Account), "{nameless}");
        }
        let grouped = Oidc { allowed_groups: vec!["staff".to_owned()], ..oidc() };
        assert_eq!(of(r#""email":"a@example.com","email_verified":true"#, &grouped), Some(NoEntry::NotAllowed));
        let by_pointer = Oidc { account_claim: "/who/login".to_owned(), ..oidc() };
        assert_eq!(of(r#""who":{"login":"ann"}"#, &by_pointer), None);
    }
}
