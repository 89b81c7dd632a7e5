//! `chancery audit query`: search the audit trail.

use crate::cli::api::AdminArgs;
use crate::cli::output;
use crate::cli::resource::InTenant;
use clap::{Args, Subcommand};
use serde_json::Value;

/// Commands on the audit trail.
#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Search records, newest first; with --root a tree of delegations from its first call on.
    Query(QueryArgs),
}

/// Arguments of `query`.
#[derive(Debug, Args)]
pub(super) struct QueryArgs {
    /// Whose records.
    #[command(flatten)]
    place: InTenant,
    /// Who called: a principal's name or id.
    #[arg(long)]
    principal: Option<String>,
    /// Which card.
    #[arg(long)]
    card: Option<String>,
    /// Which operation.
    #[arg(long)]
    operation: Option<String>,
    /// How it ended.
    #[arg(long)]
    outcome: Option<String>,
    /// The id that the caller was told.
    #[arg(long)]
    correlation_id: Option<String>,
    /// Which task.
    #[arg(long)]
    task_id: Option<String>,
    /// Which tree of delegations: the `root` of any record in it. Its first call comes first.
    #[arg(long)]
    root: Option<String>,
    /// Begun at or after (RFC 3339).
    #[arg(long)]
    from: Option<String>,
    /// Begun before (RFC 3339).
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
pub(super) async fn run(command: AuditCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    let AuditCommand::Query(args) = command;
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("tenant", &args.place.tenant).append_pair("limit", &args.limit.to_string());
    let pairs = [
        ("principal", &args.principal),
        ("card", &args.card),
        ("operation", &args.operation),
        ("outcome", &args.outcome),
        ("correlation_id", &args.correlation_id),
        ("task_id", &args.task_id),
        ("root", &args.root),
        ("from", &args.from),
        ("until", &args.until),
        ("cursor", &args.cursor),
    ];
    for (key, value) in pairs {
        if let Some(value) = value {
            query.append_pair(key, value);
        }
    }
    let page = admin.connect()?.get(&format!("/audit?{}", query.finish())).await?;
    let items = page["items"].as_array().cloned().unwrap_or_default();
    if let Some(next) = page["next_cursor"].as_str() {
        output::note(&format!("there are more records: --cursor {next}"));
    }
    if admin.json {
        return output::json(&Value::Array(items));
    }
    let columns = [
        ("OPENED", "/opened_at"),
        ("PRINCIPAL", "/principal"),
        ("CARD", "/card"),
        ("OPERATION", "/operation"),
        ("DIALECT", "/dialect"),
        ("OUTCOME", "/outcome"),
        ("STATUS", "/status"),
        ("FAULT", "/fault"),
        ("CORRELATION", "/correlation_id"),
    ];
    output::table(&columns, &items)
}
