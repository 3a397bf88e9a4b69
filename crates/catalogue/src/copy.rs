//! Copies a catalogue to another place, whatever engine it has there.
//!
//! A copy is made book by book: what the target lacks, or has in another state, is taken from the source, and what only
//! the target has is removed. So a copy that was interrupted goes on when it is started again, and one that was finished
//! can be brought up to date. In the end, everything is read from both sides and compared.
//!
//! A check of an unfinished copy would miss books. The target is therefore marked, and cannot be opened until the copy is
//! finished. A target that was changed by others afterwards is not touched again.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lapidary_gems::Recipe;
use serde::{Deserialize, Serialize};

use super::books::{Listed, of_little_text};
use super::settings::put;
use super::watches::progress_of_copy;
use super::{Catalogue, CatalogueError};
use lapidary_common::count::count;
use lapidary_store::{
    Action, Actor, AuditFrom, BookKey, Condition, Library, LibrarySummary, NewBook, Row, RowChange,
    Sizes, Snapshot, Store, StoreError, Table, Watch,
};

/// Number of books read at a time.
const BOOKS: usize = 64;
/// Number of records or rows in a page.
const PAGE: usize = 500;
/// How often to copy what changed in the source meanwhile.
const ROUNDS: u32 = 3;
/// Maximum number of differences to name.
const NAMED: usize = 10;
/// Tables that are copied as they are. Webhooks follow at the end.
const TABLES: [Table; 11] = [
    Table::Keys,
    Table::Access,
    Table::Folds,
    Table::AllowLists,
    Table::Libraries,
    Table::DuplicateGroups,
    Table::Decisions,
    Table::Sources,
    Table::Harvests,
    Table::Webhooks,
    Table::KeyWebhooks,
];

/// What a catalogue is a copy of, as stored.
#[derive(Serialize, Deserialize)]
struct Origin {
    from: String,
    /// The last entry of the audit log when the copy was finished.
    end: Option<u64>,
    /// Whether it is a new copy, whose books cannot be found before it is finished.
    #[serde(default)]
    filling: bool,
}

/// A finished copy.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Number of books copied.
    pub copied: u64,
    /// Number of books that were there already.
    pub kept: u64,
    /// Number of books removed from the target, because the source does not have them any more.
    pub removed: u64,
    /// Number of books of both.
    pub books: u64,
    /// Number of gems of these, of all recipes.
    pub gems: u64,
    /// How long it took to store what was copied.
    pub storing: Duration,
    /// How long it took to compare source and copy, and to verify the copy.
    pub verifying: Duration,
}

/// The catalogue, unless it is an unfinished copy.
pub(super) fn complete(catalogue: Catalogue) -> Result<Catalogue, CatalogueError> {
    match catalogue.copying().origin()? {
        Some(Origin {
            from, end: None, ..
        }) => Err(CatalogueError::UnfinishedCopy { from }),
        _ => Ok(catalogue),
    }
}

/// Copying a catalogue to another place ([`Catalogue::copying`]).
#[derive(Debug, Clone)]
pub struct Copying<C>(pub(super) C);

impl Copying<&Catalogue> {
    /// Whether there has never been anything in the catalogue.
    pub fn is_untouched(&self) -> Result<bool, CatalogueError> {
        Ok(self.0.store.last_audited()? == 0 && self.0.recipes().all().is_empty())
    }

    /// Copies this catalogue to `to`: recipes, books, decisions, keys and settings, and jobs as a history. The audit log
    /// stays behind. `to` is empty, or an earlier copy that was not changed since. It may be of
    /// [`Catalogue::with_store`]. The names of both are for messages, and `from` for later copies.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] if `to` has something else, [`CatalogueError::CopyDiffers`] if the source changes faster
    /// than it can be copied, and the errors of both stores. The copy can be continued then.
    pub fn run(
        &self,
        to: &Self,
        names: [&str; 2],
        watch: Watch<'_>,
    ) -> Result<Copied, CatalogueError> {
        let filling = to.claim(names)?;
        let mut done = Copied::default();
        let mut differences = Vec::new();
        for round in 0..ROUNDS {
            let began = Instant::now();
            self.copy_rows(to)?;
            let kept = self.copy_books(to, filling, &mut done, watch)?;
            if round == 0 {
                done.kept = kept;
            }
            done.storing += began.elapsed();
            let began = Instant::now();
            differences = self.differences(to, watch)?;
            done.verifying += began.elapsed();
            if differences.is_empty() {
                break;
            }
        }
        if !differences.is_empty() {
            return Err(CatalogueError::CopyDiffers(differences));
        }
        let began = Instant::now();
        if filling {
            to.0.store.finish_filling(watch)?;
        }
        done.storing += began.elapsed();
        let began = Instant::now();
        let faults = to.0.store.verify(watch)?;
        if !faults.is_empty() {
            return Err(CatalogueError::CopyDiffers(
                faults.into_iter().take(NAMED).collect(),
            ));
        }
        done.verifying += began.elapsed();
        to.0.jobs().end_interrupted()?;
        let stats = to.0.stats()?;
        done.books = stats.books;
        done.gems = stats.recipes.iter().map(|recipe| recipe.gems).sum();
        to.finish(names[0], done.books)?;
        Ok(done)
    }

