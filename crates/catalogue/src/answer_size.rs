//! Limits the size of an answer. What does not fit is left out, and the answer says so.

use crate::api::Match;
use crate::json::length;
use lapidary_language::Language;
use lapidary_store::Record;

/// Maximum size of an answer in bytes of JSON, plus or minus one book.
pub(super) const ANSWER_BYTES: usize = 4 << 20;

/// The matches of a report, best first, as far as they fit. Those that only inform are not missed.
#[derive(Default)]
pub(super) struct Shown {
    matches: Vec<Match>,
    bytes: usize,
    left_out: usize,
    spans_left_out: usize,
}

impl Shown {
    /// Adds a match, with as many of its spans as fit, and returns whether it fits. A match that `decides` the verdict is
    /// always added.
    pub(super) fn add(&mut self, mut found: Match, decides: bool) -> bool {
        let spans = std::mem::take(&mut found.spans);
        let alone = length(&found);
        if !decides && (self.left_out > 0 || self.bytes + alone > ANSWER_BYTES) {
            self.left_out += usize::from(found.informational.is_none());
            return false;
        }
        self.bytes += alone;
        let all = spans.len();
        found.spans = spans
            .into_iter()
            .take_while(|span| {
                let bytes = length(span);
                let fits = self.bytes + bytes < ANSWER_BYTES;
                self.bytes += if fits { bytes + 1 } else { 0 };
                fits
            })
            .collect();
        found.spans.shrink_to_fit();
        if found.informational.is_none() {
            self.spans_left_out += all - found.spans.len();
        }
        self.matches.push(found);
        true
    }

    /// Returns the matches, and a note on what was left out.
    pub(super) fn finish(self, language: Language) -> (Vec<Match>, Option<String>) {
        let Self {
            matches,
            left_out,
            spans_left_out,
            ..
        } = self;
        let mib = (ANSWER_BYTES >> 20) as u64;
        let note = (left_out + spans_left_out > 0)
            .then(|| language.note_left_out(left_out as u64, spans_left_out as u64, mib));
        (matches, note)
    }
}

/// How many of these records fit into a page: at least one, so that paging makes progress.
pub(super) fn fitting(records: &[Record]) -> usize {
    let mut bytes = 0;
    records
        .iter()
        .take_while(|record| {
            bytes += length(record) + 1;
            bytes <= ANSWER_BYTES
        })
        .count()
        .max(1)
}
