//! The union card: one document that clients of both generations read at the gateway's URL.
//!
//! Built member by member, never copied whole: what is not named here (addresses, schemes, signatures, unknown top-level
//! members) does not get out.

use json::{Json, Object};

use super::{Binding, Gateway, Problem, Relays, interfaces, prune, scheme, tidy};
use crate::Version;

/// The union card of `source` (an agent's or an administrator's card of either generation) behind the gateway:
/// unsigned, pruned, every interface at `gateway.url`.
///
/// What a reader needs and the source lacks is filled in: the description by the name, tags by `general`, modes by
/// `text/plain`, a missing list of skills by one skill named like the agent. Members of 0.3 are there if the gateway
/// serves 0.3. The gateway's security replaces the agent's. Icon and documentation are left out where they would show
/// the agent's host.
///
/// # Errors
/// Every [`Problem`] at once.
pub fn publish(source: &Object, gateway: &Gateway) -> Result<Object, Vec<Problem>> {
    let hidden_hosts: Vec<_> = interfaces(source).iter().filter_map(|one| host(&one.url)).collect();
    let mut source = source.clone();
    prune(&mut source);
    let mut card = Object::new();
    let name = source.get("name").cloned().unwrap_or_default();
    let description = source.get("description").cloned().unwrap_or_else(|| name.clone());
    card.insert("name", name.clone());
    card.insert("description", description.clone());
    copy(&source, "version", &mut card);
    add_interfaces(gateway, &mut card);
    if let Some(Json::Object(provider)) = source.get("provider") {
        let mut provider = provider.clone();
        let shown = |url: &Json| url.as_str().is_some_and(|url| is_public(url, &hidden_hosts));
        provider.retain(|member, value| member != "url" || shown(value));
        card.insert("provider", provider);
    }
    for member in ["documentationUrl", "iconUrl"] {
        let shown = source.str(member).is_some_and(|url| is_public(url, &hidden_hosts));
        if shown {
            copy(&source, member, &mut card);
        }
    }
    add_capabilities(&source, gateway, &mut card);
    add_security(gateway, &mut card);
    for member in ["defaultInputModes", "defaultOutputModes"] {
        card.insert(member, source.get(member).cloned().unwrap_or_else(|| one_text("text/plain")));
    }
    card.insert("skills", skills(&source, &name, &description));
    tidy(&card)
}

fn copy(source: &Object, member: &str, card: &mut Object) {
    if let Some(value) = source.get(member) {
        card.insert(member, value.clone());
    }
}

fn one_text(text: &str) -> Json {
    Json::Array(vec![Json::from(text)])
}

fn served(gateway: &Gateway, version: Version) -> Vec<&Binding> {
    gateway.interfaces.iter().filter(|(_, served)| *served == version).map(|(binding, _)| binding).collect()
}

/// Entries of 1.0 come first: several clients take the first entry of a binding without looking at its version.
fn add_interfaces(gateway: &Gateway, card: &mut Object) {
    let url = gateway.url.as_str();
    let entry = |binding: &Binding, version: Version| {
        Json::from([("url", url), ("protocolBinding", binding.name()), ("protocolVersion", version.name())])
    };
    let mut entries = Vec::new();
    for version in [Version::V10, Version::V03] {
        entries.extend(served(gateway, version).into_iter().map(|binding| entry(binding, version)));
        if let (Version::V10, Some(grpc)) = (version, &gateway.grpc) {
            entries.push(Json::from([
                ("url", grpc.authority.as_str()),
                ("protocolBinding", Binding::Grpc.name()),
                ("protocolVersion", version.name()),
                ("tenant", grpc.tenant.as_str()),
            ]));
        }
    }
    card.insert("supportedInterfaces", entries);
    let old = served(gateway, Version::V03);
    let Some(preferred) = old.first() else { return };
    card.insert("protocolVersion", "0.3.0");
    card.insert("url", url);
    card.insert("preferredTransport", preferred.name());
    let additional = old.iter().map(|binding| Json::from([("url", url), ("transport", binding.name())]));
    card.insert("additionalInterfaces", additional.collect::<Vec<_>>());
}

/// What the agent has and the gateway passes on, each said outright.
fn add_capabilities(source: &Object, gateway: &Gateway, card: &mut Object) {
    let has = source.get("capabilities").and_then(Json::as_object);
    let can = |member: &str| has.and_then(|all| all.get(member)).and_then(Json::as_bool) == Some(true);
    let Relays { streaming, push_notifications, extended_card } = gateway.relays;
    let old_extended = source.get("supportsAuthenticatedExtendedCard").and_then(Json::as_bool) == Some(true);
    let extended = extended_card && (can("extendedAgentCard") || old_extended);
    let mut capabilities = Object::from([
        ("streaming", streaming && can("streaming")),
        ("pushNotifications", push_notifications && can("pushNotifications")),
        ("extendedAgentCard", extended),
    ]);
    if let Some(extensions) = has.and_then(|all| all.get("extensions")) {
        capabilities.insert("extensions", extensions.clone());
    }
    card.insert("capabilities", capabilities);
    if card.contains("url") {
        // The Python SDK derives one from the other; if they differed, it would rebuild other bytes than were signed.
        card.insert("supportsAuthenticatedExtendedCard", extended);
    }
}

fn add_security(gateway: &Gateway, card: &mut Object) {
    card.insert("securitySchemes", scheme::schemes(&gateway.security));
    if card.contains("url") {
        card.insert("security", scheme::requirements_v03(&gateway.security));
    }
    card.insert("securityRequirements", scheme::requirements_v10(&gateway.security));
}

/// The agent's skills without its own security; one skill of the agent's name if it lists none.
fn skills(source: &Object, name: &Json, description: &Json) -> Json {
    let Some(skills) = source.get("skills") else {
        let only = [
            ("id", Json::from("general")),
            ("name", name.clone()),
            ("description", description.clone()),
            ("tags", one_text("general")),
        ];
        return Json::Array(vec![Json::from(only)]);
    };
    let mut skills = skills.clone();
    for skill in skills.as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
        complete(skill);
    }
    skills
}

fn complete(skill: &mut Object) {
    skill.remove("security");
    skill.remove("securityRequirements");
    for (member, from) in [("id", "name"), ("name", "id"), ("description", "name")] {
        if let (None, Some(value)) = (skill.get(member), skill.get(from).cloned()) {
            skill.insert(member, value);
        }
    }
    if !skill.contains("tags") {
        skill.insert("tags", one_text("general"));
    }
}

/// Whether a link means something to a reader of the gateway's card and does not name the agent's host.
fn is_public(url: &str, hidden_hosts: &[String]) -> bool {
    const PICTURES: [&str; 4] = ["data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;"];
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let has_credentials = authority(url).is_some_and(|authority| authority.contains('@'));
    PICTURES.iter().any(|picture| url.starts_with(picture))
        || (is_web && !has_credentials && host(url).is_some_and(|host| !hidden_hosts.contains(&host)))
}

/// What stands between `//` and the path of an absolute URL.
fn authority(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split(['/', '?', '#', '\\']).next().filter(|authority| !authority.is_empty())
}

/// The host of an absolute URL, in lower case.
fn host(url: &str) -> Option<String> {
    let authority = authority(url)?;
    let authority = authority.rsplit('@').next().unwrap_or(authority);
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        Some(_) | None => authority,
    };
    Some(host.trim_end_matches('.').to_ascii_lowercase())
}
