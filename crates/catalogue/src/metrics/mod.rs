//! All metrics of the program, as served to Prometheus at `/metrics`. Names and descriptions are defined here; the
//! values are counted where the events occur. The registry is the default one of the process, which also has the
//! process metrics (memory, open files, start time).
//!
//! A label has few values, all defined by the program: never a path, a name or an id from a client.

#[macro_use]
mod declare;

mod cluster;
mod sources;
mod store;

use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use prometheus::core::Collector as _;
use prometheus::proto::MetricFamily;
use prometheus::{
    Encoder, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, TextEncoder,
};

use self::cluster::ClusterMetrics;
use self::sources::SourceMetrics;
pub use self::sources::SourcesNow;
use self::store::StoreMetrics;
use lapidary_store::Rights;

/// From a look-up in memory to fingerprinting a thick novel on a busy machine.
const SECONDS: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0,
];
/// From a page of text to the maximum number of gems in a query.
const GEMS: [f64; 11] = [
    0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0,
];
const MATCHES: [f64; 9] = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1_000.0];

/// The metrics of this process.
pub static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    let metrics =
        Metrics::register().expect("each metric is registered once, with a name of its own");
    metrics.begin();
    metrics
});

metrics! {
    /// All metrics except those that the Prometheus library provides (`process_…`).
    pub struct Metrics {
        build: IntGaugeVec["version"] = "lapidary_build_info",
            "1, with the program's version.";
        ready: IntGauge = "lapidary_ready",
            "1 when /readyz says that the server is ready, else 0.";
        /// Method, route (a pattern, or `none`) and status (`disconnected` if the client did not wait for one).
        pub requests: HistogramVec["method", "route", "status"](SECONDS) = "lapidary_http_request_duration_seconds",
            "Time from the head of a request to the end of its response.";
        /// Requests being answered.
        pub requests_running: IntGauge = "lapidary_http_requests_running",
            "Requests being answered.";
        work_threads: IntGauge = "lapidary_work_threads",
            "Maximum number of jobs that run at once.";
        /// Running jobs.
        pub work_running: IntGauge = "lapidary_work_running",
            "Running jobs: checks, book changes, reads.";
        /// Jobs that wait for a thread.
        pub work_waiting: IntGauge = "lapidary_work_waiting",
            "Jobs waiting for a thread.";
        /// How long jobs waited.
        pub work_wait: Histogram(SECONDS) = "lapidary_work_wait_seconds",
            "How long jobs waited for a thread.";
        checks: IntCounterVec["verdict"] = "lapidary_checks_total",
            "Checks, by their verdict.";
        check_seconds: Histogram(SECONDS) = "lapidary_check_duration_seconds",
            "Time to fingerprint a query, look it up and report, without transport.";
        check_gems: Histogram(GEMS) = "lapidary_check_gems",
            "Distinct gems of a query.";
        check_matches: Histogram(MATCHES) = "lapidary_check_matches",
            "Books that match.";
        changes: IntCounterVec["change"] = "lapidary_book_changes_total",
            "Book changes, by outcome: added, replaced, unchanged, removed, or refused because of matches.";
        texts: IntCounterVec["outcome"] = "lapidary_texts_read_total",
            "Texts and files in requests, by outcome: read, or the error code.";
        text_bytes: IntCounter = "lapidary_text_bytes_total",
            "Bytes of the texts and files read.";
        /// Of the store.
        pub store: StoreMetrics;
        /// Of a cluster.
        pub cluster: ClusterMetrics;
        /// Of sources.
        pub sources: SourceMetrics;
        certificate_expiry: IntGauge = "lapidary_certificate_expiry_timestamp_seconds",
            "Expiry time of the served certificate, in seconds of Unix time; 0 without TLS.";
        webhooks: IntCounterVec["outcome"] = "lapidary_webhook_deliveries_total",
            "Delivery attempts of events, by outcome: delivered, refused (permanently) or failed (will be retried).";
        watched_checks: IntGauge = "lapidary_watched_checks",
            "Filed checks in which each book that is added is looked up.";
        webhooks_behind: IntGauge = "lapidary_webhook_behind_changes",
            "Catalogue changes not yet processed by the slowest webhook.";
    }
}

