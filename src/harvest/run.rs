//! Running a harvest: one batch of the queue after the other, until the source is exhausted.

use std::collections::HashSet;
use std::io::Read as _;
use std::thread::sleep;
use std::time::Duration;
use std::{fs, mem};

use jiff::Timestamp;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use url::Url;

use super::frontier::{Frontier, Known, Queued, Seen, State};
use super::kind::Page;
use super::source::{Gone, Harvested, Sources as _};
use super::web::{Fetched, Found, Validators, Web};
use super::{Entry, HarvestError, Kind, Source, oai};
use crate::api::{Amendment, Outcome};
use crate::catalogue::{Content, Editor, NewEntry};
use crate::error::Classified as _;
use crate::extract::{self, ExtractError, Extracted, File, Limits};
use crate::index::{BookId, BookKey, RowChange};
use crate::random::Random;

/// How many addresses, and how many bytes of books, are in flight: what a crash has fetched again.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 64 << 20;
/// How many rows of a page are written at a time.
const ROWS: usize = 1_000;
/// The largest page.
const PAGE_BYTES: u64 = 64 << 20;
/// How many pages may lead to an entry.
const DEPTH: u32 = 50;
/// How often a list may be begun again.
const RESTARTS: u32 = 5;
/// How often an address is tried before it is refused.
const TRIES: u32 = 5;
/// How many requests in a row may fail before the run ends.
const FAILURES: u32 = 10;
/// The longest wait for an address that failed; a run does not wait longer.
const PATIENCE: Duration = Duration::from_secs(300);
/// How many runs a source remembers.
const RUNS: usize = 20;

/// What became of the books of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Books that were fetched.
    pub fetched: u64,
    /// Books that were added or replaced.
    pub added: u64,
    /// Books that are as they were.
    pub unchanged: u64,
    /// Addresses that could not be fetched or read.
    pub refused: u64,
    /// Books that the source no longer has.
    #[serde(default, skip_serializing_if = "is_none")]
    pub gone: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Something that happened during a run.
#[derive(Debug)]
pub struct Watched<'a> {
    /// The counts so far.
    pub tally: Tally,
    /// The address that was refused, and why.
    pub refused: Option<(&'a str, &'a str)>,
}

/// A harvest of a source.
pub struct Harvest<'c> {
    editor: &'c Editor<'c>,
    name: BookId,
    source: Source,
    frontier: Frontier<'c>,
    web: Web,
    limits: Limits,
    state: State,
    /// Requests that failed in a row.
    failures: u32,
    random: Random,
    watch: &'c mut dyn FnMut(&Watched<'_>),
}

/// A book that was fetched, to be read and added.
struct Book {
    queued: Queued,
    known: Known,
    found: Found,
}

