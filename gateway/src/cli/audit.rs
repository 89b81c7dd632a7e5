//! `chancery audit …`: search the audit trail, take it along, see what shadow mode would have done.

use crate::cli::api::AdminArgs;
use crate::cli::output;
use crate::cli::resource::InTenant;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use std::io::Write as _;

/// Commands on the audit trail.
#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Search records, newest first; with --root a tree of delegations from its first call on.
    Query(QueryArgs),
    /// Write all that a search finds to standard output, at most 1 000 000 records.
    Export(ExportArgs),
    /// Show one exchange by the id that its caller was told, and how long each part of it took.
    Show(ShowArgs),
    /// Show refusals before anybody was proven, counted by source.
    Refusals(RefusalsArgs),
    /// Show what policies and grants in shadow mode would have done, and of how many calls.
    Shadow(ShadowArgs),
}

/// What is searched for.
#[derive(Debug, Args)]
struct Search {
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
    /// Which context. Of this and those that follow, one at a time.
    #[arg(long)]
    context_id: Option<String>,
    /// What a detector saw: its kind (`words`), or its kind and name (`words:phrases`).
    #[arg(long)]
    finding: Option<String>,
    /// The policy that stopped it.
    #[arg(long, value_name = "POLICY")]
    blocked_by: Option<String>,
    /// The policy in shadow mode that would have stopped it.
    #[arg(long, value_name = "POLICY")]
    would_block_by: Option<String>,
    /// The policy in shadow mode that would have changed what was said.
    #[arg(long, value_name = "POLICY")]
    would_change_by: Option<String>,
    /// The grant in shadow mode that would have had it denied.
    #[arg(long, value_name = "GRANT")]
    would_deny_by: Option<String>,
    /// Begun at or after (RFC 3339).
    #[arg(long)]
    from: Option<String>,
    /// Begun before (RFC 3339).
    #[arg(long)]
    until: Option<String>,
    /// Go on after an earlier page, which named this.
    #[arg(long)]
    cursor: Option<String>,
}

/// Arguments of `query`.
#[derive(Debug, Args)]
pub(super) struct QueryArgs {
    #[command(flatten)]
    search: Search,
    /// At most this many.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The correlation id. Where callers chose one name for many exchanges, the newest is shown.
    id: String,
    /// Whose.
    #[command(flatten)]
    place: InTenant,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    #[command(flatten)]
    search: Search,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
}

/// How an export is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// The columns that are searched, safe for spreadsheets.
    Csv,
    /// Whole records, a JSON document a line.
    Jsonl,
}

/// Arguments of `refusals`.
#[derive(Debug, Args)]
pub(super) struct RefusalsArgs {
    /// Whose.
    #[command(flatten)]
    place: InTenant,
    /// At most this many.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
}

/// Arguments of `shadow`.
#[derive(Debug, Args)]
pub(super) struct ShadowArgs {
    /// Whose.
    #[command(flatten)]
    place: InTenant,
    /// How far back.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=720))]
    hours: u32,
}

/// Runs the command.
///
/// # Errors
/// The admin API refused.
pub(super) async fn run(command: AuditCommand, admin: &AdminArgs) -> anyhow::Result<()> {
    match command {
        AuditCommand::Query(args) => query(&args, admin).await,
        AuditCommand::Show(args) => show(&args, admin).await,
        AuditCommand::Export(args) => export(&args, admin).await,
        AuditCommand::Refusals(args) => refusals(&args, admin).await,
        AuditCommand::Shadow(args) => shadow(&args, admin).await,
    }
}

impl Search {
    fn query(&self) -> url::form_urlencoded::Serializer<'static, String> {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("tenant", &self.place.tenant);
        let pairs = [
            ("principal", &self.principal),
            ("card", &self.card),
            ("operation", &self.operation),
            ("outcome", &self.outcome),
            ("correlation_id", &self.correlation_id),
            ("task_id", &self.task_id),
            ("root", &self.root),
            ("context_id", &self.context_id),
            ("finding", &self.finding),
            ("blocked_by", &self.blocked_by),
            ("would_block_by", &self.would_block_by),
            ("would_change_by", &self.would_change_by),
            ("would_deny_by", &self.would_deny_by),
            ("from", &self.from),
            ("until", &self.until),
            ("cursor", &self.cursor),
        ];
        for (key, value) in pairs {
            if let Some(value) = value {
                query.append_pair(key, value);
            }
        }
        query
    }
}

async fn query(args: &QueryArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let query = args.search.query().append_pair("limit", &args.limit.to_string()).finish();
    let page = admin.connect()?.get(&format!("/audit?{query}")).await?;
    let items = page["items"].as_array().cloned().unwrap_or_default();
    if let Some(next) = page["next_cursor"].as_str() {
        output::note(&format!("there are more records: --cursor {next}"));
    }
    if admin.json { output::json(&Value::Array(items)) } else { output::table(RECORDS, &items) }
}

