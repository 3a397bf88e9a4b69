//! Long-running jobs: start, watch, cancel, and resume after a crash.
//!
//! A job is stored with its progress from the start, so it resumes where it was when the catalogue is served again.
//! Only one job of each kind runs at a time. Each has its own thread, and all run alongside checks and changes.

mod backups;
mod duplicates;
mod job;
mod reindex;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use self::backups::Backups;
use self::job::{StoredJob, defined};
use self::reindex::Reindex;
use super::settings::put;
use super::sharing::SETTINGS;
use super::{
    BACKUPS, COMPACTION, Catalogue, CatalogueError, DuplicateOptions, Editor, VERIFICATION,
};
use crate::api::{
    BackedUp, Compacted, Dropped, Job, JobResult, JobState, RecipeChoice, Task, Verified,
};
use lapidary_store::{Action, Actor, RowChange, StoreError, Table, Watch};
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
        let begun: Vec<_> = lock(&self.begun).values().cloned().collect();
        begun.iter().map(|job| lock(job).clone()).collect()
    }

    fn get(&self, id: u32) -> Option<StoredJob> {
        let begun = lock(&self.begun).get(&id).cloned();
        begun.map(|job| lock(&job).clone())
    }

    fn insert(&self, job: StoredJob) -> Arc<Mutex<StoredJob>> {
        let id = job.job.id;
        let job = Arc::new(Mutex::new(job));
        lock(&self.begun).insert(id, Arc::clone(&job));
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
        let begun: Vec<u32> = lock(&self.0.jobs.begun).keys().copied().collect();
        let mut left = self.0.kept_jobs()?;
        left.retain(|job| job.is_running() && !begun.contains(&job.job.id));
        let due = left.into_iter().map(|StoredJob { job, .. }| DueWork {
            name: lease_of(job.id),
            since: job.started,
            slot: Slot::default(),
            task: job.id,
        });
        Ok(due.collect())
    }

    fn run(&self, id: u32, work: &Arc<LeasedWork>) -> Result<(), CatalogueError> {
        if let Some(job) = self.0.resumed(id)? {
            self.0.by(Actor::Local).run_job(&job, work);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Catalogue {
    /// Starts a job. If the same task was interrupted, resumes it instead.
    ///
    /// # Errors
    /// [`CatalogueError::JobRuns`] if a job of the same kind is unfinished, and the errors of an invalid task.
    pub fn start(self: &Arc<Self>, actor: Actor, task: Task) -> Result<Job, CatalogueError> {
        let task = defined(self.with_known_recipe(task))?;
        self.approve(&task)?;
        let turn = self.turn(&self.jobs.starting, SETTINGS)?;
        let kept = self.kept_jobs()?;
        let (job, mut changes) = if let Some(job) = self.interrupted(&kept, &task)? {
            (job, Vec::new())
        } else {
            let id = kept.last().map_or(1, |last| last.job.id.saturating_add(1));
            (StoredJob::new(id, task), forgotten(&kept))
        };
        let Some(work) = self.runner.begin(&lease_of(job.job.id))? else {
            return Err(job.runs());
        };
        changes.push(row(&job));
        let action = Action::JobStarted {
            job: job.job.id,
            kind: job.job.task.kind().to_owned(),
        };
        turn.apply(&actor, &changes, &[action])?;
        let (catalogue, begun) = (Arc::clone(self), self.jobs.insert(job.clone()));
        self.runner
            .beside(move || catalogue.by(actor).run_job(&begun, &work));
        Ok(job.shown())
    }

    /// The job with the same task that was interrupted, if there is one.
    ///
    /// # Errors
    /// [`CatalogueError::JobRuns`] if another job of the kind is unfinished.
    fn interrupted(
        &self,
        kept: &[StoredJob],
        task: &Task,
    ) -> Result<Option<StoredJob>, CatalogueError> {
        let is_of_kind = |job: &&StoredJob| job.job.task.kind() == task.kind();
        for job in kept.iter().filter(is_of_kind) {
            match self.jobs.get(job.job.id) {
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
        self.files().ok_or(StoreError::NotOffered(BACKUPS))?;
        self.backups.configured()
    }

    /// The task with the definition of its recipe, if that is named and the catalogue has it: a name alone does not say the
    /// lexicon of a signature.
    fn with_known_recipe(&self, mut task: Task) -> Task {
        if let Task::Reindex { recipe: choice, .. } = &mut task
            && let RecipeChoice::Named(name) = &*choice
        {
            let mut known = self.recipes().into_iter();
            if let Some(known) = known.find(|recipe| recipe.name().as_str() == name) {
                *choice = RecipeChoice::Defined(known);
            }
        }
        task
    }

    /// Resumes interrupted jobs in the background, unless another process that shares the store runs them, until
    /// [`Catalogue::stop_jobs`].
    pub fn resume_jobs(self: &Arc<Self>) {
        self.runner.schedule(InterruptedJobs(Arc::clone(self)));
    }

    /// The interrupted job of this number, which this process resumes, unless it was cancelled meanwhile.
    fn resumed(&self, id: u32) -> Result<Option<Arc<Mutex<StoredJob>>>, CatalogueError> {
        let _turn = self.turn(&self.jobs.starting, SETTINGS)?;
        let job = self.kept_job(id)?;
        if !job.is_running() {
            return Ok(None);
        }
        tracing::info!("resuming job {id} ({})", job.job.task.kind());
        Ok(Some(self.jobs.insert(job)))
    }

    /// All remembered jobs, newest first.
    pub fn jobs(&self) -> Result<Vec<Job>, CatalogueError> {
        let all = self.kept_jobs()?.into_iter().chain(self.jobs.all());
        // Those that were begun here are as they are now.
        let by_id: BTreeMap<u32, StoredJob> = all.map(|job| (job.job.id, job)).collect();
        Ok(by_id.into_values().rev().map(StoredJob::shown).collect())
    }

    /// Returns a job.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchJob`].
    pub fn job(&self, id: u32) -> Result<Job, CatalogueError> {
        self.jobs()?
            .into_iter()
            .find(|job| job.id == id)
            .ok_or(CatalogueError::NoSuchJob(id))
    }

    /// Cancels jobs left behind by another process.
    pub(super) fn end_interrupted(&self) -> Result<(), CatalogueError> {
        for job in self.kept_jobs()?.into_iter().filter(StoredJob::is_running) {
            self.by(Actor::Local).cancel(job.job.id)?;
        }
        Ok(())
    }

    /// Stops all work of this process and waits for it. It resumes when the catalogue is served again.
    pub fn stop_jobs(&self) {
        self.runner.stop();
        if !self.jobs.running().is_empty()
            && let Some(administration) = self.store.administration()
        {
            administration.stop();
        }
        self.runner.join();
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
                let known = self.recipes();
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
                self.backups.folder(to).map(|_| ())
            }
            Task::Verify { .. } => Ok(self.administration(VERIFICATION).map(|_| ())?),
            Task::Compact {} => Ok(self.administration(COMPACTION).map(|_| ())?),
            Task::Duplicates {
                library, recipe, ..
            } => self.approve_duplicates(library.as_ref(), recipe.as_ref()),
        }
    }

    /// The stored jobs, by number.
    fn kept_jobs(&self) -> Result<Vec<StoredJob>, CatalogueError> {
        let mut jobs = Vec::new();
        for (key, kept) in self.store.table(Table::Jobs)? {
            let number = u32::from_be_bytes(key.try_into().unwrap_or_default());
            match StoredJob::read(&kept) {
                Ok(job) => jobs.push(job),
                Err(error) => tracing::warn!("job {number} cannot be read and is ignored: {error}"),
            }
        }
        Ok(jobs)
    }

    /// The stored job of this number.
    fn kept_job(&self, id: u32) -> Result<StoredJob, CatalogueError> {
        let mut kept = self.kept_jobs()?.into_iter();
        kept.find(|kept| kept.job.id == id)
            .ok_or(CatalogueError::NoSuchJob(id))
    }
}

impl Editor<'_> {
    /// Cancels a job. It stops within moments, except for a compaction, which finishes its current step.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchJob`], [`CatalogueError::JobEnded`].
    pub fn cancel(&self, id: u32) -> Result<Job, CatalogueError> {
        let turn = self.turn(&self.jobs.starting, SETTINGS)?;
        let (here, kept) = (self.jobs.get(id), self.kept_job(id)?);
        let here = match here {
            Some(here) if !here.is_running() => return Err(here.has_ended()),
            Some(here) if kept.job.state == JobState::Cancelled => return Ok(here.shown()),
            here => here,
        };
        if !kept.is_running() {
            return Err(kept.has_ended());
        }
        self.runner.revoke(&lease_of(id));
        // From here on, nobody stores anything else of it. It may have ended just before.
        let kept = self.kept_job(id)?;
        if !kept.is_running() {
            return Err(kept.has_ended());
        }
        let cancelled = here.clone().unwrap_or(kept).ended(JobState::Cancelled);
        let action = Action::JobCancelled { job: id };
        turn.apply(&self.actor, &[row(&cancelled)], &[action])?;
        // Where it runs, it is seen running until it has stopped.
        Ok(here.unwrap_or(cancelled).shown())
    }

    /// Runs a job to its end, and stores how it ended.
    fn run_job(&self, begun: &Mutex<StoredJob>, work: &LeasedWork) {
        let progress = JobProgress {
            job: begun,
            work,
            saved: Mutex::new(Instant::now()),
        };
        let job = lock(begun).clone();
        let perform = || catch_unwind(AssertUnwindSafe(|| self.perform(&job, &progress)));
        let ended = work.keep_during(|| {}, || {}, perform);
        let mut job = lock(begun);
        let ended = match ended {
            Ok(Ok(result)) => job.clone().done(result),
            // It resumes at the next start.
            Ok(Err(_)) if self.runner.is_stopping() => job.clone(),
            Ok(Err(error)) => job.clone().failed(error.to_string()),
            Err(_) => job.clone().failed("internal error; see the log".to_owned()),
        };
        let Job {
            id, task, state, ..
        } = &ended.job;
        let kind = task.kind();
        match work.apply(&[row(&ended)]) {
            Ok(true) => {}
            Ok(false) => {
                tracing::info!("job {id} was cancelled, or goes on in another process");
                lock(&self.jobs.begun).remove(id);
                return;
            }
            Err(error) => tracing::error!(
                "the end of job {id} ({kind}) could not be saved, so it will run again: {error}"
            ),
        }
        if let Some(error) = &ended.job.error {
            tracing::error!("job {id} ({kind}) failed: {error}");
        } else {
            tracing::info!("job {id} ({kind}): {state}");
        }
        *job = ended;
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
                JobResult::Reindexed(self.reindex(&reindex, job, work)?)
            }
            Task::DropRecipe { recipe } => {
                self.drop_recipe(recipe, work)?;
                let dropped = recipe.clone();
                JobResult::Dropped(Dropped { dropped })
            }
            Task::Verify { fix } => JobResult::Verified(self.verify_and_fix(*fix, watch)?),
            Task::Backup { to, keep } => {
                let folder = self.backups.folder(to)?;
                let files = self.files().ok_or(StoreError::NotOffered(BACKUPS))?;
                let made = files.backup(&folder, *keep, watch)?;
                JobResult::BackedUp(BackedUp {
                    backup: made.number,
                    bytes: made.bytes,
                    kept: made.kept,
                })
            }
            Task::Compact {} => {
                let store = self.administration(COMPACTION)?;
                let bytes_before = store.bytes()?;
                store.compact(watch)?;
                let bytes = store.bytes()?;
                JobResult::Compacted(Compacted {
                    bytes,
                    bytes_before,
                })
            }
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
                JobResult::Grouped(self.find_duplicates(&options, job, work)?)
            }
        })
    }

    fn verify_and_fix(&self, fix: bool, watch: Watch<'_>) -> Result<Verified, CatalogueError> {
        let store = self.administration(VERIFICATION)?;
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
        let job = &mut lock(self.job).job;
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
        let mut job = lock(self.job);
        change(&mut job);
        let mut saved = lock(&self.saved);
        if now || saved.elapsed() >= SAVED_EVERY {
            self.apply(&[row(&job)])?;
            *saved = Instant::now();
        }
        Ok(())
    }
}
