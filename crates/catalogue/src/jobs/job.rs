//! A job, as stored: its task, progress and end.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use lapidary_gems::{Recipe, RecipeName};
use serde::{Deserialize, Deserializer, Serialize};
use walkdir::{DirEntry, WalkDir};

use crate::CatalogueError;
use crate::api::{
    self, BackedUp, Compacted, Dropped, Grouped, JobResult, JobState, RecipeChoice, Reindexed,
    Verified,
};
use crate::duplicate_groups::LeftOut;
use lapidary_store::Library;

/// Where backups may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backups {
    /// Nowhere: no folder is configured.
    Nowhere,
    /// To folders directly below this one.
    Below(PathBuf),
    /// Anywhere: the caller could write there anyway.
    Anywhere,
}

impl Backups {
    /// # Errors
    /// [`CatalogueError::BadTask`] if there is no folder.
    pub(super) fn configured(&self) -> Result<(), CatalogueError> {
        let sentence = "no folder for backups is configured; set 'backups' in the server's settings (serve --backups DIR)";
        if *self == Self::Nowhere {
            Err(CatalogueError::BadTask(sentence.to_owned()))
        } else {
            Ok(())
        }
    }

    /// The folder for a backup. Below the configured one, nothing in it may lead elsewhere.
    pub(super) fn folder(&self, to: &Path) -> Result<PathBuf, CatalogueError> {
        self.configured()?;
        match self {
            Self::Nowhere | Self::Anywhere => Ok(to.to_owned()),
            Self::Below(folder) => {
                let name = to.to_str().unwrap_or_default();
                let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                if (1..=64).contains(&name.len()) && name.chars().all(allowed) {
                    let folder = folder.join(name);
                    return link_in(&folder).map_or(Ok(folder), |link| {
                        let link = link.display();
                        let sentence = "is a symbolic link, which a backup does not follow; replace it with a folder";
                        Err(CatalogueError::BadTask(format!("{link} {sentence}")))
                    });
                }
                let sentence = "a backup's name must have 1 to 64 letters, digits, '-' and '_'";
                Err(CatalogueError::BadTask(sentence.to_owned()))
            }
        }
    }
}

/// What the names of folders begin with in which backups are verified.
const VERIFIED: &str = ".lapidary-";

/// A symbolic link at this path or below it, except those that a verification left.
fn link_in(path: &Path) -> Option<PathBuf> {
    let is_of_verification = |entry: &DirEntry| {
        entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with(VERIFIED)
    };
    let entries = WalkDir::new(path)
        .follow_root_links(false)
        .into_iter()
        .filter_entry(|entry| !is_of_verification(entry));
    entries
        .flatten()
        .find(DirEntry::path_is_symlink)
        .map(DirEntry::into_path)
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Job {
    pub id: u32,
    pub task: Task,
    pub started: Timestamp,
    /// How much of `total` is done. The unit depends on the task.
    pub done: u64,
    pub total: u64,
    /// The point to resume from after a crash.
    #[serde(default, rename = "stand")]
    pub checkpoint: Checkpoint,
    #[serde(flatten)]
    pub state: State,
}

/// The task of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Task {
    Reindex(Reindex),
    DropRecipe { recipe: RecipeName },
    Verify { fix: bool },
    Backup { to: PathBuf, keep: u32 },
    Compact {},
    Duplicates(SoughtDuplicates),
}

/// Which duplicates to find.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SoughtDuplicates {
    pub library: Option<Library>,
    pub recipe: Option<RecipeName>,
    pub since: Option<Timestamp>,
}

/// How to make a recipe the default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Reindex {
    #[serde(deserialize_with = "named_or_defined")]
    pub recipe: Recipe,
    pub from: CutFrom,
    /// Whether to drop the previous default recipe at the end.
    pub drop_old: bool,
    /// Whether the recipe becomes the default even if some books cannot get gems of it.
    pub allow_missing: bool,
}

/// What to compute gems from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CutFrom {
    /// The stored folds.
    Folds,
    /// Texts that are sent one by one. The job waits for them.
    Sources,
}

/// The point to resume a job from.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// Number of the next book to process.
    pub book: u32,
    /// How much was done by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    /// The default recipe when the job was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<RecipeName>,
}

/// Whether a job has ended, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum State {
    /// After a crash it resumes when the catalogue is served again.
    Running,
    Done {
        ended: Timestamp,
        result: Outcome,
    },
    Failed {
        ended: Timestamp,
        error: String,
    },
    Cancelled {
        ended: Timestamp,
    },
}

