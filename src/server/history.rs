//! Figures over time.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::Get;

use super::State;
use super::access::Needs::Admin;
use super::calls::{Call, json};
use super::parameters;
use super::problem::Problem;
use lapidary_catalogue::api::{History, Period};

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The last hour, or the last week
    #[param(inline)]
    of: Option<Period>,
}

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/history", Admin, history)
            .named("history", "Show figures over time: checks, latencies, sizes")
            .about("A server keeps them in memory, so they begin with its start. Each server has its own.")
            .query::<Wanted>()
            .answers(200, "The figures at regular intervals", [json::<History>()]),
    ]
}

async fn history(request: HttpRequest, state: Data<State>) -> Result<HttpResponse, Problem> {
    let Wanted { of } = parameters::query(request.query_string(), "of (hour or week)")?;
    Ok(HttpResponse::Ok().json(state.history.shown(of == Some(Period::Week))))
}
