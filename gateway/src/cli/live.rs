//! `chancery live`: exchanges as they end, a line each, until somebody stops it.
//!
//! For people columns of fixed width, because nobody knows the widest cell of what is still to come; with `--json` one
//! JSON document a line. What is open now and what was left out goes to standard error.

use crate::cli::api::AdminArgs;
use crate::cli::events::Events;
use crate::cli::output;
use crate::cli::resource::InTenant;
use anyhow::bail;
use clap::Args;
use serde_json::Value;

/// Arguments of `live`.
#[derive(Debug, Args)]
pub(super) struct LiveArgs {
    /// Whose exchanges; `*` for all, which needs a role in all.
    #[command(flatten)]
    place: InTenant,
    /// Which card.
    #[arg(long)]
    card: Option<String>,
    /// Who called: a principal's name or id.
    #[arg(long)]
    principal: Option<String>,
    /// How it ended: ok, blocked, refused, upstream_error, …
    #[arg(long)]
    outcome: Option<String>,
    /// What a detector saw: its kind (`words`), or its kind and name (`words:phrases`).
    #[arg(long)]
    finding: Option<String>,
    /// Stop after this many exchanges.
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

/// Follows until the count is reached, the gateway stops, or the process is ended.
///
/// # Errors
/// The admin API refused, or ended the stream: what was told is not all that happened from then on.
pub(super) async fn run(args: LiveArgs, admin: &AdminArgs) -> anyhow::Result<()> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("tenant", &args.place.tenant);
    let filters =
        [("card", &args.card), ("principal", &args.principal), ("outcome", &args.outcome), ("finding", &args.finding)];
    for (name, value) in filters {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let mut events = Events::new(admin.connect()?.follow(&format!("/live?{}", query.finish()), None).await?);
    if !admin.json {
        output::line(&row(|column| column.0.to_owned()))?;
    }
    let mut seen = 0;
    let mut open = None;
    while args.count.is_none_or(|count| seen < count) {
        let Some(event) = events.next().await? else {
            bail!("the gateway ended the feed: it is stopping, or the token may no longer watch");
        };
        match event.name.as_str() {
            "exchange" => {
                seen = seen.saturating_add(1);
                if admin.json { output::line(&event.data.to_string())? } else { output::line(&shown(&event.data))? }
            }
            "dropped" => {
                output::note(&format!("{} exchanges were left out: this end is too slow", event.data["count"]))
            }
            "now" => now(&event.data, &mut open),
            _ => {}
        }
    }
    Ok(())
}

/// What is open, where it has changed.
fn now(told: &Value, before: &mut Option<Value>) {
    let streams = &told["count"];
    if before.as_ref() == Some(streams) {
        return;
    }
    output::note(&format!("{streams} streams open"));
    *before = Some(streams.clone());
}

fn shown(exchange: &Value) -> String {
    row(|(_, pointer, _)| output::cell(exchange.pointer(pointer)))
}

fn row(cell: impl Fn(&Column) -> String) -> String {
    let cells = COLUMNS.iter().map(|column| format!("{:<width$}", cell(column), width = column.2));
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// Title, where it stands, how wide it is at least.
type Column = (&'static str, &'static str, usize);
const COLUMNS: [Column; 9] = [
    ("OPENED", "/opened_at", 27),
    ("TENANT", "/tenant", 10),
    ("PRINCIPAL", "/principal", 16),
    ("CARD", "/card", 16),
    ("OPERATION", "/operation", 20),
    ("OUTCOME", "/outcome", 14),
    ("TOOK µs", "/took_us", 9),
    ("CORRELATION", "/correlation_id", 26),
    ("FINDINGS", "/findings", 0),
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_stand_under_their_titles_and_repaint_nothing() {
        let told = json!({"tenant": "acme", "card": "a\u{1b}[31m", "outcome": "ok", "took_us": 7, "findings": ["words:x block/enforce"]});
        let (title, line) = (row(|column| column.0.to_owned()), shown(&told));
        assert_eq!(title.find("OUTCOME"), line.find("ok"));
        assert!(line.contains("a\\u{1b}[31m") && line.ends_with("words:x block/enforce"), "{line}");
    }
}
