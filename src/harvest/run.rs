//! Running a harvest: one batch of the queue after the other, until the source is exhausted.

use std::collections::HashSet;
use std::io::Read as _;
use std::thread::sleep;
use std::time::Duration;
use std::{fs, mem};

use jiff::Timestamp;
use url::Url;

use super::books::Book;
use super::frontier::{Frontier, Known, QueueRow, Queued, Seen, State};
use super::kind::Page;
use super::source::{Harvested, Sources as _};
use super::web::{Fetched, Found, Validators, Web};
use super::{Entry, HarvestError, Kind, Mark, Source, Tally, oai};
use crate::catalogue::Editor;
use crate::extract::Limits;
use crate::index::{BookId, RowChange};
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
    pub(super) editor: &'c Editor<'c>,
    pub(super) name: BookId,
    pub(super) source: Source,
    pub(super) frontier: Frontier<'c>,
    web: Web,
    pub(super) limits: Limits,
    state: State,
    /// Requests that failed in a row.
    failures: u32,
    random: Random,
    pub(super) watch: &'c mut dyn FnMut(&Watched<'_>),
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
                if entry.book && entry.mark.is_none() && books.len() < count {
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

    pub(super) fn tally(&mut self) -> &mut Tally {
        if self.state.runs.is_empty() {
            self.state.runs.push(Harvested::default());
        }
        &mut self.state.runs[0].tally
    }

    fn write(&mut self, mut rows: Vec<RowChange>) -> Result<(), HarvestError> {
        rows.push(self.frontier.put_state(&self.state));
        Ok(self.editor.apply_rows(&rows)?)
    }

    /// The next entries whose time has come. `None` if the queue is empty.
    fn next_batch(&mut self) -> Result<Option<Vec<QueueRow>>, HarvestError> {
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

    fn batch(&mut self, batch: Vec<QueueRow>) -> Result<(), HarvestError> {
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

    /// Whether a book was added with the library and the rights that the source has now.
    fn is_as_defined(&self, known: &Known) -> bool {
        known.added_as == Some((self.source.library.clone(), self.source.rights))
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
        let usable = if queued.entry.page || !self.is_as_defined(&known) { Validators::default() } else { validators };
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
            Fetched::Failed(why, wait) => self.try_again(queued, known, &why, wait, rows),
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
                Ok(entry) if is_again(&entry) && self.state.restarts == RESTARTS => {
                    return Ok(Err("its list cannot be read to the end".to_owned()));
                }
                Ok(mut entry) => {
                    self.state.restarts += u32::from(is_again(&entry));
                    // A list that is begun again is read to the end again.
                    if entry.page && is_again(&queued.entry) {
                        entry.mark = Some(Mark::Again);
                    }
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
        if entry.mark == Some(Mark::Gone) {
            return self.lose_record(&entry);
        }
        if !seen.insert(entry.address.clone()) {
            return Ok(());
        }
        let known = self.frontier.known(&entry.address)?;
        if known.as_ref().is_some_and(|known| known.run == self.state.run) && !is_again(&entry) {
            return Ok(());
        }
        let mut known = known.unwrap_or_else(|| self.new_known(&entry.address));
        known.run = self.state.run;
        let same = !entry.page && !known.gone && entry.version.is_some() && known.version == entry.version;
        match known.state {
            Seen::Book if same && self.is_as_defined(&known) => self.tally().unchanged += 1,
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

    pub(super) fn refuse_entry(&mut self, queued: &Queued, mut known: Known, why: String, rows: &mut Vec<RowChange>) {
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
    pub(super) fn try_again(
        &mut self,
        mut queued: Queued,
        known: Known,
        why: &str,
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

    /// Loses the books that this run did not list.
    fn lose_unlisted(&mut self) -> Result<(), HarvestError> {
        let mut after = None;
        loop {
            let known = self.frontier.known_after(after.as_deref(), ROWS)?;
            let Some((last, _)) = known.last() else { return Ok(()) };
            after = Some(last.clone());
            let mut rows = Vec::new();
            for (_, known) in known {
                if known.run != self.state.run && known.state == Seen::Book {
                    self.lose(known, &mut rows)?;
                }
            }
            self.write(rows)?;
        }
    }

    /// Ends a run whose queue is empty. What a complete list no longer has is gone.
    fn finish(mut self) -> Result<Tally, HarvestError> {
        // An empty list is a fault of the source rather than the loss of all its books.
        let Tally { fetched, unchanged, .. } = *self.tally();
        if self.source.kind.lists_all() && !self.state.incomplete && fetched + unchanged > 0 {
            self.lose_unlisted()?;
        }
        if !self.state.incomplete && self.state.now.is_some() {
            self.state.since = self.state.now.take();
        }
        let tally = *self.tally();
        self.state.runs[0].ended = Some(Timestamp::now());
        self.write(Vec::new())?;
        Ok(tally)
    }
}

fn is_again(entry: &Entry) -> bool {
    entry.mark == Some(Mark::Again)
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
