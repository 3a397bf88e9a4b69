//! Long-running jobs: start, watch, cancel, and resume after a crash.
//!
//! A job is stored with its progress from the start, so it resumes where it was when the catalogue is served again.
//! Only one job of each kind runs at a time. Each has its own thread, and all run alongside checks and changes.

mod duplicates;
mod job;
mod reindex;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

pub use self::job::Backups;
use self::job::{Job, Outcome, State, Task};
use super::settings::put;
use super::sharing::SETTINGS;
use super::{BACKUPS, COMPACTION, Catalogue, CatalogueError, Editor, VERIFICATION};
use crate::api::{self, RecipeChoice};
use lapidary_store::{Action, Actor, Backup, RowChange, StoreError, Table};
use lapidary_work::{DueWork, LeasedWork, Slot, WorkKind};

/// Number of finished jobs to remember.
const REMEMBERED: usize = 100;
/// Maximum number of backups in a folder.
const MOST_BACKUPS: u32 = 1000;
/// How often a job's progress is saved to disk.
const SAVED_EVERY: Duration = Duration::from_secs(1);

/// The jobs started or resumed by this process.
#[derive(Default)]
pub(super) struct Jobs {
    /// As they are, and ended if they have ended, whether or not that could be stored.
    begun: Mutex<BTreeMap<u32, Arc<Mutex<Job>>>>,
    /// Held while a job is started, resumed or cancelled.
    starting: Mutex<()>,
}

impl Jobs {
    fn all(&self) -> Vec<Job> {
        let begun: Vec<_> = lock(&self.begun).values().cloned().collect();
        begun.iter().map(|job| lock(job).clone()).collect()
    }

    fn get(&self, id: u32) -> Option<Job> {
        let begun = lock(&self.begun).get(&id).cloned();
        begun.map(|job| lock(&job).clone())
    }

    fn insert(&self, job: Job) -> Arc<Mutex<Job>> {
        let id = job.id;
        let job = Arc::new(Mutex::new(job));
        lock(&self.begun).insert(id, Arc::clone(&job));
        job
    }

