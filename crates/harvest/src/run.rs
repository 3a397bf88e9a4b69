//! Running a harvest: one batch of the queue after the other, until the source is exhausted.

use super::kind::ReadsPages as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::books::{BookChanges, FetchedBook, digest};
use super::exchange::BOOK_BYTES;
use super::fetch::fetch;
use super::frontier::{
    Frontier, HarvestState, KnownAddress, QueueRow, QueuedEntry, RunRecord, Seen,
};
use super::links::{PageLinks, reading_of};
use super::listed::{OfKey, PageListing, PageProgress};
use super::plan::{drop_begun, put_beat};
use super::sources::{Sources as _, lease_of};
use super::walk::{NumberWalk, is_guess};
use super::web::{Download, Fetched, Validators, Web};
use super::{Entry, HarvestError, Quotas, Reason, Source, SourceKind, Tally};
use lapidary_catalogue::Editor;
use lapidary_catalogue::metrics::METRICS;
use lapidary_common::random::Random;
use lapidary_extract::{Limits, Readers};
use lapidary_store::{Action, BookId, RowChange};
use lapidary_work::LeasedWork;

/// How many addresses, and how many bytes of books, are in flight: what a crash has fetched again.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 16 << 20;
/// How long they may take together.
const BATCH_TIME: Duration = Duration::from_secs(2);
/// How much the last addresses count in the rate.
const LATEST: f64 = 0.2;
/// How many rows of a page are written at a time.
pub(super) const ROWS: usize = 1_000;
/// The largest page.
pub(super) const PAGE_BYTES: u64 = 64 << 20;
/// How many requests in a row may fail before the run ends.
const FAILURES: u32 = 10;
/// The longest wait for an address that failed; a run does not wait longer.
const PATIENCE: Duration = Duration::from_mins(5);
/// How many runs a source remembers.
const RUNS: u64 = 1_000;

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
    pub(super) editor: Editor<'c>,
    pub(super) name: BookId,
    pub(super) source: Source,
    pub(super) frontier: Frontier<'c>,
    web: Web,
    pub(super) limits: Limits,
    /// What reads its pages and books.
    pub(super) readers: Arc<Readers>,
    pub(super) state: HarvestState,
    /// The queue has nothing up to this key. Deleted rows are slow to read past.
    front: Option<Vec<u8>>,
    /// Whether the batch begins there.
    is_at_front: bool,
    /// Requests that failed in a row.
    pub(super) failures: u32,
    pub(super) random: Random,
    pub(super) watch: &'c mut dyn FnMut(&Watched<'_>),
    pub(super) work: Arc<LeasedWork>,
    /// What the metrics know of the run.
    counted: RunRecord,
    /// What counts its books.
    quotas: Option<Quotas>,
    /// The sources of the key that defined it, unless it is an administrator's.
    pub(super) of_key: Option<OfKey>,
    /// What decides about the entries of its pages.
    pub(super) reading: String,
}

impl<'c> Harvest<'c> {
    pub(super) fn links(&mut self) -> PageLinks<'_, 'c> {
        PageLinks(self)
    }

    pub(super) fn listing(&mut self) -> PageListing<'_, 'c> {
        PageListing(self)
    }

    pub(super) fn books(&mut self) -> BookChanges<'_, 'c> {
        BookChanges(self)
    }

