//! Export and import of a catalogue as JSON Lines (`docs/reference/export.md`). Memory use does not depend on the
//! size of the catalogue.

use std::io::{self, BufRead, Write};
use std::ops::Deref;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lapidary_gems::{PackedFold, PlacedGem, Recipe, RecipeName};
use rayon::iter::{
    IntoParallelRefIterator as _, IntoParallelRefMutIterator as _, ParallelIterator as _,
};
use serde::{Deserialize, Serialize};

use super::add::{StoredBook, recut_of};
use super::books::{Listed, of_little_text};
use super::copy::{complete, total_books};
use super::decisions::catalogue_id;
use super::{BookGems, Catalogue, CatalogueError, Content, Editor};
use crate::api::{ExportBook, ExportDecision, ExportEnd, ExportGem, ExportHeader, Imported};
use crate::parse;
use lapidary_common::count::count;
use lapidary_common::description::Description;
use lapidary_store::change::last_of_each_key;
use lapidary_store::recipes::RecipeState;
use lapidary_store::{
    Actor, BookKey, NewBook, Record, RocksStore, Snapshot, StoreError, UNWATCHED, Watch,
};

/// The format version written. All versions from 1 up to it can be read.
const VERSION: u32 = 1;
/// What the line of a decision starts with.
const DECISION: &[u8] = b"{\"decision\":";
/// Number of books read or written at a time; fewer if together they take more than `BATCH_BYTES`.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 4 << 20;
/// Number of bytes read of a line at a time.
const STEP: u64 = 256 << 10;
/// Maximum length of a line: a book of hundreds of megabytes.
const LINE: u64 = 2 << 30;

/// What the identifier of a book begins with that says where it comes from: `lapidary:CATALOGUE/LIBRARY/ID`.
const ORIGIN: &str = "lapidary:";

/// Receives the current memory use of an import in bytes. Returns `false` to refuse it.
pub type Account<'a> = &'a dyn Fn(usize) -> bool;
/// An [`Account`] without a limit.
const UNCOUNTED: Account<'static> = &|_| true;

/// Imports an export into a folder. If the folder is empty or does not exist, it becomes a complete catalogue or stays as it is.
/// Otherwise each book is added to the catalogue there, replacing any book with the same key that is not the same.
///
/// # Errors
/// [`CatalogueError::BadExport`] with the line number, and errors of the store.
pub fn import(
    folder: &Path,
    input: &mut dyn BufRead,
    watch: Watch<'_>,
) -> Result<Imported, CatalogueError> {
    match RocksStore::open(folder) {
        Err(StoreError::Missing(_)) => {
            let mut reading = ExportReader::new(input, LINE, UNCOUNTED);
            let header = reading.header()?;
            let (store, staged) =
                RocksStore::stage(folder, &header.recipes, reading.books(header.books, watch))?;
            let catalogue = Catalogue::with_store(Box::new(store));
            catalogue
                .by(Actor::Local)
                .libraries()
                .distrust(&header.untrusted)?;
            reading.decisions(&catalogue.by(Actor::Local))?;
            catalogue.by(Actor::Local).keep_folds(header.keeps_folds)?;
            for name in header.ready() {
                catalogue
                    .store
                    .set_recipe(&Actor::Local, name, RecipeState::Ready)?;
            }
            drop(catalogue);
            staged.publish()?;
            Ok(Imported {
                books: header.books,
                written: header.books,
            })
        }
        store => complete(Catalogue::with_store(Box::new(store?)))?
            .transfer()
            .import_more(input, watch),
    }
}