impl<'c> Harvest<'c> {
    /// Prepares a run, or the rest of one that was stopped.
    ///
    /// # Errors
    /// [`HarvestError::NoSuchSource`], [`HarvestError::Paused`], [`HarvestError::Input`] for a definition that cannot be
    /// used.
    pub fn new(
        editor: &'c Editor<'c>,
        name: &BookId,
        limits: Limits,
        watch: &'c mut dyn FnMut(&Watched<'_>),
    ) -> Result<Self, HarvestError> {
        let source = editor.source(name)?;
        if source.paused {
            return Err(HarvestError::Paused(name.as_str().to_owned()));
        }
        let frontier = Frontier::new(editor, name);
        let (web, state) = (Web::new(&source)?, frontier.state()?);
        let random = Random::new(Timestamp::now().as_nanosecond() as u64);
        Ok(Self { editor, name: name.clone(), source, frontier, web, limits, state, failures: 0, random, watch })
    }

    /// Runs until the source is exhausted.
    ///
    /// # Errors
    /// [`HarvestError::Unreachable`] if the source does not answer, [`HarvestError::Paused`] if it was paused meanwhile, and
    /// those of the catalogue. The next run goes on from there.
    pub fn run(mut self) -> Result<Tally, HarvestError> {
        if self.frontier.queue(None, 1)?.is_empty() {
            self.begin()?;
        }
        while let Some(batch) = self.next_batch()? {
            self.batch(batch)?;
            if self.editor.source(&self.name)?.paused {
                return Err(HarvestError::Paused(self.name.as_str().to_owned()));
            }
        }
        self.finish()
    }

    /// The first entries that the source lists, without changing anything.
    ///
    /// # Errors
    /// [`HarvestError::Input`] with what is wrong with the source.
    pub fn test(source: &Source, count: usize) -> Result<Vec<Entry>, HarvestError> {
        let mut web = Web::new(source)?;
        let mut pages = vec![source.kind.begin(source, None).map_err(HarvestError::Input)?.address];
        let (mut seen, mut books) = (HashSet::new(), Vec::new());
        while let Some(address) = pages.pop().filter(|_| books.len() < count && seen.len() < count) {
            if !seen.insert(address.clone()) {
                continue;
            }
            let wrong = |why: String| HarvestError::Input(format!("{address}: {why}"));
            let found = match fetch(&mut web, source, &Entry::page(&address), &Validators::default(), PAGE_BYTES) {
                Fetched::Found(found) => found,
                Fetched::Refused(why) | Fetched::Failed(why, _) => return Err(wrong(why)),
                Fetched::Missing | Fetched::Unmodified => return Err(wrong("there is nothing".to_owned())),
            };
            let page = Page { source, address: &found.address, bytes: &found.bytes, since: None };
            for entry in source.kind.entries(&page).map_err(wrong)? {
                let entry = entry.map_err(wrong)?;
                if entry.page {
                    pages.insert(0, entry.address.clone());
                }
                if entry.book && !entry.gone && books.len() < count {
                    books.push(entry);
                }
            }
        }
        Ok(books)
    }

    fn begin(&mut self) -> Result<(), HarvestError> {
        let first = self.source.kind.begin(&self.source, self.state.since.as_deref()).map_err(HarvestError::Input)?;
        self.state.run += 1;
        (self.state.listed, self.state.restarts) = (0, 0);
        (self.state.incomplete, self.state.now) = (false, None);
        self.state.runs.insert(0, Harvested { begun: Timestamp::now(), ..Harvested::default() });
        self.state.runs.truncate(RUNS);
        let mut rows = Vec::new();
        self.consider(first, 0, &mut HashSet::new(), &mut rows)?;
        self.write(rows)
    }

    fn tally(&mut self) -> &mut Tally {
        if self.state.runs.is_empty() {
            self.state.runs.push(Harvested::default());
        }
        &mut self.state.runs[0].tally
    }

    fn write(&mut self, mut rows: Vec<RowChange>) -> Result<(), HarvestError> {
        rows.push(self.frontier.put_state(&self.state));
        self.frontier.write(self.editor, &rows)
    }

    /// The next entries whose time has come. `None` if the queue is empty.
    fn next_batch(&mut self) -> Result<Option<Vec<(Vec<u8>, Queued)>>, HarvestError> {
        loop {
            let now = Timestamp::now();
            let (mut after, mut soonest, mut left): (Option<Vec<u8>>, Option<Timestamp>, u64) = (None, None, 0);
            loop {
                let mut rows = self.frontier.queue(after.as_deref(), BATCH)?;
                let Some((last, _)) = rows.last() else { break };
                after = Some(last.clone());
                left += rows.len() as u64;
                let later = rows.iter().filter_map(|(_, queued)| queued.due).filter(|due| *due > now).min();
                soonest = soonest.into_iter().chain(later).min();
                rows.retain(|(_, queued)| queued.due.is_none_or(|due| due <= now));
                if !rows.is_empty() {
                    return Ok(Some(rows));
                }
            }
            let Some(soonest) = soonest else { return Ok(None) };
            let wait = Duration::try_from(soonest.duration_since(now)).unwrap_or_default();
            if wait > PATIENCE {
                let why = format!("the source asks to come back at {soonest:.0}");
                return Err(HarvestError::Unreachable { why, left });
            }
            sleep(wait);
        }
    }

    fn batch(&mut self, batch: Vec<(Vec<u8>, Queued)>) -> Result<(), HarvestError> {
        let (mut rows, mut books, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (key, queued) in batch {
            if bytes > BATCH_BYTES || self.failures >= FAILURES {
                break;
            }
            let address = &queued.entry.address;
            let known = self.frontier.known(address)?.unwrap_or_else(|| self.new_known(address));
            if let Some(book) = self.one(queued, known, &mut rows)? {
                bytes += book.found.bytes.len();
                books.push(book);
            }
            rows.push(Frontier::dequeue(&key));
        }
        self.add(books, &mut rows)?;
        self.write(rows)?;
        if self.failures >= FAILURES {
            let why = format!("{} requests in a row failed", self.failures);
            return Err(HarvestError::Unreachable { why, left: self.frontier.queued()? });
        }
        Ok(())
    }

    fn new_known(&self, address: &str) -> Known {
        Known { address: address.to_owned(), run: self.state.run, ..Known::default() }
    }

    /// Fetches an entry. Returns it if it is a book to add.
    fn one(
        &mut self,
        queued: Queued,
        mut known: Known,
        rows: &mut Vec<RowChange>,
    ) -> Result<Option<Book>, HarvestError> {
        let validators = Validators { etag: known.etag.clone(), modified: known.modified.clone() };
        let usable = if queued.entry.page { Validators::default() } else { validators };
        let most = if queued.entry.page { PAGE_BYTES.min(self.limits.input) } else { self.limits.input };
        let fetched = fetch(&mut self.web, &self.source, &queued.entry, &usable, most);
        if !matches!(fetched, Fetched::Failed(..)) {
            self.failures = 0;
        }
        match fetched {
            Fetched::Found(found) => {
                if queued.entry.page
                    && let Err(why) = self.list(&queued, &found)?
                {
                    self.state.incomplete = true;
                    self.refuse(known, format!("a page that cannot be read: {why}"), rows);
                    return Ok(None);
                }
                if queued.entry.book {
                    self.tally().fetched += 1;
                    return Ok(Some(Book { queued, known, found }));
                }
                known.state = Seen::Page;
                rows.push(self.frontier.put_known(&known));
            }
            Fetched::Unmodified => {
                self.tally().unchanged += 1;
                (known.state, known.version) = (Seen::Book, queued.entry.version);
                self.restore(&mut known)?;
                rows.push(self.frontier.put_known(&known));
            }
            Fetched::Missing if known.id.is_some() => self.lose(known, rows)?,
            Fetched::Missing => self.refuse_entry(&queued, known, "there is nothing at this address".to_owned(), rows),
            Fetched::Refused(why) => self.refuse_entry(&queued, known, why, rows),
            Fetched::Failed(why, wait) => self.try_again(queued, known, why, wait, rows),
        }
        Ok(None)
    }

    /// Queues what a page lists. The inner error is what is wrong with the page.
    fn list(&mut self, queued: &Queued, found: &Found) -> Result<Result<(), String>, HarvestError> {
        let source = self.source.clone();
        let since = self.state.since.clone();
        if source.kind == Kind::Oai && self.state.now.is_none() {
            self.state.now = oai::answered(&found.bytes);
        }
        let page = Page { source: &source, address: &found.address, bytes: &found.bytes, since: since.as_deref() };
        let entries = match source.kind.entries(&page) {
            Ok(entries) => entries,
            Err(why) => return Ok(Err(why)),
        };
        let (mut seen, mut rows) = (HashSet::new(), Vec::new());
        for entry in entries {
            match entry {
                Ok(entry) if entry.again && self.state.restarts == RESTARTS => {
                    return Ok(Err("its list cannot be read to the end".to_owned()));
                }
                Ok(mut entry) => {
                    self.state.restarts += u32::from(entry.again);
                    // A list that is begun again is read to the end again.
                    entry.again |= entry.page && queued.entry.again;
                    self.consider(entry, queued.depth + 1, &mut seen, &mut rows)?;
                }
                Err(why) => {
                    self.write(mem::take(&mut rows))?;
                    return Ok(Err(why));
                }
            }
            if rows.len() >= ROWS {
                self.write(mem::take(&mut rows))?;
                seen.clear();
            }
        }
        self.write(rows)?;
        Ok(Ok(()))
    }

    /// Queues an entry, unless this run has seen it or it is known to be as it was.
    fn consider(
        &mut self,
        entry: Entry,
        depth: u32,
        seen: &mut HashSet<String>,
        rows: &mut Vec<RowChange>,
    ) -> Result<(), HarvestError> {
        if entry.gone {
            return self.lose_record(&entry);
        }
        if !seen.insert(entry.address.clone()) {
            return Ok(());
        }
        let known = self.frontier.known(&entry.address)?;
        if known.as_ref().is_some_and(|known| known.run == self.state.run) && !entry.again {
            return Ok(());
        }
        let mut known = known.unwrap_or_else(|| self.new_known(&entry.address));
        known.run = self.state.run;
        let same = !entry.page && !known.gone && entry.version.is_some() && known.version == entry.version;
        match known.state {
            Seen::Book if same => self.tally().unchanged += 1,
            Seen::Refused(_) if same => self.tally().refused += 1,
            // Paging leads from page to page, so only sites and catalogues are deep.
            _ if depth > DEPTH && self.source.kind == Kind::Site => return Ok(()),
            _ if self.state.listed >= self.source.most => {
                self.state.incomplete = true;
                return Ok(());
            }
            _ => {
                self.state.listed += 1;
                known.state = Seen::Queued;
                let queued = Queued { entry, depth, tries: 0, due: None };
                rows.push(self.frontier.enqueue(&mut self.state, &queued));
            }
        }
        rows.push(self.frontier.put_known(&known));
        Ok(())
    }

    /// Reads books on all processors and adds them together.
    fn add(&mut self, books: Vec<Book>, rows: &mut Vec<RowChange>) -> Result<(), HarvestError> {
        let limits = self.limits;
        let read: Vec<_> = books
            .into_par_iter()
            .map(|mut book| {
                let file = file(&mut book.found);
                (book, extract::read_one(file, limits))
            })
            .collect();
        let (mut entries, mut added) = (Vec::new(), Vec::new());
        for (book, read) in read {
            match read {
                Ok(read) => {
                    entries.push(self.entry(&book.queued.entry, read)?);
                    added.push(book);
                }
                Err(error @ ExtractError::Busy { .. }) => {
                    self.try_again(book.queued, book.known, error.to_string(), None, rows);
                }
                Err(error) => self.refuse_book(book, error.to_string(), rows),
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
                    let Validators { etag, modified } = found.validators;
                    (known.id, known.version) = (Some(key.id.into()), queued.entry.version);
                    (known.state, known.etag, known.modified) = (Seen::Book, etag, modified);
                    known.at = Timestamp::now();
                    self.restore(&mut known)?;
                    rows.push(self.frontier.put_known(&known));
                }
                Err(error) if error.code().kind().is_input() => self.refuse_book(book, error.to_string(), rows),
                Err(error) => return Err(error.into()),
            }
            let tally = *self.tally();
            (self.watch)(&Watched { tally, refused: None });
        }
        Ok(())
    }

    /// A page that is no book is not refused as one if it only was taken for one on the way.
    fn refuse_book(&mut self, book: Book, why: String, rows: &mut Vec<RowChange>) {
        self.refuse_entry(&book.queued, book.known, why, rows);
    }

    fn entry(&self, entry: &Entry, read: Extracted) -> Result<NewEntry, HarvestError> {
        let mut description = entry.description.clone().or(read.metadata);
        let is_web = entry.address.starts_with("http");
        if is_web && !description.identifiers.contains(&entry.address) {
            description.identifiers.push(entry.address.clone());
        }
        let key = BookKey { library: self.source.library.clone(), id: id_of(entry)? };
        Ok(NewEntry { description, ..NewEntry::new(key, self.source.rights, Content::text(read.text)) })
    }

    fn refuse_entry(&mut self, queued: &Queued, mut known: Known, why: String, rows: &mut Vec<RowChange>) {
        known.version.clone_from(&queued.entry.version);
        if queued.entry.page {
            self.state.incomplete = true;
        }
        self.refuse(known, why, rows);
    }

    fn refuse(&mut self, mut known: Known, why: String, rows: &mut Vec<RowChange>) {
        self.tally().refused += 1;
        let tally = *self.tally();
        (self.watch)(&Watched { tally, refused: Some((&known.address, &why)) });
        (known.state, known.at) = (Seen::Refused(why), Timestamp::now());
        rows.push(self.frontier.put_known(&known));
    }

    /// Puts an entry at the end of the queue, with a pause that doubles, or refuses it after several attempts.
    fn try_again(
        &mut self,
        mut queued: Queued,
        known: Known,
        why: String,
        wait: Option<Duration>,
        rows: &mut Vec<RowChange>,
    ) {
        self.failures += 1;
        queued.tries += 1;
        if queued.tries >= TRIES {
            return self.refuse_entry(&queued, known, format!("{why}, {TRIES} times"), rows);
        }
        // Half of the pause is left to chance, so that addresses that failed together are not tried together.
        let pause = Duration::from_secs(1 << queued.tries);
        let chance = Duration::from_millis(self.random.below(pause.as_millis() as usize / 2) as u64);
        let pause = wait.unwrap_or_default().max(pause / 2 + chance);
        queued.due = Timestamp::now().checked_add(pause).ok();
        rows.push(self.frontier.enqueue(&mut self.state, &queued));
    }

    /// The source no longer has a book.
    fn lose(&mut self, mut known: Known, rows: &mut Vec<RowChange>) -> Result<(), HarvestError> {
        if let Some(id) = known.id.clone().filter(|_| !known.gone) {
            self.tally().gone += 1;
            self.disable(&id, true)?;
        }
        (known.state, known.gone, known.at) = (Seen::Gone, true, Timestamp::now());
        rows.push(self.frontier.put_known(&known));
        Ok(())
    }

    /// The source says so itself, by the id of the record.
    fn lose_record(&mut self, entry: &Entry) -> Result<(), HarvestError> {
        let key = BookKey { library: self.source.library.clone(), id: id_of(entry)? };
        let record = self.editor.book(&key)?;
        if record.is_some_and(|record| !record.is_disabled()) {
            self.tally().gone += 1;
            self.disable(key.id.as_str(), true)?;
        }
        Ok(())
    }

    /// A book that was gone is there again.
    fn restore(&mut self, known: &mut Known) -> Result<(), HarvestError> {
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
            let today = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
            let note = if disabled { format!("gone from the source {} on {today}", self.name) } else { String::new() };
            let amendment = Amendment { disabled: Some(disabled), note: Some(note), ..Amendment::default() };
            self.editor.amend(&key, &amendment)?;
        }
        Ok(())
    }

    /// Ends a run whose queue is empty. What a complete list no longer has is gone.
    fn finish(mut self) -> Result<Tally, HarvestError> {
        let (mut lost, mut rows) = (Vec::new(), Vec::new());
        if self.source.kind.lists_all() && !self.state.incomplete {
            let run = self.state.run;
            self.frontier.each_known(|known| {
                if known.run != run && known.state == Seen::Book {
                    lost.push(known);
                }
                Ok(())
            })?;
        }
        for known in lost {
            self.lose(known, &mut rows)?;
        }
        if !self.state.incomplete && self.state.now.is_some() {
            self.state.since = self.state.now.take();
        }
        let tally = *self.tally();
        self.state.runs[0].ended = Some(Timestamp::now());
        self.write(rows)?;
        Ok(tally)
    }
}