    /// Makes the recipes and tables of `to` equal.
    fn copy_rows(&self, to: &Self) -> Result<(), CatalogueError> {
        to.match_recipes_of(self)?;
        for table in TABLES.into_iter().chain([Table::Jobs]) {
            self.copy_table(to, table)?;
        }
        Ok(())
    }

    fn origin(&self) -> Result<Option<Origin>, CatalogueError> {
        let rows = self.0.store.table(Table::Copy)?;
        let read = rows
            .first()
            .map(|(_, value)| serde_json::from_slice(value))
            .transpose();
        read.map_err(|_| CatalogueError::BadSetting {
            kind: Table::Copy.as_str(),
            name: String::new(),
        })
    }

    /// Whether anything but a verification, a compaction, a quota or a use of the texts of filed checks is in the audit log after
    /// an entry.
    fn is_changed_since(&self, end: u64) -> Result<bool, CatalogueError> {
        let entries = self.0.store.audit(AuditFrom::Behind(end), PAGE)?;
        Ok(entries.len() == PAGE
            || !entries.iter().all(|entry| match &entry.action {
                Action::JobStarted { kind, .. } | Action::JobEnded { kind, .. } => {
                    ["verify", "compact"].contains(&kind.as_str())
                }
                Action::EvidenceRead { .. }
                | Action::EvidenceDeleted { .. }
                | Action::EvidenceExpired { .. }
                | Action::QuotaReached { .. }
                | Action::WatchExpired { .. } => true,
                _ => false,
            }))
    }

    /// Marks this catalogue as an unfinished copy. Returns whether it is a new one.
    fn claim(&self, [from, to]: [&str; 2]) -> Result<bool, CatalogueError> {
        let origin = self.origin()?;
        let filling = origin
            .as_ref()
            .is_none_or(|origin| origin.end.is_none() && origin.filling);
        match origin {
            None if !self.is_untouched()? => {
                return Err(StoreError::Occupied(to.to_owned()).into());
            }
            Some(Origin {
                from: of,
                end: Some(end),
                ..
            }) if of != from || self.is_changed_since(end)? => {
                return Err(CatalogueError::ChangedCopy {
                    to: to.to_owned(),
                    from: of,
                });
            }
            _ => {}
        }
        let mark = put(
            Table::Copy,
            "",
            &Origin {
                from: from.to_owned(),
                end: None,
                filling,
            },
        );
        let (kind, name) = (Table::Copy.as_str().to_owned(), from.to_owned());
        self.0.store.apply(
            &Actor::Local,
            &[mark],
            &[Action::Setting {
                kind,
                name,
                removed: false,
            }],
        )?;
        Ok(filling)
    }

    /// Notes that the copy is finished. Webhooks are told of nothing that happened before, and no book from before is looked up in
    /// watched checks.
    fn finish(&self, from: &str, books: u64) -> Result<(), CatalogueError> {
        self.0
            .store
            .apply(&Actor::Local, &[], &[Action::Built { books }])?;
        let end = self.0.store.last_audited()?;
        let mut rows = Vec::new();
        for (webhooks, progress) in [
            (Table::Webhooks, Table::WebhookProgress),
            (Table::KeyWebhooks, Table::KeyWebhookProgress),
        ] {
            let told = self.0.store.table(webhooks)?.into_iter();
            rows.extend(told.map(|(owner, _)| put(progress, owner, &end)));
        }
        let mark = put(
            Table::Copy,
            "",
            &Origin {
                from: from.to_owned(),
                end: Some(end),
                filling: false,
            },
        );
        rows.extend([progress_of_copy(end), mark]);
        self.0.store.apply(&Actor::Local, &rows, &[])?;
        self.0.flush()
    }

