//! The Prometheus metrics.

use actix_web::HttpResponse;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Data;
use utoipa::openapi::path::HttpMethod::Get;

use super::ServerState;
use super::access::Needs::AnyKey;
use super::calls::{Call, text};
use super::problem::Problem;
use lapidary_catalogue::metrics::METRICS;
use lapidary_common::error::ErrorCode;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/metrics", AnyKey, show)
            .named("metrics", "Show metrics in Prometheus' text format")
            .answers(200, "The metrics", [text("text/plain")]),
    ]
}

/// `GET /metrics`. The store's values are updated periodically by [`super::health`], so a scrape is cheap.
async fn show(state: Data<ServerState>) -> Result<HttpResponse, Problem> {
    let text = METRICS
        .text_format(state.fault().is_none())
        .map_err(|error| Problem::failed(ErrorCode::Internal, &error))?;
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"))
        .body(text))
}
