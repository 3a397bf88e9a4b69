//! What becomes of a harvest's books: they are read and added, lost when the source no longer has them, and restored.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::{fmt, mem};

use jiff::Timestamp;
use parking_lot::Mutex;
use rayon::prelude::*;
use url::Url;

use super::OnMissing;
use super::frontier::{KnownAddress, QueuedEntry, Seen};
use super::run::{Harvest, ROWS, Watched};
use super::walk::is_guess;
use super::web::{Download, Validators};
use super::{Entry, HarvestError, Reason, Source, SourceKind};
use lapidary_catalogue::api::{AddOutcome, Added, SourceError};
use lapidary_catalogue::{CatalogueError, Content, Gate, NewEntry, today};
use lapidary_common::description::Description;
use lapidary_common::error::Classified as _;
use lapidary_extract::{Book, ExtractError, Extracted, File};
use lapidary_store::{BookId, BookKey, RowChange};

/// How many bytes of text are added together.
const TEXT_BYTES: usize = 64 << 20;
/// The most books of an archive.
const MOST_BOOKS: usize = 1_000;
/// How many of them a refusal names.
const NAMED: usize = 3;

/// Held while files are read and their books added: this takes all processors, and memory for many texts, so the sources of a
/// process take turns.
static READING: Mutex<()> = Mutex::new(());

/// A file that was fetched, to be read and added.
pub(super) struct FetchedBook {
    pub(super) queued: QueuedEntry,
    pub(super) known: KnownAddress,
    pub(super) found: Download,
    pub(super) digest: String,
}

impl FetchedBook {
    /// What is known of its address when these are the books that were added.
    pub(super) fn into_known(self, ids: Vec<String>, source: &Source) -> KnownAddress {
        let Validators { etag, modified } = self.found.validators;
        let mut ids = ids.into_iter();
        KnownAddress {
            id: ids.next(),
            more: ids.collect(),
            added_as: Some((source.library.clone(), source.rights)),
            validity: source.validity.clone(),
            text: source.text.clone(),
            version: self.queued.entry.version,
            digest: Some(self.digest),
            state: Seen::FetchedBook,
            etag,
            modified,
            at: Timestamp::now(),
            ..self.known
        }
    }
}

/// A file whose books were read, or why it cannot be read.
type ReadFile = (FetchedBook, Result<Vec<Book>, ExtractError>);

/// Why a book of a file was not added.
pub(super) type Refused = (Reason, String);

/// The parts of a file that were refused: how many by reason, and why the first were.
#[derive(Default)]
pub(super) struct RefusedParts {
    reasons: BTreeMap<Reason, usize>,
    named: Vec<Refused>,
}

impl RefusedParts {
    pub(super) fn add(&mut self, refused: Refused) {
        *self.reasons.entry(refused.0).or_default() += 1;
        if self.named.len() < NAMED {
            self.named.push(refused);
        }
    }

    fn count(&self) -> usize {
        self.reasons.values().sum()
    }
}

/// What tells two versions of a book apart.
pub(super) fn digest(entry: &Entry, bytes: &[u8]) -> String {
    let described = serde_json::to_vec(&entry.description).unwrap_or_default();
    blake3::Hasher::new()
        .update(&described)
        .update(bytes)
        .finalize()
        .to_hex()
        .to_string()
}

/// Adding, changing and losing the books of a source.
pub(super) struct BookChanges<'h, 'c>(pub(super) &'h mut Harvest<'c>);

