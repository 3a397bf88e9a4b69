//! Jobs: started, shown, cancelled.

use std::cmp::Ordering;

use lapidary_catalogue::api::{
    DuplicateGroups, DuplicateOverlaps, Job, Jobs, ResolvedDuplicates, Task,
};
use lapidary_catalogue::start_job;
use lapidary_common::error::ErrorCode;
use serde_json::json;

use crate::books::no_such_book;
use crate::{
    Body, Done, Endpoint, Input, JobNumber, Needs, Operation, OperationError, PageQuery, SentAs,
    Session, filled,
};

/// The most books of a group of which something can be said.
const MOST_RESOLVED: usize = 100;

/// Lists all jobs.
pub struct ListJobs;

impl Operation for ListJobs {
    type Path = ();
    type Input = PageQuery;
    type Answer = Jobs;
    const ENDPOINT: Endpoint = Endpoint::get("/v1/jobs", Needs::Admin)
        .named("jobs", "List all jobs")
        .answers(&[(200, "A page of jobs, the newest first")]);

    fn run(session: &Session<'_>, (): (), query: PageQuery) -> Result<Jobs, OperationError> {
        let page = query.of(session.jobs().all()?, |job| job.id, Ordering::Less)?;
        Ok(page.into())
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
    const CREATES: bool = true;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/jobs", Needs::Admin)
        .named("start_job", "Start a job")
        .about("One job of a kind runs at a time. A re-index from sources waits until the text of every book was sent.")
        .answers(&[(202, "The job")]);

    fn place(job: &Job) -> Option<String> {
        Some(ShowJob::place_of(job))
    }

    fn run(session: &Session<'_>, (): (), task: Task) -> Result<Job, OperationError> {
        Ok(start_job(session.catalogue, session, task)?)
    }
}

/// Shows a job.
pub struct ShowJob;

impl ShowJob {
    /// Where it shows a job.
    fn place_of(job: &Job) -> String {
        filled(Self::ENDPOINT.path, &[job.id.to_string()])
    }
}

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
    const ENDPOINT: Endpoint = Endpoint::post("/v1/jobs/{id}/cancel", Needs::Admin)
        .named("cancel_job", "Cancel a job")
        .about("A job that has ended cannot be cancelled (409).")
        .answers(&[(202, "The job")]);

    fn place(job: &Job) -> Option<String> {
        Some(ShowJob::place_of(job))
    }

    fn run(session: &Session<'_>, JobNumber(id): JobNumber, (): ()) -> Result<Job, OperationError> {
        Ok(session.jobs().cancel(id)?)
    }
}

/// Lists the groups of duplicates that a job found.
pub struct ListDuplicateGroups;

impl Operation for ListDuplicateGroups {
    type Path = JobNumber;
    type Input = PageQuery;
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
        query: PageQuery,
    ) -> Result<DuplicateGroups, OperationError> {
        let duplicates = session.duplicate_jobs();
        Ok(duplicates.groups(id, query.place()?, query.limit()?)?)
    }
}

/// Lists the books that overlap, as a job found.
pub struct ListDuplicateOverlaps;

impl Operation for ListDuplicateOverlaps {
    type Path = JobNumber;
    type Input = PageQuery;
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
        query: PageQuery,
    ) -> Result<DuplicateOverlaps, OperationError> {
        let duplicates = session.duplicate_jobs();
        Ok(duplicates.overlaps(id, query.place()?, query.limit()?)?)
    }
}

/// Says what the books of a group are.
pub struct ResolveDuplicates;

impl Input for ResolvedDuplicates {
    fn sent_as() -> SentAs {
        SentAs::json::<Self>(json!({
            "books": [{ "library": "mine", "id": "evenings" }, { "library": "mine", "id": "preface" }],
            "resolution": "editions"
        }))
    }
}

impl Operation for ResolveDuplicates {
    type Path = ();
    type Input = ResolvedDuplicates;
    type Answer = Done;
    const ENDPOINT: Endpoint = Endpoint::post("/v1/duplicates", Needs::Admin)
        .named(
            "resolve_duplicates",
            "Say that the books of a group are editions of one work, or are to stay as they are",
        )
        .about(
            "The group goes on to be listed, with this `resolution`, also by later jobs. A book that joins it, or another text of one, \
             takes the resolution away.",
        )
        .answers(&[(204, "It is noted")]);

    fn run(
        session: &Session<'_>,
        (): (),
        ResolvedDuplicates { books, resolution }: ResolvedDuplicates,
    ) -> Result<Done, OperationError> {
        if !(2..=MOST_RESOLVED).contains(&books.len()) {
            let detail = format!("give from 2 to {MOST_RESOLVED} books");
            return Err(OperationError::refused(ErrorCode::BadJson, detail));
        }
        match session.duplicate_jobs().resolve(&books, resolution)? {
            None => Ok(Done),
            Some(missing) => Err(no_such_book(&missing)),
        }
    }
}
