//! Looks up each book that is added or changed among the watched checks.
//!
//! The audit log is the queue, as it is for webhooks: it has every book, and a row says how far they have been looked up. A check
//! that is filed while a book is added may miss it, so filing a check notes where the log was when it was made, and the search
//! goes on from there. A book that is looked up twice is found to be known: a check that has once matched it, when it was filed
//! or later, is not told again.
//!
//! ```text
//! c → how far the books of the audit log have been looked up, JSON
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use hashbrown::HashSet;
use jiff::Timestamp;
use lapidary_gems::{Gem, RecipeName};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use uuid::Uuid;

use super::{StoredWatch, WatchedGems, Watches, search_key, search_prefix};
use crate::add::StoredBook;
use crate::answer::CheckOptions;
use crate::check::today;
use crate::decisions::{id_of, key, needs_person, read};
use crate::evidence::readable;
use crate::settings::put;
use crate::sharing::{EVIDENCE, Turn};
use crate::{Catalogue, CatalogueError, Editor};
use lapidary_store::{
    Action, Actor, Amended, AuditFrom, AuditedBook, BookKey, BookNo, Record, RowChange, Snapshot,
    Table,
};
use lapidary_work::{DueWork, LeasedWork, Slot, WorkKind};

/// The row that says how far the search is.
const PROGRESS: &[u8] = b"c";
/// Number of audit log entries to look at before what was done is written down.
const PAGE: usize = 256;
/// Number of checks to judge before that.
pub(super) const MOST_JUDGED: usize = 256;

/// How far the books of the audit log have been looked up.
#[skip_serializing_none]
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The last entry of the log that is done.
    entry: u64,
    /// The last check that was judged for the next entry, if not all were.
    check: Option<String>,
    /// Where the log was when the first of the checks was made that have been filed since.
    filed_behind: Option<u64>,
}

impl Progress {
    fn behind(entry: u64) -> Self {
        Self {
            entry,
            ..Self::default()
        }
    }

    /// Whether all books up to this entry have been looked up in all checks.
    #[cfg(test)]
    pub(super) fn is_at(&self, last: u64) -> bool {
        self.entry >= last && self.filed_behind.is_none()
    }

    /// Goes back to where the first of the checks was made that have been filed since.
    fn with_filed(self, filed_behind: Option<u64>) -> Self {
        match filed_behind {
            Some(filed) if filed < self.entry => Self::behind(filed),
            _ => Self {
                filed_behind: None,
                ..self
            },
        }
    }
}

/// Notes that a check is filed that was made when the log was at `since`.
pub(super) fn progress_of_filing(known: Option<Progress>, since: u64) -> RowChange {
    let known = known.unwrap_or_else(|| Progress::behind(since));
    let filed_behind = known.filed_behind.map_or(since, |filed| filed.min(since));
    let noted = Progress {
        filed_behind: Some(filed_behind),
        ..known
    };
    put(Table::Decisions, PROGRESS, &noted)
}

/// Where the search begins in a copy, whose audit log is at `end`.
pub(crate) fn progress_of_copy(end: u64) -> RowChange {
    put(Table::Decisions, PROGRESS, &Progress::behind(end))
}

/// Looks up books: one process does, of all that share a store.
struct Search(Arc<Catalogue>);

impl WorkKind for Search {
    type Task = ();
    type Error = CatalogueError;

    const NAME: &'static str = "watched checks";
    const LEASE: Option<&'static str> = Some("watched checks");

    fn places(&self) -> usize {
        1
    }

    fn due(&self) -> Result<Vec<DueWork<()>>, CatalogueError> {
        let Some(progress) = self.0.watches().progress()? else {
            return Ok(Vec::new());
        };
        if progress.entry >= self.0.store.last_audited()? {
            return Ok(Vec::new());
        }
        Ok(vec![DueWork {
            name: "search of watched checks".to_owned(),
            since: Timestamp::UNIX_EPOCH,
            slot: Slot::default(),
            task: (),
        }])
    }

    fn run(&self, (): (), work: &Arc<LeasedWork>) -> Result<(), CatalogueError> {
        let editor = self.0.by(Actor::Local).under(work)?;
        editor.watches().search_next(|| work.stop().is_stopped())
    }
}

/// Looks up books among the watched checks in the background until [`Jobs::stop`](crate::Jobs::stop).
pub fn start_watching(catalogue: &Arc<Catalogue>) {
    catalogue.runner.schedule(Search(Arc::clone(catalogue)));
}

/// A book that was added or changed.
struct LateBook {
    number: BookNo,
    record: Record,
    gems: BTreeMap<RecipeName, HashSet<Gem>>,
}

