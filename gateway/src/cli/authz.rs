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
    Explain(Explain),
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
    place: InTenant,
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
