//! A job: what it does, and how far it is.

use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use lapidary_gems::RecipeName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CutFrom, RecipeChoice};
use crate::catalogue::CatalogueError;

/// What a job does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// Gives every book gems of a recipe, and makes that the default when every book has them.
    Reindex {
        /// The recipe.
        recipe: RecipeChoice,
        /// What the books are cut from.
        #[serde(default)]
        from: CutFrom,
        /// Whether the recipe that was the default before is dropped at the end.
        #[serde(default)]
        drop_old: bool,
        /// Whether the recipe becomes the default even if some books cannot have gems of it.
        #[serde(default)]
        allow_missing: bool,
    },
    /// Drops a recipe with all its gems.
    DropRecipe {
        /// The recipe.
        recipe: RecipeName,
    },
    /// Reads everything and says what does not fit together.
    Verify {
        /// Whether that is mended, from the records and the gems of the books.
        #[serde(default)]
        fix: bool,
    },
    /// Makes a backup.
    Backup {
        /// Where to: for a server a name, below the folder that it was given for backups.
        #[serde(default = "Backups::usual_name")]
        to: PathBuf,
        /// How many backups are kept there, this one included.
        #[serde(default = "Backups::usual_number")]
        keep: u32,
    },
    /// Brings everything into the form that takes the least space and is read the fastest.
    Compact {},
}

impl Task {
    /// The word for its kind.
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

/// Where backups may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backups {
    /// No place is known.
    Nowhere,
    /// Into folders right below this one.
    Below(PathBuf),
    /// Wherever they are wanted: who asks could write there without us.
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

/// What became of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It has not ended. After a crash it goes on when the catalogue is served again.
    Running,
    /// It did what it was to do.
    Done,
    /// It could not.
    Failed,
    /// It was told to end.
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
    /// What it does.
    pub task: Task,
    /// What became of it.
    pub state: JobState,
    /// How much of `total` is done, in units of its own.
    pub done: u64,
    /// How much there is to do.
    pub total: u64,
    /// When it was started.
    pub started: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// What came out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where it stands, for the time after a crash.
    #[serde(default, rename = "stand")]
    pub checkpoint: Checkpoint,
}

/// Where a job stands.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The number of the next book to look at.
    pub book: u32,
    /// The recipe that was the default when it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<RecipeName>,
}