impl Metrics {
    /// Label values that are known are present from the start, as 0.
    fn begin(&self) {
        let version = env!("CARGO_PKG_VERSION");
        self.build.with_label_values(&[version]).set(1);
        for verdict in Rights::ALL {
            self.checks.with_label_values(&[verdict.as_str()]);
        }
        for outcome in ["delivered", "refused", "failed"] {
            self.webhooks.with_label_values(&[outcome]);
        }
        for change in CHANGES {
            self.changes.with_label_values(&[change]);
        }
        self.texts.with_label_values(&[READ]);
        self.sources.begin();
    }

    /// Sets how many jobs can run at once.
    pub fn work_threads(&self, most: usize) {
        self.work_threads.set(gauge(most as u64));
    }

    /// Sets when the served certificate expires.
    pub fn certificate(&self, until: Timestamp) {
        self.certificate_expiry.set(until.as_second());
    }

    /// Counts an attempt to deliver an event.
    pub fn webhook(&self, outcome: &str) {
        self.webhooks.with_label_values(&[outcome]).inc();
    }

    /// Sets how many filed checks are watched.
    pub(crate) fn watched_checks(&self, checks: u64) {
        self.watched_checks.set(gauge(checks));
    }

    /// Sets how many changes the slowest webhook is behind.
    pub fn webhooks_behind(&self, changes: u64) {
        self.webhooks_behind.set(gauge(changes));
    }

    /// Counts a check of so many gems that was answered with this verdict, or `not_checked`.
    pub fn checked(&self, verdict: &str, gems: u32, matches: usize, took: Duration) {
        self.checks.with_label_values(&[verdict]).inc();
        self.check_seconds.observe(took.as_secs_f64());
        self.check_gems.observe(gems.into());
        self.check_matches.observe(matches as f64);
    }

    /// The number of checks that were answered with this verdict.
    pub(crate) fn checks_with(&self, verdict: &str) -> u64 {
        self.checks.with_label_values(&[verdict]).get()
    }

    /// For each bucket of durations of checks its upper limit in seconds, and the checks up to it.
    pub(crate) fn check_durations(&self) -> Vec<(f64, u64)> {
        let families = self.check_seconds.collect();
        let metrics = families.iter().flat_map(MetricFamily::get_metric);
        metrics
            .flat_map(|metric| metric.get_histogram().get_bucket())
            .map(|bucket| (bucket.upper_bound(), bucket.cumulative_count()))
            .collect()
    }

    /// The number of checks that were answered.
    pub(crate) fn checks_answered(&self) -> u64 {
        self.check_seconds.get_sample_count()
    }

    /// Counts books that were `added`, `replaced`, `unchanged`, `removed` or `refused` because of matches.
    pub fn changed(&self, change: &str, books: u64) {
        self.changes.with_label_values(&[change]).inc_by(books);
    }

    /// Counts a text or a file of this size in bytes that was read, or refused with this code.
    pub fn text(&self, bytes: usize, refused: Option<&str>) {
        self.texts
            .with_label_values(&[refused.unwrap_or(READ)])
            .inc();
        self.text_bytes.inc_by(bytes as u64);
    }

    /// All metrics in the Prometheus text format, including whether the server is ready.
    pub fn text_format(&self, ready: bool) -> prometheus::Result<Vec<u8>> {
        self.ready.set(ready.into());
        let mut text = Vec::new();
        TextEncoder::new().encode(&prometheus::gather(), &mut text)?;
        Ok(text)
    }
}

const READ: &str = "read";
const CHANGES: [&str; 5] = ["added", "replaced", "unchanged", "removed", "refused"];

fn gauge(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Advances a counter to a value counted elsewhere. Only one caller at a time.
fn advance(counter: &IntCounter, to: u64) {
    counter.inc_by(to.saturating_sub(counter.get()));
}

/// The memory of this process, as the Prometheus library knows it.
pub(crate) fn resident() -> u64 {
    let families = prometheus::gather();
    let family = families
        .iter()
        .find(|family| family.name() == "process_resident_memory_bytes");
    let metric = family.and_then(|family| family.get_metric().first());
    metric.map_or(0, |metric| metric.get_gauge().get_value() as u64)
}