impl BookChanges<'_, '_> {
    /// Reads files on all processors and adds their books together. Feeds change books instead, and other servers send no files.
    pub(super) fn add(
        &mut self,
        books: Vec<FetchedBook>,
        rows: &mut Vec<RowChange>,
    ) -> Result<(), HarvestError> {
        if self.0.source.kind == SourceKind::Onix {
            return books
                .into_iter()
                .try_for_each(|feed| self.follow(feed, rows));
        }
        if self.0.source.kind == SourceKind::Lapidary {
            return self.add_exchanged(books, rows);
        }
        let (limits, readers, mut books) = (
            self.0.limits,
            &*Arc::clone(&self.0.readers),
            books.into_iter(),
        );
        let main = self.0.source.text.clone();
        let _alone = READING.lock();
        loop {
            let (mut read, mut text) = (Vec::new(), 0);
            while text < TEXT_BYTES {
                let some: Vec<FetchedBook> =
                    books.by_ref().take(rayon::current_num_threads()).collect();
                if some.is_empty() {
                    break;
                }
                let some: Vec<_> = some
                    .into_par_iter()
                    .map(|mut book| {
                        let file = file(&mut book.found);
                        (book, readers.read(file, main.as_ref(), limits))
                    })
                    .collect();
                let parts = some
                    .iter()
                    .filter_map(|(_, read)| read.as_ref().ok())
                    .flatten();
                text += parts
                    .filter_map(|part| part.read.as_ref().ok())
                    .map(|read| read.text.len())
                    .sum::<usize>();
                read.extend(some);
            }
            if read.is_empty() {
                return Ok(());
            }
            self.add_read(read, rows)?;
        }
    }

    fn add_read(
        &mut self,
        files: Vec<ReadFile>,
        rows: &mut Vec<RowChange>,
    ) -> Result<(), HarvestError> {
        let (mut entries, mut ids_of_files) = (Vec::new(), Vec::new());
        let mut texts = HashMap::new();
        for (book, read) in files {
            match read {
                Ok(parts) if self.is_twin(&book, &parts, &mut texts, rows)? => {
                    self.0.tally().unchanged += 1;
                    rows.push(self.0.frontier.put_known(&KnownAddress {
                        state: Seen::Page,
                        ..book.known
                    }));
                }
                Ok(parts) if parts.len() > MOST_BOOKS => {
                    let why = format!("it has {} books, more than {MOST_BOOKS}", parts.len());
                    self.0
                        .refuse_entry(&book.queued, book.known, Reason::TooLarge, why, rows);
                }
                Ok(parts) => {
                    let ids = self.entries_of(&book.queued.entry, parts, &mut entries)?;
                    ids_of_files.push((book, ids));
                }
                Err(error @ ExtractError::Busy { .. }) => {
                    self.0
                        .try_again(book.queued, book.known, &error.to_string(), None, rows);
                }
                Err(error) => {
                    let why = error.to_string();
                    self.0
                        .refuse_entry(&book.queued, book.known, Reason::BadBook, why, rows);
                }
            }
        }
        self.add_entries(entries, ids_of_files, rows)
    }

    /// Adds books together, and writes down what became of those of each file.
    pub(super) fn add_entries(
        &mut self,
        entries: Vec<NewEntry>,
        ids_of_files: Vec<(FetchedBook, Vec<Result<BookId, Refused>>)>,
        rows: &mut Vec<RowChange>,
    ) -> Result<(), HarvestError> {
        let editor = self.0.source.editor_of_definer(&self.0.editor);
        let mut added = editor.ingest().add_some(entries).into_iter();
        for (book, ids) in ids_of_files {
            let (kept, refused) = self.kept_and_refused(ids, &mut added)?;
            self.settle(book, kept, refused, rows)?;
            let (tally, refused) = (*self.0.tally(), None);
            (self.0.watch)(&Watched { tally, refused });
        }
        Ok(())
    }

    /// Appends the books of a file to those to add. Returns their ids, or why one cannot be added.
    fn entries_of(
        &self,
        listed: &Entry,
        parts: Vec<Book>,
        entries: &mut Vec<NewEntry>,
    ) -> Result<Vec<Result<BookId, Refused>>, HarvestError> {
        let is_archive = parts.len() > 1;
        let mut ids = Vec::new();
        for Book { name, read } in parts {
            let name = name.filter(|_| is_archive);
            ids.push(match read {
                Ok(read) => {
                    let entry = self.entry(listed, name.as_deref(), read)?;
                    let id = entry.key.id.clone();
                    entries.push(entry);
                    Ok(id)
                }
                Err(why) => Err((Reason::BadBook, of_part(name.as_deref(), &why))),
            });
        }
        Ok(ids)
    }

