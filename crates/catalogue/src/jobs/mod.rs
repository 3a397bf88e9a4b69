//! Long-running jobs: start, watch, cancel, and resume after a crash.
//!
//! A job is stored with its progress from the start, so it resumes where it was when the catalogue is served again.
//! Only one job of each kind runs at a time. Each has its own thread, and all run alongside checks and changes.

mod backups;
mod duplicates;
mod job;
mod reindex;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use lapidary_gems::Recipe;

pub use self::backups::Backups;
pub use self::duplicates::DuplicateJobs;
use self::job::StoredJob;
use self::reindex::Reindex;
use super::recipes::asked_with_secret;
use super::settings::put;
use super::sharing::SETTINGS;
use super::{Catalogue, CatalogueError, DuplicateOptions, Editor};
use crate::api::{
    BackedUp, Compacted, Dropped, Job, JobResult, JobState, RecipeChoice, Task, Verified,
};
use lapidary_common::error::{Classified, ErrorCode};
use lapidary_store::{Action, Actor, RocksStore, RowChange, StoreError, Table, Watch};
use lapidary_work::{DueWork, LeasedWork, Slot, WorkKind};

/// Number of finished jobs to remember.
const REMEMBERED: usize = 100;
/// Maximum number of backups in a folder.
const MOST_BACKUPS: u32 = 1000;
/// How often a job's progress is saved to disk.
const SAVED_EVERY: Duration = Duration::from_secs(1);

/// The jobs started or resumed by this process.
#[derive(Default)]
pub(super) struct BegunJobs {
    /// As they are, and ended if they have ended, whether or not that could be stored.
    begun: Mutex<BTreeMap<u32, Arc<Mutex<StoredJob>>>>,
    /// Held while a job is started, resumed or cancelled.
    starting: Mutex<()>,
}

impl BegunJobs {
    fn all(&self) -> Vec<StoredJob> {
        let begun: Vec<_> = self.begun.lock().values().cloned().collect();
        begun.iter().map(|job| job.lock().clone()).collect()
    }

    fn get(&self, id: u32) -> Option<StoredJob> {
        let begun = self.begun.lock().get(&id).cloned();
        begun.map(|job| job.lock().clone())
    }

    fn insert(&self, job: StoredJob) -> Arc<Mutex<StoredJob>> {
        let id = job.job.id;
        let job = Arc::new(Mutex::new(job));
        self.begun.lock().insert(id, Arc::clone(&job));
        job
    }

    /// The tasks of the unfinished jobs of this process.
    fn running(&self) -> Vec<Task> {
        let running = self.all().into_iter().filter(StoredJob::is_running);
        running.map(|job| job.job.task).collect()
    }
}

/// Resumes jobs that were interrupted, here or in another process that shares the store.
struct InterruptedJobs(Arc<Catalogue>);

impl WorkKind for InterruptedJobs {
    type Task = u32;
    type Error = CatalogueError;

    const NAME: &'static str = "job";
    const LOOK: Duration = Duration::from_secs(2);

    fn places(&self) -> usize {
        usize::MAX
    }

    fn due(&self) -> Result<Vec<DueWork<u32>>, CatalogueError> {
        let begun: Vec<u32> = self.0.jobs.begun.lock().keys().copied().collect();
        let mut left = self.0.jobs().stored()?;
        left.retain(|job| job.is_running() && !begun.contains(&job.job.id));
        let due = left.into_iter().map(|StoredJob { job, .. }| DueWork {
            name: lease_of(job.id),
            since: job.started_at,
            slot: Slot::default(),
            task: job.id,
        });
        Ok(due.collect())
    }

    fn run(&self, id: u32, work: &Arc<LeasedWork>) -> Result<(), CatalogueError> {
        if let Some(job) = self.0.jobs().resumed(id)? {
            self.0.by(Actor::Local).jobs().run(&job, work);
        }
        Ok(())
    }
}

/// Whether an error is of the state in which a cluster is for a while, as during a failover.
fn is_passing(error: &impl Classified) -> bool {
    let code = error.code();
    matches!(code, ErrorCode::StoreUnavailable | ErrorCode::NotReplicated)
}