/// Export of a catalogue, and import into it ([`Catalogue::transfer`]).
#[derive(Debug, Clone)]
pub struct Transfer<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> Transfer<C> {
    /// Writes the current state of the catalogue and returns the number of books. The same books always produce the
    /// same bytes. Gems of secret recipes are left out.
    ///
    /// # Errors
    /// [`CatalogueError::Output`] if writing fails.
    pub fn export(&self, out: &mut dyn Write, watch: Watch<'_>) -> Result<u64, CatalogueError> {
        let snapshot = self.0.store.snapshot();
        let libraries = snapshot.libraries()?;
        let books = total_books(&libraries);
        let mut recipes = snapshot.recipes();
        recipes.retain(|recipe| recipe.secret().is_none());
        let incomplete = recipes
            .iter()
            .map(Recipe::name)
            .filter(|name| !snapshot.is_ready(name))
            .cloned()
            .collect();
        let header = ExportHeader {
            lapidary_export: VERSION,
            recipes: recipes.clone(),
            incomplete,
            untrusted: self
                .0
                .libraries()
                .statements()?
                .untrusted()
                .cloned()
                .collect(),
            keeps_folds: self.0.keeps_folds()?,
            books,
        };
        write_line(out, &header)?;
        let mut done = 0;
        for library in libraries {
            let mut after = None;
            loop {
                let page = snapshot.walk(&library.library, after.as_ref(), BATCH)?;
                let Some((_, last)) = page.last() else { break };
                after = Some(last.key.id.clone());
                done += self.write_books(out, &*snapshot, &recipes, page)?;
                watch(done, books)?;
            }
        }
        self.0
            .decisions()
            .each(|decision| write_line(out, &ExportDecision { decision }))?;
        write_line(out, &ExportEnd { end: done })?;
        out.flush().map_err(CatalogueError::Output)?;
        Ok(done)
    }

    /// Writes books, without those that are gone. Returns their number.
    fn write_books(
        &self,
        out: &mut dyn Write,
        snapshot: &dyn Snapshot,
        recipes: &[Recipe],
        books: Vec<Listed>,
    ) -> Result<u64, CatalogueError> {
        let mut written = 0;
        for some in of_little_text(books) {
            let complete = self.0.books().complete(snapshot, &some)?;
            for book in complete.into_iter().flatten() {
                write_line(out, &line(recipes, book))?;
                written += 1;
            }
        }
        Ok(written)
    }

    /// Imports an export into this catalogue, as [`Transfer::import_into`] does.
    ///
    /// # Errors
    /// [`CatalogueError::BadExport`] with the line number, and errors of the store.
    pub fn import_more(
        &self,
        input: &mut dyn BufRead,
        watch: Watch<'_>,
    ) -> Result<Imported, CatalogueError> {
        let holds_none = self.0.store.snapshot().libraries()?.is_empty();
        let imported = self
            .0
            .by(Actor::Local)
            .transfer()
            .import_into(input, LINE, watch, UNCOUNTED)?;
        // So many changes are left to merge that the catalogue would take several times its space.
        if holds_none && self.0.store.sharing().is_some() {
            self.0.compact()?;
        }
        self.0.flush()?;
        Ok(imported)
    }
}

