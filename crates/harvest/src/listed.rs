//! What a page lists is queued, unless it is known to be as it was.

use std::collections::HashSet;
use std::mem;
use std::sync::Arc;

use super::frontier::{KnownAddress, QueueTotals, QueuedEntry, Seen};
use super::kind::{Entries, Page};
use super::links::Packing;
use super::pages::entries;
use super::run::{Harvest, ROWS};
use super::sources::Sources as _;
use super::web::Download;
use super::{Entry, HarvestError, Mark, SourceKind, SourceLimit, Unusable};
use lapidary_store::{BookId, RowChange};

/// How many pages may lead to an entry.
const DEPTH: u32 = 50;
/// How often a list may be begun again.
const RESTARTS: u32 = 5;

/// How far a page was read.
pub(super) enum PageProgress {
    /// To its end; whether it says that it is a copy of another, and its entries, packed, if they are not too many to be kept.
    All { copy: bool, links: Option<Vec<u8>> },
    /// Not to its end, because the run is to stop.
    Stopped,
}

/// The sources of the key that defined a source.
pub(super) struct OfKey {
    /// How many addresses may wait for all of them.
    pub(super) most: u64,
    /// The others, and what they have.
    others: Vec<BookId>,
    pub(super) held: QueueTotals,
}

impl OfKey {
    pub(super) fn new(most: u64) -> Self {
        Self {
            most,
            others: Vec::new(),
            held: QueueTotals::default(),
        }
    }
}

/// Listing what the pages of a source name.
pub(super) struct PageListing<'h, 'c>(pub(super) &'h mut Harvest<'c>);

impl PageListing<'_, '_> {
    /// Queues what a page lists. The inner error is what is wrong with the page.
    pub(super) fn list(
        &mut self,
        queued: &QueuedEntry,
        found: &Download,
    ) -> Result<Result<PageProgress, String>, HarvestError> {
        let source = self.0.source.clone();
        let since = self.0.state.since.clone();
        let page = Page {
            source: &source,
            address: &found.address,
            bytes: &found.bytes,
            since: since.as_deref(),
        };
        let readers = Arc::clone(&self.0.readers);
        let (answered, entries) = match entries(&readers, &page, self.0.limits) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        self.0.state.now = self.0.state.now.take().or(answered);
        self.queue_all(entries, queued)
    }

    /// Queues the entries of a page part by part, until one is wrong or the run is to stop.
    fn queue_all(
        &mut self,
        entries: Entries<'_>,
        queued: &QueuedEntry,
    ) -> Result<Result<PageProgress, String>, HarvestError> {
        let (mut some, mut copy, mut links) = (Vec::new(), false, Packing::new());
        for entry in entries {
            let mut entry = match entry {
                Ok(entry) if is_again(&entry) && self.0.state.restarts == RESTARTS => {
                    return Ok(Err("its list cannot be read to the end".to_owned()));
                }
                Ok(entry) => entry,
                Err(why) => {
                    self.queue(mem::take(&mut some), queued)?;
                    return Ok(Err(why));
                }
            };
            self.0.state.restarts += u32::from(is_again(&entry));
            copy |= entry.mark.take_if(|mark| *mark == Mark::Original).is_some();
            links.push(&entry);
            // A list that is begun again is read to the end again.
            if entry.page && is_again(&queued.entry) {
                entry.mark = Some(Mark::Again);
            }
            some.push(entry);
            if some.len() >= ROWS {
                self.queue(mem::take(&mut some), queued)?;
                if self.0.work.stop().is_stopped() {
                    // When it is read again, it goes on with what this run has not seen.
                    return Ok(Ok(PageProgress::Stopped));
                }
            }
        }
        self.queue(some, queued)?;
        Ok(Ok(PageProgress::All {
            copy,
            links: links.finish(),
        }))
    }

    /// Queues entries of a page.
    pub(super) fn queue(
        &mut self,
        entries: Vec<Entry>,
        page: &QueuedEntry,
    ) -> Result<(), HarvestError> {
        let mut rows = Vec::new();
        self.measure_others()?;
        self.consider(entries, page.depth + 1, &mut rows)?;
        self.0.write(rows)
    }

    /// Queues entries, unless this run has seen them or they are known to be as they were.
    pub(super) fn consider(
        &mut self,
        entries: Vec<Entry>,
        depth: u32,
        rows: &mut Vec<RowChange>,
    ) -> Result<(), HarvestError> {
        let (gone, mut entries): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .partition(|entry| entry.mark == Some(Mark::Gone));
        gone.iter()
            .try_for_each(|entry| self.0.books().lose_record(entry))?;
        let mut seen = HashSet::new();
        entries.retain(|entry| seen.insert(entry.address.clone()));
        let known = self
            .0
            .frontier
            .known(entries.iter().map(|entry| entry.address.as_str()))?;
        for (entry, known) in entries.into_iter().zip(known) {
            self.consider_one(entry, known, depth, rows);
        }
        Ok(())
    }

