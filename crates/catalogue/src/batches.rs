//! Batches: many files that somebody checks together, each filed on its own.
//!
//! A batch knows its files by their names, and for each the filed check, or why there is none. So it can be left and found again, and
//! whatever is missing is sent again. Who made it sees it; whoever sees the checks finds them by it. The last ones of an actor are kept.
//!
//! They are in [`Table::Decisions`](lapidary_store::Table), with these keys:
//!
//! ```text
//! j actor \0 id → a batch in numbers, JSON; all bits of its id are flipped, so that the newest comes first
//! c id          → its files, JSON
//! ```

use std::collections::BTreeSet;
use std::ops::Deref;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use uuid::Uuid;

use super::decisions::{id_of, key, parsed, read};
use super::settings::put;
use super::sharing::EVIDENCE;
use super::{Case, Catalogue, CatalogueError, Editor};
use crate::api::{Batch, BatchFile, Batches as BatchPage, NewBatch, Problem};
use crate::id::new_id;
use lapidary_store::{Action, Actor, RowChange, Table};

/// The kind of the setting in the audit log.
const KIND: &str = "batch";
/// Maximum number of batches of an actor.
const MOST: usize = 100;
/// Maximum number of files of a batch, and of the bytes of their names.
const MOST_FILES: usize = 500;
const NAME_BYTES: usize = 1_000;
/// Maximum length of what went wrong with a file, in bytes.
const DETAIL_BYTES: usize = 500;

/// A batch in numbers, as stored.
#[derive(Serialize, Deserialize)]
struct StoredBatch {
    at: Timestamp,
    files: usize,
    checked: usize,
    failed: usize,
}

impl StoredBatch {
    fn new(at: Timestamp, files: &[StoredFile]) -> Self {
        let checked = files.iter().filter(|file| file.check.is_some());
        let failed = files.iter().filter(|file| file.problem.is_some());
        Self {
            at,
            files: files.len(),
            checked: checked.count(),
            failed: failed.count(),
        }
    }

    fn shown(self, id: Uuid, files: Vec<BatchFile>) -> Batch {
        Batch {
            id: id.to_string(),
            created_at: self.at,
            total: self.files,
            checked: self.checked,
            failed: self.failed,
            files,
        }
    }
}

/// A file of a batch, as stored.
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
struct StoredFile {
    name: String,
    check: Option<String>,
    problem: Option<StoredProblem>,
}

/// What went wrong with a file, as stored.
#[derive(Serialize, Deserialize)]
struct StoredProblem {
    code: String,
    title: String,
    status: u16,
    detail: String,
}

/// The batches of a catalogue ([`Catalogue::batches`]). Who has an [`Editor`] makes them.
#[derive(Debug, Clone)]
pub struct Batches<C>(pub(super) C);

impl Batches<Editor<'_>> {
    /// Makes a batch of files with these names, and forgets the oldest of too many.
    ///
    /// # Errors
    /// [`CatalogueError::BadBatch`].
    pub fn make(&self, new: &NewBatch) -> Result<Batch, CatalogueError> {
        check_names(&new.files)?;
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        if let Some(made) = self.0.answered_before()? {
            return Ok(made);
        }
        let at = Timestamp::now();
        let id = new_id(at);
        let files: Vec<StoredFile> = new.files.iter().map(|name| unchecked(name)).collect();
        let batch = StoredBatch::new(at, &files);
        let mut changes = self.changes_to_forget()?;
        changes.extend([
            put(Table::Decisions, row_key(&self.0.actor, id), &batch),
            put(Table::Decisions, key(b"c", id), &files),
        ]);
        let made = batch.shown(id, Vec::new());
        changes.extend(self.0.keep_answer(&made)?);
        let noted = Action::Setting {
            kind: KIND.to_owned(),
            name: id.to_string(),
            removed: false,
        };
        turn.apply(&self.0.actor, &changes, &[noted])?;
        Ok(made)
    }

    /// Deletes the batches beyond those that are kept when one more is made.
    fn changes_to_forget(&self) -> Result<Vec<RowChange>, CatalogueError> {
        let rows = self.rows(&self.0.actor, None, MOST)?;
        let forgotten = rows.iter().skip(MOST - 1);
        let keys = forgotten.flat_map(|(row, id, _)| [row.clone(), key(b"c", *id)]);
        Ok(keys
            .map(|row| RowChange::delete(Table::Decisions, row))
            .collect())
    }

    /// Makes sure that a check may be filed in the batch that it names.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchBatch`] and [`CatalogueError::BadBatch`].
    pub(super) fn check_case(&self, case: &Case) -> Result<(), CatalogueError> {
        let Some(batch) = &case.batch else {
            return Ok(());
        };
        let (id, _) = self.stored(batch, &self.0.actor)?;
        let name = case.name.as_deref().unwrap_or_default();
        let files = self.files(id)?;
        if files.iter().any(|file| file.name == name) {
            Ok(())
        } else {
            Err(CatalogueError::BadBatch)
        }
    }

    /// What notes, in the turn of filing, that a file of a batch was checked.
    pub(super) fn changes_of_check(
        &self,
        batch: &str,
        name: &str,
        check: Uuid,
    ) -> Result<Vec<RowChange>, CatalogueError> {
        self.changes_of_file(batch, name, |file| {
            file.check = Some(check.to_string());
            file.problem = None;
        })
    }

    /// Notes why a file of a batch was not checked. What was checked before stays so.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchBatch`].
    pub fn note_failure(
        &self,
        batch: &str,
        name: &str,
        problem: &Problem,
    ) -> Result<(), CatalogueError> {
        self.stored(batch, &self.0.actor)?;
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        let changes = self.changes_of_file(batch, name, |file| {
            if file.check.is_none() {
                let end = problem.detail.floor_char_boundary(DETAIL_BYTES);
                file.problem = Some(StoredProblem {
                    code: problem.code.clone(),
                    title: problem.title.clone(),
                    status: problem.status,
                    detail: problem.detail[..end].to_owned(),
                });
            }
        })?;
        turn.apply(&self.0.actor, &changes, &[])?;
        Ok(())
    }

    /// Changes a file of a batch, if the batch is still there and has it.
    fn changes_of_file(
        &self,
        batch: &str,
        name: &str,
        change: impl FnOnce(&mut StoredFile),
    ) -> Result<Vec<RowChange>, CatalogueError> {
        let (id, stored) = match self.stored(batch, &self.0.actor) {
            Err(CatalogueError::NoSuchBatch) => return Ok(Vec::new()),
            found => found?,
        };
        let mut files = self.files(id)?;
        let Some(file) = files.iter_mut().find(|file| file.name == name) else {
            return Ok(Vec::new());
        };
        change(file);
        let batch = StoredBatch::new(stored.at, &files);
        Ok(vec![
            put(Table::Decisions, row_key(&self.0.actor, id), &batch),
            put(Table::Decisions, key(b"c", id), &files),
        ])
    }
}

