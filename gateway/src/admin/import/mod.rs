//! `POST …/cards/import`: register a running agent from its address.
//!
//! Reads the agent's card (crate `a2a-client` knows every place where one may be), asks each interface what it really speaks (`probe`), and gives a card with settings
//! that say so, plus a report of what was found and why. Refuses a card that points away from the address it was
//! fetched from: that is how a credential would leave for somebody else's server.

mod probe;

use super::access::Who;
use super::body::{Document, Written, tree};
use super::error::{ApiError, FieldProblem};
use super::extract::{Path, State};
use super::resource::{check_name, existing_tenant, new_id};
use super::{Shared, cards};
use a2a::Dialect;
use a2a::dialect::{Colon, R3Bytes};
use a2a::rewrite::{self, Interface};
use a2a_client::{Credential, Found, ResolveError, resolve};
use http::StatusCode;
use probe::Speaks;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

/// What to import, and how.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ImportSpec {
    /// The agent's address, or its card's when it ends in `.json`.
    #[schema(required = true)]
    pub url: String,
    /// The card's name here; from the agent's name if absent.
    pub name: Option<String>,
    /// Speak this dialect at `url` (`v10_jsonrpc`, `v10_http_json`, `v03_jsonrpc`, `v03_http_json`, `path_rpc`) instead of asking the agent.
    pub dialect: Option<String>,
    /// Use `url`'s own scheme, host and port with the paths that the card names, for agents that publish an address
    /// which only others can reach.
    pub use_address: bool,
    /// Only say what was found and what would become of it; register nothing.
    pub dry_run: bool,
    /// Settings of the card as in a card's spec (state, visibility, policy, upstream.credential, …).
    pub settings: serde_json::Map<String, Value>,
}

/// A place where a card may be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Attempt {
    /// The address.
    pub url: String,
    /// What came of it.
    pub result: String,
}

/// What was found and why it was set up so.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ImportReport {
    /// Where the card was read.
    pub card_url: String,
    /// Everything that was asked, in order.
    pub attempts: Vec<Attempt>,
    /// Each interface of the agent and what is spoken there.
    pub interfaces: Vec<InterfaceReport>,
    /// How the colon is spelled towards the agent, and why.
    pub colon: String,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// One interface of the agent.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct InterfaceReport {
    /// Its address.
    pub url: String,
    /// What the card says.
    pub declared: String,
    /// The dialect that is used, if any.
    pub dialect: Option<&'static str>,
    /// Why.
    pub evidence: String,
}

/// A card that was imported.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes an answer that is put together as a tree, to keep the card's digits")]
pub(super) struct Imported {
    /// The card.
    pub card: cards::CardResource,
    /// How it was found.
    pub import: ImportReport,
}

/// What a dry run found.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes an answer that is put together as a tree, to keep the card's digits")]
pub(super) struct Previewed {
    /// What would be registered.
    pub preview: Preview,
    /// How it was found.
    pub import: ImportReport,
}

/// A card that is not registered.
#[derive(ToSchema)]
#[expect(dead_code, reason = "as above")]
pub(super) struct Preview {
    /// A name that is free, made from the agent's own; empty where none can be made.
    pub name: String,
    /// The card's spec.
    pub spec: Value,
    /// What would keep it from being saved.
    pub problems: Vec<FieldProblem>,
    /// What a person has to read before it is published.
    pub flags: Vec<FieldProblem>,
}

/// An interface to use.
struct Usable {
    url: String,
    dialect: Dialect,
    tenant: Option<String>,
    r3_bytes: R3Bytes,
}

/// What one interface was found to speak, and why.
struct Detected {
    dialect: Option<Dialect>,
    evidence: String,
    r3_bytes: R3Bytes,
}

impl Detected {
    fn new(dialect: Option<Dialect>, evidence: impl Into<String>) -> Self {
        Self { dialect, evidence: evidence.into(), r3_bytes: R3Bytes::Auto }
    }
}

/// Registers a running agent.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/cards/import", tag = "cards", params(("tenant" = String, Path)),
    request_body = ImportSpec,
    responses((status = 201, body = Imported), (status = 200, body = Previewed), (status = 400, body = ApiError), (status = 422, body = ApiError)))]
