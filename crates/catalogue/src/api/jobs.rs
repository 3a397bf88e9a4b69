//! Jobs: long work that a server does on its own.

use std::borrow::Cow;
use std::path::PathBuf;

use jiff::Timestamp;
use lapidary_common::words;
use lapidary_gems::{Recipe, RecipeError, RecipeName};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::BookRef;
use crate::duplicate_groups::LeftOut;
use lapidary_store::{BookKey, Library};

/// The task of a job.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// Computes gems of a recipe for every book, then makes the recipe the default.
    Reindex {
        /// The recipe.
        recipe: RecipeChoice,
        /// What the gems are computed from.
        #[serde(default)]
        from: ReindexInput,
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
        #[schema(value_type = String)]
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
        #[serde(default = "usual_name")]
        #[schema(value_type = String)]
        to: PathBuf,
        /// Number of backups to keep there, including this one.
        #[serde(default = "usual_number")]
        keep: u32,
    },
    /// Compacts the store into its smallest and fastest form.
    Compact {},
    /// Finds the groups of books that have text in common.
    Duplicates {
        /// Compare only the books of this library.
        #[schema(value_type = Option<String>)]
        library: Option<Library>,
        /// Compare by the gems of this recipe; without it, of the default.
        #[schema(value_type = Option<String>)]
        recipe: Option<RecipeName>,
        /// Find only duplicates of the books that changed at this time or later.
        since: Option<Timestamp>,
    },
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
            Self::Duplicates { .. } => "duplicates",
        }
    }
}

fn usual_name() -> PathBuf {
    PathBuf::from("catalogue")
}

fn usual_number() -> u32 {
    7
}

/// What to compute gems from.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReindexInput {
    /// The stored folds, or the kept texts of books without one.
    #[default]
    Folds,
    /// Texts that are sent one by one. The job waits for them.
    Sources,
}

/// A recipe, given by its name or by its definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum RecipeChoice {
    /// A built-in recipe, one of the catalogue, or one with its secret (`hardened-compact@secret`).
    Named(String),
    /// Any recipe, by its full definition.
    Defined(Recipe),
}

impl RecipeChoice {
    /// The recipe.
    pub fn recipe(&self) -> Result<Recipe, RecipeError> {
        match self {
            Self::Named(name) => name.parse(),
            Self::Defined(recipe) => Ok(recipe.clone()),
        }
    }
}

words! {
    /// The state of a job.
    pub enum JobState {
        /// Not finished. After a crash it resumes when the catalogue is served again.
        Running = "running",
        /// Finished successfully.
        Done = "done",
        /// Failed.
        Failed = "failed",
        /// Cancelled.
        Cancelled = "cancelled",
    }
}

/// A job.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
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
    pub started_at: Timestamp,
    /// When it finished.
    pub finished_at: Option<Timestamp>,
    /// Its result.
    pub result: Option<JobResult>,
    /// Why it failed.
    pub error: Option<String>,
    /// The code of this error, as a problem would have it.
    pub error_code: Option<String>,
}

/// The result of a job, by its kind of task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum JobResult {
    /// Of a re-index.
    Reindexed(Reindexed),
    /// Of dropping a recipe.
    Dropped(Dropped),
    /// Of a verification.
    Verified(Verified),
    /// Of a backup.
    BackedUp(BackedUp),
    /// Of a compaction.
    Compacted(Compacted),
    /// Of a search for duplicates.
    Grouped(Grouped),
}

/// The result of a re-index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reindexed {
    /// The default recipe before.
    #[schema(value_type = String)]
    pub previous_default: RecipeName,
    /// Number of books without gems of the recipe.
    pub books_without: u64,
    /// The default recipe now.
    #[schema(value_type = String)]
    pub default: RecipeName,
    /// The recipe that was dropped, if any.
    #[schema(value_type = Option<String>)]
    pub dropped: Option<RecipeName>,
}

/// The result of dropping a recipe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    /// The recipe.
    #[schema(value_type = String)]
    pub dropped: RecipeName,
}