impl Transfer<Editor<'_>> {
    /// Imports an export into this catalogue, with lines of at most `line` bytes. Each book is added, replacing any book with
    /// the same key; one that is there exactly like this is left as it is, so an export also refills a catalogue that has lost
    /// books. The catalogue stays usable meanwhile. A catalogue without books takes over the export's recipes; any other one
    /// adds them to its own, as not ready.
    ///
    /// # Errors
    /// [`CatalogueError::BadExport`] with the line number; the books before that line are imported. Errors of the
    /// store.
    pub fn import_into(
        &self,
        input: &mut dyn BufRead,
        line: u64,
        watch: Watch<'_>,
        account: Account<'_>,
    ) -> Result<Imported, CatalogueError> {
        let holds_none = self.0.store.snapshot().libraries()?.is_empty();
        let mut written = 0;
        let mut reading = ExportReader::new(input, line, account);
        let header = reading.header()?;
        self.0.libraries().distrust(&header.untrusted)?;
        self.0.feeding.alone(|| self.take_recipes(&header))?;
        loop {
            let mut some = Vec::new();
            reading.held = 0;
            while !reading.ended && some.len() < BATCH && reading.held < BATCH_BYTES {
                let Some(book) = reading.book()? else { break };
                reading.held += size(&book);
                some.push(book);
            }
            if some.is_empty() {
                reading.decisions(&self.0)?;
                let books = header.books;
                return Ok(Imported { books, written });
            }
            watch(reading.books, header.books)?;
            let _feed = self.0.feeding.shared();
            some = last_of_each_key(some);
            self.add_own_gems(&mut some)?;
            if !holds_none {
                some = self.missing_or_different(some)?;
            }
            if !some.is_empty() {
                written += some.len() as u64;
                self.0.store.put(&self.0.actor, some)?;
            }
        }
    }

    /// A book for another server, as an export has it, but without its note, and without its text and folds unless `with_text`. An
    /// identifier says where it comes from. `None` if there is no such book.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn book(
        &self,
        key: &BookKey,
        with_text: bool,
    ) -> Result<Option<ExportBook>, CatalogueError> {
        let Some(mut book) = self.0.books().complete_one(key)? else {
            return Ok(None);
        };
        if !with_text {
            book.folds.clear();
            book.text = None;
        }
        book.record.standing.note = None;
        let identifiers = &mut book.record.description.identifiers;
        if !identifiers.iter().any(|one| one.starts_with(ORIGIN)) {
            let BookKey { library, id } = key;
            identifiers.push(format!("{}{library}/{id}", self.own_origin()?));
        }
        let mut recipes = self.0.store.snapshot().recipes();
        recipes.retain(|recipe| recipe.secret().is_none());
        Ok(Some(line(&recipes, book)))
    }

    /// Whether a book that another server describes comes from this catalogue.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn is_from_here(&self, description: &Description) -> Result<bool, CatalogueError> {
        let own = self.own_origin()?;
        let identifiers = &description.identifiers;
        Ok(identifiers.iter().any(|one| one.starts_with(&own)))
    }

    /// The content of a book that another server sent: its text, or else its gems of the first public recipe of this catalogue that
    /// it has any of.
    #[must_use]
    pub fn content(&self, sent: ExportBook) -> Option<Content> {
        if let Some(text) = sent.text {
            let clean = sent.book.clean;
            return Some(Content::Text { text, clean });
        }
        let mut gems = sent.gems;
        let known = self.0.recipes().all().into_iter();
        let (recipe, gems) = known
            .filter(|recipe| recipe.secret().is_none() && !recipe.is_signature())
            .filter_map(|recipe| Some((recipe.name().clone(), gems.remove(recipe.name())?)))
            .find(|(_, gems)| !gems.is_empty())?;
        let gems = gems.into_iter().map(|gem| match gem {
            ExportGem::Placed(gem, ..) | ExportGem::Placeless([gem]) => gem,
        });
        Some(Content::Gems(BookGems {
            recipe: Some(recipe),
            gems: gems.collect(),
        }))
    }

    /// What the identifiers of books that come from this catalogue begin with.
    fn own_origin(&self) -> Result<String, CatalogueError> {
        Ok(format!("{ORIGIN}{}/", catalogue_id(&self.0)?))
    }

    /// Adds the gems of secret recipes, which no export has, from the folds or texts of the books, or from the catalogue if it
    /// has a book with the same content.
    fn add_own_gems(&self, books: &mut [NewBook]) -> Result<(), CatalogueError> {
        let snapshot = self.0.store.snapshot();
        let mut secret = snapshot.recipes();
        secret.retain(|recipe| recipe.secret().is_some());
        if secret.is_empty() {
            return Ok(());
        }
        books.par_iter_mut().try_for_each(|book| {
            for recipe in &secret {
                let (record, text) = (&book.record, book.text.as_deref());
                let fold = book.folds.iter().find(|fold| fold.base() == recipe.base());
                let gems = match recut_of(recipe, record, fold, text)? {
                    Some(gems) => Some(gems),
                    None => gems_there(&*snapshot, recipe, record)?,
                };
                if let Some(gems) = gems {
                    let name = recipe.name();
                    book.record.gems.insert(name.clone(), gems.len() as u32);
                    book.gems.insert(name.clone(), gems);
                }
            }
            Ok(())
        })
    }

    /// The books that are not in the catalogue exactly like this.
    fn missing_or_different(
        &self,
        mut books: Vec<NewBook>,
    ) -> Result<Vec<NewBook>, CatalogueError> {
        let snapshot = self.0.store.snapshot();
        let is_there = books.par_iter().map(|book| is_there(&*snapshot, book));
        let mut is_there = is_there.collect::<Result<Vec<_>, _>>()?.into_iter();
        books.retain(|_| is_there.next() == Some(false));
        Ok(books)
    }

    fn take_recipes(&self, header: &ExportHeader) -> Result<(), CatalogueError> {
        let holds_none = self.0.store.snapshot().libraries()?.is_empty();
        for recipe in &header.recipes {
            self.0.store.add_recipe(&self.0.actor, recipe)?;
        }
        if holds_none {
            // The secret of a catalogue that has lost its books stays.
            let known = self.0.recipes().all();
            let is_default = known.first().is_some_and(|first| first.secret().is_some());
            let own = known.into_iter().filter(|known| known.secret().is_some());
            let mut recipes = header.recipes.clone();
            let at = if is_default { 0 } else { recipes.len() };
            recipes.splice(at..at, own);
            self.match_recipes(&recipes, header.ready().cloned().collect())
        } else {
            Ok(())
        }
    }

    /// Makes these the recipes of the catalogue, the default first.
    pub(super) fn match_recipes(
        &self,
        recipes: &[Recipe],
        ready: Vec<RecipeName>,
    ) -> Result<(), CatalogueError> {
        for recipe in recipes {
            self.0.store.add_recipe(&self.0.actor, recipe)?;
        }
        let Some(default) = recipes.first() else {
            return Ok(());
        };
        let anyway = RecipeState::Default { anyway: true };
        self.0
            .store
            .set_recipe(&self.0.actor, default.name(), anyway)?;
        for name in ready {
            self.0
                .store
                .set_recipe(&self.0.actor, &name, RecipeState::Ready)?;
        }
        for recipe in self.0.recipes().all() {
            if recipes.iter().all(|other| other.name() != recipe.name()) {
                self.0
                    .store
                    .drop_recipe(&self.0.actor, recipe.name(), UNWATCHED)?;
            }
        }
        Ok(())
    }
}

