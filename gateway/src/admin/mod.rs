//! The admin API, on its own listener.
//!
//! Takes the app, gives the router that answers what health and metrics do not.

use std::sync::Arc;

use axum::Router;
use http::StatusCode;

use crate::app::App;
use crate::listener::dispatch;

/// Everything below the admin listener.
#[must_use]
pub fn router(app: Arc<App>) -> Router {
    // Nothing here asks the app yet.
    drop(app);
    Router::new().fallback(|| async {
        dispatch::document(StatusCode::NOT_FOUND, "not_found", "there is nothing at this address")
            .map(axum::body::Body::from)
    })
}
