//! The front page at `/`: the models with their signatures, a form to try each, live rates and latencies, and the slowest requests.
//!
//! The page is plain HTML with a script and a style sheet, which are parts of the binary. It loads nothing from elsewhere, and its content security
//! policy holds the browser to that. Everything that it shows comes from `/flowmill/status`, whose JSON [`status`] describes. The files need no token;
//! the page asks for one if the status or a tried request does, and keeps it in the browser's session storage.

mod status;

use crate::server::core::Core;
use axum::Router;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

/// Scripts, styles, images and requests of the page's own origin and nothing else, no code in its markup, no text taken for markup by its script, and no
/// other page around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The path of the JSON that the page shows.
const STATUS_PATH: &str = "/flowmill/status";

/// A path, its content type, and its text.
type File = (&'static str, &'static str, &'static str);

/// The files of the page, and the description of the REST APIs that it links to.
const FILES: [File; 5] = [
    ("/", "text/html; charset=utf-8", include_str!("index.html")),
    ("/flowmill/page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("/flowmill/page.js", "text/javascript; charset=utf-8", include_str!("page.js")),
    ("/flowmill/icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("/openapi.json", "application/json", crate::formats::OPENAPI),
];

/// Returns the routes.
pub(crate) fn routes() -> Router<Arc<Core>> {
    let router = Router::new().route(STATUS_PATH, get(current_status));
    FILES.into_iter().fold(router, |router, (path, kind, text)| router.route(path, get(async move || guarded(kind, text.into_response()))))
}

/// Returns true if `path` is that of a file of the page, which is open to everybody.
pub(crate) fn is_file(path: &str) -> bool {
    FILES.iter().any(|(file, ..)| *file == path)
}

async fn current_status(State(core): State<Arc<Core>>, headers: HeaderMap) -> Response {
    let text = serde_json::to_vec(&status::Status::of(&core)).unwrap_or_default();
    guarded("application/json", crate::rest::respond(&headers, "application/json", text.into()))
}

/// Adds the headers of the page's safety to an answer, and lets no cache keep it.
fn guarded(kind: &'static str, mut response: Response) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ];
    headers.into_iter().for_each(|(name, value)| drop(response.headers_mut().insert(name, HeaderValue::from_static(value))));
    response
}
