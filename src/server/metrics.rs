//! The Prometheus metrics.

use actix_web::HttpResponse;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Data;

use super::State;
use super::problem::Problem;
use crate::metrics::METRICS;

/// `GET /metrics`. The store's values are updated periodically by [`super::health`], so a scrape is cheap.
pub(super) async fn show(state: Data<State>) -> Result<HttpResponse, Problem> {
    let text = METRICS.text_format(state.fault().is_none()).map_err(|error| Problem::failed("internal", &error))?;
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")).body(text))
}
