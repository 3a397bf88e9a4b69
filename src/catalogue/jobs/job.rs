//! A job: its task and progress.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::api::{self, Checkpoint, JobResult, JobState, Task};
use crate::catalogue::CatalogueError;

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
    /// The folder for a backup.
    pub(super) fn folder(&self, to: &Path) -> Result<PathBuf, CatalogueError> {
        match self {
            Self::Nowhere => {
                let sentence = "no folder for backups is configured";
                Err(CatalogueError::BadTask(sentence.to_owned()))
            }
            Self::Anywhere => Ok(to.to_owned()),
            Self::Below(folder) => {
                let name = to.to_str().unwrap_or_default();
                let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                if (1..=64).contains(&name.len()) && name.chars().all(allowed) {
                    return Ok(folder.join(name));
                }
                let sentence = "a backup's name must have 1 to 64 letters, digits, '-' and '_'";
                Err(CatalogueError::BadTask(sentence.to_owned()))
            }
        }
    }
}

/// A job, as stored.
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
    pub result: Option<JobResult>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The point to resume from after a crash.
    #[serde(default, rename = "stand")]
    pub checkpoint: Checkpoint,
}

impl From<Job> for api::Job {
    fn from(job: Job) -> Self {
        let Job { id, task, state, done, total, started, ended, result, error, checkpoint } = job;
        Self { id, task, state, done, total, started, ended, result, error, checkpoint }
    }
}
