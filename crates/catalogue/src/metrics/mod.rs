//! All metrics of the program, as served to Prometheus at `/metrics`. Names and descriptions are defined here; the
//! values are counted where the events occur. The registry is the default one of the process, which also has the
//! process metrics (memory, open files, start time).
//!
//! A label has few values, all defined by the program: never a path, a name or an id from a client.

mod cluster;
mod history;
mod sources;
mod store;

use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use prometheus::{
    Encoder, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, TextEncoder,
    register_histogram, register_histogram_vec, register_int_counter, register_int_counter_vec,
    register_int_gauge, register_int_gauge_vec,
};

use self::cluster::ClusterMetrics;
pub use self::history::Recorder;
use self::sources::SourceMetrics;
pub use self::sources::SourcesNow;
use self::store::StoreMetrics;
use crate::api::{Outcome, Report};
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
    Metrics::register().expect("each metric is registered once, with a name of its own")
});

/// All metrics except those that the Prometheus library provides (`process_…`).
pub struct Metrics {
    ready: IntGauge,
    /// Method, route (a pattern, or `none`) and status (`disconnected` if the client did not wait for one).
    pub requests: HistogramVec,
    /// Requests being answered.
    pub requests_running: IntGauge,
    work_threads: IntGauge,
    /// Running jobs.
    pub work_running: IntGauge,
    /// Jobs that wait for a thread.
    pub work_waiting: IntGauge,
    /// How long jobs waited.
    pub work_wait: Histogram,
    checks: IntCounterVec,
    check_seconds: Histogram,
    check_gems: Histogram,
    check_matches: Histogram,
    changes: IntCounterVec,
    texts: IntCounterVec,
    text_bytes: IntCounter,
    /// Of the store.
    pub store: StoreMetrics,
    /// Of a cluster.
    pub cluster: ClusterMetrics,
    /// Of sources.
    pub sources: SourceMetrics,
    certificate_expiry: IntGauge,
    webhooks: IntCounterVec,
    webhooks_behind: IntGauge,
}

impl Metrics {
    fn register() -> prometheus::Result<Self> {
        let build = register_int_gauge_vec!(
            "lapidary_build_info",
            "1, with the program's version.",
            &["version"]
        )?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let metrics = Self {
            ready: register_int_gauge!(
                "lapidary_ready",
                "1 when /readyz says that the server is ready, else 0."
            )?,
            requests: register_histogram_vec!(
                "lapidary_http_request_duration_seconds",
                "Time from the head of a request to the end of its response.",
                &["method", "route", "status"],
                SECONDS.to_vec()
            )?,
            requests_running: register_int_gauge!(
                "lapidary_http_requests_running",
                "Requests being answered."
            )?,
            work_threads: register_int_gauge!(
                "lapidary_work_threads",
                "Maximum number of jobs that run at once."
            )?,
            work_running: register_int_gauge!(
                "lapidary_work_running",
                "Running jobs: checks, book changes, reads."
            )?,
            work_waiting: register_int_gauge!(
                "lapidary_work_waiting",
                "Jobs waiting for a thread."
            )?,
            work_wait: register_histogram!(
                "lapidary_work_wait_seconds",
                "How long jobs waited for a thread.",
                SECONDS.to_vec()
            )?,
            checks: register_int_counter_vec!(
                "lapidary_checks_total",
                "Checks, by their verdict.",
                &["verdict"]
            )?,
            check_seconds: register_histogram!(
                "lapidary_check_duration_seconds",
                "Time to fingerprint a query, look it up and report, without transport.",
                SECONDS.to_vec()
            )?,
            check_gems: register_histogram!(
                "lapidary_check_gems",
                "Distinct gems of a query.",
                GEMS.to_vec()
            )?,
            check_matches: register_histogram!(
                "lapidary_check_matches",
                "Books that match.",
                MATCHES.to_vec()
            )?,
            changes: register_int_counter_vec!(
                "lapidary_book_changes_total",
                "Book changes, by outcome: added, replaced, unchanged, removed, or refused because of matches.",
                &["change"]
            )?,
            texts: register_int_counter_vec!(
                "lapidary_texts_read_total",
                "Texts and files in requests, by outcome: read, or the error code.",
                &["outcome"]
            )?,
            text_bytes: register_int_counter!(
                "lapidary_text_bytes_total",
                "Bytes of the texts and files read."
            )?,
            store: StoreMetrics::register()?,
            cluster: ClusterMetrics::register()?,
            sources: SourceMetrics::register()?,
            certificate_expiry: register_int_gauge!(
                "lapidary_certificate_expiry_timestamp_seconds",
                "Expiry time of the served certificate, in seconds of Unix time; 0 without TLS."
            )?,
            webhooks: register_int_counter_vec!(
                "lapidary_webhook_deliveries_total",
                "Delivery attempts of events, by outcome: delivered, refused (permanently) or failed (will be retried).",
                &["outcome"]
            )?,
            webhooks_behind: register_int_gauge!(
                "lapidary_webhook_behind_changes",
                "Catalogue changes not yet processed by the slowest webhook."
            )?,
        };
        // Known label values are present from the start, as 0.
        for verdict in Rights::ALL {
            metrics.checks.with_label_values(&[verdict.as_str()]);
        }
        for outcome in ["delivered", "refused", "failed"] {
            metrics.webhooks.with_label_values(&[outcome]);
        }
        for change in [ADDED, REPLACED, UNCHANGED, REMOVED, REFUSED] {
            metrics.changes.with_label_values(&[change]);
        }
        metrics.texts.with_label_values(&[READ]);
        Ok(metrics)
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

    /// Sets how many changes the slowest webhook is behind.
    pub fn webhooks_behind(&self, changes: u64) {
        self.webhooks_behind.set(gauge(changes));
    }

    /// Counts an answered check.
    pub fn checked(&self, report: &Report, took: Duration) {
        let verdict = if report.is_answer() {
            report.verdict.as_str()
        } else {
            "not_checked"
        };
        self.checks.with_label_values(&[verdict]).inc();
        self.check_seconds.observe(took.as_secs_f64());
        self.check_gems.observe(report.gems.into());
        self.check_matches.observe(report.total as f64);
    }

    /// Counts an added book.
    pub fn put(&self, outcome: Outcome) {
        let change = match outcome {
            Outcome::Added => ADDED,
            Outcome::Replaced => REPLACED,
            Outcome::Unchanged => UNCHANGED,
        };
        self.changes.with_label_values(&[change]).inc();
    }

    /// Counts a book that was not added because others match it.
    pub fn refused(&self) {
        self.changes.with_label_values(&[REFUSED]).inc();
    }

    /// Counts removed books.
    pub fn removed(&self, books: u64) {
        self.changes.with_label_values(&[REMOVED]).inc_by(books);
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
const ADDED: &str = "added";
const REPLACED: &str = "replaced";
const UNCHANGED: &str = "unchanged";
const REMOVED: &str = "removed";
const REFUSED: &str = "refused";

fn gauge(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Advances a counter to a value counted elsewhere. Only one caller at a time.
fn advance(counter: &IntCounter, to: u64) {
    counter.inc_by(to.saturating_sub(counter.get()));
}
