//! `chancery authz`: may somebody do something and why, and what is used of limits; asked of a running gateway.

use crate::cli::api::{AdminArgs, segment};
use crate::cli::output;
use crate::cli::resource::InTenant;
use clap::{Args, Subcommand};
use serde_json::Value;

/// Questions about what is in force.
#[derive(Debug, Subcommand)]
pub(super) enum AuthzCommand {
    /// Say whether a principal may do something with a card, and which grant says so.
    Explain(Box<Explain>),
    /// Show limits and what is used of them.
    Limits(InTenant),
}

/// Who wants what.
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// The principal's name.
    #[arg(long, short)]
    principal: String,
    /// The card's name.
    #[arg(long)]
    card: String,
    /// The operation: send, stream, get, list, cancel, subscribe, push_create, …
    #[arg(long, short)]
    operation: String,
    /// A group that the caller's token names, besides those that are stored.
    #[arg(long, value_name = "GROUP")]
    group: Vec<String>,
    #[command(flatten)]
    call: Supposed,
    #[command(flatten)]
    place: InTenant,
}

/// The call that the tenant's conditions are asked about.
#[derive(Debug, Args)]
struct Supposed {
    /// When it is made (RFC 3339) [default: now].
    #[arg(long)]
    at: Option<String>,
    /// The caller's address [default: 127.0.0.1].
    #[arg(long)]
    source: Option<String>,
    /// How the caller is proven: `api_key`, `certificate`, `gateway_token`, `issuer_token` [default: `api_key`].
    #[arg(long)]
    scheme: Option<String>,
    /// An extension that it declares.
    #[arg(long, value_name = "URI")]
    extension: Vec<String>,
    /// The message's metadata.
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// The request's metadata.
    #[arg(long, value_name = "JSON")]
    request_metadata: Option<String>,
    /// A call behind it, the first one first.
    #[arg(long, value_name = "PRINCIPAL>CARD")]
    via: Vec<String>,
}

impl Supposed {
    fn write(&self, query: &mut url::form_urlencoded::Serializer<'_, String>) {
        let (extensions, via) = (self.extension.join(","), self.via.join(","));
        let joined = [("extensions", extensions), ("via", via)].map(|(name, text)| (name, Some(text)));
        let single = [
            ("at", self.at.clone()),
            ("source", self.source.clone()),
            ("scheme", self.scheme.clone()),
            ("metadata", self.metadata.clone()),
            ("request_metadata", self.request_metadata.clone()),
        ];
        for (name, text) in joined.into_iter().chain(single) {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                query.append_pair(name, &text);
            }
        }
    }
}

/// Asks, and prints the answer.
///
/// # Errors
/// The admin API refused.
pub(super) async fn run(command: AuthzCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    let api = admin.connect()?;
    match command {
        AuthzCommand::Explain(asked) => {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.append_pair("principal", &asked.principal);
            query.append_pair("card", &asked.card).append_pair("operation", &asked.operation);
            if !asked.group.is_empty() {
                query.append_pair("groups", &asked.group.join(","));
            }
            asked.call.write(&mut query);
            let tenant = segment(&asked.place.tenant)?;
            let answer = api.get(&format!("/tenants/{tenant}/authz/explain?{}", query.finish())).await?;
            if admin.json { output::json(&answer) } else { explained(&answer) }
        }
        AuthzCommand::Limits(place) => {
            let uses = api.get(&format!("/tenants/{}/limits", segment(&place.tenant)?)).await?;
            let items = uses["items"].as_array().cloned().unwrap_or_default();
            if admin.json { output::json(&Value::Array(items)) } else { output::table(COLUMNS, &items) }
        }
    }
}

fn explained(answer: &Value) -> anyhow::Result<()> {
    let verdict = if answer["allowed"] == true { "yes" } else { "no" };
    output::line(&format!("{verdict}: {}", answer["reason"].as_str().unwrap_or_default()))?;
    if let Some(shadow) = answer["would_be_denied_by"]["grant"].as_str() {
        output::line(&format!("in shadow mode, and recorded: {shadow} would have it denied"))?;
    }
    if answer["conditions"]["verdict"] == "would_deny" {
        let of = |key: &str| answer["conditions"][key].as_str().unwrap_or_default();
        let policies: Vec<&str> =
            answer["conditions"]["policies"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let (name, why, policies) = (of("conditions"), of("why"), policies.join(", "));
        let earlier = answer["conditions"]["earlier"]["principal"].as_str();
        let whom = earlier.map(|principal| format!(" for {principal}, who called before")).unwrap_or_default();
        output::line(&format!(
            "in shadow mode, and recorded: conditions {name} would deny it{whom} ({why}: {policies})"
        ))?;
    }
    for row in answer["left_out"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        output::line(&format!("left out because of mistakes: {row}"))?;
    }
    let considered = answer["considered"].as_array().cloned().unwrap_or_default();
    if considered.is_empty() { Ok(()) } else { output::table(CONSIDERED, &considered) }
}

const CONSIDERED: &[(&str, &str)] = &[
    ("GRANT", "/grant"),
    ("EFFECT", "/effect"),
    ("MODE", "/mode"),
    ("GROUP", "/group"),
    ("APPLIES", "/applies"),
    ("BECAUSE", "/because"),
];
const COLUMNS: &[(&str, &str)] = &[
    ("KIND", "/kind"),
    ("NAME", "/name"),
    ("PER MINUTE", "/limits/per_minute"),
    ("LEFT", "/used/left_in_minute"),
    ("CONCURRENT", "/limits/concurrent"),
    ("NOW", "/used/concurrent"),
    ("STREAMS", "/limits/streams"),
    ("OPEN", "/used/streams"),
    ("DAILY", "/limits/daily"),
    ("TODAY", "/used/daily"),
    ("MONTHLY", "/limits/monthly"),
    ("THIS MONTH", "/used/monthly"),
];
