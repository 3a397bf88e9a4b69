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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use actix_web::ResponseError;
    use actix_web::http::header::RETRY_AFTER;
    use actix_web::rt::System;
    use actix_web::web::Data;

    use super::{State, ready};
    use crate::catalogue::Catalogue;

    #[test]
    fn a_server_that_stops_is_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Arc::new(Catalogue::open_or_create(folder.path()).unwrap());
        let stopping = AtomicBool::new(true);
        let state = Data::new(State { catalogue, max_body: 0, stopping });
        let answer = System::new().block_on(ready(state)).unwrap_err().error_response();
        assert_eq!(answer.status(), 503);
        assert_eq!(answer.headers().get(RETRY_AFTER).unwrap(), "30");
    }
}
