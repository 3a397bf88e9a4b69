//! What becomes of a harvest's books: they are read and added, lost when the source no longer has them, and restored.

use std::collections::HashMap;
use std::mem;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rayon::prelude::*;
use url::Url;

use super::frontier::{Known, Queued, Seen};
use super::run::{Harvest, Watched};
use super::source::Gone;
use super::walk::is_guess;
use super::web::{Found, Validators};
use super::{Entry, HarvestError, Kind, Reason};
use crate::api::{Amendment, Outcome};
use crate::catalogue::{CatalogueError, Content, Gate, NewEntry};
use crate::error::Classified as _;
use crate::extract::{self, ExtractError, Extracted, File};
use crate::index::{BookId, BookKey, RowChange};

/// A book that was fetched, to be read and added.
pub(super) struct Book {
    pub(super) queued: Queued,
    pub(super) known: Known,
    pub(super) found: Found,
}

impl Harvest<'_> {
    /// Reads books on all processors and adds them together.
    pub(super) fn add(&mut self, books: Vec<Book>, rows: &mut Vec<RowChange>) -> Result<(), HarvestError> {
        let limits = self.limits;
        let read: Vec<_> = together(books)
            .into_par_iter()
            .flat_map_iter(|mut books| {
                let files = books.iter_mut().map(|book| file(&mut book.found)).collect();
                books.into_iter().zip(extract::read_each(files, limits))
            })
            .collect();
        let (mut entries, mut added) = (Vec::new(), Vec::new());
        let mut texts = HashMap::new();
        for (book, read) in read {
            match read {
                Ok(read) if self.is_twin(&book, &read.text, &mut texts, rows)? => {
                    self.tally().unchanged += 1;
                    rows.push(self.frontier.put_known(&Known { state: Seen::Page, ..book.known }));
                }
                Ok(read) => {
                    entries.push(self.entry(&book.queued.entry, read)?);
                    added.push(book);
                }
                Err(error @ ExtractError::Busy { .. }) => {
                    self.try_again(book.queued, book.known, &error.to_string(), None, rows);
                }
                Err(error) => self.refuse_entry(&book.queued, book.known, Reason::BadBook, error.to_string(), rows),
            }
        }
        let keys: Vec<BookKey> = entries.iter().map(|entry| entry.key.clone()).collect();
        for ((book, key), done) in added.into_iter().zip(keys).zip(self.editor.add_some(entries)) {
            match done {
                Ok(done) => {
                    let unchanged = done.outcome == Outcome::Unchanged;
                    let tally = self.tally();
                    *if unchanged { &mut tally.unchanged } else { &mut tally.added } += 1;
                    let Book { queued, mut known, found } = book;
                    if is_guess(&queued.entry) {
                        self.tried(true);
                    }
                    let Validators { etag, modified } = found.validators;
                    known.added_as = Some((key.library, self.source.rights));
                    (known.id, known.version) = (Some(key.id.into()), queued.entry.version);
                    (known.state, known.etag, known.modified) = (Seen::Book, etag, modified);
                    known.at = Timestamp::now();
                    self.restore(&mut known)?;
                    rows.push(self.frontier.put_known(&known));
                }
                Err(error) if error.code().kind().is_input() => {
                    let is_match = matches!(error, CatalogueError::Matches(_));
                    let reason = if is_match { Reason::Matches } else { Reason::BadRecord };
                    self.refuse_entry(&book.queued, book.known, reason, error.to_string(), rows);
                }
                Err(error) => return Err(error.into()),
            }
            let tally = *self.tally();
            (self.watch)(&Watched { tally, refused: None });
        }
        Ok(())
    }

    /// Whether another page of a site has the same text. `texts` has the addresses of this batch by the digests of their texts.
    fn is_twin(
        &mut self,
        book: &Book,
        text: &str,
        texts: &mut HashMap<String, String>,
        rows: &mut Vec<RowChange>,
    ) -> Result<bool, HarvestError> {
        if self.source.kind != Kind::Site || book.known.id.is_some() {
            return Ok(false);
        }
        let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
        let address = &book.queued.entry.address;
        let known = match texts.get(&digest) {
            Some(of) => Some(of.clone()),
            None => self.frontier.with_text(&digest)?,
        };
        if known.is_some_and(|of| of != *address) {
            if is_guess(&book.queued.entry) {
                self.tried(false);
            }
            return Ok(true);
        }
        rows.push(self.frontier.put_text(&digest, address));
        texts.insert(digest, address.clone());
        Ok(false)
    }

    fn entry(&self, entry: &Entry, read: Extracted) -> Result<NewEntry, HarvestError> {
        let mut description = entry.description.clone().or(read.metadata);
        let is_web = entry.address.starts_with("http");
        if is_web && !description.identifiers.contains(&entry.address) {
            description.identifiers.push(entry.address.clone());
        }
        let key = BookKey { library: self.source.library.clone(), id: id_of(entry)? };
        // A refusal names no books of other libraries.
        let visible = Some([self.source.library.clone()].into());
        let gate = self.source.gated.then(|| Gate { visible, ..Gate::default() });
        Ok(NewEntry { description, gate, ..NewEntry::new(key, self.source.rights, Content::text(read.text)) })
    }

    /// The source no longer has a book.
    pub(super) fn lose(&mut self, mut known: Known, rows: &mut Vec<RowChange>) -> Result<(), HarvestError> {
        if let Some(id) = known.id.clone().filter(|_| !known.gone) {
            self.tally().gone += 1;
            self.disable(&id, true)?;
        }
        (known.state, known.gone, known.at) = (Seen::Gone, true, Timestamp::now());
        rows.push(self.frontier.put_known(&known));
        Ok(())
    }

    /// The source says so itself, by the id of the record.
    pub(super) fn lose_record(&mut self, entry: &Entry) -> Result<(), HarvestError> {
        let key = BookKey { library: self.source.library.clone(), id: id_of(entry)? };
        let record = self.editor.book(&key)?;
        if record.is_some_and(|record| !record.is_disabled()) {
            self.tally().gone += 1;
            self.disable(key.id.as_str(), true)?;
        }
        Ok(())
    }

    /// A book that was gone is there again.
    pub(super) fn restore(&mut self, known: &mut Known) -> Result<(), HarvestError> {
        if mem::take(&mut known.gone)
            && let Some(id) = &known.id
        {
            self.disable(id, false)?;
        }
        Ok(())
    }

    fn disable(&self, id: &str, disabled: bool) -> Result<(), HarvestError> {
        if self.source.gone == Gone::Disable {
            let key = BookKey { library: self.source.library.clone(), id: id.parse()? };
            let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
            let note = if disabled { format!("gone from the source {} on {today}", self.name) } else { String::new() };
            let amendment = Amendment { disabled: Some(disabled), note: Some(note), ..Amendment::default() };
            self.editor.amend(&key, &amendment)?;
        }
        Ok(())
    }
}