/// Starts a job. If the same task was interrupted, resumes it instead.
///
/// # Errors
/// [`CatalogueError::JobRuns`] if a job of the same kind is unfinished, and the errors of an invalid task.
pub fn start_job(
    catalogue: &Arc<Catalogue>,
    by: &Editor<'_>,
    task: Task,
) -> Result<Job, CatalogueError> {
    let jobs = catalogue.jobs();
    let turn = catalogue.turn(&catalogue.jobs.starting, SETTINGS)?;
    if let Some(job) = by.answered_before()? {
        return Ok(job);
    }
    let stored = jobs.stored()?;
    let task = jobs.with_recipe(task, &stored)?;
    jobs.approve(&task)?;
    let (job, mut changes) = if let Some(job) = jobs.interrupted(&stored, &task)? {
        (job, Vec::new())
    } else {
        let id = stored
            .last()
            .map_or(1, |last| last.job.id.saturating_add(1));
        (StoredJob::new(id, task), forgotten(&stored))
    };
    let Some(work) = catalogue.runner.begin(&lease_of(job.job.id))? else {
        return Err(job.runs());
    };
    changes.push(row(&job));
    let shown = job.clone().shown();
    changes.extend(by.keep_answer(&shown)?);
    let actor = by.actor.clone();
    let action = Action::JobStarted {
        job: job.job.id,
        kind: job.job.task.kind().to_owned(),
    };
    turn.apply(&actor, &changes, &[action])?;
    let (of, begun) = (Arc::clone(catalogue), catalogue.jobs.insert(job));
    catalogue
        .runner
        .beside(move || of.by(actor).jobs().run(&begun, &work));
    Ok(shown)
}

/// Resumes interrupted jobs in the background, unless another process that shares the store runs them, until [`Jobs::stop`].
pub fn resume_jobs(catalogue: &Arc<Catalogue>) {
    let interrupted = InterruptedJobs(Arc::clone(catalogue));
    catalogue.runner.schedule(interrupted);
}

/// The recipe of an unfinished job that may have been asked for by this name, so that the same command goes on with the secret
/// that it drew.
fn interrupted_recipe<'a>(kept: &'a [StoredJob], name: &str) -> Option<&'a Recipe> {
    let public = asked_with_secret(name)?;
    let running = kept.iter().filter(|job| job.is_running());
    let recipes = running.filter_map(|job| match &job.job.task {
        Task::Reindex {
            recipe: RecipeChoice::Defined(recipe),
            ..
        } => Some(recipe),
        _ => None,
    });
    let mut with_secret = recipes.filter(|recipe| recipe.secret().is_some());
    with_secret.find(|recipe| recipe.public_name() == public)
}

/// The jobs of a catalogue ([`Catalogue::jobs`]).
#[derive(Debug, Clone)]
pub struct Jobs<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> Jobs<C> {
    /// The job with the same task that was interrupted, if there is one.
    ///
    /// # Errors
    /// [`CatalogueError::JobRuns`] if another job of the kind is unfinished.
    fn interrupted(
        &self,
        kept: &[StoredJob],
        task: &Task,
    ) -> Result<Option<StoredJob>, CatalogueError> {
        for job in kept.iter().filter(|job| job.job.task.kind() == task.kind()) {
            match self.0.jobs.get(job.job.id) {
                Some(begun) if begun.is_running() => return Err(begun.runs()),
                None if job.is_running() && job.job.task == *task => return Ok(Some(job.clone())),
                None if job.is_running() => return Err(job.runs()),
                _ => {}
            }
        }
        Ok(None)
    }

    /// Whether jobs can make backups.
    ///
    /// # Errors
    /// [`StoreError::NotOffered`] if the engine of the store has none; [`CatalogueError::BadTask`] if no folder is configured.
    pub fn offers_backups(&self) -> Result<(), CatalogueError> {
        self.files_to_back_up()?;
        self.0.backups.configured()
    }

    fn files_to_back_up(&self) -> Result<&RocksStore, StoreError> {
        self.0.store.folder().ok_or(StoreError::NotOffered)
    }

    /// The task with its recipe, and to re-index with its definition: a name alone does not say the lexicon of a signature, nor a
    /// secret. Nobody chooses a secret.
    fn with_recipe(&self, mut task: Task, kept: &[StoredJob]) -> Result<Task, CatalogueError> {
        let choice = match &mut task {
            Task::Reindex { recipe, .. } => recipe,
            Task::DropRecipe { recipe } => {
                *recipe = self.0.recipes().dropped(recipe);
                return Ok(task);
            }
            _ => return Ok(task),
        };
        match &*choice {
            RecipeChoice::Named(name) => {
                let recipe = match interrupted_recipe(kept, name) {
                    Some(recipe) => recipe.clone(),
                    None => self.0.recipes().named(name, None)?,
                };
                *choice = RecipeChoice::Defined(recipe);
            }
            RecipeChoice::Defined(recipe) if recipe.secret().is_some() => {
                let why =
                    "a recipe with a secret is given by its name, such as hardened-compact@secret";
                return Err(CatalogueError::BadTask(why.to_owned()));
            }
            RecipeChoice::Defined(_) => {}
        }
        Ok(task)
    }

