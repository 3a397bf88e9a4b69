//! `GET /docs/`: the documentation, and below it the explorer of the API. Nothing is loaded from the network.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::{self, Path, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};

use super::openapi;
use super::problem::{Problem, nothing_here};
use crate::site::OF_SERVER;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
/// Pages that have their style within: an example of a report, and the components of the console.
const STYLED: [&str; 2] = ["case/report.html", "components.html"];
const POLICY_OF_STYLED: &str =
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

pub(super) fn configure(app: &mut ServiceConfig) {
    app.service(web::redirect("/docs", "/docs/"))
        .service(web::redirect("/docs/api", "/docs/api/"))
        .service(openapi::page())
        .route("/docs/{path:.*}", web::get().to(file))
        .route("/docs/{path:.*}", web::head().to(file));
}

async fn file(request: HttpRequest, path: Path<String>) -> Result<HttpResponse, Problem> {
    let path = match path.as_str() {
        "" => "index.html",
        path => path,
    };
    let Some(content) = OF_SERVER.get(path) else {
        return Err(nothing_here(&request, "/docs/"));
    };
    let policy = if STYLED.contains(&path) {
        POLICY_OF_STYLED
    } else {
        POLICY
    };
    Ok(HttpResponse::Ok()
        .content_type(kind(path))
        .insert_header((CONTENT_SECURITY_POLICY, policy))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((CACHE_CONTROL, "max-age=3600"))
        .body(content.as_slice()))
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("webp") => "image/webp",
        _ => "text/plain; charset=utf-8",
    }
}
