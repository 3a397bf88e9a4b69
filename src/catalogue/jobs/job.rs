//! A job: its task and progress.

use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use lapidary_gems::RecipeName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CutFrom, RecipeChoice};
use crate::catalogue::CatalogueError;

/// The task of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// Computes gems of a recipe for every book, then makes the recipe the default.
    Reindex {
        /// The recipe.
        recipe: RecipeChoice,
        /// What the gems are computed from.
        #[serde(default)]
        from: CutFrom,
        /// Whether to drop the previous default recipe at the end.
        #[serde(default)]
        drop_old: bool,
        /// Whether the recipe becomes the default even if some books cannot get gems of it.
        #[serde(default)]
        allow_missing: bool,
    },
    /// Drops a recipe with all its gems.
    DropRecipe {
        /// The recipe.
        recipe: RecipeName,
    },
    /// Reads everything and reports inconsistencies.
    Verify {
        /// Whether to repair them, using the books' records and gems.
        #[serde(default)]
        fix: bool,
    },
    /// Makes a backup.
    Backup {
        /// The destination. On a server, a name below the configured backup folder.
        #[serde(default = "Backups::usual_name")]
        to: PathBuf,
        /// Number of backups to keep there, including this one.
        #[serde(default = "Backups::usual_number")]
        keep: u32,
    },
    /// Compacts the store into its smallest and fastest form.
    Compact {},
}

impl Task {
    /// The name of its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Reindex { .. } => "reindex",
            Self::DropRecipe { .. } => "drop_recipe",
            Self::Verify { .. } => "verify",
            Self::Backup { .. } => "backup",
            Self::Compact {} => "compact",
        }
    }
}

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
    fn usual_name() -> PathBuf {
        PathBuf::from("catalogue")
    }

    fn usual_number() -> u32 {
        7
    }

    /// The folder for a backup.
    pub(super) fn folder(&self, to: &Path) -> Result<PathBuf, CatalogueError> {
        match self {
            Self::Nowhere => {
                let sentence = "this server has no folder for backups: start it with --backups DIR";
                Err(CatalogueError::BadTask(sentence.to_owned()))
            }
            Self::Anywhere => Ok(to.to_owned()),
            Self::Below(folder) => {
                let name = to.to_str().unwrap_or_default();
                let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                if (1..=64).contains(&name.len()) && name.chars().all(allowed) {
                    return Ok(folder.join(name));
                }
                let sentence = "a server's backups have a name of 1 to 64 letters, digits, '-' and '_'";
                Err(CatalogueError::BadTask(sentence.to_owned()))
            }
        }
    }
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Not finished. After a crash it resumes when the catalogue is served again.
    Running,
    /// Finished successfully.
    Done,
    /// Failed.
    Failed,
    /// Cancelled.
    Cancelled,
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        })
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its number.
    pub id: u32,
    /// Its task.
    pub task: Task,
    /// Its state.
    pub state: JobState,
    /// How much of `total` is done. The unit depends on the task.
    pub done: u64,
    /// Total amount of work.
    pub total: u64,
    /// When it was started.
    pub started: Timestamp,
    /// When it finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The point to resume from after a crash.
    #[serde(default, rename = "stand")]
    pub checkpoint: Checkpoint,
}

/// The point to resume a job from.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Number of the next book to process.
    pub book: u32,
    /// The default recipe when the job was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<RecipeName>,
}