impl<C: Deref<Target = Catalogue>> Batches<C> {
    /// A batch of an actor, with its files.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchBatch`].
    pub fn get(&self, id: &str, actor: &Actor) -> Result<Batch, CatalogueError> {
        let (id, batch) = self.stored(id, actor)?;
        let files = self.files(id)?;
        let checks = files.iter().filter_map(|file| file.check.as_deref());
        let checks = checks.map(parsed).collect::<Result<Vec<Uuid>, _>>()?;
        let mut checks = self.0.decisions().listed(&checks)?.into_iter();
        let mut shown = Vec::with_capacity(files.len());
        for StoredFile {
            name,
            check,
            problem,
        } in files
        {
            shown.push(BatchFile {
                name,
                check: check.and_then(|_| checks.next().flatten()),
                problem: problem.map(|problem| Problem {
                    about: "about:blank".to_owned(),
                    title: problem.title,
                    status: problem.status,
                    detail: problem.detail,
                    code: problem.code,
                    request_id: None,
                    report: None,
                }),
            });
        }
        Ok(batch.shown(id, shown))
    }

    /// A page of the batches of an actor without their files, newest first.
    ///
    /// # Errors
    /// [`CatalogueError::BadCursor`].
    pub fn page(
        &self,
        actor: &Actor,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<BatchPage, CatalogueError> {
        let after = cursor.map(str::parse::<Uuid>).transpose();
        let after = after.map_err(|_| CatalogueError::BadCursor)?;
        let rows = self.rows(actor, after, limit)?;
        let last = rows.last().filter(|_| rows.len() == limit);
        Ok(BatchPage {
            next_cursor: last.map(|(_, id, _)| id.to_string()),
            batches: rows
                .into_iter()
                .map(|(_, id, batch)| batch.shown(id, Vec::new()))
                .collect(),
        })
    }

    /// The rows of the batches of an actor, newest first.
    fn rows(
        &self,
        actor: &Actor,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Uuid, StoredBatch)>, CatalogueError> {
        let after = after.map(|after| row_key(actor, after));
        let prefix = prefix(actor);
        let rows = self
            .0
            .page_of(Table::Decisions, &prefix, after.as_deref(), limit)?;
        let mut batches = Vec::with_capacity(rows.len());
        for (row, value) in rows {
            let id = flipped(id_of(&row).unwrap_or_default());
            batches.push((row, id, read(&value, id)?));
        }
        Ok(batches)
    }

    fn stored(&self, id: &str, actor: &Actor) -> Result<(Uuid, StoredBatch), CatalogueError> {
        let id: Uuid = id.parse().map_err(|_| CatalogueError::NoSuchBatch)?;
        let row = self.0.row(Table::Decisions, &row_key(actor, id))?;
        let row = row.ok_or(CatalogueError::NoSuchBatch)?;
        Ok((id, read(&row, id)?))
    }

    fn files(&self, id: Uuid) -> Result<Vec<StoredFile>, CatalogueError> {
        let files = self.0.decisions().row(b"c", id)?;
        files.ok_or(CatalogueError::NoSuchBatch)
    }
}

fn unchecked(name: &str) -> StoredFile {
    StoredFile {
        name: name.to_owned(),
        check: None,
        problem: None,
    }
}

fn check_names(names: &[String]) -> Result<(), CatalogueError> {
    let distinct: BTreeSet<&String> = names.iter().collect();
    let is_good = (1..=MOST_FILES).contains(&names.len())
        && distinct.len() == names.len()
        && names
            .iter()
            .all(|name| (1..=NAME_BYTES).contains(&name.len()));
    if is_good {
        Ok(())
    } else {
        Err(CatalogueError::BadBatch)
    }
}

fn prefix(actor: &Actor) -> Vec<u8> {
    [b"j", actor.to_string().as_bytes(), b"\0"].concat()
}

fn row_key(actor: &Actor, id: Uuid) -> Vec<u8> {
    key(&prefix(actor), flipped(id))
}

fn flipped(id: Uuid) -> Uuid {
    Uuid::from_u128(!id.as_u128())
}