/// Books in groups, each of which is read by one process: few, and small together, so that all processors have something to do.
fn together(books: Vec<Book>) -> Vec<Vec<Book>> {
    const MANY: usize = 16;
    const LARGE: usize = 512 << 10;
    let (mut groups, mut bytes) = (Vec::<Vec<Book>>::new(), 0);
    for book in books {
        bytes += book.found.bytes.len();
        match groups.last_mut() {
            Some(group) if group.len() < MANY && bytes <= LARGE => group.push(book),
            _ => {
                bytes = book.found.bytes.len();
                groups.push(vec![book]);
            }
        }
    }
    groups
}

/// The file of a book that was fetched. Its name and encoding are those that the server says.
fn file(found: &mut Found) -> File {
    let name = Url::parse(&found.address).ok();
    let name = name.as_ref().map_or(found.address.as_str(), Url::path).rsplit('/').next().map(str::to_owned);
    let content_type = found.content_type.as_deref().unwrap_or_default();
    let charset = content_type.split(';').find_map(|part| part.trim().strip_prefix("charset="));
    let encoding = charset
        .filter(|_| content_type.starts_with("text/plain"))
        .and_then(|charset| charset.trim_matches('"').parse().ok());
    File { bytes: mem::take(&mut found.bytes).into(), name, encoding }
}

/// The id of a book: as the source says, else its address, else a digest of the address.
fn id_of(entry: &Entry) -> Result<BookId, HarvestError> {
    let said = entry.id.as_deref().and_then(|id| id.parse().ok());
    let id = said.or_else(|| entry.address.parse().ok());
    Ok(id.map_or_else(|| blake3::hash(entry.address.as_bytes()).to_hex().parse(), Ok)?)
}