    fn match_recipes_of(&self, source: &Self) -> Result<(), CatalogueError> {
        let (theirs, own) = (source.0.store.snapshot(), self.0.store.snapshot());
        if recipes(&*theirs) == recipes(&*own) {
            return Ok(());
        }
        let all = theirs.recipes();
        let ready = all
            .iter()
            .map(Recipe::name)
            .filter(|name| theirs.is_ready(name))
            .cloned()
            .collect();
        self.0
            .by(Actor::Local)
            .transfer()
            .match_recipes(&all, ready)
    }

    /// Makes a table of `to` equal.
    fn copy_table(&self, to: &Self, table: Table) -> Result<(), CatalogueError> {
        let mut changes = Vec::new();
        for pair in pairs_of_rows(&*self.0.store, &*to.0.store, table) {
            let change = match pair? {
                (Some(row), Some(other)) if row == other => continue,
                (Some((key, value)), _) => RowChange::put(table, key, value),
                (None, Some((key, _))) => RowChange::delete(table, key),
                (None, None) => continue,
            };
            changes.push(change);
            if changes.len() == PAGE {
                to.0.store
                    .apply(&Actor::Local, &std::mem::take(&mut changes), &[])?;
            }
        }
        if !changes.is_empty() {
            to.0.store.apply(&Actor::Local, &changes, &[])?;
        }
        Ok(())
    }

    /// Makes the books of `to` equal. Returns the number of those that were.
    fn copy_books(
        &self,
        to: &Self,
        filling: bool,
        done: &mut Copied,
        watch: Watch<'_>,
    ) -> Result<u64, CatalogueError> {
        let (mine, theirs) = (self.0.store.snapshot(), to.0.store.snapshot());
        let (total, mut equal, mut seen) = (total_books(&mine.libraries()?), 0, 0);
        let (mut stale, mut fresh): (Vec<BookKey>, Vec<Listed>) = (Vec::new(), Vec::new());
        for library in libraries(&*mine, &*theirs)? {
            for pair in pairs_of_books(&*mine, &*theirs, &library) {
                match pair? {
                    (Some((_, record)), Some((_, other))) if record == other => equal += 1,
                    (book, other) => {
                        fresh.extend(book);
                        stale.extend(other.map(|(_, other)| other.key));
                    }
                }
                seen += 1;
                if stale.len().max(fresh.len()) == BOOKS {
                    let part = (std::mem::take(&mut stale), std::mem::take(&mut fresh));
                    self.carry(to, &*mine, filling, part, done)?;
                    watch(seen, total.max(seen))?;
                }
            }
        }
        self.carry(to, &*mine, filling, (stale, fresh), done)?;
        Ok(equal)
    }

    /// Removes stale books from the copy, and adds fresh ones of the catalogue.
    fn carry(
        &self,
        to: &Self,
        mine: &dyn Snapshot,
        filling: bool,
        (stale, fresh): (Vec<BookKey>, Vec<Listed>),
        done: &mut Copied,
    ) -> Result<(), CatalogueError> {
        let store = &to.0.store;
        // Removed, and not replaced: a book that replaces a disabled one would be disabled.
        let removed = store.remove(&Actor::Local, &stale, &Condition::default())?;
        let again = stale
            .iter()
            .filter(|key| fresh.iter().any(|(_, record)| record.key == **key))
            .count() as u64;
        let mut books: Vec<NewBook> = Vec::new();
        for some in of_little_text(fresh) {
            let complete = self.0.books().complete(mine, &some)?;
            let complete = complete.into_iter().flatten();
            books.extend(complete.map(|book| NewBook {
                fills: filling,
                ..book
            }));
        }
        done.removed += (removed.len() as u64).saturating_sub(again);
        done.copied += books.len() as u64;
        Ok(store.put(&Actor::Local, books)?)
    }

    /// Compares everything with `to`. Returns what differs, a sentence each.
    fn differences(&self, to: &Self, watch: Watch<'_>) -> Result<Vec<String>, CatalogueError> {
        let (mine, theirs) = (self.0.store.snapshot(), to.0.store.snapshot());
        let mut found = Differences::default();
        if recipes(&*mine) != recipes(&*theirs) {
            found.add("the recipes differ".to_owned());
        }
        self.compare_rows(to, &mut found)?;
        let (total, mut seen) = (total_books(&mine.libraries()?), 0);
        let (mut some, mut others): (Vec<Listed>, Vec<Listed>) = (Vec::new(), Vec::new());
        for library in libraries(&*mine, &*theirs)? {
            for pair in pairs_of_books(&*mine, &*theirs, &library) {
                let (book, other) = pair?;
                some.extend(book);
                others.extend(other);
                seen += 1;
                if some.len().max(others.len()) == BOOKS {
                    let part = (std::mem::take(&mut some), std::mem::take(&mut others));
                    self.compare_books(to, [&*mine, &*theirs], part, &mut found)?;
                    watch(seen, total.max(seen))?;
                }
            }
        }
        self.compare_books(to, [&*mine, &*theirs], (some, others), &mut found)?;
        // The totals, if nothing changed since they were copied.
        if found.count == 0 {
            compare_totals(&*mine, &*theirs, &mut found)?;
        }
        Ok(found.named())
    }