    fn consider_one(
        &mut self,
        mut entry: Entry,
        known: Option<KnownAddress>,
        depth: u32,
        rows: &mut Vec<RowChange>,
    ) {
        let run = self.0.state.run;
        let is_done = known.as_ref().is_some_and(|known| known.run == run);
        if is_done && !is_again(&entry) {
            return;
        }
        let mut known = known.unwrap_or_else(|| self.0.new_known(&entry.address));
        let read_before = matches!(known.state, Seen::Page | Seen::FetchedBook);
        known.run = run;
        let same =
            !entry.page && !known.gone && entry.version.is_some() && known.version == entry.version;
        match known.state {
            Seen::FetchedBook if same && self.0.is_as_defined(&known) => {
                self.0.tally().unchanged += 1;
            }
            Seen::Refused(reason) if same && known.text == self.0.source.text => {
                self.0.count_refused(reason);
            }
            _ => {
                if let Some(limit) = self.limit_reached(&entry, &known, depth) {
                    return self.leave_out(limit);
                }
                if let Some(Unusable { reason, why }) = entry.unusable.take() {
                    self.0.state.listed += 1;
                    known.version = entry.version;
                    return self.0.refuse(known, reason, why, rows);
                }
                let queued = QueuedEntry::new(entry, depth, read_before);
                self.enqueue(&queued, &mut known, rows);
            }
        }
        rows.push(self.0.frontier.put_known(&known));
    }

    /// Which limit an entry would exceed, if any.
    fn limit_reached(
        &self,
        entry: &Entry,
        known: &KnownAddress,
        depth: u32,
    ) -> Option<SourceLimit> {
        // Paging leads from page to page, so only sites and catalogues are deep.
        if depth > DEPTH && self.0.source.kind == SourceKind::Site {
            Some(SourceLimit::Depth)
        } else if self.0.state.listed >= self.0.source.most {
            Some(SourceLimit::MaxUrls)
        } else if !self.has_room_for(entry, known) {
            Some(SourceLimit::Key)
        } else {
            None
        }
    }

    fn enqueue(
        &mut self,
        queued: &QueuedEntry,
        known: &mut KnownAddress,
        rows: &mut Vec<RowChange>,
    ) {
        self.0.state.listed += 1;
        if known.is_refused() {
            self.0.state.refused = self.0.state.refused.saturating_sub(1);
            rows.push(self.0.frontier.drop_fault(&known.address));
        }
        known.state = Seen::Queued;
        rows.push(self.0.frontier.enqueue(&mut self.0.state, queued));
    }

    /// Leaves out an address that was listed.
    fn leave_out(&mut self, limit: SourceLimit) {
        self.0.state.incomplete = true;
        *self
            .0
            .state
            .last
            .get_or_insert_default()
            .left_out
            .entry(limit)
            .or_default() += 1;
    }

    /// Looks which sources the key that defined this one has besides, and what they have.
    pub(super) fn find_others(&mut self) -> Result<(), HarvestError> {
        if let Some(of_key) = &mut self.0.of_key {
            let others = self
                .0
                .editor
                .sources()?
                .into_iter()
                .filter(|(name, source)| {
                    *name != self.0.name
                        && source.by == self.0.source.by
                        && !source.is_of_administrator()
                });
            of_key.others = others.map(|(name, _)| name).collect();
        }
        self.measure_others()
    }

    /// Measures what the other sources of the key have now.
    fn measure_others(&mut self) -> Result<(), HarvestError> {
        let Some(of_key) = &mut self.0.of_key else {
            return Ok(());
        };
        of_key.held = self.0.frontier.held_by(&of_key.others)?;
        Ok(())
    }

    /// Whether the sources of the key may have one more address. Those that can be fetched wait for that, and only for a while. What
    /// cannot be used costs its source nothing and stays, so it needs room besides all that was refused.
    fn has_room_for(&self, entry: &Entry, known: &KnownAddress) -> bool {
        let Some(OfKey { most, held, .. }) = &self.0.of_key else {
            return true;
        };
        let waiting = held.queued + self.0.state.queued;
        match entry.unusable {
            None => waiting < *most,
            Some(_) => known.is_refused() || waiting + held.refused + self.0.state.refused < *most,
        }
    }
}

fn is_again(entry: &Entry) -> bool {
    entry.mark == Some(Mark::Again)
}