    /// The interrupted job of this number, which this process resumes, unless it was cancelled meanwhile.
    fn resumed(&self, id: u32) -> Result<Option<Arc<Mutex<StoredJob>>>, CatalogueError> {
        let _turn = self.0.turn(&self.0.jobs.starting, SETTINGS)?;
        let job = self.stored_job(id)?;
        if !job.is_running() {
            return Ok(None);
        }
        tracing::info!("resuming job {id} ({})", job.job.task.kind());
        Ok(Some(self.0.jobs.insert(job)))
    }

    /// All remembered jobs, newest first.
    pub fn all(&self) -> Result<Vec<Job>, CatalogueError> {
        let all = self.stored()?.into_iter().chain(self.0.jobs.all());
        // Those that were begun here are as they are now.
        let by_id: BTreeMap<u32, StoredJob> = all.map(|job| (job.job.id, job)).collect();
        Ok(by_id.into_values().rev().map(StoredJob::shown).collect())
    }

    /// Returns a job.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchJob`].
    pub fn get(&self, id: u32) -> Result<Job, CatalogueError> {
        self.all()?
            .into_iter()
            .find(|job| job.id == id)
            .ok_or(CatalogueError::NoSuchJob(id))
    }

    /// Cancels jobs left behind by another process.
    pub(super) fn end_interrupted(&self) -> Result<(), CatalogueError> {
        for job in self.stored()?.into_iter().filter(StoredJob::is_running) {
            self.0.by(Actor::Local).jobs().cancel(job.job.id)?;
        }
        Ok(())
    }

    /// Stops all work of this process and waits for it. It resumes when the catalogue is served again.
    pub fn stop(&self) {
        self.0.runner.stop();
        if !self.0.jobs.running().is_empty()
            && let Some(folder) = self.0.store.folder()
        {
            folder.stop();
        }
        self.0.runner.join();
    }

    /// Checks whether a task can be run at all.
    fn approve(&self, task: &Task) -> Result<(), CatalogueError> {
        match task {
            Task::Reindex {
                recipe,
                from,
                drop_old,
                allow_missing,
            } => self.approve_reindex(&recipe.recipe()?, *from, *drop_old, *allow_missing),
            Task::DropRecipe { recipe } => {
                let known = self.0.recipes().all();
                match known.iter().position(|known| known.name() == recipe) {
                    Some(0) => Err(StoreError::IsDefault(recipe.clone()).into()),
                    Some(_) => Ok(()),
                    None => Err(CatalogueError::no_such_recipe(recipe, &known)),
                }
            }
            Task::Backup { keep, .. } if !(1..=MOST_BACKUPS).contains(keep) => {
                Err(CatalogueError::BadTask(format!(
                    "the number of backups to keep must be from 1 to {MOST_BACKUPS}, not {keep}"
                )))
            }
            Task::Backup { to, .. } => {
                self.offers_backups()?;
                self.0.backups.folder(to).map(|_| ())
            }
            Task::Verify { .. } | Task::Compact {} => Ok(()),
            Task::Duplicates {
                library, recipe, ..
            } => {
                let duplicates = self.0.duplicate_jobs();
                duplicates.approve(library.as_ref(), recipe.as_ref())
            }
        }
    }

    /// The stored jobs, by number.
    fn stored(&self) -> Result<Vec<StoredJob>, CatalogueError> {
        let mut jobs = Vec::new();
        for (key, kept) in self.0.store.table(Table::Jobs)? {
            let number = u32::from_be_bytes(key.try_into().unwrap_or_default());
            match StoredJob::read(&kept) {
                Ok(job) => jobs.push(job),
                Err(error) => tracing::warn!("job {number} cannot be read and is ignored: {error}"),
            }
        }
        Ok(jobs)
    }

    /// A job as it is stored, if it is still remembered.
    pub(super) fn in_store(&self, id: u32) -> Result<Option<Job>, CatalogueError> {
        let mut stored = self.stored()?.into_iter();
        Ok(stored
            .find(|stored| stored.job.id == id)
            .map(StoredJob::shown))
    }

    /// The stored job of this number.
    fn stored_job(&self, id: u32) -> Result<StoredJob, CatalogueError> {
        let mut kept = self.stored()?.into_iter();
        kept.find(|kept| kept.job.id == id)
            .ok_or(CatalogueError::NoSuchJob(id))
    }
}