    /// Prepares a run, or the rest of one that was stopped.
    ///
    /// # Errors
    /// [`HarvestError::NoSuchSource`], [`HarvestError::Paused`], [`HarvestError::Runs`], [`HarvestError::Input`] for a
    /// definition that cannot be used.
    pub fn new(
        editor: &'c Editor<'c>,
        name: &BookId,
        limits: Limits,
        watch: &'c mut dyn FnMut(&Watched<'_>),
    ) -> Result<Self, HarvestError> {
        unpaused(editor, name)?;
        let work = editor
            .runner()
            .begin(&lease_of(name))?
            .ok_or_else(|| HarvestError::Runs(name.as_str().to_owned()))?;
        Self::under(Arc::new(work), editor, name, limits, watch)
    }

    /// Prepares a run as a piece of work that was begun.
    pub(super) fn under(
        work: Arc<LeasedWork>,
        editor: &'c Editor<'c>,
        name: &BookId,
        limits: Limits,
        watch: &'c mut dyn FnMut(&Watched<'_>),
    ) -> Result<Self, HarvestError> {
        let source = unpaused(editor, name)?;
        // Before anything is read that a former run may still write.
        let under_lease = editor.under(&work)?;
        let frontier = Frontier::new(editor, name);
        let (web, state) = (
            Web::new(&source, Arc::clone(work.stop()), None)?,
            frontier.state()?,
        );
        let random = Random::new(Timestamp::now().as_nanosecond() as u64);
        let (name, counted) = (name.clone(), state.last.clone().unwrap_or_default());
        let readers = Arc::default();
        Ok(Self {
            counted,
            quotas: None,
            of_key: None,
            reading: reading_of(&source),
            readers,
            editor: under_lease,
            name,
            source,
            frontier,
            web,
            limits,
            state,
            front: None,
            is_at_front: false,
            failures: 0,
            random,
            watch,
            work,
        })
    }

    /// Counts its books in the quota of the key that defined the source, and lets at most so many addresses wait for all sources of
    /// that key.
    #[must_use]
    pub fn within(self, quotas: Quotas, most_of_key: u64) -> Self {
        let of_key = (!self.source.is_of_administrator()).then(|| OfKey::new(most_of_key));
        Self {
            quotas: Some(quotas),
            of_key,
            ..self
        }
    }

    /// Runs until the source is exhausted.
    ///
    /// # Errors
    /// [`HarvestError::Unreachable`] if the source does not answer, [`HarvestError::Paused`], [`HarvestError::Stopped`] and
    /// [`HarvestError::NoSuchSource`] if it was paused, stopped or removed meanwhile, and those of the catalogue. The next
    /// run goes on from there.
    pub fn run(mut self) -> Result<Tally, HarvestError> {
        if self.frontier.queue(None, 1)?.is_empty() {
            self.begin()?;
        }
        let last = self.state.last.get_or_insert_default();
        let had_failed = last.error.take().is_some();
        let begun = last.begun;
        let (editor, work, name, source) = (
            self.editor.clone(),
            Arc::clone(&self.work),
            self.name.clone(),
            self.source.clone(),
        );
        let requests = self.web.agent();
        let ended = work.keep_during(
            || look(&work, &editor, &name, &source, begun),
            || requests.shutdown(),
            || self.exhaust(),
        );
        let error = match &ended {
            Err(error @ (HarvestError::Unreachable { .. } | HarvestError::QuotaUsedUp { .. })) => {
                Some(error.to_string())
            }
            _ => None,
        };
        // A run that is tried again and again is noted once.
        let failed = error.clone().filter(|_| !had_failed);
        let failed = failed.map(|error| self.noted(Some(error)));
        self.state.last.get_or_insert_default().error = error;
        // What failed before fails here, too.
        let _ = self.write_and_note(vec![put_beat(&self.name, begun, false)], failed.as_slice());
        ended
    }

    fn exhaust(&mut self) -> Result<Tally, HarvestError> {
        while let Some(batch) = self.next_batch()? {
            if !self.has_room_for_more(0)? {
                let key = self.source.by.clone().unwrap_or_default();
                return Err(HarvestError::QuotaUsedUp {
                    key,
                    left: self.state.queued,
                });
            }
            let (begun, before) = (Instant::now(), self.tally().fetched);
            let done = self.batch(batch)?;
            let fetched = self.tally().fetched.saturating_sub(before);
            self.has_room_for_more(fetched as usize)?;
            let rate = done as f64 / begun.elapsed().as_secs_f64().max(1e-6);
            let before = if self.state.per_second > 0.0 {
                self.state.per_second
            } else {
                rate
            };
            self.state.per_second = LATEST.mul_add(rate, (1.0 - LATEST) * before);
            if self.work.stop().is_stopped() {
                return Err(self.stopped());
            }
        }
        self.finish()
    }

    /// Counts books that were fetched.
    fn has_room_for_more(&self, fetched: usize) -> Result<bool, HarvestError> {
        let counted = self
            .source
            .by
            .as_ref()
            .zip(self.quotas.as_ref())
            .map(|(key, count)| count(key, fetched));
        Ok(counted.transpose()?.unwrap_or(true))
    }

    /// Why the run was told to stop.
    pub(super) fn stopped(&self) -> HarvestError {
        match self.editor.source(&self.name) {
            Err(error) => error,
            Ok(source) if source.paused => HarvestError::Paused(self.name.as_str().to_owned()),
            Ok(_) => HarvestError::Stopped {
                left: self.state.queued,
            },
        }
    }

    fn begin(&mut self) -> Result<(), HarvestError> {
        let first = self
            .source
            .kind
            .begin(&self.source, self.state.since.as_deref())
            .map_err(HarvestError::Input)?;
        self.state.run += 1;
        (self.state.listed, self.state.new, self.state.restarts) = (0, 0, 0);
        (self.state.incomplete, self.state.now, self.state.walk) =
            (false, None, NumberWalk::default());
        self.state.last = Some(RunRecord {
            number: self.state.run,
            begun: Timestamp::now(),
            ..RunRecord::default()
        });
        self.listing().find_others()?;
        let mut rows = Vec::from_iter(
            self.state
                .run
                .checked_sub(RUNS)
                .map(|old| self.frontier.drop_run(old)),
        );
        self.listing().consider(vec![first], 0, &mut rows)?;
        self.write(rows)
    }

    pub(super) fn tally(&mut self) -> &mut Tally {
        &mut self.state.last.get_or_insert_default().tally
    }

    /// What the audit log says of the run: that it ended, or why it cannot go on.
    fn noted(&self, error: Option<String>) -> Action {
        Action::SourceRun {
            source: self.name.as_str().to_owned(),
            library: self.source.library.to_string(),
            run: self.state.run,
            error,
            administrators: self.source.needs_administrator().is_some(),
        }
    }

    pub(super) fn write(&mut self, rows: Vec<RowChange>) -> Result<(), HarvestError> {
        self.write_and_note(rows, &[])
    }

    fn write_and_note(
        &mut self,
        mut rows: Vec<RowChange>,
        actions: &[Action],
    ) -> Result<(), HarvestError> {
        rows.extend(self.frontier.put_state(&self.state));
        let actor = self.editor.actor();
        if !self.work.apply_and_note(actor, &rows, actions)? {
            return Err(self.stopped());
        }
        self.count();
        Ok(())
    }

    /// Counts in the metrics what was written since the last time.
    fn count(&mut self) {
        let Some(now) = self.state.last.clone() else {
            return;
        };
        let before = if self.counted.number == now.number {
            &self.counted
        } else {
            &RunRecord::default()
        };
        let more = now.refused_by.iter().map(|(reason, count)| {
            (
                *reason,
                count.saturating_sub(before.refused_by.get(reason).copied().unwrap_or_default()),
            )
        });
        METRICS
            .sources
            .count(&now.tally.since(&before.tally), &more.collect());
        if let (Some(ended), None) = (now.ended, before.ended) {
            METRICS
                .sources
                .ended(ended.duration_since(now.begun).as_secs_f64());
        }
        self.counted = now;
    }

    /// The next entries whose time has come. `None` if the queue is empty.
    fn next_batch(&mut self) -> Result<Option<Vec<QueueRow>>, HarvestError> {
        loop {
            let now = Timestamp::now();
            let (mut after, mut soonest): (Option<Vec<u8>>, Option<Timestamp>) =
                (self.front.clone(), None);
            loop {
                let mut rows = self.frontier.queue(after.as_deref(), BATCH)?;
                let Some((last, _)) = rows.last() else { break };
                self.is_at_front = after == self.front
                    && rows
                        .iter()
                        .all(|(_, queued)| queued.due.is_none_or(|due| due <= now));
                after = Some(last.clone());
                let later = rows
                    .iter()
                    .filter_map(|(_, queued)| queued.due)
                    .filter(|due| *due > now)
                    .min();
                soonest = soonest.into_iter().chain(later).min();
                rows.retain(|(_, queued)| queued.due.is_none_or(|due| due <= now));
                if !rows.is_empty() {
                    return Ok(Some(rows));
                }
            }
            let Some(soonest) = soonest else {
                return Ok(None);
            };
            let wait = Duration::try_from(soonest.duration_since(now)).unwrap_or_default();
            if wait > PATIENCE {
                let why = format!("the source asks to come back at {soonest:.0}");
                return Err(self.unreachable(why));
            }
            if !self.work.stop().sleep(wait) {
                return Err(self.stopped());
            }
        }
    }

    /// Fetches entries and writes what became of them. Returns their number.
    fn batch(&mut self, batch: Vec<QueueRow>) -> Result<usize, HarvestError> {
        let (mut rows, mut books, mut bytes, mut done, begun) =
            (Vec::new(), Vec::new(), 0, 0, Instant::now());
        self.listing().find_others()?;
        let known = self.frontier.known(
            batch
                .iter()
                .map(|(_, queued)| queued.entry.address.as_str()),
        )?;
        for ((key, queued), known) in batch.into_iter().zip(known) {
            if bytes > BATCH_BYTES || self.failures >= FAILURES || begun.elapsed() > BATCH_TIME {
                break;
            }
            let address = &queued.entry.address;
            let known = known.unwrap_or_else(|| self.new_known(address));
            if queued.tries > 0 {
                rows.push(self.frontier.drop_fault(address));
            }
            match self.one(queued, known, &mut rows)? {
                EntryOutcome::Stopped => break,
                EntryOutcome::FetchedBook(book) => {
                    bytes += book.found.bytes.len();
                    books.push(*book);
                }
                EntryOutcome::Other => {}
            }
            done += 1;
            rows.push(Frontier::dequeue(&mut self.state, &key));
            if self.is_at_front {
                self.front = Some(key);
            }
        }
        self.books().add(books, &mut rows)?;
        self.write(rows)?;
        if begun.elapsed() > BATCH_TIME {
            // The next page is so far off that a new process takes no time.
            self.readers.rest();
        }
        if self.failures >= FAILURES {
            let why = format!("{} requests in a row failed", self.failures);
            return Err(self.unreachable(why));
        }
        Ok(done)
    }

    fn unreachable(&self, why: String) -> HarvestError {
        HarvestError::Unreachable {
            why,
            left: self.state.queued,
        }
    }

    /// Whether a book was added with the library and the rights that the source has now, and its text was where it is now.
    pub(super) fn is_as_defined(&self, known: &KnownAddress) -> bool {
        known.text == self.source.text
            && known.added_as == Some((self.source.library.clone(), self.source.rights))
            && known.validity == self.source.validity
    }

    /// Whether an earlier run has read an entry, and this one has added so many new books that it leaves such entries as they are.
    fn may_leave(&self, queued: &QueuedEntry, known: &KnownAddress) -> bool {
        let enough = self.source.enough;
        queued.read_before
            && enough.is_some_and(|enough| self.state.new >= enough)
            && (known.id.is_none() || self.is_as_defined(known))
    }

    pub(super) fn new_known(&self, address: &str) -> KnownAddress {
        KnownAddress {
            address: address.to_owned(),
            run: self.state.run,
            ..KnownAddress::default()
        }
    }

    /// Fetches an entry.
    fn one(
        &mut self,
        queued: QueuedEntry,
        mut known: KnownAddress,
        rows: &mut Vec<RowChange>,
    ) -> Result<EntryOutcome, HarvestError> {
        let is_book = known.id.is_some();
        if self.may_leave(&queued, &known) {
            known.state = if is_book {
                Seen::FetchedBook
            } else {
                Seen::Page
            };
            rows.push(self.frontier.put_known(&known));
            return Ok(EntryOutcome::Other);
        }
        let mut kept = None;
        if queued.entry.page {
            kept = self.links().kept_links(&queued, &known)?;
        }
        let is_usable = kept.is_some() || !queued.entry.page && self.is_as_defined(&known);
        match self.fetch(&queued.entry, is_usable.then_some(&known)) {
            Fetched::Found(found) => return self.take(queued, known, found, rows),
            Fetched::Unmodified if !is_usable => {
                let why = "it answers 304 to a request without conditions";
                self.refuse_entry(&queued, known, Reason::Status, why, rows);
            }
            Fetched::Unmodified => return self.leave_page(queued, known, kept.as_deref(), rows),
            Fetched::Missing if is_book => self.books().lose(known, rows)?,
            Fetched::Missing => {
                let why = "there is nothing at this address";
                self.refuse_entry(&queued, known, Reason::Missing, why, rows);
            }
            Fetched::Refused(reason, why) => self.refuse_entry(&queued, known, reason, why, rows),
            Fetched::Failed(why, wait) => self.try_again(queued, known, &why, wait, rows),
            Fetched::Stopped => return Ok(EntryOutcome::Stopped),
        }
        Ok(EntryOutcome::Other)
    }

    /// Requests an entry, on the condition that it is not as it was `before`.
    fn fetch(&mut self, entry: &Entry, before: Option<&KnownAddress>) -> Fetched {
        let conditions = before.map_or_else(Validators::default, |known| Validators {
            etag: known.etag.clone(),
            modified: known.modified.clone(),
        });
        let most = match self.source.kind {
            _ if entry.page => PAGE_BYTES,
            SourceKind::Lapidary => BOOK_BYTES,
            _ => u64::MAX,
        };
        let most = most.min(self.limits.input);
        let fetched = fetch(&self.web, &self.source, entry, &conditions, most);
        if !matches!(fetched, Fetched::Failed(..)) {
            self.failures = 0;
        }
        fetched
    }

    /// Takes what was fetched: lists a page, and says what is a book to add.
    fn take(
        &mut self,
        queued: QueuedEntry,
        mut known: KnownAddress,
        found: Download,
        rows: &mut Vec<RowChange>,
    ) -> Result<EntryOutcome, HarvestError> {
        let mut is_copy = false;
        if queued.entry.page {
            match self.listing().list(&queued, &found)? {
                Ok(PageProgress::All { copy, links }) => {
                    is_copy = copy;
                    self.links()
                        .keep_links(&mut known, (links, copy), &found.validators, rows);
                }
                Ok(PageProgress::Stopped) => return Ok(EntryOutcome::Stopped),
                Err(why) => {
                    self.state.incomplete = true;
                    let why = format!("a page that cannot be read: {why}");
                    self.refuse(known, Reason::BadList, why, rows);
                    return Ok(EntryOutcome::Other);
                }
            }
        }
        if is_guess(&queued.entry) && found.address != queued.entry.address {
            let why = "it leads elsewhere";
            self.refuse_entry(&queued, known, Reason::Missing, why, rows);
            return Ok(EntryOutcome::Other);
        }
        if queued.entry.book && !is_copy {
            return self.take_book(queued, known, found, rows);
        }
        known.state = Seen::Page;
        rows.push(self.frontier.put_known(&known));
        Ok(EntryOutcome::Other)
    }

    fn take_book(
        &mut self,
        queued: QueuedEntry,
        mut known: KnownAddress,
        found: Download,
        rows: &mut Vec<RowChange>,
    ) -> Result<EntryOutcome, HarvestError> {
        self.guess(&queued)?;
        self.tally().fetched += 1;
        let digest = digest(&queued.entry, &found.bytes);
        // A book that was removed by hand stays removed as long as it is the same.
        let is_same =
            known.digest.as_ref() == Some(&digest) && !known.gone && self.is_as_defined(&known);
        if is_same {
            (known.etag, known.modified) = (found.validators.etag, found.validators.modified);
            return self.leave(queued, known, rows);
        }
        Ok(EntryOutcome::FetchedBook(Box::new(FetchedBook {
            queued,
            known,
            found,
            digest,
        })))
    }

    /// Leaves what did not change as it is. What was kept of a page is listed again.
    fn leave_page(
        &mut self,
        queued: QueuedEntry,
        mut known: KnownAddress,
        kept: Option<&[u8]>,
        rows: &mut Vec<RowChange>,
    ) -> Result<EntryOutcome, HarvestError> {
        if let Some(kept) = kept
            && !self.links().list_kept(&queued, kept)?
        {
            return Ok(EntryOutcome::Stopped);
        }
        let is_copy = known.links.as_ref().is_some_and(|links| links.copy);
        if queued.entry.book && !is_copy {
            self.guess(&queued)?;
            return self.leave(queued, known, rows);
        }
        self.tally().pages_unchanged += 1;
        known.state = Seen::Page;
        rows.push(self.frontier.put_known(&known));
        Ok(EntryOutcome::Other)
    }

    /// Leaves the books of an address as they are.
    fn leave(
        &mut self,
        queued: QueuedEntry,
        mut known: KnownAddress,
        rows: &mut Vec<RowChange>,
    ) -> Result<EntryOutcome, HarvestError> {
        self.tally().unchanged += 1;
        (known.state, known.version) = (Seen::FetchedBook, queued.entry.version);
        self.books().restore(&mut known)?;
        rows.push(self.frontier.put_known(&known));
        Ok(EntryOutcome::Other)
    }

    /// Ends a run whose queue is empty. What a complete list no longer has is gone. A list that is never complete could name ever
    /// new addresses that are refused; of those, a source keeps about as many as a run may list.
    fn finish(&mut self) -> Result<Tally, HarvestError> {
        // An empty list is a fault of the source rather than the loss of all its books.
        let Tally {
            fetched, unchanged, ..
        } = *self.tally();
        let is_complete =
            self.source.kind.lists_all() && !self.state.incomplete && fetched + unchanged > 0;
        if is_complete || self.state.refused > self.source.most {
            self.books().lose_unlisted(is_complete)?;
        }
        if !self.state.incomplete && self.state.now.is_some() {
            self.state.since = self.state.now.take();
        }
        let tally = *self.tally();
        self.state.last.get_or_insert_default().ended = Some(Timestamp::now());
        let ended = self.noted(None);
        self.write_and_note(vec![drop_begun(&self.name)], &[ended])?;
        Ok(tally)
    }
}

/// A source that is not paused.
fn unpaused(editor: &Editor<'_>, name: &BookId) -> Result<Source, HarvestError> {
    let source = editor.source(name)?;
    if source.paused {
        return Err(HarvestError::Paused(name.as_str().to_owned()));
    }
    Ok(source)
}

/// Shows that a source is being run, and stops the run if the source is changed.
fn look(work: &LeasedWork, editor: &Editor<'_>, name: &BookId, source: &Source, begun: Timestamp) {
    let beaten = work
        .apply(&[put_beat(name, begun, true)])
        .map_err(HarvestError::from);
    match beaten.and_then(|_| editor.source(name)) {
        Ok(now) if now == *source => {}
        Ok(_) | Err(HarvestError::NoSuchSource(_)) => work.stop().end(),
        Err(error) => {
            tracing::warn!("whether the source {name} was changed is not known: {error}");
        }
    }
}

/// What became of an entry.
enum EntryOutcome {
    /// It is a book to add.
    FetchedBook(Box<FetchedBook>),
    /// It was not fetched, because the run is to stop.
    Stopped,
    /// Everything else.
    Other,
}
