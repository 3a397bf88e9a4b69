//! Figures over time, kept in memory since the start of this process.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::api::{History, Sample};
use crate::metrics::{Metrics, resident};
use lapidary_store::Rights;

/// How often figures are taken for the last hour, and for the last week.
const HOUR: (Duration, usize) = (Duration::from_secs(10), 360);
const WEEK: (Duration, usize) = (Duration::from_mins(10), 1_008);

/// What is counted since the start.
#[derive(Debug, Clone, Default)]
struct EventCounts {
    checks: BTreeMap<String, u64>,
    /// For each bucket its upper limit in seconds, and the checks up to it.
    latencies: Vec<(f64, u64)>,
    answered: u64,
}

/// Figures at regular intervals.
struct Series {
    every: Duration,
    most: usize,
    samples: VecDeque<Sample>,
    before: EventCounts,
    due: Instant,
}

impl Series {
    fn new((every, most): (Duration, usize)) -> Self {
        Self {
            every,
            most,
            samples: VecDeque::new(),
            before: EventCounts::default(),
            due: Instant::now(),
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    fn take(&mut self, now: Instant, counted: &EventCounts, state: &Sample) {
        if !self.is_due(now) {
            return;
        }
        // After a pause, such as a machine that slept, there is one sample, not many.
        self.due = now + self.every;
        let before = std::mem::replace(&mut self.before, counted.clone());
        let checks = counted.checks.iter().map(|(verdict, number)| {
            (
                verdict.clone(),
                number.saturating_sub(before.checks.get(verdict).copied().unwrap_or_default()),
            )
        });
        let sample = Sample {
            checks: checks.collect(),
            median_seconds: quantile(&before, counted, 0.5),
            p99_seconds: quantile(&before, counted, 0.99),
            ..state.clone()
        };
        self.samples.push_back(sample);
        if self.samples.len() > self.most {
            self.samples.pop_front();
        }
    }

    fn shown(&self) -> History {
        History {
            interval_seconds: self.every.as_secs() as u32,
            samples: self.samples.iter().cloned().collect(),
        }
    }
}

/// The latency that this share of the checks between two counts did not exceed, in seconds: the limit of its bucket.
fn quantile(before: &EventCounts, now: &EventCounts, share: f64) -> Option<f64> {
    let answered = now.answered.saturating_sub(before.answered);
    let wanted = (answered as f64 * share).ceil() as u64;
    let up_to = |at: usize| before.latencies.get(at).map_or(0, |(_, number)| *number);
    let found = now
        .latencies
        .iter()
        .enumerate()
        .find(|(at, (_, number))| number.saturating_sub(up_to(*at)) >= wanted);
    let (limit, _) = found.map(|(_, bucket)| bucket).or(now.latencies.last())?;
    (answered > 0).then_some(*limit)
}

/// Figures over time.
pub struct Recorder(Mutex<[Series; 2]>);

impl Default for Recorder {
    fn default() -> Self {
        Self(Mutex::new([Series::new(HOUR), Series::new(WEEK)]))
    }
}

impl Recorder {
    /// Takes figures, if it is time to.
    pub fn take(&self, metrics: &Metrics) {
        let now = Instant::now();
        let mut all = self.0.lock();
        if all.iter().any(|series| series.is_due(now)) {
            let (counted, state) = (EventCounts::of(metrics), state(metrics));
            all.iter_mut()
                .for_each(|series| series.take(now, &counted, &state));
        }
    }

    /// The figures of the last hour, or of the last week.
    pub fn shown(&self, of_week: bool) -> History {
        self.0.lock()[usize::from(of_week)].shown()
    }
}

impl EventCounts {
    fn of(metrics: &Metrics) -> Self {
        let checks = Rights::ALL.map(|verdict| {
            let verdict = verdict.as_str();
            (verdict.to_owned(), metrics.checks_with(verdict))
        });
        Self {
            checks: checks.into(),
            latencies: metrics.check_durations(),
            answered: metrics.checks_answered(),
        }
    }
}

/// The figures that are not counted.
fn state(metrics: &Metrics) -> Sample {
    Sample {
        timestamp: Timestamp::now(),
        checks: BTreeMap::new(),
        median_seconds: None,
        p99_seconds: None,
        books: metrics.store.most_books(),
        disk_bytes: metrics.store.disk_bytes(),
        memory_bytes: resident(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(protected: u64, latencies: [u64; 3]) -> EventCounts {
        let limits = [0.001, 0.01, 0.1];
        EventCounts {
            checks: [("protected".to_owned(), protected)].into(),
            latencies: limits.into_iter().zip(latencies).collect(),
            answered: latencies[2],
        }
    }

    fn state() -> Sample {
        let at = Timestamp::UNIX_EPOCH;
        Sample {
            timestamp: at,
            checks: BTreeMap::new(),
            median_seconds: None,
            p99_seconds: None,
            books: 7,
            disk_bytes: 1,
            memory_bytes: 2,
        }
    }

    #[test]
    fn a_sample_has_what_happened_since_the_one_before() {
        let mut series = Series::new((Duration::from_secs(10), 2));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        series.take(at(0), &counted(0, [0, 0, 0]), &state());
        series.take(at(10), &counted(5, [90, 99, 100]), &state());
        series.take(at(15), &counted(6, [90, 99, 101]), &state());
        series.take(at(20), &counted(6, [90, 100, 110]), &state());
        let History {
            interval_seconds,
            samples,
        } = series.shown();
        assert_eq!(
            (interval_seconds, samples.len()),
            (10, 2),
            "the oldest is gone, and 15 seconds were too early"
        );
        assert_eq!(
            (
                samples[0].checks["protected"],
                samples[0].median_seconds,
                samples[0].p99_seconds
            ),
            (5, Some(0.001), Some(0.01))
        );
        assert_eq!(
            (
                samples[1].checks["protected"],
                samples[1].median_seconds,
                samples[1].p99_seconds
            ),
            (1, Some(0.1), Some(0.1))
        );
        assert_eq!(
            quantile(&counted(0, [1, 1, 1]), &counted(0, [1, 1, 1]), 0.5),
            None,
            "nothing happened"
        );
    }
}
