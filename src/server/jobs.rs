//! Jobs: started, shown, cancelled; and the texts that a re-index waits for.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

use super::State;
use super::body::{self, AnyBytes, Body};
use super::parameters;
use super::problem::{Details, Problem};
use super::work::{Answer, work_shared};
use crate::catalogue::Task;

#[utoipa::path(post, path = "/v1/jobs", tag = "jobs", operation_id = "start_job", summary = "Start a job", description = "Such as `{\"kind\": \"verify\"}`, `{\"kind\": \"compact\"}`, a re-index, or dropping a recipe.", request_body = Object, responses((status = 202, description = "The job", body = Object), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")))]
pub(super) async fn start(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let task: Task = body::words(&request, payload, &state).await?;
    work_shared(&state, move |catalogue| Answer::json(StatusCode::ACCEPTED, &catalogue.start(task)?)).await
}

#[utoipa::path(get, path = "/v1/jobs", tag = "jobs", operation_id = "jobs", summary = "List all jobs", responses((status = 200, description = "The jobs", body = Object), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")))]
pub(super) async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work_shared(&state, |catalogue| Answer::ok(&json!({ "jobs": catalogue.jobs()? }))).await
}

#[utoipa::path(get, path = "/v1/jobs/{id}", tag = "jobs", operation_id = "job", summary = "Show a job", params(("id" = u32, Path, description = "The job's number")), responses((status = 200, description = "The job", body = Object), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")))]
pub(super) async fn get(id: Path<String>, state: Data<State>) -> Result<HttpResponse, Problem> {
    let id = number(&id)?;
    work_shared(&state, move |catalogue| Answer::ok(&catalogue.job(id)?)).await
}

#[utoipa::path(delete, path = "/v1/jobs/{id}", tag = "jobs", operation_id = "cancel_job", summary = "Cancel a job", params(("id" = u32, Path, description = "The job's number")), responses((status = 202, description = "The job", body = Object), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")))]
pub(super) async fn cancel(id: Path<String>, state: Data<State>) -> Result<HttpResponse, Problem> {
    let id = number(&id)?;
    work_shared(&state, move |catalogue| Answer::json(StatusCode::ACCEPTED, &catalogue.cancel(id)?)).await
}

#[utoipa::path(post, path = "/v1/libraries/{library}/recut/{id}", tag = "jobs", operation_id = "recut", summary = "Send a text that a re-index is waiting for", params(("library" = String, Path, description = "The library", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"), ("id" = String, Path, description = "The library's own id", min_length = 1, max_length = 512, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$")), request_body(content((inline(AnyBytes) = "text/plain"), (inline(AnyBytes) = "application/octet-stream"))), responses((status = 200, description = "Whether the re-index was waiting for it", body = Object), (status = "default", description = "A problem (RFC 9457)", body = Details, content_type = "application/problem+json")))]
pub(super) async fn recut(request: HttpRequest, payload: Payload, state: Data<State>) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let Body::Raw(raw) = body::json_or_raw(&request, payload, &state).await? else {
        return Err(Problem::bad(
            "bad_json",
            "a book is cut anew from its text; send it with Content-Type: text/plain",
        ));
    };
    work_shared(&state, move |catalogue| {
        let (text, mut room) = raw.text()?;
        room.grow_for(Some(&text), catalogue)?;
        Answer::ok(&json!({ "added": catalogue.recut(&key, &text)? }))
    })
    .await
}

fn number(id: &str) -> Result<u32, Problem> {
    let missing = || Problem::missing("no_such_job", format!("there is no job {}", super::problem::excerpt(id)));
    id.parse().map_err(|_| missing())
}
