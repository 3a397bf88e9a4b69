//! Long-running jobs: start, watch, cancel, and resume after a crash.
//!
//! A job is stored with its progress from the start, so it resumes where it was when the catalogue is served again.
//! Only one job of each kind runs at a time. Each has its own thread, and all run alongside checks and changes.

mod duplicates;
mod job;
mod reindex;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;

pub use self::job::Backups;
use self::job::{Job, Outcome, State, Task};
use super::settings::put;
use super::sharing::{LEASE, RENEWAL, SETTINGS};
use super::{BACKUPS, COMPACTION, Catalogue, CatalogueError, Editor, Stop, VERIFICATION};
use crate::api::{self, RecipeChoice};
use lapidary_store::{Action, Actor, Backup, LeaseEnd, RowChange, StoreError, Table, Watch};

/// Number of finished jobs to remember.
const REMEMBERED: usize = 100;
/// Maximum number of backups in a folder.
const MOST_BACKUPS: u32 = 1000;
/// How often a job's progress is saved to disk.
const SAVED_EVERY: Duration = Duration::from_secs(1);

/// The jobs started or resumed by this process.
#[derive(Default)]
pub(super) struct Jobs {
    begun: Mutex<Vec<Arc<RunningJob>>>,
    /// Held while a job is started or taken over.
    starting: Mutex<()>,
    stopping: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A job started or resumed by this process.
struct RunningJob {
    job: Mutex<Job>,
    cancelled: AtomicBool,
    /// The token of its lease ([`Catalogue::lease`]), and when that was renewed.
    lease: u64,
    renewed: Mutex<Instant>,
    /// Whether another process has taken the job over, or has cancelled it.
    lost: AtomicBool,
}

impl Jobs {
    /// The tasks of the unfinished jobs of this process.
    fn running(&self) -> Vec<Task> {
        let jobs: Vec<Job> = lock(&self.begun).iter().map(|begun| begun.job()).collect();
        jobs.into_iter()
            .filter(Job::is_running)
            .map(|job| job.task)
            .collect()
    }