pub(super) async fn import(
    State(admin): State<Shared>,
    who: Who,
    Path(tenant): Path<String>,
    Document { typed, .. }: Document<ImportSpec>,
) -> Result<(StatusCode, Written), ApiError> {
    let origin = ApiError::both(check_sent(&admin, &tenant, &typed).await, origin(&admin, &typed.url))?.1;
    let found = resolve(&admin.agents, &typed.url, &Credential::None).await.map_err(not_found)?;
    let name = match (&typed.name, free_name(&admin, &tenant, &found).await) {
        (Some(name), _) => name.clone(),
        (None, Ok(name)) => name,
        (None, Err(_)) if typed.dry_run => String::new(),
        (None, Err(error)) => return Err(error),
    };
    let mut report = ImportReport {
        card_url: found.url.to_string(),
        attempts: attempts(&found),
        interfaces: Vec::new(),
        colon: String::from("not needed: no interface has its operations in the path"),
        warnings: found.also.iter().map(|other| another_card(other)).collect(),
    };
    let (usable, colon) = interfaces(&admin, &typed, &origin, &found, &mut report).await?;
    let dry_run = typed.dry_run;
    let spec = spec(typed.settings, &found, &usable, colon)?;
    if dry_run {
        let remarks = cards::remarks(&admin, &tenant, &spec).await?;
        let mut preview = json::Object::from([("name", json::Json::from(name)), ("spec", spec)]);
        preview.insert("problems", tree(&remarks.problems)?);
        preview.insert("flags", tree(&remarks.flags)?);
        let mut answer = json::Object::from([("preview", json::Json::from(preview))]);
        answer.insert("import", tree(&report)?);
        return Ok((StatusCode::OK, Written(answer.into())));
    }
    let flags = cards::flags(&admin, &spec);
    report.warnings.extend(flags.iter().map(|flag| format!("{} {}", cards::place_in_words(&flag.path), flag.problem)));
    if !flags.is_empty() {
        report
            .warnings
            .push("the card stays pending until somebody has read that and says so with reviewed".to_owned());
    }
    let card = cards::make((&admin, &who), &tenant, &name, &spec, "imported").await.map_err(as_sent)?;
    let mut answer = json::Object::from([("card", card)]);
    answer.insert("import", tree(&report)?);
    Ok((StatusCode::CREATED, Written(answer.into())))
}

/// What can be known before the agent is asked anything.
async fn check_sent(admin: &Shared, tenant: &str, spec: &ImportSpec) -> Result<(), ApiError> {
    let owner = existing_tenant(&admin.store, tenant).await?;
    let dialect = spec.dialect.as_deref().map_or(Ok(()), |name| dialect(name).map(drop));
    let name = match spec.name.as_deref() {
        None => Ok(()),
        Some(name) => check_name(name),
    };
    ApiError::both(dialect, name)?;
    match &spec.name {
        Some(name) if admin.store.card(&owner, name).await?.is_some() => {
            Err(ApiError::name_taken("a card of this name"))
        }
        Some(_) | None => Ok(()),
    }
}

/// A name made from what the agent calls itself, if it can be had.
async fn free_name(admin: &Shared, tenant: &str, found: &Found) -> Result<String, ApiError> {
    let owner = existing_tenant(&admin.store, tenant).await?;
    let name = name_from(found.card.str("name").unwrap_or_default());
    if check_name(&name).is_err() || admin.store.card(&owner, &name).await?.is_some() {
        let problem = "the agent's own name gives none that is free and allowed here: say one (--name)";
        return Err(ApiError::invalid_field("name", problem));
    }
    Ok(name)
}

/// Problems of a spec, by the names under which it was sent.
fn as_sent(mut error: ApiError) -> ApiError {
    for field in &mut error.fields {
        if let Some(path) = field.path.strip_prefix("spec.").filter(|path| !path.starts_with("card")) {
            field.path = format!("settings.{path}");
        }
    }
    error
}

/// `scheme://host:port` of the given address, judged by the egress rules first.
fn origin(admin: &Shared, url: &str) -> Result<String, ApiError> {
    admin.agents.rules().judge_url(url).map(|target| target.origin()).map_err(|denied| {
        ApiError::refused("egress_denied", "the gateway may not connect to this address")
            .with_fields(vec![FieldProblem { path: String::from("url"), problem: denied.to_string() }])
    })
}

fn not_found(error: ResolveError) -> ApiError {
    let fields = match error {
        ResolveError::BadUrl | ResolveError::Credential(_) => return ApiError::invalid_field("url", error.to_string()),
        ResolveError::NoCard(tried) => {
            tried.into_iter().map(|one| FieldProblem { path: one.url, problem: one.problem.to_string() }).collect()
        }
    };
    ApiError::refused("no_card_found", "no agent card was found; give the card's own URL, or register it from a file")
        .with_fields(fields)
}