    /// Counts the books of a file, each of which `added` has in turn. Returns the ids of those that are kept, and why others are
    /// not.
    fn kept_and_refused(
        &mut self,
        ids: Vec<Result<BookId, Refused>>,
        added: &mut impl Iterator<Item = Result<Added, CatalogueError>>,
    ) -> Result<(Vec<String>, RefusedParts), HarvestError> {
        let (mut kept, mut refused) = (Vec::new(), RefusedParts::default());
        for id in ids {
            match id.map(|id| added.next().map(|added| (id, added))) {
                Err(why) => refused.add(why),
                Ok(None) => {}
                Ok(Some((id, Ok(added)))) => {
                    if added.outcome == AddOutcome::Unchanged {
                        self.0.tally().unchanged += 1;
                    } else {
                        self.0.tally().added += 1;
                    }
                    kept.push(id.into());
                }
                Ok(Some((id, Err(error)))) if error.code().kind().is_input() => {
                    let reason = match error {
                        CatalogueError::Matches(_) => Reason::Matches,
                        _ => Reason::BadRecord,
                    };
                    refused.add((reason, of_part(Some(id.as_str()), &error)));
                }
                Ok(Some((_, Err(error)))) => return Err(error.into()),
            }
        }
        Ok((kept, refused))
    }

    /// Whether another page of a site has the same text. `texts` has the addresses of this batch by the digests of their texts.
    fn is_twin(
        &mut self,
        book: &FetchedBook,
        parts: &[Book],
        texts: &mut HashMap<String, String>,
        rows: &mut Vec<RowChange>,
    ) -> Result<bool, HarvestError> {
        let [Book { read: Ok(read), .. }] = parts else {
            return Ok(false);
        };
        if self.0.source.kind != SourceKind::Site || book.known.id.is_some() {
            return Ok(false);
        }
        let digest = blake3::hash(read.text.as_bytes()).to_hex().to_string();
        let address = &book.queued.entry.address;
        let known = match texts.get(&digest) {
            Some(of) => Some(of.clone()),
            None => self.0.frontier.with_text(&digest)?,
        };
        if known.is_some_and(|of| of != *address) {
            if is_guess(&book.queued.entry) {
                self.0.tried(false);
            }
            return Ok(true);
        }
        rows.push(self.0.frontier.put_text(&digest, address));
        texts.insert(digest, address.clone());
        Ok(false)
    }

    /// Writes down which books of a file were added, and which were not.
    fn settle(
        &mut self,
        book: FetchedBook,
        kept: Vec<String>,
        refused: RefusedParts,
        rows: &mut Vec<RowChange>,
    ) -> Result<(), HarvestError> {
        if kept.is_empty() {
            let (reason, why) = refused
                .named
                .into_iter()
                .next()
                .unwrap_or((Reason::BadBook, "it has no book".to_owned()));
            self.0
                .refuse_entry(&book.queued, book.known, reason, why, rows);
            return Ok(());
        }
        for id in book.known.ids().filter(|id| !kept.contains(id)) {
            self.0.tally().gone += 1;
            self.disable(id, true)?;
        }
        if is_guess(&book.queued.entry) {
            self.0.tried(true);
        }
        self.0.state.new += u64::from(book.known.id.is_none());
        let is_archive = kept.len() + refused.count() > 1;
        let mut known = book.into_known(kept, &self.0.source);
        self.restore(&mut known)?;
        rows.push(self.0.frontier.put_known(&known));
        if is_archive {
            rows.push(self.0.frontier.drop_fault(&known.address));
            self.refuse_parts(&known, &refused, rows);
        }
        Ok(())
    }

