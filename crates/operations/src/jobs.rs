//! Jobs: started, shown, cancelled.

use lapidary_catalogue::api::{DuplicateGroups, DuplicateOverlaps, Job, Jobs, Task};
use lapidary_catalogue::start_job;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::IntoParams;

use crate::{
    Body, Endpoint, Input, JobNumber, Needs, Operation, OperationError, SentAs, Session, page_limit,
};

/// Lists all jobs.
pub struct ListJobs;

impl Operation for ListJobs {
    type Path = ();
    type Input = ();
    type Answer = Jobs;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/jobs", Needs::Admin)
        .named("jobs", "List all jobs")
        .answers(&[(200, "The jobs")]);

    fn run(session: &Session<'_>, (): (), (): ()) -> Result<Jobs, OperationError> {
        let jobs = session.jobs().all()?;
        Ok(Jobs { jobs })
    }
}

/// Starts a job.
pub struct StartJob;

impl Input for Task {
    fn sent_as() -> SentAs {
        let body: Body = crate::json::<Self>();
        SentAs::Json(vec![body.examples([
            ("compact", json!({ "kind": "compact" })),
            ("duplicates", json!({ "kind": "duplicates" })),
            (
                "reindex",
                json!({ "kind": "reindex", "recipe": "hardened-fine", "from": "sources" }),
            ),
            ("verify", json!({ "kind": "verify" })),
        ])])
    }
}

impl Operation for StartJob {
    type Path = ();
    type Input = Task;
    type Answer = Job;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/jobs", Needs::Admin)
        .named("start_job", "Start a job")
        .about("One job of a kind runs at a time. A re-index from sources waits until the text of every book was sent.")
        .answers(&[(202, "The job")]);

    fn run(session: &Session<'_>, (): (), task: Task) -> Result<Job, OperationError> {
        Ok(start_job(session.catalogue, session.actor().clone(), task)?)
    }
}

/// Shows a job.
pub struct ShowJob;

impl Operation for ShowJob {
    type Path = JobNumber;
    type Input = ();
    type Answer = Job;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/jobs/{id}", Needs::Admin)
        .named("job", "Show a job")
        .answers(&[(200, "The job")]);

    fn run(session: &Session<'_>, JobNumber(id): JobNumber, (): ()) -> Result<Job, OperationError> {
        Ok(session.jobs().get(id)?)
    }
}

/// Cancels a job.
pub struct CancelJob;

impl Operation for CancelJob {
    type Path = JobNumber;
    type Input = ();
    type Answer = Job;
    const ENDPOINT: Endpoint = Endpoint::delete("/v1/jobs/{id}", Needs::Admin)
        .named("cancel_job", "Cancel a job")
        .about("A job that has ended cannot be cancelled (409).")
        .answers(&[(202, "The job")]);

    fn run(session: &Session<'_>, JobNumber(id): JobNumber, (): ()) -> Result<Job, OperationError> {
        Ok(session.jobs().cancel(id)?)
    }
}

/// Which groups or overlaps of duplicates.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct DuplicatesQuery {
    /// `next` of the page before
    pub after: Option<u32>,
    /// The maximum number in the answer, from 1 to 1000
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

impl Input for DuplicatesQuery {
    fn sent_as() -> SentAs {
        SentAs::query::<Self>("after and limit")
    }
}

/// Lists the groups of duplicates that a job found.
pub struct ListDuplicateGroups;

impl Operation for ListDuplicateGroups {
    type Path = JobNumber;
    type Input = DuplicatesQuery;
    type Answer = DuplicateGroups;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/jobs/{id}/groups", Needs::Admin)
        .named(
            "duplicate_groups",
            "List the groups that a job of the kind `duplicates` found",
        )
        .about("The next job of that kind replaces them.")
        .answers(&[(200, "A page of groups")]);

    fn run(
        session: &Session<'_>,
        JobNumber(id): JobNumber,
        query: DuplicatesQuery,
    ) -> Result<DuplicateGroups, OperationError> {
        Ok(session
            .jobs()
            .duplicate_groups(id, query.after, page_limit(query.limit)?)?)
    }
}

/// Lists the books that overlap, as a job found.
pub struct ListDuplicateOverlaps;

impl Operation for ListDuplicateOverlaps {
    type Path = JobNumber;
    type Input = DuplicatesQuery;
    type Answer = DuplicateOverlaps;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/jobs/{id}/overlaps", Needs::Admin)
        .named(
            "duplicate_overlaps",
            "List the books that overlap, as a job of the kind `duplicates` found",
        )
        .about("They are not the same, so they are in no group together. The next job of that kind replaces them.")
        .answers(&[(200, "A page of overlaps")]);

    fn run(
        session: &Session<'_>,
        JobNumber(id): JobNumber,
        query: DuplicatesQuery,
    ) -> Result<DuplicateOverlaps, OperationError> {
        Ok(session
            .jobs()
            .duplicate_overlaps(id, query.after, page_limit(query.limit)?)?)
    }
}
