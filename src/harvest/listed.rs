//! What a page lists is queued, unless it is known to be as it was.

use std::collections::HashSet;
use std::mem;
use std::sync::Arc;

use super::frontier::{Queued, Seen};
use super::kind::Page;
use super::pages::entries;
use super::run::{Harvest, ROWS};
use super::web::Found;
use super::{Entry, HarvestError, Kind, Mark};
use crate::index::RowChange;

/// How many pages may lead to an entry.
const DEPTH: u32 = 50;
/// How often a list may be begun again.
const RESTARTS: u32 = 5;

/// How far a page was read.
pub(super) enum Listed {
    /// To its end; and whether it says that it is a copy of another.
    All { copy: bool },
    /// Not to its end, because the run is to stop.
    Stopped,
}

impl Harvest<'_> {
    /// Queues what a page lists. The inner error is what is wrong with the page.
    pub(super) fn list(&mut self, queued: &Queued, found: &Found) -> Result<Result<Listed, String>, HarvestError> {
        let source = self.source.clone();
        let since = self.state.since.clone();
        let page = Page { source: &source, address: &found.address, bytes: &found.bytes, since: since.as_deref() };
        let readers = Arc::clone(&self.readers);
        let (answered, entries) = match entries(&readers, &page, self.limits) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        self.state.now = self.state.now.take().or(answered);
        let (mut seen, mut rows, mut copy) = (HashSet::new(), Vec::new(), false);
        for entry in entries {
            match entry {
                Ok(entry) if is_again(&entry) && self.state.restarts == RESTARTS => {
                    return Ok(Err("its list cannot be read to the end".to_owned()));
                }
                Ok(mut entry) => {
                    self.state.restarts += u32::from(is_again(&entry));
                    copy |= entry.mark.take_if(|mark| *mark == Mark::Original).is_some();
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
                if self.work.stop.is_stopped() {
                    // When it is read again, it goes on with what this run has not seen.
                    return Ok(Ok(Listed::Stopped));
                }
            }
        }
        self.write(rows)?;
        Ok(Ok(Listed::All { copy }))
    }

    /// Queues an entry, unless this run has seen it or it is known to be as it was.
    pub(super) fn consider(
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
        let read_before = matches!(known.state, Seen::Page | Seen::Book);
        known.run = self.state.run;
        let same = !entry.page && !known.gone && entry.version.is_some() && known.version == entry.version;
        match known.state {
            Seen::Book if same && self.is_as_defined(&known) => self.tally().unchanged += 1,
            Seen::Refused(reason) if same && known.text == self.source.text => self.count_refused(reason),
            // Paging leads from page to page, so only sites and catalogues are deep.
            _ if depth > DEPTH && self.source.kind == Kind::Site => return Ok(()),
            _ if self.state.listed >= self.source.most => {
                self.state.incomplete = true;
                return Ok(());
            }
            _ => {
                self.state.listed += 1;
                if matches!(known.state, Seen::Refused(_)) {
                    rows.push(self.frontier.drop_fault(&known.address));
                }
                known.state = Seen::Queued;
                let queued = Queued { entry, depth, tries: 0, due: None, read_before };
                rows.push(self.frontier.enqueue(&mut self.state, &queued));
            }
        }
        rows.push(self.frontier.put_known(&known));
        Ok(())
    }
}

fn is_again(entry: &Entry) -> bool {
    entry.mark == Some(Mark::Again)
}