/// Every place that was asked, in order.
fn attempts(found: &Found) -> Vec<Attempt> {
    let tried = found.tried.iter().map(|one| Attempt { url: one.url.clone(), result: one.problem.to_string() });
    tried.chain([Attempt { url: found.url.to_string(), result: String::from("a card") }]).collect()
}

fn another_card(other: &Found) -> String {
    let name = other.card.str("name").unwrap_or_default();
    format!("{} serves another card, named {name:?}; the one nearest to the address was taken", other.url)
}

/// Every interface that is spoken, preferred first, and how the colon is spelled.
async fn interfaces(
    admin: &Shared,
    spec: &ImportSpec,
    origin: &str,
    found: &Found,
    report: &mut ImportReport,
) -> Result<(Vec<Usable>, Option<Colon>), ApiError> {
    let declared = match &spec.dialect {
        Some(_) => vec![declared_by_hand(spec, found)],
        None => rewrite::interfaces(&found.card),
    };
    let mut usable = Vec::new();
    let mut foreign = Vec::new();
    for interface in declared {
        let url = match interface.binding {
            rewrite::Binding::Grpc => at_host(admin, &interface.url, &found.url, origin),
            rewrite::Binding::JsonRpc | rewrite::Binding::HttpJson | rewrite::Binding::Other(_) => {
                at_origin(admin, &interface.url, &found.url, origin, spec.use_address)
            }
        };
        match url {
            Ok(url) => usable.extend(examine(admin, spec, &interface, url, report).await?),
            Err(problem) => foreign.push(FieldProblem { path: place(&found.url, &interface.url), problem }),
        }
    }
    if usable.is_empty() && !foreign.is_empty() {
        return Err(ApiError::refused(
            "foreign_interface",
            "the card points away from the address it was read from; register the agent at that address, or say \
             use_address (--use-address) to keep yours",
        )
        .with_fields(foreign));
    }
    report.warnings.extend(foreign.into_iter().map(|field| format!("{} is not used: {}", field.path, field.problem)));
    if usable.is_empty() {
        return Err(ApiError::refused(
            "no_dialect_found",
            "no interface of the agent answered in a dialect of ours; name one with dialect (--dialect)",
        )
        .with_fields(
            report
                .interfaces
                .iter()
                .map(|seen| FieldProblem { path: seen.url.clone(), problem: seen.evidence.clone() })
                .collect(),
        ));
    }
    let colon = settle_colon(admin, &usable, report).await?;
    Ok((usable, colon))
}

/// Which server an interface is at, no more: the rest of what was fetched is nobody's business in an error.
fn place(card_url: &url::Url, url: &str) -> String {
    let absolute = card_url.join(url).ok();
    absolute.map_or_else(|| String::from("an interface"), |url| url.origin().ascii_serialization())
}

fn declared_by_hand(spec: &ImportSpec, found: &Found) -> Interface {
    let first = rewrite::interfaces(&found.card).into_iter().next();
    Interface {
        url: if spec.url.ends_with(".json") {
            first.as_ref().map_or_else(|| spec.url.clone(), |interface| interface.url.clone())
        } else {
            spec.url.clone()
        },
        binding: rewrite::Binding::JsonRpc,
        version: String::new(),
        tenant: first.and_then(|interface| interface.tenant),
    }
}

/// The interface's absolute URL, if it lies at the registered origin.
fn at_origin(
    admin: &Shared,
    url: &str,
    card_url: &url::Url,
    origin: &str,
    use_address: bool,
) -> Result<String, String> {
    let absolute = card_url.join(url).map_err(|_| String::from("is no URL"))?;
    let path = absolute.path().trim_end_matches('/');
    if use_address {
        return Ok(format!("{origin}{path}"));
    }
    let target = admin.agents.rules().judge_url(absolute.as_str()).map_err(|denied| denied.to_string())?;
    if target.origin() != origin {
        return Err(format!("leads to another server than {origin}"));
    }
    Ok(format!("{origin}{path}"))
}