    fn compare_rows(&self, to: &Self, found: &mut Differences) -> Result<(), CatalogueError> {
        for table in TABLES {
            for pair in pairs_of_rows(&*self.0.store, &*to.0.store, table) {
                let (row, other) = pair?;
                if row != other {
                    found.add(format!("a row of the table '{}' differs", table.as_str()));
                }
            }
        }
        Ok(())
    }

    /// Compares some books of the catalogue with those of its copy.
    fn compare_books(
        &self,
        to: &Self,
        [mine, theirs]: [&dyn Snapshot; 2],
        (some, others): (Vec<Listed>, Vec<Listed>),
        found: &mut Differences,
    ) -> Result<(), CatalogueError> {
        let (some, others) = rayon::join(|| self.by_key(mine, some), || to.by_key(theirs, others));
        let (some, mut others) = (some?, others?);
        for (key, book) in some {
            if let Some(what) = difference(book, others.remove(&key).flatten()) {
                found.add(format!("{key} {what}"));
            }
        }
        for key in others.keys() {
            found.add(format!("{key} is only in the copy"));
        }
        Ok(())
    }

    /// Reads books whole, by their keys.
    fn by_key(
        &self,
        snapshot: &dyn Snapshot,
        books: Vec<Listed>,
    ) -> Result<BTreeMap<BookKey, Option<NewBook>>, CatalogueError> {
        let keys: Vec<BookKey> = books.iter().map(|(_, record)| record.key.clone()).collect();
        let mut whole = Vec::new();
        for some in of_little_text(books) {
            whole.extend(self.0.books().complete(snapshot, &some)?);
        }
        Ok(keys.into_iter().zip(whole).collect())
    }
}

/// How a book of the source differs from that of the copy.
fn difference(mine: Option<NewBook>, theirs: Option<NewBook>) -> Option<&'static str> {
    match (mine, theirs) {
        (mine, theirs) if mine == theirs => None,
        (Some(mine), Some(theirs)) if mine.record != theirs.record => Some("has another record"),
        (Some(mine), Some(theirs)) if mine.gems != theirs.gems => Some("has other gems"),
        (Some(_), Some(_)) => Some("has another fold or text"),
        (Some(_), None) => Some("is missing from the copy"),
        (None, _) => Some("is only in the copy"),
    }
}

/// Differences, of which only some are named.
#[derive(Default)]
struct Differences {
    count: u64,
    named: Vec<String>,
}

impl Differences {
    fn add(&mut self, difference: String) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push(difference);
        }
    }

    fn named(mut self) -> Vec<String> {
        let more = self.count - self.named.len() as u64;
        if more > 0 {
            self.named.push(format!(
                "and {}",
                count(more, "other difference", "other differences")
            ));
        }
        self.named
    }
}

/// The recipes by name, with whether each is the default, and ready.
fn recipes(snapshot: &dyn Snapshot) -> BTreeMap<String, (Recipe, bool, bool)> {
    snapshot
        .recipes()
        .into_iter()
        .enumerate()
        .map(|(at, recipe)| {
            let ready = snapshot.is_ready(recipe.name());
            (recipe.name().to_string(), (recipe, at == 0, ready))
        })
        .collect()
}

/// The number of books in all libraries.
pub(super) fn total_books(libraries: &[Arc<LibrarySummary>]) -> u64 {
    libraries.iter().map(|library| library.books).sum()
}

/// Summaries without when the libraries changed: the removal of a book is not copied.
fn summed(libraries: Vec<Arc<LibrarySummary>>) -> Vec<LibrarySummary> {
    // Which recipes their books have was not counted by older versions.
    let changed = jiff::Timestamp::UNIX_EPOCH;
    libraries
        .into_iter()
        .map(|library| LibrarySummary {
            changed_at: changed,
            recipes: BTreeMap::new(),
            ..Arc::unwrap_or_clone(library)
        })
        .collect()
}