/// The gems of a book with this key and content in a snapshot.
fn gems_there(
    snapshot: &dyn Snapshot,
    recipe: &Recipe,
    record: &Record,
) -> Result<Option<Vec<PlacedGem>>, StoreError> {
    match StoredBook::find(snapshot, &record.key)? {
        Some(there) if there.record.digest == record.digest => {
            match snapshot.gems(recipe.name(), there.number) {
                // It is being changed.
                Err(StoreError::Changed(_)) => Ok(None),
                gems => gems,
            }
        }
        _ => Ok(None),
    }
}

/// Whether a snapshot has a book exactly like this: its record, gems and text, and its folds.
fn is_there(snapshot: &dyn Snapshot, book: &NewBook) -> Result<bool, StoreError> {
    // With the same record, what is read besides is no larger than what was sent.
    let found = StoredBook::find(snapshot, &book.record.key)?;
    let Some(StoredBook { number, .. }) = found.filter(|found| found.record == book.record) else {
        return Ok(false);
    };
    let stored = match snapshot.whole(&[number]) {
        // It is being changed: that of the export is written.
        Err(StoreError::Changed(_)) => None,
        stored => stored?.pop().flatten(),
    };
    Ok(stored.is_some_and(|stored| {
        stored.gems == book.gems
            && stored.text == book.text
            && book.folds.iter().all(|fold| stored.folds.contains(fold))
    }))
}

/// Estimates the memory that a book takes.
fn size(book: &NewBook) -> usize {
    let gems: usize = book.gems.values().map(Vec::len).sum();
    let folds: usize = book.folds.iter().map(|fold| fold.as_bytes().len()).sum();
    // The text, and its copy in the batch.
    let text = 2 * book.text.as_ref().map_or(0, String::len);
    gems * size_of::<PlacedGem>() + folds + text
}

