//! Catalogue statistics.

use actix_web::HttpResponse;
use actix_web::web::Data;
use utoipa::openapi::path::HttpMethod::Get;

use super::State;
use super::access::Needs::Admin;
use super::calls::{Call, json};
use super::problem::Problem;
use super::work::{Answer, work};
use lapidary_catalogue::api::Stats;

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/stats", Admin, stats)
            .named("stats", "Show catalogue statistics")
            .answers(200, "The statistics", [json::<Stats>()]),
    ]
}

async fn stats(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| Answer::ok(&catalogue.stats()?)).await
}