    /// Whether background work must stop.
    pub(super) fn are_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Runs other background work alongside the jobs, until they are stopped.
    pub(super) fn run_beside(&self, work: impl FnOnce() + Send + 'static) {
        lock(&self.threads).push(thread::spawn(work));
    }
}

impl RunningJob {
    fn job(&self) -> Job {
        lock(&self.job).clone()
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
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
    pub fn start(
        self: &Arc<Self>,
        actor: Actor,
        task: api::Task,
    ) -> Result<api::Job, CatalogueError> {
        let task = self.with_known_recipe(task).try_into()?;
        self.approve(&task)?;
        let turn = self.turn(&self.jobs.starting, SETTINGS)?;
        let mut begun = lock(&self.jobs.begun);
        let kept = self.kept_jobs()?;
        let current = |job: &Job| {
            begun
                .iter()
                .find(|begun| lock(&begun.job).id == job.id)
                .map(|begun| begun.job())
        };
        let unended = kept
            .iter()
            .filter(|job| job.task.kind() == task.kind())
            .find_map(|job| {
                let known = current(job);
                let runs = known.is_some();
                let job = known.unwrap_or_else(|| job.clone());
                job.is_running().then_some((job, runs))
            });
        let mut changes = Vec::new();
        let job = match unended {
            Some((job, false)) if job.task == task => job,
            Some((job, _)) => {
                return Err(CatalogueError::JobRuns {
                    id: job.id,
                    kind: task.kind(),
                });
            }
            None => {
                let id = kept.last().map_or(1, |job| job.id.saturating_add(1));
                let forgotten = kept.len().saturating_sub(REMEMBERED);
                let ended = kept.iter().filter(|job| !job.is_running());
                changes.extend(
                    ended
                        .take(forgotten)
                        .map(|job| RowChange::delete(Table::Jobs, job.id.to_be_bytes())),
                );
                Job::new(id, task)
            }
        };
        let Some(lease) = self.lease(&lease_of(job.id))? else {
            return Err(CatalogueError::JobRuns {
                id: job.id,
                kind: job.task.kind(),
            });
        };
        changes.push(row(&job));
        turn.apply(
            &actor,
            &changes,
            &[Action::JobStarted {
                job: job.id,
                kind: job.task.kind().to_owned(),
            }],
        )?;
        self.begin(actor, &mut begun, job.clone(), lease);
        Ok(job.into())
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
    fn with_known_recipe(&self, task: api::Task) -> api::Task {
        match task {
            api::Task::Reindex {
                recipe: RecipeChoice::Named(name),
                from,
                drop_old,
                allow_missing,
            } => {
                let known = self
                    .recipes()
                    .into_iter()
                    .find(|recipe| recipe.name().as_str() == name);
                let recipe = known.map_or(RecipeChoice::Named(name), RecipeChoice::Defined);
                api::Task::Reindex {
                    recipe,
                    from,
                    drop_old,
                    allow_missing,
                }
            }
            task => task,
        }
    }

    /// Resumes interrupted jobs, unless another process that shares the store runs them.
    pub fn resume_jobs(self: &Arc<Self>) -> Result<(), CatalogueError> {
        let runs_here = |job: &Job| {
            lock(&self.jobs.begun)
                .iter()
                .any(|begun| lock(&begun.job).id == job.id)
        };
        let is_left = |job: &Job| job.is_running() && !runs_here(job);
        if !self.kept_jobs()?.iter().any(is_left) {
            return Ok(());
        }
        let _turn = self.turn(&self.jobs.starting, SETTINGS)?;
        for job in self.kept_jobs()?.into_iter().filter(is_left) {
            let Some(lease) = self.lease(&lease_of(job.id))? else {
                continue;
            };
            tracing::info!("resuming job {} ({})", job.id, job.task.kind());
            self.begin(Actor::Local, &mut lock(&self.jobs.begun), job, lease);
        }
        Ok(())
    }

    /// All remembered jobs, newest first.
    pub fn jobs(&self) -> Result<Vec<api::Job>, CatalogueError> {
        let mut jobs = self.kept_jobs()?;
        for begun in lock(&self.jobs.begun).iter().map(|begun| begun.job()) {
            match jobs.iter_mut().find(|job| job.id == begun.id) {
                Some(job) => *job = begun,
                None => jobs.push(begun),
            }
        }
        jobs.sort_by_key(|job| std::cmp::Reverse(job.id));
        Ok(jobs.into_iter().map(Into::into).collect())
    }

    /// Returns a job.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchJob`].
    pub fn job(&self, id: u32) -> Result<api::Job, CatalogueError> {
        self.jobs()?
            .into_iter()
            .find(|job| job.id == id)
            .ok_or(CatalogueError::NoSuchJob(id))
    }

    /// Cancels jobs left behind by another process.
    pub(super) fn end_interrupted(&self) -> Result<(), CatalogueError> {
        for job in self.kept_jobs()?.into_iter().filter(Job::is_running) {
            self.by(Actor::Local).cancel(job.id)?;
        }
        Ok(())
    }

    /// Stops all jobs and waits for them. They resume when the catalogue is served again.
    pub fn stop_jobs(&self) {
        self.jobs.stopping.store(true, Ordering::Relaxed);
        self.stop_leased(Stop::end);
        if lock(&self.jobs.begun)
            .iter()
            .any(|begun| lock(&begun.job).is_running())
            && let Some(administration) = self.store.administration()
        {
            administration.stop();
        }
        for thread in lock(&self.jobs.threads).drain(..) {
            let _ = thread.join();
        }
    }

    /// Runs work in the background until it sees that it [must stop](Catalogue::is_stopping).
    pub fn run_beside(&self, work: impl FnOnce() + Send + 'static) {
        self.jobs.run_beside(work);
    }

    /// Whether background work must stop.
    pub fn is_stopping(&self) -> bool {
        self.jobs.are_stopping()
    }

    /// Checks whether a task can be run at all.
    fn approve(&self, task: &Task) -> Result<(), CatalogueError> {
        match task {
            Task::Reindex(reindex) => {
                let (name, known) = (reindex.recipe.name(), self.recipes());
                if known
                    .iter()
                    .any(|recipe| recipe.name() == name && *recipe != reindex.recipe)
                {
                    return Err(StoreError::RecipeDiffers(name.clone()).into());
                }
                reindex::approve(reindex)
            }
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
            Task::Duplicates(sought) => self.approve_duplicates(sought),
        }
    }

    fn begin(self: &Arc<Self>, actor: Actor, all: &mut Vec<Arc<RunningJob>>, job: Job, lease: u64) {
        all.retain(|begun| lock(&begun.job).id != job.id);
        let begun = Arc::new(RunningJob {
            job: Mutex::new(job),
            cancelled: AtomicBool::new(false),
            lease,
            renewed: Mutex::new(Instant::now()),
            lost: AtomicBool::new(false),
        });
        all.push(Arc::clone(&begun));
        let catalogue = Arc::clone(self);
        let thread = thread::spawn(move || catalogue.by(actor).run_job(&begun));
        let mut threads = lock(&self.jobs.threads);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
    }

    /// The stored jobs, by number.
    fn kept_jobs(&self) -> Result<Vec<Job>, CatalogueError> {
        let mut jobs = Vec::new();
        for (key, kept) in self.store.table(Table::Jobs)? {
            let number = u32::from_be_bytes(key.try_into().unwrap_or_default());
            match serde_json::from_slice(&kept) {
                Ok(job) => jobs.push(job),
                Err(error) => tracing::warn!("job {number} cannot be read and is ignored: {error}"),
            }
        }
        Ok(jobs)
    }

    /// Stores a job that runs here, unless another process has taken it over.
    fn keep(&self, job: &Job, begun: &RunningJob) -> Result<(), CatalogueError> {
        self.apply_of_job(job.id, begun, &[row(job)])
    }

    /// Changes rows of a job that runs here, unless another process has taken it over.
    fn apply_of_job(
        &self,
        id: u32,
        begun: &RunningJob,
        rows: &[RowChange],
    ) -> Result<(), CatalogueError> {
        let Some(sharing) = self.store.sharing() else {
            return Ok(self.store.apply(&Actor::Local, rows, &[])?);
        };
        if !sharing.apply_under(&lease_of(id), begun.lease, &Actor::Local, rows, &[])? {
            begun.lost.store(true, Ordering::Relaxed);
            return Err(StoreError::Stopped.into());
        }
        Ok(())
    }
}

impl Editor<'_> {
    /// Cancels a job. It stops within moments, except for a compaction, which finishes its current step.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchJob`], [`CatalogueError::JobEnded`].
    pub fn cancel(&self, id: u32) -> Result<api::Job, CatalogueError> {
        let turn = self.turn(&self.jobs.starting, SETTINGS)?;
        let all = lock(&self.jobs.begun);
        let begun = all.iter().find(|begun| lock(&begun.job).id == id);
        // Held to the end, so that the job cannot overwrite this with its own progress.
        let current = begun.map(|begun| lock(&begun.job));
        let job = match &current {
            Some(job) => Job::clone(job),
            None => self
                .kept_jobs()?
                .into_iter()
                .find(|job| job.id == id)
                .ok_or(CatalogueError::NoSuchJob(id))?,
        };
        if !job.is_running() {
            return Err(CatalogueError::JobEnded {
                id,
                state: job.state.shown(),
            });
        }
        if begun.is_some_and(|begun| begun.is_cancelled()) {
            return Ok(job.into());
        }
        if begun.is_none() {
            // Whoever runs it can then store nothing more of it, and stops.
            self.end_lease(&lease_of(id), LeaseEnd::Revoked);
        }
        let cancelled = Job {
            state: State::Cancelled {
                ended: Timestamp::now(),
            },
            ..job.clone()
        };
        turn.apply(
            &self.actor,
            &[row(&cancelled)],
            &[Action::JobCancelled { job: id }],
        )?;
        let Some(begun) = begun else {
            return Ok(cancelled.into());
        };
        begun.cancelled.store(true, Ordering::Relaxed);
        Ok(job.into())
    }

    fn run_job(&self, begun: &RunningJob) {
        let work = Work {
            catalogue: self.catalogue,
            begun,
            saved: Mutex::new(Instant::now()),
        };
        let ended = catch_unwind(AssertUnwindSafe(|| self.perform(&begun.job(), &work)));
        if begun.lost.load(Ordering::Relaxed) {
            let id = lock(&begun.job).id;
            tracing::info!("job {id} was cancelled, or goes on in another process");
            lock(&self.jobs.begun).retain(|begun| lock(&begun.job).id != id);
            return;
        }
        let mut job = lock(&begun.job);
        let failed = |error| State::Failed {
            ended: Timestamp::now(),
            error,
        };
        job.state = match ended {
            // The audit log says that it was cancelled, so this holds even for a job that had just finished.
            Ok(_) if begun.is_cancelled() => State::Cancelled {
                ended: Timestamp::now(),
            },
            Ok(Ok(result)) => State::Done {
                ended: Timestamp::now(),
                result,
            },
            // It resumes at the next start.
            Ok(Err(_)) if self.jobs.stopping.load(Ordering::Relaxed) => State::Running,
            Ok(Err(error)) => failed(error.to_string()),
            Err(_) => failed("internal error; see the log".to_owned()),
        };
        let (id, kind) = (job.id, job.task.kind());
        match &job.state {
            State::Failed { error, .. } => tracing::error!("job {id} ({kind}) failed: {error}"),
            state => tracing::info!("job {id} ({kind}): {}", state.shown()),
        }
        if let Err(error) = self.keep(&job, begun) {
            tracing::error!(
                "the end of job {id} ({kind}) could not be saved, so it will run again: {error}"
            );
        }
        self.end_lease(&lease_of(id), LeaseEnd::Done);
    }

    fn perform(&self, job: &Job, work: &Work<'_>) -> Result<Outcome, CatalogueError> {
        match &job.task {
            Task::Reindex(reindex) => self.reindex(reindex, job, work),
            Task::DropRecipe { recipe } => {
                self.drop_recipe(recipe, work)?;
                Ok(Outcome::Dropped {
                    dropped: recipe.clone(),
                })
            }
            Task::Verify { fix } => {
                let watch: Watch<'_> = &|done, total| work.step(done, total);
                let store = self.administration(VERIFICATION)?;
                let found = store.verify(watch)?;
                if found.is_empty() || !fix {
                    return Ok(Outcome::Verified {
                        faults: found,
                        found: None,
                        lost: None,
                    });
                }
                let lost = store.repair(watch)?;
                let faults = store.verify(watch)?;
                Ok(Outcome::Verified {
                    faults,
                    found: Some(found),
                    lost: Some(lost),
                })
            }
            Task::Backup { to, keep } => {
                let folder = self.backups.folder(to)?;
                let watch: Watch<'_> = &|done, total| work.step(done, total);
                let Backup {
                    number,
                    bytes,
                    kept,
                } = self
                    .files()
                    .ok_or(StoreError::NotOffered(BACKUPS))?
                    .backup(&folder, *keep, watch)?;
                Ok(Outcome::BackedUp {
                    backup: number,
                    bytes,
                    kept,
                })
            }
            Task::Compact {} => {
                let store = self.administration(COMPACTION)?;
                let bytes_before = store.bytes()?;
                store.compact(&|done, total| work.step(done, total))?;
                Ok(Outcome::Compacted {
                    bytes: store.bytes()?,
                    bytes_before,
                })
            }
            Task::Duplicates(sought) => self.find_duplicates(sought, job, work),
        }
    }
}

/// The name of the lease of a job.
fn lease_of(id: u32) -> String {
    format!("job {id}")
}

fn row(job: &Job) -> RowChange {
    put(Table::Jobs, job.id.to_be_bytes(), job)
}

/// Progress reporting of a running job.
struct Work<'a> {
    catalogue: &'a Catalogue,
    begun: &'a RunningJob,
    saved: Mutex<Instant>,
}

impl Work<'_> {
    /// Reports progress.
    ///
    /// # Errors
    /// [`StoreError::Stopped`] if the job must stop.
    fn step(&self, done: u64, total: u64) -> Result<(), StoreError> {
        let mut job = lock(&self.begun.job);
        (job.done, job.total) = (done, total);
        let stopping = &self.catalogue.jobs.stopping;
        let mut renewed = lock(&self.begun.renewed);
        if renewed.elapsed() >= RENEWAL && self.catalogue.store.sharing().is_some() {
            match self.catalogue.lease(&lease_of(job.id)) {
                Ok(token) if token == Some(self.begun.lease) => *renewed = Instant::now(),
                Ok(_) => self.begun.lost.store(true, Ordering::Relaxed),
                Err(error) => tracing::warn!("job {}: {error}", job.id),
            }
            // Nobody else runs it before that.
            if renewed.elapsed() >= LEASE {
                self.begun.lost.store(true, Ordering::Relaxed);
            }
        }
        if self.begun.lost.load(Ordering::Relaxed)
            || self.begun.is_cancelled()
            || stopping.load(Ordering::Relaxed)
        {
            return Err(StoreError::Stopped);
        }
        Ok(())
    }

    /// Changes rows of the job, unless another process has taken it over.
    ///
    /// # Errors
    /// [`StoreError::Stopped`] if one has.
    fn apply(&self, rows: &[RowChange]) -> Result<(), CatalogueError> {
        let id = lock(&self.begun.job).id;
        self.catalogue.apply_of_job(id, self.begun, rows)
    }

    /// Updates the checkpoint, and how much is done by then. It is saved at once if `now`, otherwise from time to time.
    fn checkpoint(&self, now: bool, change: impl FnOnce(&mut Job)) -> Result<(), CatalogueError> {
        let mut job = lock(&self.begun.job);
        change(&mut job);
        let mut saved = lock(&self.saved);
        // A cancelled job is already stored.
        if !self.begun.is_cancelled() && (now || saved.elapsed() >= SAVED_EVERY) {
            self.catalogue.keep(&job, self.begun)?;
            *saved = Instant::now();
        }
        Ok(())
    }
}