fn write_line(out: &mut dyn Write, line: &impl Serialize) -> Result<(), CatalogueError> {
    serde_json::to_writer(&mut *out, line)
        .map_err(io::Error::from)
        .map_err(CatalogueError::Output)?;
    out.write_all(b"\n").map_err(CatalogueError::Output)
}

fn line(recipes: &[Recipe], book: NewBook) -> ExportBook {
    let NewBook {
        mut record,
        mut gems,
        folds,
        text,
        ..
    } = book;
    record
        .gems
        .retain(|name, _| recipes.iter().any(|recipe| recipe.name() == name));
    let shown = recipes
        .iter()
        .filter_map(|recipe| Some((recipe, gems.remove(recipe.name())?)));
    let shown = shown.map(|(recipe, list)| {
        (
            recipe.name().clone(),
            list.into_iter()
                .map(|gem| ExportGem::new(gem, recipe))
                .collect(),
        )
    });
    let gems = shown.collect();
    let folds = folds.iter().map(|fold| {
        (
            fold.base().to_owned(),
            BASE64_STANDARD.encode(fold.as_bytes()),
        )
    });
    ExportBook {
        book: record.into(),
        gems,
        folds: folds.collect(),
        text,
    }
}

/// The longest first line: recipes may have large lexicons.
const LONGEST_HEADER: usize = 64 << 20;
/// How many times its length reading the first line takes.
const HEADER_PARSED: usize = 24;

/// An export being read.
struct ExportReader<'a> {
    input: &'a mut dyn BufRead,
    line: Vec<u8>,
    longest: u64,
    number: u64,
    books: u64,
    ended: bool,
    account: Account<'a>,
    /// Bytes of books that were read but not yet written.
    held: usize,
    /// Whether the current line is the first decision.
    decides: bool,
}

impl<'a> ExportReader<'a> {
    fn new(input: &'a mut dyn BufRead, longest: u64, account: Account<'a>) -> Self {
        Self {
            input,
            line: Vec::new(),
            longest,
            number: 0,
            books: 0,
            ended: false,
            account,
            held: 0,
            decides: false,
        }
    }

    /// Reports the memory use of the held books plus `bytes`.
    fn take(&self, bytes: usize) -> Result<(), CatalogueError> {
        if (self.account)(self.held + bytes) {
            Ok(())
        } else {
            Err(self.bad("there is not enough memory for this line"))
        }
    }

    /// The books after the header, up to the end or the first error.
    fn books(
        &mut self,
        total: u64,
        watch: Watch<'_>,
    ) -> impl Iterator<Item = Result<NewBook, CatalogueError>> {
        std::iter::from_fn(move || {
            let book = self.book().transpose()?;
            Some(book.and_then(|book| {
                watch(self.books, total)?;
                Ok(book)
            }))
        })
        .fuse()
    }

    fn bad(&self, why: impl Into<String>) -> CatalogueError {
        CatalogueError::BadExport {
            line: self.number,
            why: why.into(),
        }
    }

    /// Reads a line. Returns `false` at the end.
    fn next(&mut self) -> Result<bool, CatalogueError> {
        self.line = Vec::new();
        self.number += 1;
        loop {
            // Growing the buffer holds it twice.
            self.take(2 * (self.line.len() + STEP as usize))?;
            let mut step = io::Read::take(&mut *self.input, STEP);
            let read = step.read_until(b'\n', &mut self.line);
            let read = read.map_err(|e| self.bad(format!("the line cannot be read: {e}")))?;
            if self.line.len() as u64 >= self.longest {
                return Err(self.bad("the line is too long"));
            }
            if (read as u64) < STEP || self.line.ends_with(b"\n") {
                return Ok(!self.line.is_empty());
            }
        }
    }

