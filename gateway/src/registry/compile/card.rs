//! One card: its row, settings and sealed credential → [`Card`].

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use a2a::Dialect;
use a2a::dialect::{AgentAddress, Colon, PathBody, R3Bytes, R3Objects, VersionMode};
use sha2::{Digest, Sha256};
use store::{CardFacts, PrincipalRow, TenantRow};
use tokio_util::sync::CancellationToken;

use super::{Problem, grant, is_tag};
use crate::registry::meter::{Meter, Metered};
use crate::registry::sealed;
use crate::registry::settings::{self, CardSettings, Limits};
use crate::registry::{
    Card, CardLimits, CardMembers, Direction, Interface, NamedPolicy, OnBlock, TaskScope, Upstream, UpstreamCredential,
    Visibility,
};
use crate::seal::{Place, Seal};

/// What a card is made with.
pub(super) struct Make<'a> {
    pub(super) seal: &'a Seal,
    pub(super) header_prefix: &'a str,
    pub(super) tenant: &'a TenantRow,
    pub(super) principals: &'a [PrincipalRow],
    pub(super) policies: &'a HashMap<String, Arc<NamedPolicy>>,
}

impl Make<'_> {
    /// The card, with a token of its own.
    pub(super) fn card(&self, facts: &CardFacts) -> Result<Card, Vec<Problem>> {
        let settings = CardSettings::read(&facts.settings)?;
        let names: Vec<&str> = self.policies.keys().map(String::as_str).collect();
        let mut problems = check(&settings, &names);
        let policies = self.effective_policies(&settings).unwrap_or_else(|problem| {
            problems.push(problem);
            Vec::new()
        });
        let upstream = self.upstream(facts, &settings).unwrap_or_else(|more| {
            problems.extend(more);
            None
        });
        let bound_principal = self.bound_principal(&settings).unwrap_or_else(|problem| {
            problems.push(problem);
            None
        });
        problems.dedup();
        let (Some(upstream), true) = (upstream, problems.is_empty()) else { return Err(problems) };
        let capabilities = settings.capabilities.unwrap_or_default();
        Ok(Card {
            id: facts.id.clone(),
            tenant: facts.tenant.as_str().to_owned(),
            name: facts.name.clone(),
            version: facts.version,
            release: settings.release.clone(),
            revision: facts.revision,
            direction: settings.direction.unwrap_or(Direction::Inbound),
            visibility: settings.visibility.unwrap_or(Visibility::Public),
            upstream,
            version_mode: match settings.version_mode {
                Some(settings::VersionMode::Strict) => VersionMode::Strict,
                Some(settings::VersionMode::Lenient) | None => VersionMode::Lenient,
            },
            card_members: settings.card_members.unwrap_or(CardMembers::Union),
            task_scope: settings.task_scope.unwrap_or(TaskScope::Principal),
            policies,
            on_block: settings.on_block.unwrap_or(OnBlock::Error),
            streaming: capabilities.streaming,
            extended_card: capabilities.extended_card,
            bound_principal,
            limits: limits(settings.limits.as_ref()),
            metered: Metered {
                allowance: grant::allowance(&settings.limits.as_ref().map(Limits::calls).unwrap_or_default()),
                meter: Meter::of(facts.tenant.as_str(), &format!("card/{}", facts.id)),
            },
            tags: settings.tags.unwrap_or_default(),
            cancelled: CancellationToken::new(),
        })
    }

    /// The tenant's floor and the one effective policy. A policy that is named and not there closes the card.
    fn effective_policies(&self, settings: &CardSettings) -> Result<Vec<Arc<guard::Pipeline>>, Problem> {
        let effective = settings.policy.as_ref().or(self.tenant.default_policy.as_ref());
        let named = [("/tenant/floor_policy", self.tenant.floor_policy.as_ref()), ("/policy", effective)];
        let mut policies = Vec::new();
        for (path, name) in named {
            let Some(name) = name else { continue };
            match self.policies.get(name) {
                Some(policy) => policies.push(Arc::clone(&policy.pipeline)),
                None => return Err(Problem::new(path, format!("there is no sound policy {name:?}"))),
            }
        }
        policies.dedup_by(|a, b| Arc::ptr_eq(a, b));
        Ok(policies)
    }

    fn upstream(&self, facts: &CardFacts, settings: &CardSettings) -> Result<Option<Upstream>, Vec<Problem>> {
        let interfaces = interfaces(settings)?;
        if interfaces.is_empty() {
            return Err(vec![Problem::new("/upstream/interfaces", "a published card needs at least one")]);
        }
        let origins: Vec<String> = interfaces.iter().filter_map(|interface| origin(&interface.address.base)).collect();
        let place = Place::card_credential(facts.tenant.as_str(), &facts.id);
        let (credential, in_task) = match &facts.sealed_credential {
            None => (UpstreamCredential::None, None),
            Some(blob) => {
                let opened = sealed::open((self.seal, place), blob, &origins, self.header_prefix);
                opened.map_err(|problem| vec![problem])?
            }
        };
        let upstream = settings.upstream.as_ref();
        Ok(Some(Upstream {
            fingerprint: fingerprint(facts, settings),
            interfaces,
            credential,
            in_task,
            stamp_headers: upstream.and_then(|upstream| upstream.stamp_headers).unwrap_or(true),
        }))
    }

    fn bound_principal(&self, settings: &CardSettings) -> Result<Option<String>, Problem> {
        let Some(name) = &settings.bound_principal else { return Ok(None) };
        match self.principals.iter().find(|principal| principal.name == *name) {
            Some(principal) => Ok(Some(principal.id.clone())),
            None => Err(Problem::new("/bound_principal", format!("there is no principal {name:?}"))),
        }
    }
}

