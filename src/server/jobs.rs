//! Jobs: started, shown, cancelled; and the texts that a re-index waits for.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::path::HttpMethod::{Delete, Get, Post};

use super::State;
use super::access::Needs::{Admin, Ingest};
use super::body::{self, Body};
use super::calls::{Call, TEXT, file, json, text};
use super::parameters;
use super::problem::Problem;
use super::work::{Answer, work, work_shared};
use lapidary_catalogue::api::{DuplicateGroups, DuplicateOverlaps, Job, Jobs, Recut, Task};
use lapidary_common::error::ErrorCode;
use lapidary_extract::Whole;

/// The default number of groups or overlaps per page.
const PAGE: usize = 100;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// `next` of the page before
    after: Option<u32>,
    /// The maximum number in the answer, from 1 to 1000
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

pub(super) fn calls() -> Vec<Call> {
    vec![
        Call::new(Get, "/v1/jobs", Admin, all).named("jobs", "List all jobs").answers(
            200,
            "The jobs",
            [json::<Jobs>()],
        ),
        Call::new(Post, "/v1/jobs", Admin, start)
            .named("start_job", "Start a job")
            .about("One job of a kind runs at a time. A re-index from sources waits until the text of every book was sent.")
            .takes([json::<Task>().examples([
                ("compact", json!({ "kind": "compact" })),
                ("duplicates", json!({ "kind": "duplicates" })),
                ("reindex", json!({ "kind": "reindex", "recipe": "hardened-fine", "from": "sources" })),
                ("verify", json!({ "kind": "verify" })),
            ])])
            .answers(202, "The job", [json::<Job>()]),
        Call::new(Get, "/v1/jobs/{id}", Admin, get).named("job", "Show a job").answers(200, "The job", [json::<Job>()]),
        Call::new(Delete, "/v1/jobs/{id}", Admin, cancel).named("cancel_job", "Cancel a job").about("A job that has ended cannot be cancelled (409).").answers(
            202,
            "The job",
            [json::<Job>()],
        ),
        Call::new(Get, "/v1/jobs/{id}/groups", Admin, groups)
            .named("duplicate_groups", "List the groups that a job of the kind `duplicates` found")
            .about("The next job of that kind replaces them.")
            .query::<Wanted>()
            .answers(200, "A page of groups", [json::<DuplicateGroups>()]),
        Call::new(Get, "/v1/jobs/{id}/overlaps", Admin, overlaps)
            .named("duplicate_overlaps", "List the books that overlap, as a job of the kind `duplicates` found")
            .about("They are not the same, so they are in no group together. The next job of that kind replaces them.")
            .query::<Wanted>()
            .answers(200, "A page of overlaps", [json::<DuplicateOverlaps>()]),
        Call::new(Post, "/v1/libraries/{library}/recut/{id:.*}", Ingest, recut)
            .named("recut", "Send a text that a re-index is waiting for")
            .takes([text("text/plain").example(TEXT), file()])
            .answers(200, "Whether the re-index was waiting for it", [json::<Recut>()]),
    ]
}

async fn start(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let task: Task = body::words(&request, payload, &state).await?;
    work_shared(&state, move |catalogue, by| {
        Answer::json(StatusCode::ACCEPTED, &catalogue.start(by, task)?)
    })
    .await
}

async fn all(state: Data<State>) -> Result<HttpResponse, Problem> {
    work(&state, |catalogue| {
        Answer::ok(&Jobs {
            jobs: catalogue.jobs()?,
        })
    })
    .await
}

async fn get(id: Path<String>, state: Data<State>) -> Result<HttpResponse, Problem> {
    let id = number(&id)?;
    work(&state, move |catalogue| Answer::ok(&catalogue.job(id)?)).await
}

async fn groups(
    id: Path<String>,
    request: HttpRequest,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let id = number(&id)?;
    let Wanted { after, limit } = parameters::query(request.query_string(), "after and limit")?;
    let limit = parameters::limit(limit.unwrap_or(PAGE), 1)?;
    work(&state, move |catalogue| {
        Answer::ok(&catalogue.duplicate_groups(id, after, limit)?)
    })
    .await
}

async fn overlaps(
    id: Path<String>,
    request: HttpRequest,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let id = number(&id)?;
    let Wanted { after, limit } = parameters::query(request.query_string(), "after and limit")?;
    let limit = parameters::limit(limit.unwrap_or(PAGE), 1)?;
    work(&state, move |catalogue| {
        Answer::ok(&catalogue.duplicate_overlaps(id, after, limit)?)
    })
    .await
}

async fn cancel(id: Path<String>, state: Data<State>) -> Result<HttpResponse, Problem> {
    let id = number(&id)?;
    work(&state, move |catalogue| {
        Answer::json(StatusCode::ACCEPTED, &catalogue.cancel(id)?)
    })
    .await
}

async fn recut(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, Problem> {
    let key = parameters::book(&request)?;
    let Body::Raw(raw) = body::json_or_raw(&request, payload, &state).await? else {
        return Err(Problem::new(
            ErrorCode::BadJson,
            "this call takes the book's text; send it with Content-Type: text/plain",
        ));
    };
    work(&state, move |catalogue| {
        let (Whole { text, .. }, mut room) = raw.text()?;
        room.grow_for(Some(&text), catalogue)?;
        Answer::ok(&Recut {
            added: catalogue.recut(&key, &text)?,
        })
    })
    .await
}

fn number(id: &str) -> Result<u32, Problem> {
    let missing = || {
        Problem::new(
            ErrorCode::NoSuchJob,
            format!("no such job: {}", super::problem::excerpt(id)),
        )
    };
    id.parse().map_err(|_| missing())
}