/// The result of a job, by its kind of task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    Reindexed {
        before: RecipeName,
        books_without: u64,
        default: RecipeName,
        dropped: Option<RecipeName>,
    },
    Dropped {
        dropped: RecipeName,
    },
    Verified {
        faults: Vec<String>,
        found: Option<Vec<String>>,
        lost: Option<Vec<String>>,
    },
    BackedUp {
        backup: u32,
        bytes: u64,
        kept: usize,
    },
    Compacted {
        bytes: u64,
        bytes_before: u64,
    },
    Grouped {
        groups: u64,
        duplicates: u64,
        #[serde(default)]
        overlaps: u64,
        #[serde(default)]
        left_out: LeftOut,
    },
}

/// Reads a recipe from its definition, or from its name, which earlier versions stored for a built-in recipe.
fn named_or_defined<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Recipe, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Named(String),
        Defined(Recipe),
    }
    match Stored::deserialize(deserializer)? {
        Stored::Named(name) => name.parse().map_err(serde::de::Error::custom),
        Stored::Defined(recipe) => Ok(recipe),
    }
}

impl Job {
    /// A job that has not begun.
    pub fn new(id: u32, task: Task) -> Self {
        let (started, checkpoint) = (Timestamp::now(), Checkpoint::default());
        Self {
            id,
            task,
            started,
            done: 0,
            total: 0,
            checkpoint,
            state: State::Running,
        }
    }

    pub fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// The error of a job that cannot be started because this one is unfinished.
    pub fn runs(&self) -> CatalogueError {
        CatalogueError::JobRuns {
            id: self.id,
            kind: self.task.kind(),
        }
    }

    /// The error of what cannot be done because it has ended.
    pub fn has_ended(&self) -> CatalogueError {
        CatalogueError::JobEnded {
            id: self.id,
            state: self.state.shown(),
        }
    }
}

impl Task {
    /// The name of its kind.
    pub fn kind(&self) -> &'static str {
        api::Task::from(self.clone()).kind()
    }
}

impl State {
    /// Its word on the wire.
    pub fn shown(&self) -> JobState {
        match self {
            Self::Running => JobState::Running,
            Self::Done { .. } => JobState::Done,
            Self::Failed { .. } => JobState::Failed,
            Self::Cancelled { .. } => JobState::Cancelled,
        }
    }
}

impl TryFrom<api::Task> for Task {
    type Error = CatalogueError;

    fn try_from(task: api::Task) -> Result<Self, CatalogueError> {
        Ok(match task {
            api::Task::Reindex {
                recipe,
                from,
                drop_old,
                allow_missing,
            } => {
                let from = match from {
                    api::CutFrom::Folds => CutFrom::Folds,
                    api::CutFrom::Sources => CutFrom::Sources,
                };
                Self::Reindex(Reindex {
                    recipe: recipe.recipe()?,
                    from,
                    drop_old,
                    allow_missing,
                })
            }
            api::Task::DropRecipe { recipe } => Self::DropRecipe { recipe },
            api::Task::Verify { fix } => Self::Verify { fix },
            api::Task::Backup { to, keep } => Self::Backup { to, keep },
            api::Task::Compact {} => Self::Compact {},
            api::Task::Duplicates {
                library,
                recipe,
                since,
            } => Self::Duplicates(SoughtDuplicates {
                library,
                recipe,
                since,
            }),
        })
    }
}

impl From<Task> for api::Task {
    /// A signature is shown by its name, because a lexicon in its definition may be large.
    fn from(task: Task) -> Self {
        match task {
            Task::Reindex(Reindex {
                recipe,
                from,
                drop_old,
                allow_missing,
            }) => {
                let from = match from {
                    CutFrom::Folds => api::CutFrom::Folds,
                    CutFrom::Sources => api::CutFrom::Sources,
                };
                let recipe = if recipe.is_signature()
                    || recipe.name().as_str().parse().as_ref() == Ok(&recipe)
                {
                    RecipeChoice::Named(recipe.name().to_string())
                } else {
                    RecipeChoice::Defined(recipe)
                };
                Self::Reindex {
                    recipe,
                    from,
                    drop_old,
                    allow_missing,
                }
            }
            Task::DropRecipe { recipe } => Self::DropRecipe { recipe },
            Task::Verify { fix } => Self::Verify { fix },
            Task::Backup { to, keep } => Self::Backup { to, keep },
            Task::Compact {} => Self::Compact {},
            Task::Duplicates(SoughtDuplicates {
                library,
                recipe,
                since,
            }) => Self::Duplicates {
                library,
                recipe,
                since,
            },
        }
    }
}