/// What can be said of settings without the rest of the tenant. `policies` are the names that exist.
pub(super) fn check(settings: &CardSettings, policies: &[&str]) -> Vec<Problem> {
    let mut problems = interfaces(settings).err().unwrap_or_default();
    if let Some(name) = &settings.policy
        && !policies.contains(&name.as_str())
    {
        problems.push(Problem::new("/policy", format!("there is no sound policy {name:?}")));
    }
    for (at, tag) in settings.tags.iter().flatten().enumerate().filter(|(_, tag)| !is_tag(tag)) {
        problems.push(Problem::new(
            format!("/tags/{at}"),
            format!("{tag:?} must be lower-case letters, digits and inner dashes"),
        ));
    }
    let limits = settings.limits.clone().unwrap_or_default();
    let named = [
        ("request_bytes", limits.request_bytes),
        ("response_bytes", limits.response_bytes),
        ("unary_seconds", limits.unary_seconds),
        ("stream_idle_seconds", limits.stream_idle_seconds),
        ("stream_total_seconds", limits.stream_total_seconds),
    ];
    for (name, limit) in named {
        let is_size = name.ends_with("bytes");
        if limit == Some(0) || (is_size && limit.is_some_and(|bytes| bytes > MAX_BYTES)) {
            problems.push(Problem::new(format!("/limits/{name}"), "must be above 0, and sizes at most 64 MiB"));
        }
    }
    grant::check_limits(&limits.calls(), "/limits", &mut problems);
    problems
}

