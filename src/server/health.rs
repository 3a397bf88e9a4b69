//! Whether the server lives, and whether it takes requests.

use std::sync::atomic::Ordering;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use actix_web::web::Data;
use serde_json::json;

use super::problem::Problem;
use super::{SHUTDOWN_SECONDS, State};

/// `GET /healthz`
pub(super) async fn alive() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "ok" }))
}

/// `GET /readyz`
pub(super) async fn ready(state: Data<State>) -> Result<HttpResponse, Problem> {
    if state.stopping.load(Ordering::Relaxed) {
        let detail = "the server is stopping; ask again when it has started anew, or ask another";
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", detail);
        return Err(problem.with(RETRY_AFTER, SHUTDOWN_SECONDS.to_string()));
    }
    Ok(HttpResponse::Ok().json(json!({ "status": "ready" })))
}
