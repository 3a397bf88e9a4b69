//! `lapidary jobs`, and the code shared by commands that start a job: they show its progress and end when it ends.

use std::io::Write as _;
use std::thread::sleep;
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use lapidary_catalogue::api::{Job, JobResult, JobState, Task};

use super::arguments::{Listing, Target};
use super::client::CatalogueClient;
use super::failure::{Failure, Status};
use super::terminal::{json_line, lines, out};
use lapidary_operations::JobNumber;
use lapidary_operations::jobs::{CancelJob, ListJobs, ShowJob, StartJob};
use lapidary_store::StoreError;

/// How often to poll a job.
const LOOK: Duration = Duration::from_millis(100);

/// List, show or cancel jobs, such as re-indexing, verification and compaction.
#[derive(Args)]
pub(super) struct JobsArgs {
    #[command(subcommand)]
    action: JobsCommand,
}

#[derive(Subcommand)]
enum JobsCommand {
    /// List running and recent jobs, newest first
    List(Listing),
    /// Show a job as JSON
    Show {
        #[command(flatten)]
        target: Target,
        /// The job's number
        id: u32,
    },
    /// Cancel a job
    Cancel {
        #[command(flatten)]
        target: Target,
        /// The job's number
        id: u32,
    },
}

impl JobsArgs {
    pub(super) fn run(self) -> Result<Status, Failure> {
        match self.action {
            JobsCommand::List(Listing { target, json }) => {
                lines(
                    &mut out(json),
                    json,
                    &target.open()?.all::<ListJobs>(&())?,
                    sentence,
                )?;
            }
            JobsCommand::Show { target, id } => {
                let job = target.open()?.call::<ShowJob>(JobNumber(id), ())?;
                json_line(&mut out(true), &job)?;
            }
            JobsCommand::Cancel { target, id } => {
                let job = target.open()?.call::<CancelJob>(JobNumber(id), ())?;
                writeln!(
                    out(false),
                    "cancelling job {} ({})",
                    job.id,
                    job.task.kind()
                )?;
            }
        }
        Ok(Status::Done)
    }
}

fn sentence(job: &Job) -> String {
    let Job {
        id,
        task,
        state,
        done,
        total,
        started_at: started,
        error,
        ..
    } = job;
    let error = error
        .as_ref()
        .map(|error| format!(": {error}"))
        .unwrap_or_default();
    format!(
        "{id}\t{}\t{state}\t{done} of {total}\t{started:.0}{error}",
        task.kind()
    )
}

/// Starts a job and shows its progress until it succeeds.
pub(super) fn perform(catalogue: &CatalogueClient, task: Task) -> Result<JobResult, Failure> {
    let job = catalogue.call::<StartJob>((), task)?;
    wait(catalogue, job)
}

/// Shows a job's progress until it succeeds.
pub(super) fn wait(catalogue: &CatalogueClient, mut job: Job) -> Result<JobResult, Failure> {
    let bar = bar(job.task.kind());
    while job.state == JobState::Running {
        bar.set_length(job.total);
        bar.set_position(job.done);
        sleep(LOOK);
        job = catalogue.call::<ShowJob>(JobNumber(job.id), ())?;
    }
    bar.finish_and_clear();
    catalogue.settle();
    match (job.state, job.result, job.error) {
        (JobState::Done, Some(result), _) => Ok(result),
        (_, _, Some(error)) => Err(Failure::Failed(error)),
        (state, ..) => Err(Failure::Failed(format!(
            "job {} ({}) was {state}",
            job.id,
            job.task.kind()
        ))),
    }
}

/// The failure when a job returns the result of another task.
pub(super) fn other_result() -> Failure {
    Failure::Failed(
        "the job returned the result of another task; check that the server has the same version"
            .to_owned(),
    )
}

/// Shows on a bar how much of a whole is done.
pub(super) fn advance(bar: &ProgressBar) -> impl Fn(u64, u64) -> Result<(), StoreError> + Sync {
    move |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        Ok(())
    }
}

/// A progress bar with this label.
pub(super) fn bar(what: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) =
        ProgressStyle::with_template("{prefix} {bar:30} {human_pos} of {human_len}, {eta} left")
    {
        bar.set_style(style);
    }
    bar.set_prefix(what.to_owned());
    bar
}