/// Fetches an entry from wherever its source is.
fn fetch(web: &mut Web, source: &Source, entry: &Entry, validators: &Validators, most: u64) -> Fetched {
    let address = &entry.address;
    let is_web = Url::parse(address).is_ok_and(|url| url.has_host() && matches!(url.scheme(), "http" | "https"));
    // Only the list itself can be a file: a list or a page from elsewhere must not reach files of this machine.
    let is_list = source.kind == Kind::List && entry.page;
    if is_web && !source.kind.is_local() {
        return web.get(address, validators, most);
    }
    if !source.kind.is_local() && !is_list {
        return Fetched::Refused("this is no address of the web".to_owned());
    }
    let mut bytes = Vec::new();
    let read = match address.as_str() {
        _ if source.kind == Kind::Folder && entry.page => Ok(0),
        "-" => std::io::stdin().lock().take(most + 1).read_to_end(&mut bytes),
        path => fs::File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)),
    };
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Fetched::Missing,
        Err(error) => Fetched::Refused(error.to_string()),
        Ok(_) if bytes.len() as u64 > most => Fetched::Refused(format!("it is larger than {most} bytes")),
        Ok(_) => Fetched::Found(Found {
            address: address.clone(),
            bytes,
            content_type: None,
            validators: Validators::default(),
        }),
    }
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