    /// Notes which books of an archive were refused, though others were added.
    pub(super) fn refuse_parts(
        &mut self,
        known: &KnownAddress,
        refused: &RefusedParts,
        rows: &mut Vec<RowChange>,
    ) {
        let Some((reason, _)) = refused.named.first() else {
            return;
        };
        for (reason, count) in &refused.reasons {
            (0..*count).for_each(|_| self.0.count_refused(*reason));
        }
        let named = refused.named.iter();
        let named: Vec<&str> = named.map(|(_, why)| why.as_str()).collect();
        let count = refused.count();
        let more = if count > NAMED { "; …" } else { "" };
        let why = format!(
            "{count} of its books were refused: {}{more}",
            named.join("; ")
        );
        let tally = *self.0.tally();
        (self.0.watch)(&Watched {
            tally,
            refused: Some((&known.address, &why)),
        });
        let (address, at) = (known.address.clone(), known.at);
        rows.push(self.0.frontier.put_fault(&SourceError {
            url: address,
            reason: *reason,
            detail: why,
            failed_at: at,
            retry_at: None,
        }));
    }

    /// What refuses books, if anything does. A refusal names no books of other libraries.
    pub(super) fn gate(&self) -> Option<Gate> {
        let visible = Some([self.0.source.library.clone()].into());
        self.0.source.gated.then(|| Gate {
            visible,
            ..Gate::default()
        })
    }

    /// The book to add for a file, or for a part of an archive.
    fn entry(
        &self,
        entry: &Entry,
        part: Option<&str>,
        read: Extracted,
    ) -> Result<NewEntry, HarvestError> {
        // What the source says of an archive is said of none of its books.
        let said = if part.is_none() {
            entry.description.clone()
        } else {
            Description::default()
        };
        let mut description = said.or(read.metadata);
        let is_web = entry.address.starts_with("http");
        if is_web && !description.identifiers.contains(&entry.address) {
            description.identifiers.push(entry.address.clone());
        }
        let of_file = id_of(entry)?;
        let id = part.map_or(Ok(of_file.clone()), |part| {
            let whole = format!("{of_file}/{part}");
            whole
                .parse()
                .or_else(|_| blake3::hash(whole.as_bytes()).to_hex().parse())
        })?;
        let key = BookKey {
            library: self.0.source.library.clone(),
            id,
        };
        let gate = self.gate();
        let (validity, fetched) = (self.0.source.validity.clone(), Some(Timestamp::now()));
        let (content, hidden) = (Content::text(read.text), read.hidden);
        Ok(NewEntry {
            description,
            validity,
            hidden,
            fetched,
            gate,
            ..NewEntry::new(key, self.0.source.rights, content)
        })
    }

    /// Forgets the addresses without a book that this run did not list. If its list is complete, their pages and books are gone, too.
    pub(super) fn lose_unlisted(&mut self, is_complete: bool) -> Result<(), HarvestError> {
        let (mut after, mut refused) = (None, 0);
        loop {
            let known = self.0.frontier.known_after(after.as_deref(), ROWS)?;
            let Some((last, _)) = known.last() else { break };
            after = Some(last.clone());
            let mut rows = Vec::new();
            for (_, known) in known {
                let (is_listed, is_of_book) = (known.run == self.0.state.run, known.id.is_some());
                match known.state {
                    Seen::Refused(_) if is_listed || is_of_book => {
                        refused += 1;
                        rows.extend(
                            (!is_listed && is_complete)
                                .then(|| self.0.frontier.drop_fault(&known.address)),
                        );
                    }
                    Seen::Refused(_) => {
                        rows.push(self.0.frontier.drop_fault(&known.address));
                        self.forget(&known, &mut rows);
                    }
                    _ if is_listed || !is_complete => {}
                    Seen::FetchedBook => self.lose(known, &mut rows)?,
                    Seen::Page if !is_of_book => self.forget(&known, &mut rows),
                    Seen::Queued | Seen::Page | Seen::Gone => {}
                }
            }
            self.0.write(rows)?;
        }
        self.0.state.refused = refused;
        Ok(())
    }

