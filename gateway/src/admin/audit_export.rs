//! `GET /api/v1/audit/export/{csv|jsonl}`: what a search finds, all of it, as a file.
//!
//! Told page by page as it is read, so that neither side holds it; ends after a million records. Records of exchanges
//! that begin while it runs are not in it. A store that fails in the middle breaks the answer off, so that half an
//! export is never taken for a whole one. A cell of the CSV that a spreadsheet would take for a formula has an
//! apostrophe before it.

use super::Shared;
use super::audit::{AuditQuery, RecordView, Search, read_cursor};
use super::error::ApiError;
use super::extract::{Path, Query, State};
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use std::borrow::Cow;
use std::fmt::Write as _;
use store::AuditCursor;

/// A tenant's records that fit the search, newest first, as `csv` or `jsonl` (a JSON document a line).
#[utoipa::path(get, path = "/api/v1/audit/export/{format}", tag = "audit",
    params(("format" = String, Path, description = "`csv` or `jsonl`"), AuditQuery),
    responses((status = 200, description = "at most 1 000 000 records", body = String, content_type = "text/csv"),
        (status = 400, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn export(
    State(admin): State<Shared>,
    Path(format): Path<String>,
    Query(query): Query<AuditQuery>,
) -> Result<Response, ApiError> {
    let form = match format.as_str() {
        "csv" => Form::Csv,
        "jsonl" => Form::Jsonl,
        _ => return Err(ApiError::not_found("an export in this format")),
    };
    if query.limit.is_some() {
        return Err(ApiError::invalid_field("limit", "an export has none: it ends after 1 000 000 records"));
    }
    let after = query.cursor.as_deref().map(read_cursor).transpose()?;
    let name = format!("audit-{}.{format}", query.tenant);
    let mut search = Search::of(&admin, query).await?;
    search.filter.until.get_or_insert_with(|| admin.clock.now());
    let mut export = Export { admin, search, form, after, told: 0, ended: false };
    // Before the head, so that a store that is away is told by the status.
    let first = export.next().await?.unwrap_or_default();
    let first = if form == Form::Csv { header() + &first } else { first };
    let rest = stream::try_unfold(export, |mut export| async move {
        match export.next().await {
            Ok(Some(text)) => Ok(Some((Bytes::from(text), export))),
            Ok(None) => Ok(None),
            Err(error) => Err(std::io::Error::other(error.message)),
        }
    });
    let first = stream::once(std::future::ready(Ok(Bytes::from(first))));
    let headers = [
        (CONTENT_TYPE, form.media_type().to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    Ok((headers, Body::from_stream(futures_util::StreamExt::chain(first, rest))).into_response())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Csv,
    Jsonl,
}

impl Form {
    const fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Jsonl => "application/x-ndjson",
        }
    }
}

/// An export under way.
struct Export {
    admin: Shared,
    search: Search,
    form: Form,
    after: Option<AuditCursor>,
    told: usize,
    ended: bool,
}

impl Export {
    /// The next page as text; nothing at the end.
    async fn next(&mut self) -> Result<Option<String>, ApiError> {
        if self.ended {
            return Ok(None);
        }
        let (items, next) = self.search.page(&self.admin, self.after.as_ref(), PAGE).await?;
        self.told = self.told.saturating_add(items.len());
        self.ended = next.is_none() || self.told >= MOST;
        self.after = next;
        let mut text = String::new();
        for item in &items {
            match self.form {
                Form::Csv => row(item, &mut text),
                Form::Jsonl => {
                    text.push_str(&serde_json::to_string(item).map_err(|_| ApiError::internal())?);
                    text.push('\n');
                }
            }
        }
        Ok(Some(text))
    }
}

fn header() -> String {
    COLUMNS.join(",") + "\r\n"
}

fn row(item: &RecordView, out: &mut String) {
    let maybe = |text: &Option<String>| text.clone().unwrap_or_default();
    let cells = [
        item.id.clone(),
        item.tenant.clone(),
        item.opened_at.clone(),
        maybe(&item.closed_at),
        maybe(&item.principal),
        maybe(&item.principal_id),
        maybe(&item.key_id),
        maybe(&item.card),
        maybe(&item.operation),
        maybe(&item.dialect),
        item.outcome.clone(),
        maybe(&item.fault),
        item.status.map(|status| status.to_string()).unwrap_or_default(),
        item.correlation_id.clone(),
        maybe(&item.task_id),
    ];
    for (at, text) in cells.iter().enumerate() {
        let _ = write!(out, "{}{}", if at > 0 { "," } else { "" }, cell(text));
    }
    out.push_str("\r\n");
}

/// A cell: quoted, and with an apostrophe before what a spreadsheet would take for a formula.
fn cell(text: &str) -> String {
    let begins = text.trim_start().chars().next();
    let is_formula = begins.is_some_and(|first| FORMULA.contains(&first)) || text.starts_with(['\t', '\r', '\n']);
    let text: Cow<'_, str> = if is_formula { format!("'{text}").into() } else { text.into() };
    format!("\"{}\"", text.replace('"', "\"\""))
}

const COLUMNS: [&str; 15] = [
    "id",
    "tenant",
    "opened_at",
    "closed_at",
    "principal",
    "principal_id",
    "key_id",
    "card",
    "operation",
    "dialect",
    "outcome",
    "fault",
    "status",
    "correlation_id",
    "task_id",
];
/// What formulas begin with, also in the wide letters that some spreadsheets take for the plain ones.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
const PAGE: u32 = 500;
const MOST: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_or_two_cells() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =cmd|' /C calc'!A0", "\u{a0}=1", "＝1", "\n=1"]
        {
            assert!(cell(text).starts_with("\"'"), "{text:?}");
        }
        for text in ["plain", "a=b", "1-2", ""] {
            assert_eq!(cell(text), format!("\"{text}\""));
        }
        assert_eq!(cell("a\",\"=1"), "\"a\"\",\"\"=1\"");
    }
}
