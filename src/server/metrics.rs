//! The numbers that Prometheus asks for.

use actix_web::HttpResponse;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Data;

use super::State;
use super::problem::Problem;
use crate::metrics::METRICS;

/// `GET /metrics`. What it shows of the store, [`super::health`] looks up from time to time, so that asking costs nothing.
pub(super) async fn show(state: Data<State>) -> Result<HttpResponse, Problem> {
    let text = METRICS.text_format(state.fault().is_none()).map_err(|error| Problem::failed("internal", &error))?;
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")).body(text))
}