/// The URL of a gRPC interface, which cards write as `host:port`: at the registered host, though on a port of its own.
/// Nothing says whether it wants TLS, so it is believed to want what the card's own address has.
fn at_host(admin: &Shared, address: &str, card_url: &url::Url, origin: &str) -> Result<String, String> {
    let url = match address.split_once("://") {
        None => format!("{}://{address}", card_url.scheme()),
        Some(("grpc", rest)) => format!("http://{rest}"),
        Some(("grpcs", rest)) => format!("https://{rest}"),
        Some(_) => address.to_owned(),
    };
    let absolute = url::Url::parse(&url).map_err(|_| String::from("is no host:port"))?;
    admin.grpc.rules().judge_url(absolute.as_str()).map_err(|denied| denied.to_string())?;
    let registered = url::Url::parse(origin).ok();
    if registered.as_ref().and_then(url::Url::host_str) != absolute.host_str() {
        return Err(format!("leads to another host than {origin}"));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// Asks one interface what it speaks.
async fn examine(
    admin: &Shared,
    spec: &ImportSpec,
    interface: &Interface,
    url: String,
    report: &mut ImportReport,
) -> Result<Option<Usable>, ApiError> {
    let declared = format!("{} {}", interface.binding.name(), interface.version).trim_end().to_owned();
    let Detected { dialect, evidence, r3_bytes } = match &spec.dialect {
        Some(name) => Detected::new(Some(dialect(name)?), "given by hand"),
        None => detect(admin, interface, &url).await?,
    };
    if dialect.is_some() && evidence.ends_with("the card's word is taken") {
        report.warnings.push(evidence.clone());
    }
    report.interfaces.push(InterfaceReport {
        url: url.clone(),
        declared,
        dialect: dialect.map(Dialect::name),
        evidence,
    });
    Ok(dialect.map(|dialect| Usable { url, dialect, tenant: interface.tenant.clone(), r3_bytes }))
}

fn dialect(name: &str) -> Result<Dialect, ApiError> {
    Dialect::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Dialect::ALL.into_iter().map(Dialect::name).collect();
        ApiError::invalid_field("dialect", format!("must be one of {}", names.join(", ")))
    })
}

/// The dialect at `url`: what the card says if the agent confirms it, else what it answers to.
async fn detect(admin: &Shared, interface: &Interface, url: &str) -> Result<Detected, ApiError> {
    let declared = Dialect::of_interface(interface.binding.name(), &interface.version);
    let mut order: Vec<Dialect> = declared.into_iter().collect();
    let candidates = match &interface.binding {
        rewrite::Binding::JsonRpc => vec![Dialect::J1, Dialect::J3],
        rewrite::Binding::HttpJson => vec![Dialect::R1, Dialect::R3],
        rewrite::Binding::Grpc if declared == Some(Dialect::G1) => return by_grpc(admin, interface, url).await,
        rewrite::Binding::Grpc | rewrite::Binding::Other(_) => {
            return Ok(Detected::new(None, format!("{} is not spoken here", interface.binding.name())));
        }
    };
    let mut seen = String::new();
    order.extend(candidates.into_iter().filter(|candidate| Some(*candidate) != declared));
    for dialect in order {
        let id = new_id("probe-", admin.clock.now())?;
        match probe::speaks(&admin.agents, dialect, url, Colon::Percent, &id).await {
            Speaks::Yes(r3_bytes) => {
                let mut evidence = format!("answered GetTask for an unknown task as {}", dialect.name());
                if r3_bytes == R3Bytes::Double {
                    evidence.push_str("; its error is one of the Python SDK, which encodes files twice");
                }
                return Ok(Detected { dialect: Some(dialect), evidence, r3_bytes });
            }
            Speaks::Locked(status) if Some(dialect) == declared => {
                let evidence = format!("{}: the card's word is taken", locked(url, status));
                return Ok(Detected::new(Some(dialect), evidence));
            }
            Speaks::Locked(status) => seen = format!(" ({})", locked(url, status)),
            Speaks::No(None) => {}
            Speaks::No(Some(status)) => seen = format!(" (GetTask was answered {})", status.as_u16()),
        }
    }
    if interface.binding == rewrite::Binding::JsonRpc {
        let id = new_id("probe-", admin.clock.now())?;
        let colons = probe::colons(&admin.agents, Dialect::PathRpc, url, &id).await;
        if colons.percent || colons.literal {
            let evidence = "no JSON-RPC answer at this URL, but a route for message:send";
            return Ok(Detected::new(Some(Dialect::PathRpc), evidence));
        }
    }
    Ok(Detected::new(None, format!("did not answer in any dialect of ours{seen}")))
}

