//! The admin page: the files that the build put into the binary, served to browsers of the admin listener.
//!
//! Any path without a file ending that is not the API's is a view of the page, so that links to views work. Assets have
//! names that change with their content and are kept for good; the page itself is asked for again. Every answer of the
//! listener carries the headers that keep foreign script out (T-ADM-1). Never on the public listener.

use super::error::ApiError;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

/// One file of the page.
struct File {
    /// From the root.
    path: &'static str,
    /// Its content.
    bytes: &'static [u8],
    /// Changes with the content.
    tag: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// What is served where no handler of the API is.
pub(super) async fn serve(request: Request) -> Response {
    let path = request.uri().path();
    let reads = request.method() == Method::GET || request.method() == Method::HEAD;
    if !reads || path == "/api" || path.starts_with("/api/") {
        return ApiError::not_found("this path").into_response();
    }
    match find(path) {
        Some(file) => answer(file, request.headers()),
        None if FILES.is_empty() && is_view(path) => (html(), NOT_BUILT).into_response(),
        None => ApiError::not_found("this path").into_response(),
    }
}

fn is_view(path: &str) -> bool {
    path.rsplit('/').next().is_none_or(|last| !last.contains('.')) && !path.starts_with("/assets/")
}

fn find(path: &str) -> Option<&'static File> {
    let wanted = if is_view(path) { "/index.html" } else { path };
    FILES.iter().find(|file| file.path == wanted)
}

fn answer(file: &'static File, asked: &HeaderMap) -> Response {
    let cache = if file.path.starts_with("/assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let head = [
        (header::CONTENT_TYPE, content_type(file.path)),
        (header::CACHE_CONTROL, cache),
        (header::ETAG, file.tag),
        (header::VARY, "accept-encoding"),
    ];
    if asked.get(header::IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == file.tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    let takes_gzip = asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let packed = FILES.iter().find(|one| one.path.strip_suffix(".gz") == Some(file.path));
    match packed.filter(|_| takes_gzip.contains("gzip")) {
        Some(packed) => (head, [(header::CONTENT_ENCODING, "gzip")], packed.bytes).into_response(),
        None => (head, file.bytes).into_response(),
    }
}

fn html() -> [(HeaderName, &'static str); 1] {
    [(header::CONTENT_TYPE, "text/html; charset=utf-8")]
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain; charset=utf-8",
        Some("woff2") => "font/woff2",
        Some(_) | None => "application/octet-stream",
    }
}

/// What every answer of the admin listener carries.
pub(super) async fn secure(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "no-referrer");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()");
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Chancery</title>\
    <style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}\
    code{background:#8882;padding:.1em .3em;border-radius:3px}</style>\
    <h1>The admin page is not in this binary</h1>\
    <p>It was built without the page. With Node 20 or newer at hand, build the page first, then the gateway again:</p>\
    <p><code>cd admin-ui &amp;&amp; npm ci &amp;&amp; npm run build &amp;&amp; cd .. &amp;&amp; cargo build --package chancery</code></p>\
    <p>or <code>make demo</code>, which does both. The admin API below <code>/api/v1</code> works without it, and so does \
    <code>chancery</code> in a shell.</p>";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_told_from_files() {
        assert!(is_view("/") && is_view("/agents/default/echo") && is_view("/audit"));
        assert!(!is_view("/favicon.svg") && !is_view("/assets/x") && !is_view("/../x.html"));
    }

    #[test]
    fn every_kind_of_file_of_the_page_has_a_type() {
        for file in FILES.iter().filter(|file| !file.path.ends_with(".gz")) {
            assert_ne!(content_type(file.path), "application/octet-stream", "{}", file.path);
        }
    }
}
