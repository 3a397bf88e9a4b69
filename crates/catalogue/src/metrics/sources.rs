//! Metrics of sources.

use std::collections::BTreeMap;

use prometheus::{Histogram, IntCounterVec, IntGauge};

use super::gauge;
use crate::sources::{Reason, Tally};

/// From a look at a folder to weeks in a large library.
const RUN_SECONDS: [f64; 9] = [
    1.0,
    10.0,
    60.0,
    600.0,
    3_600.0,
    21_600.0,
    86_400.0,
    604_800.0,
    2_592_000.0,
];

metrics! {
    /// The metrics of sources.
    pub struct SourceMetrics {
        books: IntCounterVec["outcome"] = "lapidary_source_books_total",
            "Books of sources, by what became of them: fetched, added (or replaced), unchanged, or gone from the source.";
        refused: IntCounterVec["reason"] = "lapidary_source_refused_total",
            "Addresses of sources that were refused or skipped, by reason.";
        run_seconds: Histogram(RUN_SECONDS) = "lapidary_source_run_duration_seconds",
            "Time from the beginning to the end of a run of a source, with its interruptions.";
        queued: IntGauge = "lapidary_source_queued",
            "Addresses in the queues of all sources.";
        dead_letters: IntGauge = "lapidary_source_dead_letters",
            "Addresses that the last runs of all sources refused.";
        running: IntGauge = "lapidary_sources_running",
            "Sources that are being fetched.";
        failing: IntGauge = "lapidary_sources_failing",
            "Sources whose run cannot go on, and is tried again.";
    }
}

/// What the sources of a catalogue are doing.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourcesNow {
    /// Addresses in their queues.
    pub queued: u64,
    /// Addresses that the last runs refused.
    pub refused: u64,
    /// Sources that are being fetched.
    pub running: u64,
    /// Sources whose run cannot go on.
    pub failing: u64,
}

impl SourceMetrics {
    /// Label values that are known are present from the start, as 0.
    pub(super) fn begin(&self) {
        for reason in Reason::ALL {
            self.refused.with_label_values(&[reason.as_str()]);
        }
        self.count(&Tally::default(), &BTreeMap::new());
    }

    /// Counts more books and refusals.
    pub fn count(&self, more: &Tally, refused: &BTreeMap<Reason, u64>) {
        let Tally {
            fetched,
            added,
            unchanged,
            gone,
            ..
        } = *more;
        for (outcome, count) in [
            ("fetched", fetched),
            ("added", added),
            ("unchanged", unchanged),
            ("gone", gone),
        ] {
            self.books.with_label_values(&[outcome]).inc_by(count);
        }
        for (reason, count) in refused {
            self.refused
                .with_label_values(&[reason.as_str()])
                .inc_by(*count);
        }
    }

    /// Counts a run that took so many seconds.
    pub fn ended(&self, seconds: f64) {
        self.run_seconds.observe(seconds);
    }

    /// Updates the rest.
    pub fn set(&self, now: &SourcesNow) {
        self.queued.set(gauge(now.queued));
        self.dead_letters.set(gauge(now.refused));
        self.running.set(gauge(now.running));
        self.failing.set(gauge(now.failing));
    }
}