/// The result of a verification.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    /// The inconsistencies found, one sentence each.
    pub faults: Vec<String>,
    /// The inconsistencies found before the repair.
    pub found: Option<Vec<String>>,
    /// What the repair could not restore.
    pub lost: Option<Vec<String>>,
}

/// The result of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BackedUp {
    /// Its number.
    pub backup: u32,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many backups there are now.
    pub backups: usize,
}

/// The result of a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Compacted {
    /// Size on disk now, in bytes.
    pub bytes: u64,
    /// Size on disk before, in bytes.
    pub bytes_before: u64,
}

/// The result of a search for duplicates. `GET /v1/jobs/{id}/groups` returns the groups, and `GET /v1/jobs/{id}/overlaps` what
/// overlaps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Grouped {
    /// Number of groups.
    pub groups: u64,
    /// Number of books in them.
    pub duplicates: u64,
    /// Number of overlaps.
    #[serde(default)]
    #[schema(required = true)]
    pub overlaps: u64,
    /// What was left out.
    #[serde(default)]
    #[schema(required = true)]
    pub left_out: LeftOut,
}

/// Books that are the same, directly or through others.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DuplicateGroup {
    /// Number of books in the group when the job ended.
    pub size: u32,
    /// The first 1,000 of them that still exist.
    pub books: Vec<BookRef>,
    /// The place in `books` of the copy to keep.
    pub best: u32,
    /// Why it is the best.
    #[schema(value_type = String)]
    pub reason: Cow<'static, str>,
    /// What connects these books.
    pub pairs: Vec<DuplicatePair>,
    /// What was said of them, if it was said of all of them and no text has changed since.
    pub resolution: Option<DuplicateResolution>,
}

/// What somebody says of books that are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DuplicateResolution {
    /// They are editions of one work.
    Editions,
    /// They are to stay as they are.
    Dismissed,
}

/// What to say of books that are the same.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolvedDuplicates {
    /// All books of a group.
    #[schema(min_items = 2, max_items = 100)]
    pub books: Vec<BookKey>,
    /// What they are; absent to take back what was said.
    pub resolution: Option<DuplicateResolution>,
}

/// Two books that have text in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DuplicatePair {
    /// The place of one in `books`.
    pub a: u32,
    /// The place of the other.
    pub b: u32,
    /// How the first relates to the second: `identical`, `same_text`, `part_of_book`, `contains_book` or `overlap`.
    #[schema(value_type = String)]
    pub relation: Cow<'static, str>,
    /// The share of the gems of `a` that `b` has, from 0 to 1.
    pub share_of_a: f64,
    /// The share of the gems of `b` that `a` has, from 0 to 1.
    pub share_of_b: f64,
}

/// Two books of different groups, or of none, that have text in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DuplicateOverlap {
    /// One book.
    pub a: BookRef,
    /// The other.
    pub b: BookRef,
    /// How the first relates to the second: `part_of_book`, `contains_book` or `overlap`.
    #[schema(value_type = String)]
    pub relation: Cow<'static, str>,
    /// The share of the gems of `a` that `b` has, from 0 to 1.
    pub share_of_a: f64,
    /// The share of the gems of `b` that `a` has, from 0 to 1.
    pub share_of_b: f64,
}

/// A page of overlaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DuplicateOverlaps {
    /// The overlaps, those with most text in common first. Of each two groups there is one.
    pub overlaps: Vec<DuplicateOverlap>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// A page of groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DuplicateGroups {
    /// The groups, in the order in which their first books were added.
    pub groups: Vec<DuplicateGroup>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// A page of jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Jobs {
    /// The newest first.
    pub jobs: Vec<Job>,
    /// The cursor of the next page; `null` on the last page.
    pub next_cursor: Option<String>,
}

/// The result of sending a text that a re-index is waiting for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecutResult {
    /// The recipes that the book got gems of; empty if it had them all.
    #[schema(value_type = Vec<String>)]
    pub added: Vec<RecipeName>,
}