/// The interfaces to use, in order, or everything that is wrong with them.
fn interfaces(settings: &CardSettings) -> Result<Vec<Interface>, Vec<Problem>> {
    let Some(upstream) = &settings.upstream else { return Ok(Vec::new()) };
    let mut problems = Vec::new();
    let fixed = match upstream.dialect.as_deref() {
        None => None,
        Some(name) => match Dialect::from_name(name) {
            Some(dialect) => Some(dialect),
            None => {
                let known: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
                let problem = format!("{name:?} is unknown; there are {}", known.join(", "));
                problems.push(Problem::new("/upstream/dialect", problem));
                None
            }
        },
    };
    let mut found = Vec::new();
    for (at, raw) in upstream.interfaces.iter().flatten().enumerate() {
        match interface(raw, upstream, fixed) {
            Ok(interface) => found.push(interface),
            Err((member, problem)) => {
                problems.push(Problem::new(format!("/upstream/interfaces/{at}/{member}"), problem));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    // A fixed dialect that some interface declares is spoken there; else it is spoken at all of them.
    if let Some(dialect) = fixed {
        let declared = |raw: &settings::Interface| dialect_of(raw) == Some(dialect);
        let raws = upstream.interfaces.as_deref().unwrap_or_default();
        if raws.iter().any(declared) {
            let mut keep = raws.iter().map(declared);
            found.retain(|_| keep.next().unwrap_or(false));
        }
    }
    // The first one is called; the others stand in for it.
    found.sort_by_key(|interface| loss(interface.dialect));
    Ok(found)
}

/// What is lost towards an agent, by the dialect it is called in: interfaces of the least loss go first, else the order
/// of the card is kept (docs/dialects.md).
const fn loss(dialect: Dialect) -> u8 {
    match dialect {
        Dialect::J1 | Dialect::R1 => 0,
        Dialect::G1 => 1,
        Dialect::J3 => 2,
        Dialect::R3 => 3,
        Dialect::PathRpc => 4,
    }
}

fn interface(
    raw: &settings::Interface,
    upstream: &settings::Upstream,
    fixed: Option<Dialect>,
) -> Result<Interface, (&'static str, String)> {
    let text = raw.url.as_deref().ok_or_else(|| ("url", "is required".to_owned()))?;
    let url = url::Url::parse(text).map_err(|_| ("url", format!("{text:?} is no URL")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(("url", "must begin with https:// or http://".to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return Err(("url", "must have no user name, password, query or fragment".to_owned()));
    }
    let spoken = |dialect: &Dialect| *dialect != Dialect::G1 || cfg!(feature = "grpc");
    let dialect = fixed.or_else(|| dialect_of(raw)).filter(spoken).ok_or_else(|| {
        let binding = raw.binding.as_deref().unwrap_or_default();
        let version = raw.version.as_deref().unwrap_or_default();
        ("binding", format!("{binding:?} in version {version:?} is not spoken by the gateway"))
    })?;
    let colon = match (upstream.colon, upstream.settled_colon) {
        (Some(settings::Colon::Literal), _)
        | (Some(settings::Colon::Auto) | None, Some(settings::SettledColon::Literal)) => Colon::Literal,
        (Some(settings::Colon::Percent), _)
        | (Some(settings::Colon::Auto) | None, Some(settings::SettledColon::Percent) | None) => Colon::Percent,
    };
    let path_body = match upstream.path_body {
        Some(settings::PathBody::Bare) => PathBody::Bare,
        Some(settings::PathBody::Envelope) | None => PathBody::Envelope,
    };
    let r3_bytes = match upstream.r3_bytes {
        Some(settings::R3Bytes::Single) => R3Bytes::Single,
        Some(settings::R3Bytes::Double) => R3Bytes::Double,
        Some(settings::R3Bytes::Auto) | None => R3Bytes::Auto,
    };
    let r3_objects = match upstream.r3_objects {
        Some(settings::R3Objects::Schema) => R3Objects::Schema,
        Some(settings::R3Objects::Proto) | None => R3Objects::Proto,
    };
    let base = text.trim_end_matches('/').to_owned();
    Ok(Interface {
        dialect,
        address: AgentAddress { base, tenant: raw.tenant.clone(), colon, path_body, r3_bytes, r3_objects },
    })
}

fn dialect_of(raw: &settings::Interface) -> Option<Dialect> {
    Dialect::of_interface(raw.binding.as_deref().unwrap_or("JSONRPC"), raw.version.as_deref().unwrap_or("1.0"))
}

/// `scheme://host:port` with the port always written, as egress rules compare origins.
fn origin(base: &str) -> Option<String> {
    let url = url::Url::parse(base).ok()?;
    Some(format!("{}://{}:{}", url.scheme(), url.host_str()?, url.port_or_known_default()?))
}

fn limits(raw: Option<&Limits>) -> CardLimits {
    let seconds = |value: Option<u32>| value.map(|seconds| Duration::from_secs(u64::from(seconds)));
    let bytes = |value: Option<u32>| value.and_then(|bytes| usize::try_from(bytes).ok());
    raw.map_or_else(CardLimits::default, |raw| CardLimits {
        request_bytes: bytes(raw.request_bytes),
        response_bytes: bytes(raw.response_bytes),
        unary: seconds(raw.unary_seconds),
        stream_idle: seconds(raw.stream_idle_seconds),
        stream_total: seconds(raw.stream_total_seconds),
    })
}

fn fingerprint(facts: &CardFacts, settings: &CardSettings) -> [u8; 32] {
    let mut hash = Sha256::new();
    // A struct of strings and enums always serialises.
    hash.update(serde_json::to_vec(&settings.upstream).unwrap_or_default());
    hash.update([0]);
    hash.update(facts.sealed_credential.as_deref().unwrap_or_default());
    hash.finalize().into()
}

const MAX_BYTES: u32 = 64 << 20;
