//! Addresses that fail: some are tried again, others refused.

use std::time::Duration;

use jiff::Timestamp;

use super::Reason;
use super::frontier::{KnownAddress, QueuedEntry, Seen};
use super::run::{Harvest, Watched};
use super::walk::is_guess;
use lapidary_catalogue::api::SourceError;
use lapidary_store::RowChange;

/// How often an address is tried before it is refused.
const TRIES: u32 = 5;

impl Harvest<'_> {
    pub(super) fn refuse_entry(
        &mut self,
        queued: &QueuedEntry,
        mut known: KnownAddress,
        reason: Reason,
        why: impl Into<String>,
        rows: &mut Vec<RowChange>,
    ) {
        known.version.clone_from(&queued.entry.version);
        if is_guess(&queued.entry) && known.id.is_none() {
            self.tried(false);
            known.state = Seen::Page;
            return rows.push(self.frontier.put_known(&known));
        }
        if queued.entry.page {
            self.state.incomplete = true;
        }
        self.refuse(known, reason, why, rows);
    }

    pub(super) fn refuse(
        &mut self,
        mut known: KnownAddress,
        reason: Reason,
        why: impl Into<String>,
        rows: &mut Vec<RowChange>,
    ) {
        let why = why.into();
        self.count_refused(reason);
        if !reason.is_skipped() {
            let tally = *self.tally();
            (self.watch)(&Watched {
                tally,
                refused: Some((&known.address, &why)),
            });
        }
        if known.text != self.source.text {
            // What its book was is of no use to one that is read otherwise.
            known.text.clone_from(&self.source.text);
            (known.digest, known.etag, known.modified) = (None, None, None);
        }
        self.state.refused += u64::from(!known.is_refused());
        (known.state, known.at) = (Seen::Refused(reason), Timestamp::now());
        rows.push(self.frontier.put_known(&known));
        let KnownAddress { address, at, .. } = known;
        rows.push(self.frontier.put_fault(&SourceError {
            url: address,
            reason,
            detail: why,
            failed_at: at,
            retry_at: None,
        }));
    }

    pub(super) fn count_refused(&mut self, reason: Reason) {
        let run = self.state.last.get_or_insert_default();
        *if reason.is_skipped() {
            &mut run.tally.skipped
        } else {
            &mut run.tally.refused
        } += 1;
        *run.refused_by.entry(reason).or_default() += 1;
    }

    /// Puts an entry at the end of the queue, with a pause that doubles, or refuses it after several attempts.
    pub(super) fn try_again(
        &mut self,
        mut queued: QueuedEntry,
        known: KnownAddress,
        why: &str,
        wait: Option<Duration>,
        rows: &mut Vec<RowChange>,
    ) {
        self.failures += 1;
        queued.tries += 1;
        if queued.tries >= TRIES {
            return self.refuse_entry(
                &queued,
                known,
                Reason::Unanswered,
                format!("{why}, {TRIES} times"),
                rows,
            );
        }
        // Half of the pause is left to chance, so that addresses that failed together are not tried together.
        let pause = Duration::from_secs(1 << queued.tries);
        let chance =
            Duration::from_millis(self.random.below(pause.as_millis() as usize / 2) as u64);
        let pause = wait.unwrap_or_default().max(pause / 2 + chance);
        queued.due = Timestamp::now().checked_add(pause).ok();
        let (address, at) = (queued.entry.address.clone(), Timestamp::now());
        let fault = SourceError {
            url: address,
            reason: Reason::Unanswered,
            detail: why.to_owned(),
            failed_at: at,
            retry_at: queued.due,
        };
        rows.push(self.frontier.put_fault(&fault));
        rows.push(self.frontier.enqueue(&mut self.state, &queued));
    }
}