    fn header(&mut self) -> Result<ExportHeader, CatalogueError> {
        #[derive(Deserialize)]
        struct Version {
            lapidary_export: u32,
        }
        self.next()?;
        let version =
            serde_json::from_slice(&self.line).map(|Version { lapidary_export }| lapidary_export);
        match version {
            Ok(1..=VERSION) if self.line.len() > LONGEST_HEADER => Err(self.bad("the line is too long")),
            Ok(1..=VERSION) => {
                self.take(HEADER_PARSED * self.line.len())?;
                let header: ExportHeader = parse::json(&self.line).map_err(|wrong| self.bad(wrong))?;
                if header.recipes.iter().any(|recipe| recipe.secret().is_some()) {
                    return Err(self.bad("it has a recipe with a secret, which no export has"));
                }
                Ok(header)
            }
            Ok(newer) => Err(self
                .bad(format!("the export has version {newer}, but this program supports up to {VERSION}; update it"))),
            Err(_) => Err(self.bad("this is not an export of a catalogue")),
        }
    }

    /// The next book; `None` after the last.
    fn book(&mut self) -> Result<Option<NewBook>, CatalogueError> {
        if !self.next()? {
            return Err(self.bad("the end is missing, so the export is incomplete; export again"));
        }
        if self.line.starts_with(DECISION) {
            (self.decides, self.ended) = (true, true);
            return Ok(None);
        }
        self.end_or_book()
    }

    /// Adds the decisions after the books.
    fn decisions(&mut self, to: &Editor<'_>) -> Result<(), CatalogueError> {
        while self.decides {
            self.take(2 * self.line.len())?;
            let ExportDecision { decision } =
                parse::json(&self.line).map_err(|wrong| self.bad(wrong))?;
            if !to.decisions().import(decision)? {
                return Err(self.bad("the catalogue has another decision with this id"));
            }
            if !self.next()? {
                return Err(
                    self.bad("the end is missing, so the export is incomplete; export again")
                );
            }
            self.decides = self.line.starts_with(DECISION);
            if !self.decides && self.end_or_book()?.is_some() {
                return Err(self.bad("a book comes after the decisions"));
            }
        }
        Ok(())
    }

    /// Ends the reading at the last line, which says how many books there are.
    fn end(&mut self, said: u64) -> Result<(), CatalogueError> {
        let books = self.books;
        self.ended = true;
        if self.next()? {
            return Err(self.bad("there is data after the end of the export"));
        }
        if said == books {
            return Ok(());
        }
        let books = count(books, "book", "books");
        Err(self.bad(format!(
            "the export has {books}, but its last line says {said}"
        )))
    }

    /// The book in the current line; `None` if that is the end.
    fn end_or_book(&mut self) -> Result<Option<NewBook>, CatalogueError> {
        if let Ok(ExportEnd { end }) = serde_json::from_slice(&self.line) {
            return self.end(end).map(|()| None);
        }
        self.take(2 * self.line.len() + most_gems(&self.line) * size_of::<PlacedGem>())?;
        let ExportBook {
            book,
            gems,
            folds,
            text,
        } = parse::json(&self.line).map_err(|wrong| self.bad(wrong))?;
        // No export has gems of recipes with a secret, so these are made up.
        let is_public = |name: &RecipeName| name.without_secret().is_none();
        let mut book = Record::from(book);
        book.gems.retain(|name, _| is_public(name));
        book.within_bounds().map_err(|e| self.bad(e.to_string()))?;
        let gems = gems
            .into_iter()
            .filter(|(name, _)| is_public(name))
            .map(|(name, gems)| (name, gems.into_iter().map(PlacedGem::from).collect()));
        let folds = folds
            .iter()
            .map(|(base, bytes)| PackedFold::new(base, BASE64_STANDARD.decode(bytes).ok()?))
            .collect::<Option<_>>();
        let folds = folds.ok_or_else(|| self.bad("a fold is invalid"))?;
        if book.text_kept != text.is_some() || text.as_ref().is_some_and(|text| !book.is_of(text)) {
            return Err(self.bad("the text is not the one that the record describes"));
        }
        self.books += 1;
        Ok(Some(NewBook {
            gems: gems.collect(),
            folds,
            text,
            ..NewBook::without_gems(book, true)
        }))
    }
}

/// An upper bound: each list, and each item between commas, is at most one gem.
fn most_gems(line: &[u8]) -> usize {
    let lists = memchr::memchr2_iter(b'[', b'{', line).count();
    2 * lists + memchr::memchr_iter(b',', line).count()
}

#[cfg(test)]
mod tests;