async fn show(args: &ShowArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("tenant", &args.place.tenant).append_pair("correlation_id", &args.id).append_pair("limit", "2");
    let page = admin.connect()?.get(&format!("/audit?{}", query.finish())).await?;
    let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(record) = items.first() else {
        return Err(anyhow::anyhow!(
            "there is no record of {:?} in tenant {}; one that has just ended comes within seconds",
            args.id,
            args.place.tenant
        ));
    };
    if items.len() > 1 {
        output::note("there are older ones of the same id: audit query --correlation-id shows them");
    }
    if admin.json {
        return output::json(record);
    }
    let closed = &record["detail"]["closed"];
    for (title, pointer) in FACTS {
        let value = record.pointer(pointer).filter(|value| !value.is_null());
        if value.is_some() {
            output::line(&format!("{title:<12}{}", output::cell(value)))?;
        }
    }
    section(FOUND, closed["findings"].as_array().map(Vec::as_slice).unwrap_or_default())?;
    let stages = &closed["stages"];
    let took = STAGES.iter().filter(|(_, member)| stages[member].is_u64());
    let took: Vec<Value> = took.map(|(name, member)| json!({"stage": name, "us": stages[member]})).collect();
    section(TOOK, &took)
}

/// A table below a blank line; nothing where there is nothing.
fn section(columns: Columns, items: &[Value]) -> anyhow::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    output::line("")?;
    output::table(columns, items)
}

/// As it comes, byte for byte. A connection that breaks is a failure: half an export is none.
async fn export(args: &ExportArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let format = match args.format {
        Format::Csv => "csv",
        Format::Jsonl => "jsonl",
    };
    let path = format!("/audit/export/{format}?{}", args.search.query().finish());
    let mut response = admin.connect()?.follow(&path, None).await?;
    while let Some(piece) = response.chunk().await? {
        match std::io::stdout().lock().write_all(&piece) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(std::io::stdout().lock().flush()?)
}

async fn refusals(args: &RefusalsArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("tenant", &args.place.tenant).append_pair("limit", &args.limit.to_string());
    let sums = admin.connect()?.get(&format!("/audit/refusals?{}", query.finish())).await?;
    let items = sums["items"].as_array().cloned().unwrap_or_default();
    if admin.json { output::json(&Value::Array(items)) } else { output::table(REFUSALS, &items) }
}

async fn shadow(args: &ShadowArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("tenant", &args.place.tenant).append_pair("hours", &args.hours.to_string());
    let told = admin.connect()?.get(&format!("/audit/shadow?{}", query.finish())).await?;
    if admin.json {
        return output::json(&told);
    }
    if told["more"] == json!(true) {
        output::note("there are more policies or grants than are counted here");
    }
    output::table(SHADOWS, told["items"].as_array().map(Vec::as_slice).unwrap_or_default())
}

type Columns = &'static [(&'static str, &'static str)];
const RECORDS: Columns = &[
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
const FACTS: Columns = &[
    ("record", "/id"),
    ("opened", "/opened_at"),
    ("closed", "/closed_at"),
    ("principal", "/principal"),
    ("key", "/key_id"),
    ("card", "/card"),
    ("operation", "/operation"),
    ("dialect", "/dialect"),
    ("outcome", "/outcome"),
    ("status", "/status"),
    ("fault", "/fault"),
    ("reason", "/detail/closed/reason"),
    ("task", "/task_id"),
    ("context", "/detail/closed/context_id"),
    ("policy", "/detail/closed/policy"),
];
const FOUND: Columns = &[("FOUND", "/detector"), ("DONE", "/action"), ("SURFACE", "/surface"), ("WHERE", "/pointer")];
const TOOK: Columns = &[("PART", "/stage"), ("MICROSECONDS", "/us")];
/// What took how long, in the order of an exchange.
const STAGES: Columns = &[
    ("who, and may it", "admit_us"),
    ("reading the call", "read_us"),
    ("inspecting the call", "guard_in_us"),
    ("waiting for the agent", "agent_us"),
    ("the rest of its answer", "rest_us"),
    ("inspecting the answer", "guard_out_us"),
    ("writing the answer", "end_us"),
];
const REFUSALS: Columns =
    &[("SINCE", "/window_start"), ("REASON", "/reason"), ("SOURCE", "/source"), ("COUNT", "/count")];
const SHADOWS: Columns = &[
    ("KIND", "/kind"),
    ("NAME", "/name"),
    ("MODE", "/mode"),
    ("WOULD STOP", "/would_block"),
    ("WOULD CHANGE", "/would_change"),
    ("STOPPED", "/blocked"),
    ("OF CALLS", "/of"),
    ("LAST", "/last_at"),
];