/// Whether the gRPC service of 1.0 answers at `url`.
async fn by_grpc(admin: &Shared, interface: &Interface, url: &str) -> Result<Detected, ApiError> {
    let id = new_id("probe-", admin.clock.now())?;
    let dialect = Dialect::G1;
    let (found, evidence) = match probe::speaks_grpc(&admin.grpc, url, interface.tenant.as_deref(), &id).await {
        Speaks::Yes(_) => (Some(dialect), format!("answered GetTask for an unknown task as {}", dialect.name())),
        Speaks::Locked(status) => (Some(dialect), format!("{}: the card's word is taken", locked(url, status))),
        Speaks::No(_) => (None, String::from("did not answer as the gRPC service of A2A 1.0")),
    };
    Ok(Detected::new(found, evidence))
}

fn locked(url: &str, status: StatusCode) -> String {
    format!("{url} answered {} and can't be asked what it speaks without a credential", status.as_u16())
}

/// How the colon is spelled, where it matters.
async fn settle_colon(admin: &Shared, usable: &[Usable], report: &mut ImportReport) -> Result<Option<Colon>, ApiError> {
    let Some(with_paths) = usable.iter().find(|one| one.dialect.binding() != a2a::Binding::JsonRpc) else {
        return Ok(None);
    };
    let id = new_id("probe-", admin.clock.now())?;
    let colons = probe::colons(&admin.agents, with_paths.dialect, &with_paths.url, &id).await;
    colons.evidence().clone_into(&mut report.colon);
    if !colons.percent && !colons.literal {
        report.warnings.push(colons.evidence().to_owned());
    }
    Ok(Some(colons.choice()))
}

/// The card's spec: what the administrator set, over what was found.
fn spec(
    settings: serde_json::Map<String, Value>,
    found: &Found,
    usable: &[Usable],
    colon: Option<Colon>,
) -> Result<json::Json, ApiError> {
    let interfaces: Vec<Value> = usable.iter().map(interface_setting).collect();
    let mut spec = settings;
    let upstream = spec.entry("upstream").or_insert_with(|| json!({}));
    let Some(upstream) = upstream.as_object_mut() else {
        return Err(ApiError::invalid_field("settings.upstream", "must be an object"));
    };
    upstream.entry("interfaces").or_insert_with(|| interfaces.into());
    if let Some(colon) = colon {
        let word = match colon {
            Colon::Percent => "percent",
            Colon::Literal => "literal",
        };
        upstream.entry("settled_colon").or_insert_with(|| word.into());
    }
    if usable.iter().any(|one| one.r3_bytes == R3Bytes::Double) {
        upstream.entry("r3_bytes").or_insert_with(|| "double".into());
    }
    if usable.iter().any(|one| one.dialect == Dialect::PathRpc) {
        upstream.entry("dialect").or_insert_with(|| Dialect::PathRpc.name().into());
    }
    let bytes = serde_json::to_vec(&spec).map_err(|_| ApiError::internal())?;
    let mut tree = json::read(&bytes, &json::Limits::default()).map_err(|_| ApiError::internal())?;
    if let Some(spec) = tree.as_object_mut() {
        spec.insert("card", found.card.clone());
    }
    Ok(tree)
}

fn interface_setting(usable: &Usable) -> Value {
    let (binding, version) = match usable.dialect {
        Dialect::J1 => ("JSONRPC", "1.0"),
        Dialect::R1 => ("HTTP+JSON", "1.0"),
        Dialect::R3 => ("HTTP+JSON", "0.3"),
        Dialect::G1 => ("GRPC", "1.0"),
        Dialect::J3 | Dialect::PathRpc => ("JSONRPC", "0.3"),
    };
    let mut setting = json!({"url": usable.url, "binding": binding, "version": version});
    if let Some(tenant) = &usable.tenant {
        setting["tenant"] = tenant.as_str().into();
    }
    setting
}

/// A card name from an agent's name: lower case, everything else a dash.
fn name_from(agent: &str) -> String {
    let mut name = String::new();
    for c in agent.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            name.push(c);
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
    }
    name.truncate(63);
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_what_people_call_the_agent() {
        assert_eq!(name_from("Hello World A2A (Brutor sample)"), "hello-world-a2a-brutor-sample");
        assert_eq!(name_from("Ünïcode!"), "n-code");
        assert_eq!(name_from(""), "");
    }
}