impl LateBook {
    /// The book of an audit log entry. If it was replaced since, a later entry has it.
    fn find(snapshot: &dyn Snapshot, book: &AuditedBook) -> Result<Option<Self>, CatalogueError> {
        let key = BookKey {
            library: book.library.parse()?,
            id: book.id.parse()?,
        };
        let Some(StoredBook { number, record }) = StoredBook::find(snapshot, &key)? else {
            return Ok(None);
        };
        if record.digest != book.digest || record.is_disabled() {
            return Ok(None);
        }
        let mut gems = BTreeMap::new();
        for recipe in snapshot.recipes() {
            if let Some(of_recipe) = snapshot.gems(recipe.name(), number)? {
                let of_recipe = of_recipe.into_iter().map(|placed| placed.gem).collect();
                gems.insert(recipe.name().clone(), of_recipe);
            }
        }
        Ok(Some(Self {
            number,
            record,
            gems,
        }))
    }

    /// The search keys of its gems.
    fn search_keys(&self) -> impl Iterator<Item = [u8; 8]> {
        let lists = self.gems.iter();
        lists.flat_map(|(recipe, gems)| gems.iter().map(|gem| search_key(recipe, *gem)))
    }

    /// How many gems it has in common with a check under a recipe.
    fn common(&self, recipe: &RecipeName, watched: &WatchedGems) -> usize {
        let Some(own) = self.gems.get(recipe) else {
            return 0;
        };
        let lists = watched.iter().filter(|(of, _)| of == recipe);
        let probes = lists.flat_map(|(_, probes)| probes);
        probes
            .filter(|probe| own.contains(&probe.placed.gem))
            .count()
    }
}

/// The book that an action adds to what decides, or may.
fn added(action: &Action) -> Option<&AuditedBook> {
    match action {
        Action::Added(book) | Action::Replaced(book) => Some(book),
        Action::Amended(book) => {
            let counts = |change| {
                let is_word = matches!(change, Amended::Noted | Amended::NoteForgotten);
                !is_word && change != Amended::Described
            };
            book.changes.iter().copied().any(counts).then_some(book)
        }
        _ => None,
    }
}

impl Watches<Editor<'_>> {
    /// Looks up the next books, until `is_stopped`, and writes down how far it got.
    pub(super) fn search_next(&self, is_stopped: impl Fn() -> bool) -> Result<(), CatalogueError> {
        let Some(begun) = self.begin()? else {
            return Ok(());
        };
        let entries = self.0.store.audit(AuditFrom::Behind(begun.entry), PAGE)?;
        let is_watching = self.stats()?.checks > 0;
        let mut reached = begun;
        for entry in entries {
            if is_stopped() {
                break;
            }
            let after = reached.check.take();
            if let Some(book) = added(&entry.action).filter(|_| is_watching) {
                reached.check = self.look_up(book, after.as_deref())?;
            }
            if reached.check.is_some() {
                break;
            }
            reached.entry = entry.number;
        }
        self.advance(reached)
    }

    /// Where to go on. From now on, checks that are filed are noted.
    fn begin(&self) -> Result<Option<Progress>, CatalogueError> {
        match self.progress()? {
            Some(Progress {
                filed_behind: Some(_),
                ..
            }) => {}
            known => return Ok(known),
        }
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        let Some(known) = self.progress()? else {
            return Ok(None);
        };
        let filed_behind = known.filed_behind;
        let begun = known.with_filed(filed_behind);
        self.write(&turn, &[put(Table::Decisions, PROGRESS, &begun)], &[])?;
        Ok(Some(begun))
    }

    /// Writes down how far the search got.
    fn advance(&self, reached: Progress) -> Result<(), CatalogueError> {
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        let filed_behind = self.progress()?.and_then(|known| known.filed_behind);
        let reached = reached.with_filed(filed_behind);
        self.write(&turn, &[put(Table::Decisions, PROGRESS, &reached)], &[])
    }

    /// Writes in a turn, unless another process does this work now.
    fn write(
        &self,
        turn: &Turn<'_>,
        changes: &[RowChange],
        actions: &[Action],
    ) -> Result<(), CatalogueError> {
        let Editor { store, actor, .. } = self.0.within(turn);
        Ok(store.apply(&actor, changes, actions)?)
    }

    /// Judges the watched checks that have gems of a book in common with it, in the order of their ids, after this one. Returns
    /// the last, if not all have been.
    fn look_up(
        &self,
        book: &AuditedBook,
        after: Option<&str>,
    ) -> Result<Option<String>, CatalogueError> {
        // Taken after the log was read, so that it has the book.
        let snapshot = self.0.store.snapshot();
        let Some(book) = LateBook::find(&*snapshot, book)? else {
            return Ok(None);
        };
        let after = after.and_then(|after| after.parse().ok());
        let mut found = self.with_gems_of(&book, after)?.into_iter();
        let (mut matched, mut last) = (Vec::new(), None);
        for check in found.by_ref().take(MOST_JUDGED) {
            if self.is_matched(&*snapshot, check, &book)? {
                matched.push(check);
            }
            last = Some(check);
        }
        if !matched.is_empty() {
            self.tell(&book.record, &matched)?;
        }
        let is_more = found.next().is_some();
        Ok(last.filter(|_| is_more).map(|last| last.to_string()))
    }

    /// Records that a book matches checks, in one step with the audit log.
    fn tell(&self, book: &Record, checks: &[Uuid]) -> Result<(), CatalogueError> {
        let turn = self.0.turn(&self.0.filing_evidence, EVIDENCE)?;
        let decisions = self.0.decisions();
        let (mut changes, mut actions) = (Vec::new(), Vec::new());
        for check in checks {
            if let Some((of_check, action)) = decisions.changes_of_match(*check, book)? {
                changes.extend(of_check);
                actions.push(action);
            }
        }
        self.write(&turn, &changes, &actions)
    }
}

