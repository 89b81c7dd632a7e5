//! The part of `docs/dialects.md` that is made from the matrix and the losses: compared, or written with `UPDATE_DOCS=1`.

use crate::TONGUES;
use crate::cells::{Cell, Table};
use crate::losses::losses;
use crate::tongue::{Op, Tongue};
use std::fmt::Write as _;
use std::path::PathBuf;

const BEGIN: &str =
    "<!-- made by gateway/tests/matrix; UPDATE_DOCS=1 cargo test -p chancery --test matrix writes it: begin -->\n";
const END: &str = "<!-- end -->\n";

/// Fails where the page says otherwise than `table`.
pub(crate) fn compare(table: &Table) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/dialects.md");
    let page = std::fs::read_to_string(&path).expect("docs/dialects.md is readable");
    let (before, rest) = page.split_once(BEGIN).expect("the page has the mark of the beginning");
    let (_, after) = rest.split_once(END).expect("the page has the mark of the end");
    let made = format!("{before}{BEGIN}{}{END}{after}", text(table));
    if made == page {
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "a switch of the test, not a setting")]
    let update = std::env::var("UPDATE_DOCS").is_ok_and(|value| value == "1");
    assert!(update, "docs/dialects.md is not what the matrix shows; write it with UPDATE_DOCS=1");
    std::fs::write(&path, made).expect("docs/dialects.md is writable");
}

fn text(table: &Table) -> String {
    let mut text = String::from("\n## What works between whom\n\n");
    let works = table.iter().filter(|(.., cell)| *cell == Cell::Works).count();
    let _ = writeln!(
        text,
        "Callers × agents × operations, 6 × 6 × 11 = {} cells: {works} work, {} are refused as named here. `J` is JSON-RPC, `R`\n\
         HTTP+JSON, `G` gRPC, `1` A2A 1.0, `3` A2A 0.3. A cell says which callers get an answer from agents of the column.\n",
        table.len(),
        table.len() - works
    );
    let names: Vec<&str> = TONGUES.iter().map(|tongue| tongue.name).collect();
    let _ = writeln!(text, "| Operation | {} |", names.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(TONGUES.len()));
    for op in Op::ALL {
        let cells: Vec<String> = TONGUES.iter().map(|agent| column(table, *agent, op)).collect();
        let _ = writeln!(text, "| {} | {} |", op.name(), cells.join(" | "));
    }
    text.push_str(REFUSALS);
    text.push_str(
        "\n## What is lost, and what becomes of it\n\nEach line is proven by a call or an answer in the same test.\n\n",
    );
    text.push_str("| From | To | What | Becomes |\n|---|---|---|---|\n");
    for loss in losses() {
        let _ = writeln!(text, "| {} | {} | {} | {} |", loss.from, loss.to, loss.what, loss.becomes);
    }
    text.push('\n');
    text
}

const REFUSALS: &str = "
A refusal is told as: JSON-RPC the code; HTTP+JSON the HTTP status and the reason; gRPC the status and the reason.

| Code | HTTP | gRPC | Reason | Why here |
|---|---|---|---|---|
| -32003 | 400 | 9 | `PUSH_NOTIFICATION_NOT_SUPPORTED` | push is not mediated, so nothing that asks an agent to deliver past the guard goes out |
| -32004 | 400 | 9 | `UNSUPPORTED_OPERATION` | agents of 0.3 have no list; agents of `path_rpc` have send and stream alone |
| -32601 | 404 | 5 | `METHOD_NOT_FOUND` | JSON-RPC of 0.3 has no method that lists |
";

/// Who gets an answer, and what the others get.
fn column(table: &Table, agent: Tongue, op: Op) -> String {
    let mut groups: Vec<(Cell, Vec<&str>)> = Vec::new();
    for (_, caller, _, cell) in table.iter().filter(|(of, _, asked, _)| *of == agent && *asked == op) {
        match groups.iter_mut().find(|(known, _)| known == cell) {
            Some((_, callers)) => callers.push(caller.name),
            None => groups.push((*cell, vec![caller.name])),
        }
    }
    groups.sort_by_key(|(_, callers)| std::cmp::Reverse(callers.len()));
    let said = |cell: Cell| match cell {
        Cell::Works => "works".to_owned(),
        Cell::Refused(code) => code.to_string(),
    };
    let rest: Vec<String> =
        groups.iter().skip(1).map(|(cell, callers)| format!("{}: {}", callers.join(", "), said(*cell))).collect();
    let first = groups.first().map(|(cell, _)| said(*cell)).unwrap_or_default();
    if rest.is_empty() { first } else { format!("{first}; {}", rest.join("; ")) }
}
