//! Trying a policy before it is in force: texts in, what it would say to them out. Nothing is stored or recorded.

use super::Shared;
use super::body::{Document, under};
use super::error::ApiError;
use super::extract::Path;
use super::resource::tenant_id;
use crate::simulate::{Simulated, simulate, surface};
use axum::Json;
use axum::extract::State;
use guard::Surface;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Most texts of one try, and most bytes of all of them.
const MOST_TEXTS: usize = 1_000;

/// What to try.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Try {
    /// The texts.
    texts: Vec<String>,
    /// `a2a_inbound`, `a2a_outbound` or `card`; by default the first that the policy guards.
    #[serde(default)]
    surface: Option<String>,
    /// A draft to try in place of the stored policy.
    #[serde(default)]
    #[expect(dead_code, reason = "read from the tree, which keeps its digits")]
    spec: Option<serde_json::Value>,
}

/// What it came to.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Tried {
    /// Which version was tried; 0 is a draft.
    version: i64,
    /// On which surface.
    surface: &'static str,
    /// One for each text.
    results: Vec<Simulated>,
}

/// Says what a policy, or a draft of it, would do to some texts. Nothing is stored.
#[utoipa::path(post, path = "/api/v1/tenants/{tenant}/policies/{name}/simulate", tag = "policies",
    params(("tenant" = String, Path), ("name" = String, Path)), request_body = Try,
    responses((status = 200, body = Tried), (status = 400, body = ApiError), (status = 404, body = ApiError)))]
pub(super) async fn simulate_policy(
    State(admin): State<Shared>,
    Path((tenant, name)): Path<(String, String)>,
    Document { typed, tree }: Document<Try>,
) -> Result<Json<Tried>, ApiError> {
    if typed.texts.len() > MOST_TEXTS {
        return Err(ApiError::invalid_field("texts", format!("more than {MOST_TEXTS} texts")));
    }
    let asked = match typed.surface.as_deref() {
        None => None,
        Some(name) => Some(
            Surface::from_name(name)
                .ok_or_else(|| ApiError::invalid_field("surface", "must be one of: a2a_inbound, a2a_outbound, card"))?,
        ),
    };
    let (version, document) = match tree.get("spec") {
        Some(spec) => (0, json::write(spec)),
        None => {
            let row = admin.store.policy(&tenant_id(&tenant)?, &name).await?;
            let row = row.ok_or_else(|| ApiError::not_found("this policy"))?;
            (row.version, row.document)
        }
    };
    let compiled = admin.compiler.pipeline(&tenant, &name, version, &document);
    let pipeline = compiled.map_err(|problems| ApiError::invalid(under("spec", problems)))?;
    let surface = surface(&pipeline, asked);
    let texts = typed.texts;
    let results = tokio::task::spawn_blocking(move || {
        texts.iter().map(|text| simulate(&pipeline, surface, text)).collect::<Vec<_>>()
    });
    let results = results.await.map_err(|_| ApiError::internal())?;
    Ok(Json(Tried { version, surface: surface.name(), results }))
}