impl Jobs<Editor<'_>> {
    /// Cancels a job. It stops within moments, except for a compaction, which finishes its current step.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchJob`], [`CatalogueError::JobEnded`].
    pub fn cancel(&self, id: u32) -> Result<Job, CatalogueError> {
        let turn = self.0.turn(&self.0.jobs.starting, SETTINGS)?;
        let (here, kept) = (self.0.jobs.get(id), self.stored_job(id)?);
        let here = match here {
            Some(here) if !here.is_running() => return Err(here.has_ended()),
            Some(here) if kept.job.state == JobState::Cancelled => return Ok(here.shown()),
            here => here,
        };
        if !kept.is_running() {
            return Err(kept.has_ended());
        }
        self.0.runner.revoke(&lease_of(id))?;
        // From here on, nobody stores anything else of it. It may have ended just before.
        let kept = self.stored_job(id)?;
        if !kept.is_running() {
            return Err(kept.has_ended());
        }
        let cancelled = here.clone().unwrap_or(kept).ended(JobState::Cancelled);
        let action = Action::JobCancelled { job: id };
        turn.apply(&self.0.actor, &[row(&cancelled)], &[action])?;
        // Where it runs, it is seen running until it has stopped.
        Ok(here.unwrap_or(cancelled).shown())
    }

    /// Runs a job, and stores how it ended. If it did not, or that could not be stored, it goes on when the store is available.
    fn run(&self, begun: &Mutex<StoredJob>, work: &LeasedWork) {
        let progress = JobProgress {
            job: begun,
            work,
            saved: Mutex::new(Instant::now()),
        };
        let job = begun.lock().clone();
        let ended = work.keep_during(
            || {},
            || {},
            || catch_unwind(AssertUnwindSafe(|| self.perform(&job, &progress))),
        );
        let job = begun.lock().clone();
        let id = job.job.id;
        match self.outcome(job, ended) {
            Some(ended) if self.store_end(&ended, work) => *begun.lock() = ended,
            _ => drop(self.0.jobs.begun.lock().remove(&id)),
        }
    }

    /// A job after its work; `None` if it has not ended.
    fn outcome(
        &self,
        job: StoredJob,
        ended: thread::Result<Result<JobResult, CatalogueError>>,
    ) -> Option<StoredJob> {
        Some(match ended {
            Ok(Ok(result)) => job.done(result),
            // It resumes at the next start.
            Ok(Err(_)) if self.0.runner.is_stopping() => job,
            Ok(Err(error)) if is_passing(&error) => {
                let (id, kind) = (job.job.id, job.job.task.kind());
                tracing::warn!("job {id} ({kind}) goes on when the store is available: {error}");
                return None;
            }
            Ok(Err(error)) => job.failed(error.code(), error.to_string()),
            Err(_) => job.failed(
                ErrorCode::Internal,
                "internal error; see the log".to_owned(),
            ),
        })
    }

    /// Stores how a job ended. Returns whether this process is done with it.
    fn store_end(&self, ended: &StoredJob, work: &LeasedWork) -> bool {
        let Job {
            id, task, state, ..
        } = &ended.job;
        let kind = task.kind();
        let end = (!ended.is_running()).then(|| Action::JobEnded {
            job: *id,
            kind: kind.to_owned(),
            state: state.to_string(),
        });
        match work.apply_and_note(&self.0.actor, &[row(ended)], end.as_slice()) {
            Ok(true) => {}
            Ok(false) => {
                tracing::info!("job {id} was cancelled, or goes on in another process");
                return false;
            }
            Err(error) => {
                tracing::error!(
                    "the end of job {id} ({kind}) could not be saved, so it will run again: {error}"
                );
                if is_passing(&error) {
                    return false;
                }
            }
        }
        if let Some(error) = &ended.job.error {
            tracing::error!("job {id} ({kind}) failed: {error}");
        } else {
            tracing::info!("job {id} ({kind}): {state}");
        }
        true
    }

    fn perform(
        &self,
        job: &StoredJob,
        work: &JobProgress<'_>,
    ) -> Result<JobResult, CatalogueError> {
        let watch: Watch<'_> = &|done, total| work.step(done, total);
        Ok(match &job.job.task {
            Task::Reindex {
                recipe,
                from,
                drop_old,
                allow_missing,
            } => {
                let reindex = Reindex {
                    recipe: recipe.recipe()?,
                    from: *from,
                    drop_old: *drop_old,
                    allow_missing: *allow_missing,
                };
                let under = Jobs(self.0.under(work.work)?);
                JobResult::Reindexed(under.reindex(&reindex, job, work)?)
            }
            Task::DropRecipe { recipe } => {
                Jobs(self.0.under(work.work)?).drop_recipe(recipe, work)?;
                let dropped = recipe.clone();
                JobResult::Dropped(Dropped { dropped })
            }
            Task::Verify { fix } => JobResult::Verified(self.verify_and_fix(*fix, watch)?),
            Task::Backup { to, keep } => JobResult::BackedUp(self.back_up(to, *keep, watch)?),
            Task::Compact {} => JobResult::Compacted(self.compact(watch)?),
            Task::Duplicates {
                library,
                recipe,
                since,
            } => {
                let options = DuplicateOptions {
                    library: library.clone(),
                    recipe: recipe.clone(),
                    since: *since,
                    ..DuplicateOptions::default()
                };
                let duplicates = self.0.duplicate_jobs();
                JobResult::Grouped(duplicates.find(&options, job, work)?)
            }
        })
    }

    fn back_up(&self, to: &Path, keep: u32, watch: Watch<'_>) -> Result<BackedUp, CatalogueError> {
        let folder = self.0.backups.folder(to)?;
        let files = self.files_to_back_up()?;
        let made = files.backup(&folder, keep, watch)?;
        Ok(BackedUp {
            backup: made.number,
            bytes: made.bytes,
            backups: made.kept,
        })
    }

    fn compact(&self, watch: Watch<'_>) -> Result<Compacted, CatalogueError> {
        let bytes_before = self.0.store.bytes()?;
        self.0.store.compact(watch)?;
        Ok(Compacted {
            bytes: self.0.store.bytes()?,
            bytes_before,
        })
    }

    fn verify_and_fix(&self, fix: bool, watch: Watch<'_>) -> Result<Verified, CatalogueError> {
        let store = &self.0.store;
        let found = store.verify(watch)?;
        if found.is_empty() || !fix {
            return Ok(Verified {
                faults: found,
                found: None,
                lost: None,
            });
        }
        let lost = store.repair(watch)?;
        Ok(Verified {
            faults: store.verify(watch)?,
            found: Some(found),
            lost: Some(lost),
        })
    }
}

