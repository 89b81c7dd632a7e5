//! `chancery stats`: a tenant's figures over the last minutes, who called whom, and how the agents fare.

use crate::cli::api::AdminArgs;
use crate::cli::output;
use crate::cli::resource::InTenant;
use clap::Args;
use serde_json::{Value, json};

/// Arguments of `stats`.
#[derive(Debug, Args)]
pub(super) struct StatsArgs {
    /// Whose figures.
    #[command(flatten)]
    place: InTenant,
    /// How far back, in minutes.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_080))]
    minutes: u32,
    /// Also a line for each slot of time.
    #[arg(long)]
    slots: bool,
}

/// Asks, and prints tables.
///
/// # Errors
/// The admin API refused.
pub(super) async fn run(args: StatsArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("tenant", &args.place.tenant).append_pair("minutes", &args.minutes.to_string());
    let stats = admin.connect()?.get(&format!("/stats?{}", query.finish())).await?;
    if admin.json {
        return output::json(&stats);
    }
    output::table(SLOTS, &[told(&stats["total"])])?;
    output::line(&format!(
        "{} streams open, {} calls would have been blocked by policies in shadow mode since {}",
        stats["streams_open"],
        stats["would_block"],
        stats["would_block_since"].as_str().unwrap_or_default()
    ))?;
    if args.slots {
        output::line("")?;
        output::table(SLOTS, &items(&stats["slots"]).iter().map(told).collect::<Vec<_>>())?;
    }
    output::line("")?;
    output::table(AGENTS, &items(&stats["agents"]))?;
    output::line("")?;
    output::table(EDGES, &items(&stats["edges"]))
}

fn items(list: &Value) -> Vec<Value> {
    list.as_array().cloned().unwrap_or_default()
}

/// The slot with its outcomes as one text.
fn told(slot: &Value) -> Value {
    let outcomes = slot["outcomes"].as_object().into_iter().flatten();
    let outcomes: Vec<String> = outcomes.map(|(outcome, count)| format!("{outcome} {count}")).collect();
    let mut told = slot.clone();
    told["told"] = json!(outcomes.join(", "));
    told
}

type Columns = &'static [(&'static str, &'static str)];
const SLOTS: Columns = &[
    ("SINCE", "/at"),
    ("CALLS", "/count"),
    ("P50 ms", "/p50_ms"),
    ("P95 ms", "/p95_ms"),
    ("P99 ms", "/p99_ms"),
    ("OUTCOMES", "/told"),
];
const AGENTS: Columns = &[
    ("AGENT", "/card"),
    ("STATE", "/state"),
    ("CALLS", "/count"),
    ("ERRORS", "/errors"),
    ("LAST GOOD ANSWER", "/last_ok_at"),
    ("LAST FAILURE", "/last_error_at"),
];
const EDGES: Columns = &[
    ("PRINCIPAL", "/principal"),
    ("CALLED", "/card"),
    ("CALLS", "/count"),
    ("ERRORS", "/errors"),
    ("STOPPED", "/stopped"),
    ("LAST", "/last_at"),
];
