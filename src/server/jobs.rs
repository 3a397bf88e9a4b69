//! Long work: started, shown, cancelled; and the texts that a re-index waits for.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

use super::State;
use super::body::{self, Body};
use super::parameters;
use super::problem::Problem;
use super::work::{Answer, work_shared};
use crate::catalogue::Task;

/// `POST /v1/jobs`
pub(super) async fn start(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let task: Task = body::only_json(&request, payload, state.max_body).await?;
    work_shared(&state, move |catalogue| Answer::json(StatusCode::ACCEPTED, &catalogue.start(task)?)).await
}

/// `GET /v1/jobs`
pub(super) async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work_shared(&state, |catalogue| Answer::ok(&json!({ "jobs": catalogue.jobs()? }))).await
}

/// `GET /v1/jobs/{id}`
pub(super) async fn get(id: Path<String>, state: Data<State>) -> Result<HttpResponse, Problem> {
    let id = number(&id)?;
    work_shared(&state, move |catalogue| Answer::ok(&catalogue.job(id)?)).await
}

/// `DELETE /v1/jobs/{id}`
pub(super) async fn cancel(id: Path<String>, state: Data<State>) -> Result<HttpResponse, Problem> {
    let id = number(&id)?;
    work_shared(&state, move |catalogue| Answer::json(StatusCode::ACCEPTED, &catalogue.cancel(id)?)).await
}

/// `POST /v1/libraries/{library}/recut/{id}`
pub(super) async fn recut(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let Body::Raw(raw) = body::json_or_raw(&request, payload, state.max_body).await? else {
        return Err(Problem::bad(
            "bad_json",
            "a book is cut anew from its text; send it with Content-Type: text/plain",
        ));
    };
    work_shared(&state, move |catalogue| Answer::ok(&json!({ "added": catalogue.recut(&key, &raw.text()?)? }))).await
}

fn number(id: &str) -> Result<u32, Problem> {
    let missing = || Problem::missing("no_such_job", format!("there is no job {}", super::problem::excerpt(id)));
    id.parse().map_err(|_| missing())
}