    /// Forgets an address, and what is kept of it.
    fn forget(&mut self, known: &KnownAddress, rows: &mut Vec<RowChange>) {
        rows.push(self.0.frontier.drop_known(&known.address));
        if let Some(links) = &known.links {
            self.0.state.kept_bytes = self.0.state.kept_bytes.saturating_sub(links.bytes());
            rows.push(self.0.frontier.drop_links(&known.address));
        }
    }

    /// The source no longer has a book.
    pub(super) fn lose(
        &mut self,
        mut known: KnownAddress,
        rows: &mut Vec<RowChange>,
    ) -> Result<(), HarvestError> {
        for id in known.ids().filter(|_| !known.gone) {
            self.0.tally().gone += 1;
            self.disable(id, true)?;
        }
        (known.state, known.gone, known.at) = (Seen::Gone, true, Timestamp::now());
        rows.push(self.0.frontier.put_known(&known));
        Ok(())
    }

    /// The source says so itself, by the id of the record.
    pub(super) fn lose_record(&mut self, entry: &Entry) -> Result<(), HarvestError> {
        let key = BookKey {
            library: self.0.source.library.clone(),
            id: id_of(entry)?,
        };
        let record = self.0.editor.books().get(&key)?;
        if record.is_some_and(|record| !record.is_disabled()) {
            self.0.tally().gone += 1;
            self.disable(key.id.as_str(), true)?;
        }
        Ok(())
    }

    /// A book that was gone is there again.
    pub(super) fn restore(&mut self, known: &mut KnownAddress) -> Result<(), HarvestError> {
        if mem::take(&mut known.gone) {
            known.ids().try_for_each(|id| self.disable(id, false))?;
        }
        Ok(())
    }

    /// Disables a book that is gone, or enables one that is there again. What somebody else disabled stays so, with its note.
    fn disable(&self, id: &str, disabled: bool) -> Result<(), HarvestError> {
        if self.0.source.gone != OnMissing::Disable {
            return Ok(());
        }
        let key = BookKey {
            library: self.0.source.library.clone(),
            id: id.parse()?,
        };
        let (editor, lost) = (
            self.0.source.editor_of_definer(&self.0.editor),
            format!("gone from the source {} on ", self.0.name),
        );
        if disabled {
            editor.books().lose(&key, &format!("{lost}{}", today()))?;
        } else {
            editor.books().restore(&key, &lost)?;
        }
        Ok(())
    }
}

/// Why a part of an archive was refused.
fn of_part(name: Option<&str>, why: &dyn fmt::Display) -> String {
    name.map_or_else(|| why.to_string(), |name| format!("{name}: {why}"))
}

/// The file of a book that was fetched. Its name and encoding are those that the server says.
pub(super) fn file(found: &mut Download) -> File {
    let name = Url::parse(&found.address).ok();
    let name = name
        .as_ref()
        .map_or(found.address.as_str(), Url::path)
        .rsplit('/')
        .next()
        .map(str::to_owned);
    let content_type = found.content_type.as_deref().unwrap_or_default();
    let charset = content_type
        .split(';')
        .find_map(|part| part.trim().strip_prefix("charset="));
    let encoding = charset
        .filter(|_| content_type.starts_with("text/plain"))
        .and_then(|charset| charset.trim_matches('"').parse().ok());
    File {
        bytes: mem::take(&mut found.bytes).into(),
        name,
        encoding,
    }
}

/// The id of a book: as the source says, else its address, else a digest of the address.
pub(super) fn id_of(entry: &Entry) -> Result<BookId, HarvestError> {
    let said = entry.id.as_deref().and_then(|id| id.parse().ok());
    let id = said.or_else(|| entry.address.parse().ok());
    Ok(id.map_or_else(
        || blake3::hash(entry.address.as_bytes()).to_hex().parse(),
        Ok,
    )?)
}