    /// The tasks of the unfinished jobs of this process.
    fn running(&self) -> Vec<Task> {
        let running = self.all().into_iter().filter(Job::is_running);
        running.map(|job| job.task).collect()
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
        left.retain(|job| job.is_running() && !begun.contains(&job.id));
        let due = left.into_iter().map(|job| DueWork {
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
    pub fn start(
        self: &Arc<Self>,
        actor: Actor,
        task: api::Task,
    ) -> Result<api::Job, CatalogueError> {
        let task = self.with_known_recipe(task).try_into()?;
        self.approve(&task)?;
        let turn = self.turn(&self.jobs.starting, SETTINGS)?;
        let kept = self.kept_jobs()?;
        let (job, mut changes) = match self.interrupted(&kept, &task)? {
            Some(job) => (job, Vec::new()),
            None => {
                let id = kept.last().map_or(1, |job| job.id.saturating_add(1));
                (Job::new(id, task), forgotten(&kept))
            }
        };
        let Some(work) = self.runner.begin(&lease_of(job.id))? else {
            return Err(job.runs());
        };
        changes.push(row(&job));
        let action = Action::JobStarted {
            job: job.id,
            kind: job.task.kind().to_owned(),
        };
        turn.apply(&actor, &changes, &[action])?;
        let (catalogue, begun) = (Arc::clone(self), self.jobs.insert(job.clone()));
        self.runner
            .beside(move || catalogue.by(actor).run_job(&begun, &work));
        Ok(job.into())
    }

    /// The job with the same task that was interrupted, if there is one.
    ///
    /// # Errors
    /// [`CatalogueError::JobRuns`] if another job of the kind is unfinished.
    fn interrupted(&self, kept: &[Job], task: &Task) -> Result<Option<Job>, CatalogueError> {
        for job in kept.iter().filter(|job| job.task.kind() == task.kind()) {
            match self.jobs.get(job.id) {
                Some(begun) if begun.is_running() => return Err(begun.runs()),
                None if job.is_running() && job.task == *task => return Ok(Some(job.clone())),
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

    /// Resumes interrupted jobs in the background, unless another process that shares the store runs them, until
    /// [`Catalogue::stop_jobs`].
    pub fn resume_jobs(self: &Arc<Self>) {
        self.runner.schedule(InterruptedJobs(Arc::clone(self)));
    }

    /// The interrupted job of this number, which this process resumes, unless it was cancelled meanwhile.
    fn resumed(&self, id: u32) -> Result<Option<Arc<Mutex<Job>>>, CatalogueError> {
        let _turn = self.turn(&self.jobs.starting, SETTINGS)?;
        let job = self.kept_job(id)?;
        if !job.is_running() {
            return Ok(None);
        }
        tracing::info!("resuming job {id} ({})", job.task.kind());
        Ok(Some(self.jobs.insert(job)))
    }

    /// All remembered jobs, newest first.
    pub fn jobs(&self) -> Result<Vec<api::Job>, CatalogueError> {
        let mut jobs = self.kept_jobs()?;
        for begun in self.jobs.all() {
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

    /// The stored job of this number.
    fn kept_job(&self, id: u32) -> Result<Job, CatalogueError> {
        let mut kept = self.kept_jobs()?.into_iter();
        kept.find(|job| job.id == id)
            .ok_or(CatalogueError::NoSuchJob(id))
    }
}

impl Editor<'_> {
    /// Cancels a job. It stops within moments, except for a compaction, which finishes its current step.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchJob`], [`CatalogueError::JobEnded`].
    pub fn cancel(&self, id: u32) -> Result<api::Job, CatalogueError> {
        let turn = self.turn(&self.jobs.starting, SETTINGS)?;
        let (here, kept) = (self.jobs.get(id), self.kept_job(id)?);
        let here = match here {
            Some(job) if !job.is_running() => return Err(job.has_ended()),
            Some(job) if matches!(kept.state, State::Cancelled { .. }) => return Ok(job.into()),
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
        let cancelled = Job {
            state: State::Cancelled {
                ended: Timestamp::now(),
            },
            ..here.clone().unwrap_or(kept)
        };
        turn.apply(
            &self.actor,
            &[row(&cancelled)],
            &[Action::JobCancelled { job: id }],
        )?;
        // Where it runs, it is seen running until it has stopped.
        Ok(here.unwrap_or(cancelled).into())
    }

    /// Runs a job to its end, and stores how it ended.
    fn run_job(&self, begun: &Mutex<Job>, work: &LeasedWork) {
        let progress = JobProgress {
            job: begun,
            work,
            saved: Mutex::new(Instant::now()),
        };
        let job = lock(begun).clone();
        let perform = || catch_unwind(AssertUnwindSafe(|| self.perform(&job, &progress)));
        let ended = work.keep_during(|| {}, || {}, perform);
        let (id, kind) = (job.id, job.task.kind());
        let mut job = lock(begun);
        let state = match ended {
            // It resumes at the next start.
            Ok(Err(_)) if self.runner.is_stopping() => State::Running,
            Ok(Ok(result)) => State::Done {
                ended: Timestamp::now(),
                result,
            },
            Ok(Err(error)) => failed(error.to_string()),
            Err(_) => failed("internal error; see the log".to_owned()),
        };
        let ended = Job {
            state,
            ..job.clone()
        };
        match work.apply(&[row(&ended)]) {
            Ok(true) => {}
            Ok(false) => {
                tracing::info!("job {id} was cancelled, or goes on in another process");
                lock(&self.jobs.begun).remove(&id);
                return;
            }
            Err(error) => tracing::error!(
                "the end of job {id} ({kind}) could not be saved, so it will run again: {error}"
            ),
        }
        match &ended.state {
            State::Failed { error, .. } => tracing::error!("job {id} ({kind}) failed: {error}"),
            state => tracing::info!("job {id} ({kind}): {}", state.shown()),
        }
        *job = ended;
    }

    fn perform(&self, job: &Job, work: &JobProgress<'_>) -> Result<Outcome, CatalogueError> {
        match &job.task {
            Task::Reindex(reindex) => self.reindex(reindex, job, work),
            Task::DropRecipe { recipe } => {
                self.drop_recipe(recipe, work)?;
                Ok(Outcome::Dropped {
                    dropped: recipe.clone(),
                })
            }
            Task::Verify { fix } => self.verify_watched(*fix, work),
            Task::Backup { to, keep } => {
                let folder = self.backups.folder(to)?;
                let store = self.administration(BACKUPS)?;
                let Backup {
                    number,
                    bytes,
                    kept,
                } = self
                    .files()
                    .ok_or(StoreError::NotOffered(BACKUPS))?
                    .backup(&folder, *keep, &|done, total| work.step(done, total))?;
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

    fn verify_watched(&self, fix: bool, work: &JobProgress<'_>) -> Result<Outcome, CatalogueError> {
        let store = self.administration(VERIFICATION)?;
        let found = store.verify(&|done, total| work.step(done, total))?;
        if found.is_empty() || !fix {
            return Ok(Outcome::Verified {
                faults: found,
                found: None,
                lost: None,
            });
        }
        let lost = store.repair(&|done, total| work.step(done, total))?;
        let faults = store.verify(&|done, total| work.step(done, total))?;
        Ok(Outcome::Verified {
            faults,
            found: Some(found),
            lost: Some(lost),
        })
    }
}

/// The name of the lease of a job.
fn lease_of(id: u32) -> String {
    format!("job {id}")
}

fn row(job: &Job) -> RowChange {
    put(Table::Jobs, job.id.to_be_bytes(), job)
}

/// Deletes the oldest jobs that have ended, to make room for another.
fn forgotten(kept: &[Job]) -> Vec<RowChange> {
    let ended = kept.iter().filter(|job| !job.is_running());
    let forgotten = ended.take(kept.len().saturating_sub(REMEMBERED));
    forgotten
        .map(|job| RowChange::delete(Table::Jobs, job.id.to_be_bytes()))
        .collect()
}

fn failed(error: String) -> State {
    State::Failed {
        ended: Timestamp::now(),
        error,
    }
}

/// The progress of a running job.
struct JobProgress<'a> {
    job: &'a Mutex<Job>,
    work: &'a LeasedWork,
    saved: Mutex<Instant>,
}

impl JobProgress<'_> {
    /// Reports progress.
    ///
    /// # Errors
    /// [`StoreError::Stopped`] if the job must stop.
    fn step(&self, done: u64, total: u64) -> Result<(), StoreError> {
        let mut job = lock(self.job);
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
    fn checkpoint(&self, now: bool, change: impl FnOnce(&mut Job)) -> Result<(), CatalogueError> {
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