/// The name of the lease of a job.
fn lease_of(id: u32) -> String {
    format!("job {id}")
}

fn row(job: &StoredJob) -> RowChange {
    put(Table::Jobs, job.job.id.to_be_bytes(), job)
}

/// Deletes the oldest jobs that have ended, to make room for another.
fn forgotten(kept: &[StoredJob]) -> Vec<RowChange> {
    let ended = kept.iter().filter(|job| !job.is_running());
    let forgotten = ended.take(kept.len().saturating_sub(REMEMBERED));
    forgotten
        .map(|forgotten| RowChange::delete(Table::Jobs, forgotten.job.id.to_be_bytes()))
        .collect()
}

/// The progress of a running job.
struct JobProgress<'a> {
    job: &'a Mutex<StoredJob>,
    work: &'a LeasedWork,
    saved: Mutex<Instant>,
}

impl JobProgress<'_> {
    /// Reports progress.
    ///
    /// # Errors
    /// [`StoreError::Stopped`] if the job must stop.
    fn step(&self, done: u64, total: u64) -> Result<(), StoreError> {
        let job = &mut self.job.lock().job;
        (job.done, job.total) = (done, total);
        if self.work.stop().is_stopped() {
            return Err(StoreError::Stopped);
        }
        Ok(())
    }

    /// Changes rows of the job, unless it was cancelled or another process has taken it over.
    ///
    /// # Errors
    /// [`StoreError::Stopped`] if so.
    fn apply(&self, rows: &[RowChange]) -> Result<(), CatalogueError> {
        if self.work.apply(rows)? {
            Ok(())
        } else {
            Err(StoreError::Stopped.into())
        }
    }

    /// Updates the checkpoint, and how much is done by then. It is saved at once if `now`, otherwise from time to time.
    fn checkpoint(
        &self,
        now: bool,
        change: impl FnOnce(&mut StoredJob),
    ) -> Result<(), CatalogueError> {
        change(&mut self.job.lock());
        let mut saved = self.saved.lock();
        if now || saved.elapsed() >= SAVED_EVERY {
            // Whoever lists jobs does not wait for the store.
            let job = row(&self.job.lock());
            self.apply(&[job])?;
            *saved = Instant::now();
        }
        Ok(())
    }
}
