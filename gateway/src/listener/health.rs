//! `/healthz` and `/readyz`: whether the process lives, and whether it should get requests.
//!
//! Ready means: the registry is loaded, records can be written, and the process is not stopping. The admin listener
//! also tells which options trade safety for something else, and how many resources are closed because of their rows;
//! which ones, it tells administrators alone, each of its own tenants.

use http::{Response, StatusCode, header};
use serde_json::json;

use crate::admin::roles::Roles;
use crate::app::App;
use crate::registry::compile::BadRow;

/// How much is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The verdict alone.
    Verdict,
    /// Also every check and relaxed option, and how many resources are closed.
    Parts,
    /// Also which ones, as far as these roles see them.
    Named(Roles),
}

/// The answer to `path`, if it is one of the two.
#[must_use]
pub fn answer(app: &App, path: &str, detail: Detail) -> Option<Response<Vec<u8>>> {
    match path {
        "/healthz" => Some(document(StatusCode::OK, &json!({"status": "ok"}))),
        "/readyz" => Some(ready(app, detail)),
        _ => None,
    }
}

fn ready(app: &App, detail: Detail) -> Response<Vec<u8>> {
    let checks = checks(app);
    let is_ready = is_ready(app);
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let verdict = if is_ready { "ready" } else { "not ready" };
    let mut body = json!({"status": verdict});
    let roles = match &detail {
        Detail::Verdict => return document(status, &body),
        Detail::Parts => None,
        Detail::Named(roles) => Some(roles),
    };
    let world = app.registry.snapshot();
    body["checks"] = checks.iter().map(|(name, fine)| ((*name).to_owned(), json!(fine))).collect();
    body["revision"] = json!(world.revision);
    body["relaxed"] = json!(app.settings.relaxed());
    body["closed_rows"] = json!(world.bad_rows().count());
    if let Some(roles) = roles {
        // What is wrong with them is told by `/api/v1/health` and by the log.
        let seen = world.bad_rows().filter(|(tenant, _)| roles.sees(tenant));
        let named = |(tenant, row): (&str, &BadRow)| json!({"tenant": tenant, "kind": row.kind, "name": row.name});
        body["closed"] = seen.take(MOST_ROWS).map(named).collect();
    }
    document(status, &body)
}

/// Whether requests should come here.
#[must_use]
pub fn is_ready(app: &App) -> bool {
    checks(app).iter().all(|(_, fine)| *fine)
}

fn checks(app: &App) -> [(&'static str, bool); 3] {
    [
        ("registry", app.registry.is_loaded()),
        ("audit", app.audit_is_writable()),
        ("running", !app.tasks.stopping().is_cancelled()),
    ]
}

fn document(status: StatusCode, body: &serde_json::Value) -> Response<Vec<u8>> {
    let mut response = Response::new(body.to_string().into_bytes());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}

/// Most rows that are named.
const MOST_ROWS: usize = 100;
