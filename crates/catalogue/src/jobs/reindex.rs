//! Changing the recipe of a catalogue while it is in use.
//!
//! From the start of the job, new books get gems of the new recipe as well as the others. Existing books get theirs
//! from their folds or kept texts, or from texts that someone sends ([`Catalogue::recut`]). Checks use the old recipe
//! until every book has gems of the new one, then all switch at the same instant.

use super::Jobs;
use std::ops::Deref;
use std::thread::sleep;
use std::time::Duration;

use lapidary_gems::{Recipe, RecipeName};
use rayon::prelude::*;

use super::super::add::{StoredBook, recut_of, text_of};
use super::super::copy::total_books;
use super::super::digest::digest_after;
use super::super::pages::pages;
use super::job::StoredJob;
use super::{JobProgress, Task};
use crate::api::{RecipeChoice, ReindexInput, Reindexed};
use crate::{Catalogue, CatalogueError, Editor};
use lapidary_store::recipes::RecipeState;
use lapidary_store::{BookKey, BookNo, LateGems, Record, Snapshot, StoreError};

/// Number of books computed and written together.
const BATCH: usize = 64;
/// How often to check whether all texts have arrived.
const WAIT: Duration = Duration::from_millis(200);
/// Number of books without gems to name in a message.
const NAMED: usize = 5;

/// How to make a recipe the default.
pub(super) struct Reindex {
    pub(super) recipe: Recipe,
    pub(super) from: ReindexInput,
    /// Whether to drop the previous default recipe at the end.
    pub(super) drop_old: bool,
    /// Whether the recipe becomes the default even if some books cannot get gems of it.
    pub(super) allow_missing: bool,
}

impl<C: Deref<Target = Catalogue>> Jobs<C> {
    pub(super) fn approve_reindex(
        &self,
        recipe: &Recipe,
        from: ReindexInput,
        drop_old: bool,
        allow_missing: bool,
    ) -> Result<(), CatalogueError> {
        let known = self.0.recipes().all();
        if known
            .iter()
            .any(|known| known.name() == recipe.name() && known != recipe)
        {
            return Err(StoreError::RecipeDiffers(recipe.name().clone()).into());
        }
        let wrong = if allow_missing && drop_old {
            "books without gems of the new recipe still need the old one; choose one of allow_missing and drop_old"
        } else if allow_missing && from == ReindexInput::Sources {
            "allow_missing requires folds; with sources, the job waits for the missing texts"
        } else if recipe.is_signature() && from == ReindexInput::Folds {
            "a signature is computed from texts, not from folds; use sources"
        } else {
            return Ok(());
        };
        Err(CatalogueError::BadTask(wrong.to_owned()))
    }

    pub(super) fn books_there(&self) -> Result<u64, CatalogueError> {
        Ok(total_books(&self.0.store.snapshot().libraries()?))
    }

    /// The reason that the recipe cannot become the default yet.
    fn not_all(&self, recipe: &Recipe, without: u64) -> Result<CatalogueError, CatalogueError> {
        let snapshot = self.0.store.snapshot();
        let mut examples = Vec::new();
        for books in pages(&*snapshot) {
            let lacking = books?
                .into_iter()
                .filter(|(_, record)| !record.gems.contains_key(recipe.name()));
            examples.extend(
                lacking
                    .map(|(_, record)| record.key.to_string())
                    .take(NAMED - examples.len()),
            );
            if examples.len() == NAMED {
                break;
            }
        }
        Ok(CatalogueError::NotRecut {
            recipe: recipe.name().clone(),
            without,
            examples: examples.join(", "),
        })
    }
}