/// The libraries of both.
fn libraries(mine: &dyn Snapshot, theirs: &dyn Snapshot) -> Result<BTreeSet<Library>, StoreError> {
    let all = mine.libraries()?.into_iter().chain(theirs.libraries()?);
    Ok(all.map(|summary| summary.library.clone()).collect())
}

/// All books of a library, sorted by id. After an error, nothing follows.
fn records<'a>(
    snapshot: &'a dyn Snapshot,
    library: &'a Library,
) -> impl Iterator<Item = Result<Listed, StoreError>> + use<'a> {
    in_pages(move |last: Option<&Listed>| {
        snapshot.walk(library, last.map(|(_, record)| &record.key.id), PAGE)
    })
}

/// The books of a library in a catalogue, each with that in its copy.
fn pairs_of_books<'a>(
    mine: &'a dyn Snapshot,
    theirs: &'a dyn Snapshot,
    library: &'a Library,
) -> impl Iterator<Item = Result<(Option<Listed>, Option<Listed>), StoreError>> + 'a {
    let [mine, theirs] = [mine, theirs].map(|snapshot| records(snapshot, library));
    pairs(mine, theirs, |(_, record)| record.key.id.clone())
}

/// The sizes of the books of each recipe.
fn sizes(snapshot: &dyn Snapshot, recipes: &[Recipe]) -> Result<Vec<Sizes>, StoreError> {
    recipes
        .iter()
        .map(|recipe| snapshot.sizes(recipe.name()))
        .collect()
}

/// All rows of a table whose keys have a prefix, sorted by key, of which up to `most` are read at a time. After an error,
/// nothing follows.
pub(super) fn rows(
    store: &dyn Store,
    table: Table,
    prefix: &[u8],
    most: usize,
) -> impl Iterator<Item = Result<Row, StoreError>> {
    in_pages(move |last: Option<&Row>| {
        store.page(table, prefix, last.map(|(key, _)| key.as_slice()), most)
    })
}

/// The rows of a table in both, each with that under the same key.
fn pairs_of_rows<'a>(
    mine: &'a dyn Store,
    theirs: &'a dyn Store,
    table: Table,
) -> impl Iterator<Item = Result<(Option<Row>, Option<Row>), StoreError>> + 'a {
    let [mine, theirs] = [mine, theirs].map(|store| rows(store, table, b"", PAGE));
    pairs(mine, theirs, |(key, _)| key.clone())
}

/// All items of pages; `next` reads the page after an item.
fn in_pages<T: Clone>(
    next: impl Fn(Option<&T>) -> Result<Vec<T>, StoreError>,
) -> impl Iterator<Item = Result<T, StoreError>> {
    let mut page = Vec::new().into_iter();
    let (mut last, mut ended) = (None, false);
    iter::from_fn(move || {
        if page.len() == 0 && !ended {
            match next(last.as_ref()) {
                Ok(items) => page = items.into_iter(),
                Err(error) => {
                    ended = true;
                    return Some(Err(error));
                }
            }
            ended = page.len() == 0;
        }
        last = page.next();
        last.clone().map(Ok)
    })
}

/// Pairs what two sorted sequences have under the same key.
fn pairs<T, K: Ord>(
    mine: impl Iterator<Item = Result<T, StoreError>>,
    theirs: impl Iterator<Item = Result<T, StoreError>>,
    key: impl Fn(&T) -> K,
) -> impl Iterator<Item = Result<(Option<T>, Option<T>), StoreError>> {
    let (mut mine, mut theirs) = (mine.peekable(), theirs.peekable());
    iter::from_fn(move || {
        let order = match (mine.peek(), theirs.peek()) {
            (None, None) => return None,
            (Some(Ok(a)), Some(Ok(b))) => key(a).cmp(&key(b)),
            (Some(Err(_)), _) | (_, None) => Ordering::Less,
            (_, Some(_)) => Ordering::Greater,
        };
        let mine = if order.is_le() { mine.next() } else { None };
        let theirs = if order.is_ge() { theirs.next() } else { None };
        Some(
            mine.transpose()
                .and_then(|mine| Ok((mine, theirs.transpose()?))),
        )
    })
}

fn compare_totals(
    mine: &dyn Snapshot,
    theirs: &dyn Snapshot,
    found: &mut Differences,
) -> Result<(), CatalogueError> {
    if summed(mine.libraries()?) != summed(theirs.libraries()?) {
        found.add("the totals of the libraries differ".to_owned());
    }
    let recipes = mine.recipes();
    if sizes(mine, &recipes)? != sizes(theirs, &recipes)? {
        found.add("the numbers of gems differ".to_owned());
    }
    Ok(())
}
