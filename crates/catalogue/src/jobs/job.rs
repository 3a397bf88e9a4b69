//! A job, as stored.

use jiff::Timestamp;
use lapidary_common::error::ErrorCode;
use lapidary_gems::RecipeName;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::CatalogueError;
use crate::api::{Job, JobResult, JobState, RecipeChoice, Task};

/// A job, and where it is resumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredJob {
    #[serde(flatten)]
    pub job: Job,
    #[serde(default, rename = "stand")]
    pub checkpoint: Checkpoint,
}

/// The point to resume a job from.
#[skip_serializing_none]
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// Number of the next book to process.
    pub book: u32,
    /// How much was done by then.
    pub done: Option<u64>,
    /// The default recipe when the job was started.
    pub before: Option<RecipeName>,
}

impl StoredJob {
    /// A job that has not begun.
    pub fn new(id: u32, task: Task) -> Self {
        let job = Job {
            id,
            task,
            state: JobState::Running,
            done: 0,
            total: 0,
            started_at: Timestamp::now(),
            finished_at: None,
            result: None,
            error: None,
            error_code: None,
        };
        Self {
            job,
            checkpoint: Checkpoint::default(),
        }
    }

    /// Reads a job. Earlier versions stored a built-in recipe by its name.
    pub fn read(stored: &[u8]) -> Result<Self, CatalogueError> {
        let mut read: Self = serde_json::from_slice(stored)
            .map_err(|error| CatalogueError::BadTask(error.to_string()))?;
        read.job.task = defined(read.job.task)?;
        Ok(read)
    }

    pub fn is_running(&self) -> bool {
        self.job.state == JobState::Running
    }

    /// The same job, ended in this state.
    pub fn ended(mut self, state: JobState) -> Self {
        self.job.state = state;
        self.job.finished_at = Some(Timestamp::now());
        self
    }

    pub fn done(mut self, result: JobResult) -> Self {
        self.job.result = Some(result);
        self.ended(JobState::Done)
    }

    pub fn failed(mut self, code: ErrorCode, error: String) -> Self {
        self.job.error = Some(error);
        self.job.error_code = Some(code.as_str().to_owned());
        self.ended(JobState::Failed)
    }

    /// The error of a job that cannot be started because this one is unfinished.
    pub fn runs(&self) -> CatalogueError {
        CatalogueError::JobRuns {
            id: self.job.id,
            kind: self.job.task.kind(),
        }
    }

    /// The error of what cannot be done because it has ended.
    pub fn has_ended(&self) -> CatalogueError {
        CatalogueError::JobEnded {
            id: self.job.id,
            state: self.job.state,
        }
    }

    /// As it is shown: a built-in recipe and a signature by their names, because a lexicon in a definition may be large, and
    /// one with a secret, because it is one.
    pub fn shown(mut self) -> Job {
        if let Task::Reindex { recipe: choice, .. } = &mut self.job.task
            && let RecipeChoice::Defined(recipe) = choice
            && (recipe.is_signature()
                || recipe.secret().is_some()
                || recipe.name().as_str().parse().as_ref() == Ok(recipe))
        {
            *choice = RecipeChoice::Named(recipe.name().to_string());
        }
        self.job
    }
}

/// The task with the definition of its recipe.
pub(super) fn defined(mut task: Task) -> Result<Task, CatalogueError> {
    if let Task::Reindex { recipe, .. } = &mut task {
        *recipe = RecipeChoice::Defined(recipe.recipe()?);
    }
    Ok(task)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, to_value};

    use super::StoredJob;
    use crate::api;

    /// A stored job, and what it is on the wire besides the fields that all jobs have.
    fn stored(task: &Value, end: &Value) -> Value {
        let mut job = json!({
            "id": 7, "task": task, "started_at": "2026-01-31T10:00:00Z", "done": 3, "total": 9, "stand": { "book": 4 }
        });
        job.as_object_mut()
            .unwrap()
            .extend(end.as_object().unwrap().clone());
        job
    }

    /// Earlier versions wrote what is absent as null.
    fn without_nulls(mut value: Value) -> Value {
        if let Value::Object(fields) = &mut value {
            fields.retain(|_, field| !field.is_null());
            for field in fields.values_mut() {
                *field = without_nulls(field.take());
            }
        }
        value
    }

    #[test]
    fn the_layout_on_disk() {
        let reindex = json!({ "kind": "reindex", "recipe": api::RecipeChoice::Named("released".to_owned()).recipe().unwrap(),
            "from": "folds", "drop_old": true, "allow_missing": false });
        let ended = "2026-01-31T11:00:00Z";
        let done =
            |result: Value| json!({ "state": "done", "finished_at": ended, "result": result });
        let jobs = [
            (reindex.clone(), json!({ "state": "running" })),
            (
                json!({ "kind": "compact" }),
                json!({ "state": "failed", "finished_at": ended, "error": "the disk is full" }),
            ),
            (
                json!({ "kind": "verify", "fix": true }),
                json!({ "state": "cancelled", "finished_at": ended }),
            ),
            (
                reindex,
                done(
                    json!({ "previous_default": "documented", "books_without": 2, "default": "released", "dropped": null }),
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
                done(json!({ "backup": 1, "bytes": 5, "backups": 2 })),
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
            let job = StoredJob::read(layout.to_string().as_bytes()).unwrap();
            let again = to_value(&job).unwrap();
            assert_eq!(without_nulls(again), without_nulls(layout));
            let shown = to_value(job.shown()).unwrap();
            assert_eq!((&shown["id"], &shown["state"]), (&json!(7), &end["state"]));
            assert_eq!(
                (&shown["finished_at"], &shown["error"]),
                (&end["finished_at"], &end["error"])
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
        let running = json!({ "state": "running" });
        let read = |task| StoredJob::read(stored(task, &running).to_string().as_bytes());
        assert_eq!(
            to_value(read(&task).unwrap().shown().task).unwrap(),
            task,
            "it is shown by its name again"
        );
        let unknown = json!({ "kind": "reindex", "recipe": "none", "from": "folds", "drop_old": false,
            "allow_missing": false });
        assert!(read(&unknown).is_err());
    }
}