impl From<Outcome> for JobResult {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Reindexed {
                before,
                books_without,
                default,
                dropped,
            } => Self::Reindexed(Reindexed {
                before,
                books_without,
                default,
                dropped,
            }),
            Outcome::Dropped { dropped } => Self::Dropped(Dropped { dropped }),
            Outcome::Verified {
                faults,
                found,
                lost,
            } => Self::Verified(Verified {
                faults,
                found,
                lost,
            }),
            Outcome::BackedUp {
                backup,
                bytes,
                kept,
            } => Self::BackedUp(BackedUp {
                backup,
                bytes,
                kept,
            }),
            Outcome::Compacted {
                bytes,
                bytes_before,
            } => Self::Compacted(Compacted {
                bytes,
                bytes_before,
            }),
            Outcome::Grouped {
                groups,
                duplicates,
                overlaps,
                left_out,
            } => Self::Grouped(Grouped {
                groups,
                duplicates,
                overlaps,
                left_out: left_out.into(),
            }),
        }
    }
}

impl From<Job> for api::Job {
    fn from(job: Job) -> Self {
        let (id, state) = (job.id, job.state.shown());
        let (ended, result, error) = match job.state {
            State::Running => (None, None, None),
            State::Done { ended, result } => (Some(ended), Some(result.into()), None),
            State::Failed { ended, error } => (Some(ended), None, Some(error)),
            State::Cancelled { ended } => (Some(ended), None, None),
        };
        let (task, started) = (job.task.into(), job.started);
        Self {
            id,
            task,
            state,
            done: job.done,
            total: job.total,
            started,
            ended,
            result,
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json, to_value};

    use super::{Job, Task};
    use crate::api;

    /// A stored job, and what it is on the wire besides the fields that all jobs have.
    fn stored(task: &Value, end: &Value) -> Value {
        let mut job = json!({
            "id": 7, "task": task, "started": "2026-01-31T10:00:00Z", "done": 3, "total": 9, "stand": { "book": 4 }
        });
        job.as_object_mut()
            .unwrap()
            .extend(end.as_object().unwrap().clone());
        job
    }

    #[test]
    fn the_layout_on_disk() {
        let reindex = json!({ "kind": "reindex", "recipe": api::RecipeChoice::Named("released".to_owned()).recipe().unwrap(),
            "from": "folds", "drop_old": true, "allow_missing": false });
        let ended = "2026-01-31T11:00:00Z";
        let done = |result: Value| json!({ "state": "done", "ended": ended, "result": result });
        let jobs = [
            (reindex.clone(), json!({ "state": "running" })),
            (
                json!({ "kind": "compact" }),
                json!({ "state": "failed", "ended": ended, "error": "the disk is full" }),
            ),
            (
                json!({ "kind": "verify", "fix": true }),
                json!({ "state": "cancelled", "ended": ended }),
            ),
            (
                reindex,
                done(
                    json!({ "before": "documented", "books_without": 2, "default": "released", "dropped": null }),
                ),
            ),
            (
                json!({ "kind": "drop_recipe", "recipe": "hardened" }),
                done(json!({ "dropped": "hardened" })),
            ),
            (
                json!({ "kind": "verify", "fix": false }),
                done(json!({ "faults": ["one"], "found": null, "lost": null })),
            ),
            (
                json!({ "kind": "backup", "to": "daily", "keep": 7 }),
                done(json!({ "backup": 1, "bytes": 5, "kept": 2 })),
            ),
            (
                json!({ "kind": "compact" }),
                done(json!({ "bytes": 5, "bytes_before": 9 })),
            ),
            (
                json!({ "kind": "duplicates", "library": "mine", "recipe": null, "since": null }),
                done(json!({ "groups": 1, "duplicates": 2, "overlaps": 3,
                    "left_out": { "texts_with_many": 4, "texts_with_common_gems": 5, "pairs": 6 } })),
            ),
        ];
        for (task, end) in jobs {
            let layout = stored(&task, &end);
            let job: Job = from_value(layout.clone()).unwrap();
            assert_eq!(to_value(&job).unwrap(), layout);
            let shown = to_value(api::Job::from(job)).unwrap();
            assert_eq!((&shown["id"], &shown["state"]), (&json!(7), &end["state"]));
            assert_eq!(
                (&shown["ended"], &shown["error"]),
                (&end["ended"], &end["error"])
            );
            assert_eq!(shown["task"]["kind"], task["kind"]);
            assert_eq!(
                shown["result"].is_object(),
                end["result"].is_object(),
                "{shown}"
            );
        }
    }

    #[test]
    fn a_recipe_may_be_stored_by_its_name() {
        let task = json!({ "kind": "reindex", "recipe": "hardened", "from": "sources", "drop_old": false,
            "allow_missing": false });
        let read: Task = from_value(task.clone()).unwrap();
        assert_eq!(
            to_value(api::Task::from(read)).unwrap(),
            task,
            "it is shown by its name again"
        );
        let unknown = json!({ "kind": "reindex", "recipe": "none", "from": "folds", "drop_old": false,
            "allow_missing": false });
        assert!(from_value::<Task>(unknown).is_err());
    }
}