impl<C: Deref<Target = Catalogue>> Watches<C> {
    pub(super) fn progress(&self) -> Result<Option<Progress>, CatalogueError> {
        let row = self.0.row(Table::Decisions, PROGRESS)?;
        row.map(|row| read(&row, Uuid::nil())).transpose()
    }

    /// The next watched checks with a search key of a book's, in the order of their ids: one more than are judged, if there are.
    fn with_gems_of(
        &self,
        book: &LateBook,
        after: Option<Uuid>,
    ) -> Result<BTreeSet<Uuid>, CatalogueError> {
        let (mut found, most) = (BTreeSet::new(), MOST_JUDGED + 1);
        for search in book.search_keys() {
            let prefix = search_prefix(search);
            let after = after.map(|after| key(&prefix, after));
            let store = &self.0.store;
            for (row, _) in store.page(Table::Decisions, &prefix, after.as_deref(), most)? {
                found.extend(id_of(&row));
            }
            while found.len() > most {
                found.pop_last();
            }
        }
        Ok(found)
    }

    /// Whether a book changes the answer to a watched check: it was not told of it yet, and today, a check by the same key would
    /// leave it to a person because of this book.
    fn is_matched(
        &self,
        snapshot: &dyn Snapshot,
        check: Uuid,
        book: &LateBook,
    ) -> Result<bool, CatalogueError> {
        let watch = readable(self.stored(check))?;
        let Some(watch) = watch.filter(|watch| Timestamp::now() < watch.expires_at) else {
            return Ok(false);
        };
        let Some(gems) = self.gems(check, &watch)? else {
            return Ok(false);
        };
        if !self.could_match(&watch, &gems, snapshot, book)
            || self.0.decisions().is_because_of(&book.record.key, check)?
        {
            return Ok(false);
        }
        let Some(options) = self.asked_again(check, &watch)? else {
            return Ok(false);
        };
        let asked = watch.asked(gems, &snapshot.recipes());
        let checks = self.0.checks();
        let effect = checks.effect_of(snapshot, &asked, book.number, &options)?;
        Ok(effect.is_some_and(|[rights, verdict]| needs_person(rights) && needs_person(verdict)))
    }

    /// Whether the book has as many gems of a check as a match needs, or its text.
    fn could_match(
        &self,
        watch: &StoredWatch,
        gems: &WatchedGems,
        snapshot: &dyn Snapshot,
        book: &LateBook,
    ) -> bool {
        let is_same = |digest| watch.digests.contains(digest);
        book.record.digests().any(is_same)
            || snapshot.recipes().iter().any(|recipe| {
                let fewest = self.0.rule.on(recipe.rule()).fewest() as usize;
                book.common(recipe.name(), gems) >= fewest
            })
    }

    /// The options of a watched check, as they would be if the same key made it today.
    fn asked_again(
        &self,
        check: Uuid,
        watch: &StoredWatch,
    ) -> Result<Option<CheckOptions>, CatalogueError> {
        let Some(entry) = readable(self.0.decisions().entry(check))? else {
            return Ok(None);
        };
        let Some(by) = entry.by() else {
            return Ok(None);
        };
        // What is said to a later key of the same name is not for whoever filed the check.
        let own = if self.0.evidence().is_of_successor(&entry, Some(&by))? {
            BTreeSet::new()
        } else {
            self.0.by(by.clone()).own_libraries()?
        };
        let library = watch.library.as_deref().map(str::parse).transpose()?;
        Ok(Some(CheckOptions {
            library,
            by,
            own,
            policy: watch.policy.clone(),
            day: Some(today()),
            ..CheckOptions::default()
        }))
    }
}
