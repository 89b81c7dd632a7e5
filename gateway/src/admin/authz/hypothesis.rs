//! A call that nobody has made, for an explanation: what the question says of it, and what is assumed where it says
//! nothing.

use super::question::Question;
use crate::admin::error::ApiError;
use crate::admin::resource::{micros, rfc3339};
use crate::clock::Micros;
use crate::pipeline::authorize::condition::direction;
use crate::registry::conditions::{Asked, AskedMessage, Behind, Conditions, Earlier, Metadata, Ruling};
use crate::registry::{Card, Principal, TenantWorld};
use a2a::OperationKind;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr};
use utoipa::ToSchema;

/// What the tenant's conditions say to the question.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::admin) struct Consulted {
    /// Their name.
    conditions: String,
    /// The version of the document.
    version: i64,
    /// `enforce`, `shadow` or `off`.
    mode: &'static str,
    /// `allows`, `denies`, or `would_deny` if what is in shadow mode counted.
    verdict: &'static str,
    /// `forbidden`, `not_permitted`, `failed`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    /// The policies that decide, by id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<String>,
    /// Of whom they say it, where that is somebody before the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<Earlier>,
    /// The call that was judged: what the question left open is assumed.
    judged: JudgedCall,
    /// In words.
    #[serde(skip)]
    pub(in crate::admin) said: Option<String>,
}

impl Consulted {
    /// Whether they deny it.
    pub(in crate::admin) fn denies(&self) -> bool {
        self.verdict == "denies"
    }
}

/// The call that was judged.
#[derive(Debug, Serialize, ToSchema)]
struct JudgedCall {
    /// RFC 3339.
    at: String,
    /// An address.
    source: String,
    /// How the caller was proven.
    scheme: &'static str,
    /// What it declares.
    extensions: Vec<String>,
    /// The version that the agent's card states.
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<String>,
    /// How many delegations lie behind it.
    delegation_depth: usize,
}

/// Asks the conditions.
pub(super) fn consult(conditions: &Conditions, asked: &Asked) -> Consulted {
    let ruling = conditions.judge(asked);
    let (verdict, cause) = match &ruling {
        Ruling::Allowed => ("allows", None),
        Ruling::Denied(cause) => ("denies", Some(cause)),
        Ruling::WouldDeny(cause) => ("would_deny", Some(cause)),
    };
    Consulted {
        conditions: conditions.name.clone(),
        version: conditions.version,
        mode: conditions.mode.name(),
        verdict,
        why: cause.map(|cause| cause.why.name()),
        policies: cause.map(|cause| cause.policies.clone()).unwrap_or_default(),
        earlier: cause.and_then(|cause| cause.earlier.clone()),
        judged: JudgedCall {
            at: rfc3339(asked.now),
            source: asked.source.to_string(),
            scheme: asked.scheme,
            extensions: asked.extensions.clone(),
            release: asked.release.clone(),
            delegation_depth: asked.delegation.as_ref().map_or(0, |behind| behind.hops.len()),
        },
        said: cause.map(ToString::to_string),
    }
}

/// The call that the question describes.
///
/// # Errors
/// 400 that names the part of the question that can't be understood.
pub(super) fn asked(
    question: &Question,
    (principal, groups): (&Principal, &[String]),
    (card, operation): (&Card, OperationKind),
    (tenant, now): (&TenantWorld, Micros),
) -> Result<Asked, ApiError> {
    let sends = matches!(operation, OperationKind::SendMessage | OperationKind::SendStreamingMessage);
    let message = AskedMessage {
        metadata: metadata("metadata", question.metadata.as_deref())?,
        extensions: words(question.extensions.as_deref()),
        parts: 1,
        follow_up: false,
    };
    Ok(Asked {
        principal: principal.name.clone(),
        groups: principal.groups.iter().chain(groups).cloned().collect(),
        scheme: scheme(question)?,
        card: card.name.clone(),
        tags: card.tags.clone(),
        direction: direction(card.direction),
        release: card.release.clone(),
        revision: card.version,
        operation,
        now: question.at.as_deref().map_or(Ok(now), |at| micros("at", at))?,
        source: source(question)?,
        extensions: words(question.extensions.as_deref()),
        delegation: behind(question, tenant)?,
        metadata: metadata("request_metadata", question.request_metadata.as_deref())?,
        message: sends.then_some(message),
    })
}

fn source(question: &Question) -> Result<IpAddr, ApiError> {
    let Some(text) = &question.source else { return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)) };
    text.parse().map_err(|_| ApiError::invalid_field("source", "must be an address such as 192.0.2.7 or 2001:db8::1"))
}

fn scheme(question: &Question) -> Result<&'static str, ApiError> {
    const KNOWN: [&str; 4] = ["api_key", "certificate", "gateway_token", "issuer_token"];
    let Some(text) = &question.scheme else { return Ok(KNOWN[0]) };
    let known = KNOWN.into_iter().find(|known| known == text);
    known.ok_or_else(|| ApiError::invalid_field("scheme", format!("must be one of {}", KNOWN.join(", "))))
}

fn metadata(path: &str, text: Option<&str>) -> Result<Metadata, ApiError> {
    let Some(text) = text else { return Ok(Metadata::default()) };
    match json::read(text.as_bytes(), &json::Limits::default()) {
        Ok(tree @ json::Json::Object(_)) => Ok(Metadata::of(Some(&tree))),
        Ok(_) => Err(ApiError::invalid_field(path, "must be a JSON object")),
        Err(error) => Err(ApiError::invalid_field(path, format!("is no JSON: {error}"))),
    }
}

fn words(text: Option<&str>) -> Vec<String> {
    text.iter()
        .flat_map(|text| text.split(','))
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .map(Into::into)
        .collect()
}

/// `ann>planner,bot>echo`: who called which card, the first caller first.
fn behind(question: &Question, tenant: &TenantWorld) -> Result<Option<Behind>, ApiError> {
    let mut hops = Vec::new();
    for hop in words(question.via.as_deref()) {
        let (name, card) = hop.split_once('>').ok_or_else(|| {
            ApiError::invalid_field("via", "must be principal>card, the first caller first, separated by commas")
        })?;
        let known = tenant.principals.values().find(|principal| principal.name == name);
        let groups = known.map(|principal| principal.groups.clone()).unwrap_or_default();
        hops.push((name.to_owned(), groups, card.to_owned()));
    }
    Ok((!hops.is_empty()).then(|| Behind { root: String::from("explained"), hops }))
}
