//! `chancery changes`: who changed what, when and from where, and what was refused.

use crate::cli::api::{AdminArgs, segment};
use crate::cli::output;
use crate::cli::resource::InTenant;
use clap::Args;
use serde_json::Value;

/// What is searched for, newest first.
#[derive(Debug, Args)]
pub(super) struct ChangesArgs {
    /// Whose.
    #[command(flatten)]
    place: InTenant,
    /// Of all tenants, and of accounts and tokens; for the platform's administrators.
    #[arg(long)]
    everywhere: bool,
    /// Who did it: an account's or a token's name.
    #[arg(long)]
    actor: Option<String>,
    /// What kind of thing: card, policy, grant, key, …
    #[arg(long)]
    kind: Option<String>,
    /// Which one, by name, or by id where it has none.
    #[arg(long)]
    name: Option<String>,
    /// What was done: create, update, delete, revoke, state, credential, rotate, restore, …
    #[arg(long)]
    action: Option<String>,
    /// Only what was refused.
    #[arg(long)]
    refused: bool,
    /// At or after (RFC 3339).
    #[arg(long)]
    from: Option<String>,
    /// Before (RFC 3339).
    #[arg(long)]
    until: Option<String>,
    /// At most this many.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Go on after an earlier page, which named this.
    #[arg(long)]
    cursor: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// The admin API refused.
pub(super) async fn run(args: &ChangesArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &args.limit.to_string());
    if args.refused {
        query.append_pair("outcome", "refused");
    }
    let pairs = [
        ("actor", &args.actor),
        ("kind", &args.kind),
        ("name", &args.name),
        ("action", &args.action),
        ("from", &args.from),
        ("until", &args.until),
        ("cursor", &args.cursor),
    ];
    for (key, value) in pairs {
        if let Some(value) = value {
            query.append_pair(key, value);
        }
    }
    let of = if args.everywhere { String::new() } else { format!("/tenants/{}", segment(&args.place.tenant)?) };
    let page = admin.connect()?.get(&format!("{of}/changes?{}", query.finish())).await?;
    if let Some(next) = page["next_cursor"].as_str() {
        output::note(&format!("there are older ones: --cursor {next}"));
    }
    let items = page["items"].as_array().cloned().unwrap_or_default();
    if admin.json { output::json(&Value::Array(items)) } else { output::table(COLUMNS, &items) }
}

const COLUMNS: &[(&str, &str)] = &[
    ("AT", "/at"),
    ("ACTOR", "/actor"),
    ("ROLE", "/role"),
    ("ACTION", "/action"),
    ("KIND", "/kind"),
    ("NAME", "/name"),
    ("TENANT", "/tenant"),
    ("BEFORE", "/revision_before"),
    ("AFTER", "/revision_after"),
    ("OUTCOME", "/outcome"),
    ("WHY", "/code"),
    ("FROM", "/source"),
];