impl Jobs<Editor<'_>> {
    pub(super) fn reindex(
        &self,
        reindex: &Reindex,
        job: &StoredJob,
        work: &JobProgress<'_>,
    ) -> Result<Reindexed, CatalogueError> {
        let recipe = &reindex.recipe;
        let before = job.checkpoint.before.clone();
        let before = before.unwrap_or_else(|| {
            let known = self.0.recipes().all();
            known.first().unwrap_or(recipe).name().clone()
        });
        self.0
            .feeding
            .alone(|| self.0.store.add_recipe(&self.0.actor, recipe))?;
        work.checkpoint(true, |job| job.checkpoint.before = Some(before.clone()))?;
        let without = self.cut_and_switch(reindex, job, work)?;
        let default = if recipe.is_rewriting() {
            before.clone()
        } else {
            recipe.name().clone()
        };
        let dropped = (reindex.drop_old && before != default).then(|| before.clone());
        if let Some(old) = &dropped {
            self.drop_recipe(old, work)?;
        }
        Ok(Reindexed {
            previous_default: before,
            books_without: without,
            default,
            dropped,
        })
    }

    /// Makes the recipe the default if every book has gems of it, or with `anyway`; `rewriting`, which decides nothing, only ready.
    /// Returns how many books have none.
    fn switch(&self, recipe: &Recipe, anyway: bool) -> Result<u64, CatalogueError> {
        if recipe.is_rewriting() {
            let incomplete = self.0.recipes().make_ready(std::slice::from_ref(recipe))?;
            return Ok(incomplete
                .iter()
                .map(|(_, coverage)| coverage.lacking())
                .sum());
        }
        let state = RecipeState::Default { anyway };
        let without = self
            .0
            .store
            .set_recipe(&self.0.actor, recipe.name(), state)?;
        Ok(without)
    }

    /// Computes gems of the recipe until it can become the default, and makes it that. Returns the number of books without
    /// gems of it.
    fn cut_and_switch(
        &self,
        reindex: &Reindex,
        job: &StoredJob,
        work: &JobProgress<'_>,
    ) -> Result<u64, CatalogueError> {
        let Reindex {
            ref recipe,
            from,
            allow_missing,
            ..
        } = *reindex;
        let (mut done, mut book) = (job.job.done, job.checkpoint.book);
        loop {
            let cut = match from {
                ReindexInput::Folds => self.cut_folds(recipe, &mut done, book, work)?,
                ReindexInput::Sources => 0,
            };
            let without = self.switch(recipe, allow_missing)?;
            let total = self.books_there()?;
            work.step(total.saturating_sub(without), total)?;
            match from {
                _ if without == 0 || allow_missing => return Ok(without),
                ReindexInput::Sources => sleep(WAIT),
                // Books prepared before the recipe was added may have been written behind this pass.
                ReindexInput::Folds if cut > 0 || book > 0 => (done, book) = (0, 0),
                ReindexInput::Folds => return Err(self.not_all(recipe, without)?),
            }
        }
    }

    /// Drops a recipe other than the default.
    pub(super) fn drop_recipe(
        &self,
        recipe: &RecipeName,
        work: &JobProgress<'_>,
    ) -> Result<(), CatalogueError> {
        self.0.feeding.alone(|| {
            self.0
                .store
                .set_recipe(&self.0.actor, recipe, RecipeState::Hidden)
        })?;
        Ok(self
            .0
            .store
            .drop_recipe(&self.0.actor, recipe, &|done, total| work.step(done, total))?)
    }

    /// Computes gems from the fold or the kept text of every book from number `from` on that has none of the recipe. Returns the
    /// number of books.
    fn cut_folds(
        &self,
        recipe: &Recipe,
        done: &mut u64,
        from: u32,
        work: &JobProgress<'_>,
    ) -> Result<u64, CatalogueError> {
        let mut cut = 0;
        let mut next = Some(from);
        while let Some(from) = next {
            let snapshot = self.0.store.snapshot();
            let books = snapshot.books(BookNo(from), BATCH)?;
            next = books.last().and_then(|(last, _)| last.0.checked_add(1));
            *done += books.len() as u64;
            let gems: Vec<Option<LateGems>> = books
                .into_par_iter()
                .map(|(book, record)| late_gems(&*snapshot, recipe, book, record))
                .collect::<Result<_, _>>()?;
            let gems: Vec<LateGems> = gems.into_iter().flatten().collect();
            cut += gems.len() as u64;
            if !gems.is_empty() {
                self.0.store.add_gems(&self.0.actor, recipe.name(), gems)?;
            }
            if let Some(book) = next {
                work.checkpoint(false, |job| {
                    (job.checkpoint.book, job.job.done) = (book, *done);
                })?;
            }
            work.step(*done, self.books_there()?.max(*done))?;
        }
        Ok(cut)
    }

    /// Adds the recipes of jobs that wait for texts: such a job may have been interrupted before it added its recipe.
    fn settle_awaited(&self) -> Result<(), CatalogueError> {
        for task in self.0.jobs.running() {
            let Task::Reindex {
                recipe: RecipeChoice::Defined(recipe),
                from: ReindexInput::Sources,
                ..
            } = task
            else {
                continue;
            };
            if self
                .0
                .recipes()
                .all()
                .iter()
                .all(|known| known.name() != recipe.name())
            {
                self.0
                    .feeding
                    .alone(|| self.0.store.add_recipe(&self.0.actor, &recipe))?;
            }
        }
        Ok(())
    }

    /// Computes a book's missing gems from its text. Returns the recipes that were missing.
    ///
    /// # Errors
    /// [`CatalogueError::NoSuchBook`], [`CatalogueError::OtherText`] if this is not the book's text, and
    /// [`CatalogueError::NoText`].
    pub fn recut(&self, key: &BookKey, text: &str) -> Result<Vec<RecipeName>, CatalogueError> {
        // An empty text would match a book that was added as an empty list of gems.
        if text.trim().is_empty() {
            return Err(CatalogueError::NoText);
        }
        self.settle_awaited()?;
        let _feed = self.0.feeding.shared();
        let snapshot = self.0.store.snapshot();
        let StoredBook {
            number: book,
            record,
        } = StoredBook::find(&*snapshot, key)?
            .ok_or_else(|| CatalogueError::NoSuchBook(key.clone()))?;
        let digest = digest_after(&record.digest, text.as_bytes());
        if record.digest != digest {
            return Err(CatalogueError::OtherText(key.clone()));
        }
        let keeps_folds = self.0.keeps_folds()?;
        let text = text_of(&record, text)?;
        let mut added = Vec::new();
        for recipe in snapshot
            .recipes()
            .iter()
            .filter(|recipe| !record.gems.contains_key(recipe.name()))
        {
            let fold = keeps_folds.then(|| text.folded(recipe)).flatten();
            let recut = fold.as_ref().and_then(|fold| recipe.recut(fold));
            let gems = recut.unwrap_or_else(|| text.gems(recipe));
            self.0.store.add_gems(
                &self.0.actor,
                recipe.name(),
                vec![LateGems {
                    book,
                    digest: digest.clone(),
                    gems,
                    fold,
                }],
            )?;
            added.push(recipe.name().clone());
        }
        Ok(added)
    }
}

/// The gems of a book that has none of the recipe, from its fold or the text that is kept.
fn late_gems(
    snapshot: &dyn Snapshot,
    recipe: &Recipe,
    book: BookNo,
    record: Record,
) -> Result<Option<LateGems>, CatalogueError> {
    if record.gems.contains_key(recipe.name()) {
        return Ok(None);
    }
    let fold = snapshot.fold(recipe.base(), book)?;
    let text = match fold {
        Some(_) => None,
        None => snapshot.text(book)?,
    };
    let gems = recut_of(recipe, &record, fold.as_ref(), text.as_deref())?;
    Ok(gems.map(|gems| LateGems {
        book,
        digest: record.digest,
        gems,
        fold: None,
    }))
}
