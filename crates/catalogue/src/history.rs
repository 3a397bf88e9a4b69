//! Figures over time: of the last hour in memory, of the last week in [`Table::Figures`].
//!
//! Each process writes its own rows, of which the key is a time and the id of the process. A crash forgets those of up to ten
//! minutes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;
use uuid::Uuid;

use super::settings::put;
use super::{Catalogue, CatalogueError};
use crate::api::{History, Sample};
use crate::metrics::{Metrics, resident};
use lapidary_store::{Actor, Rights, RowChange, Table};

/// How often figures are taken for the last hour, and how many of them are kept.
const HOUR: (Duration, usize) = (Duration::from_secs(10), 360);
/// How often figures are taken for the last week, and how many of them are kept, also if they could not be written.
const WEEK: (Duration, usize) = (Duration::from_mins(10), 1_008);
/// The most rows that are deleted when one is written.
const MOST_OUTDATED: usize = 20;

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
    fn new((every, most): (Duration, usize), due: Instant) -> Self {
        Self {
            every,
            most,
            samples: VecDeque::new(),
            before: EventCounts::default(),
            due,
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    /// Takes a sample if it is time to. Returns whether it was.
    fn take(&mut self, now: Instant, counted: &EventCounts, state: &Sample) -> bool {
        if !self.is_due(now) {
            return false;
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
        true
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

/// Takes the figures of a process.
pub struct Recorder {
    process: Uuid,
    recorded: Mutex<Recorded>,
}

struct Recorded {
    hour: Series,
    /// What of the last week is not written yet.
    week: Series,
}

impl Default for Recorder {
    fn default() -> Self {
        let now = Instant::now();
        // The first figures of a week are those of ten minutes, so that a process that ends soon, unused, leaves no row.
        Self {
            process: Uuid::new_v4(),
            recorded: Mutex::new(Recorded {
                hour: Series::new(HOUR, now),
                week: Series::new(WEEK, now + WEEK.0),
            }),
        }
    }
}

impl Recorder {
    /// Takes figures, if it is time to, and writes those of the week.
    ///
    /// # Errors
    /// Those of the store. What could not be written is written the next time.
    pub fn take(&self, metrics: &Metrics, catalogue: &Catalogue) -> Result<(), CatalogueError> {
        let now = Instant::now();
        let mut all = self.recorded.lock();
        if !all.hour.is_due(now) && !all.week.is_due(now) {
            return Ok(());
        }
        let (counted, state) = (EventCounts::of(metrics), state(metrics));
        all.hour.take(now, &counted, &state);
        let is_written = all.week.take(now, &counted, &state);
        drop(all);
        if is_written {
            self.write(catalogue)?;
        }
        Ok(())
    }

    /// Takes and writes the last figures of the week, if there were checks since those before.
    ///
    /// # Errors
    /// Those of the store.
    pub fn finish(&self, metrics: &Metrics, catalogue: &Catalogue) -> Result<(), CatalogueError> {
        let now = Instant::now();
        let counted = EventCounts::of(metrics);
        let mut all = self.recorded.lock();
        if counted.answered > all.week.before.answered {
            all.week.due = now;
            all.week.take(now, &counted, &state(metrics));
        }
        drop(all);
        self.write(catalogue)
    }

    fn write(&self, catalogue: &Catalogue) -> Result<(), CatalogueError> {
        // Whoever asks for figures does not wait for the store.
        let unwritten: Vec<Sample> = self.recorded.lock().week.samples.iter().cloned().collect();
        if unwritten.is_empty() {
            return Ok(());
        }
        catalogue.figures().write(self.process, &unwritten)?;
        let mut all = self.recorded.lock();
        let is_new = |sample: &Sample| unwritten.iter().all(|of| of.timestamp != sample.timestamp);
        all.week.samples.retain(is_new);
        Ok(())
    }

    /// The figures of the last hour.
    pub fn last_hour(&self) -> History {
        let samples = self.recorded.lock().hour.samples.iter().cloned().collect();
        history(HOUR.0, samples)
    }
}

fn history(every: Duration, samples: Vec<Sample>) -> History {
    History {
        interval_seconds: every.as_secs() as u32,
        samples,
    }
}

/// The figures of the last week ([`Catalogue::figures`]).
#[derive(Debug, Clone)]
pub struct Figures<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> Figures<C> {
    /// Writes samples of a process, and deletes some that are too old.
    fn write(&self, process: Uuid, samples: &[Sample]) -> Result<(), CatalogueError> {
        let oldest = self.0.page_of(Table::Figures, b"", None, MOST_OUTDATED)?;
        let first = first_kept();
        let outdated = oldest.into_iter().filter(|(key, _)| *key < first);
        let outdated = outdated.map(|(key, _)| RowChange::delete(Table::Figures, key));
        let rows = samples.iter().map(|sample| {
            let key = [key_of(sample.timestamp).as_slice(), process.as_bytes()].concat();
            put(Table::Figures, key, sample)
        });
        let changes: Vec<RowChange> = outdated.chain(rows).collect();
        self.0.store.apply(&Actor::Local, &changes, &[])?;
        Ok(())
    }

    /// The figures of the last week, of all processes that share the catalogue.
    ///
    /// # Errors
    /// Those of the store.
    pub fn last_week(&self) -> Result<History, CatalogueError> {
        let mut intervals: BTreeMap<i64, Sample> = BTreeMap::new();
        let first = first_kept();
        let rows = self.0.store.table(Table::Figures)?.into_iter();
        for (_, row) in rows.filter(|(key, _)| *key >= first) {
            let Ok(sample) = serde_json::from_slice::<Sample>(&row) else {
                continue;
            };
            let interval = sample.timestamp.as_second() / WEEK.0.as_secs().cast_signed();
            match intervals.get_mut(&interval) {
                Some(all) => add(all, sample),
                None => drop(intervals.insert(interval, sample)),
            }
        }
        Ok(history(WEEK.0, intervals.into_values().collect()))
    }
}

/// The key of the rows of a time, as far as it is the same for all processes. Their order is that of their times.
fn key_of(time: Timestamp) -> Vec<u8> {
    time.as_millisecond().to_be_bytes().to_vec()
}

/// The first key of the last week.
fn first_kept() -> Vec<u8> {
    let (every, most) = WEEK;
    let first = Timestamp::now().checked_sub(every * most as u32);
    key_of(first.unwrap_or(Timestamp::UNIX_EPOCH))
}

/// Adds the figures of another process, or of one that ended, in the same interval: all checks, the slowest latencies, and the
/// largest sizes.
fn add(all: &mut Sample, other: Sample) {
    for (verdict, checks) in other.checks {
        *all.checks.entry(verdict).or_default() += checks;
    }
    all.timestamp = all.timestamp.max(other.timestamp);
    all.median_seconds = slower(all.median_seconds, other.median_seconds);
    all.p99_seconds = slower(all.p99_seconds, other.p99_seconds);
    all.books = all.books.max(other.books);
    all.disk_bytes = all.disk_bytes.max(other.disk_bytes);
    all.memory_bytes = all.memory_bytes.max(other.memory_bytes);
}

fn slower(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
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
        let mut series = Series::new((Duration::from_secs(10), 2), Instant::now());
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        series.take(at(0), &counted(0, [0, 0, 0]), &state());
        series.take(at(10), &counted(5, [90, 99, 100]), &state());
        series.take(at(15), &counted(6, [90, 99, 101]), &state());
        series.take(at(20), &counted(6, [90, 100, 110]), &state());
        let samples = series.samples;
        assert_eq!(
            samples.len(),
            2,
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

    #[test]
    fn a_week_has_the_figures_of_all_processes_and_of_those_that_ended() {
        let folder = tempfile::tempdir().unwrap();
        let begin = Timestamp::now().as_second() / 600 * 600;
        let sample = |seconds: i64, protected: u64, median: Option<f64>| {
            let at = Timestamp::from_second(begin + seconds);
            Sample {
                timestamp: at.unwrap(),
                checks: [("protected".to_owned(), protected)].into(),
                median_seconds: median,
                ..state()
            }
        };
        let write = |samples: &[Sample]| {
            let catalogue = Catalogue::open_or_create(folder.path()).unwrap();
            catalogue.figures().write(Uuid::new_v4(), samples).unwrap();
        };
        let week = -7 * 24 * 3_600 - 601;
        write(&[sample(week, 1, None), sample(-1, 2, None)]);
        write(&[sample(0, 3, Some(0.1)), sample(-1, 4, None)]);
        write(&[sample(1, 5, Some(0.2)), sample(2, 6, None)]);
        let catalogue = Catalogue::open_or_create(folder.path()).unwrap();
        let told = catalogue.figures().last_week().unwrap();
        assert_eq!(told.interval_seconds, 600);
        assert_eq!(
            told.samples,
            [sample(-1, 6, None), sample(2, 14, Some(0.2))]
        );
        let rows = catalogue.page_of(Table::Figures, b"", None, 100).unwrap();
        assert_eq!(rows.len(), 5, "what is older than a week was deleted");
    }

    #[test]
    fn what_is_not_written_yet_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::open_or_create(folder.path()).unwrap();
        let recorder = Recorder::default();
        let take = |second: u64| {
            let mut all = recorder.recorded.lock();
            let at = all.week.due + Duration::from_secs(second);
            let timestamp = Timestamp::now().checked_sub(Duration::from_secs(second));
            let state = Sample {
                timestamp: timestamp.unwrap(),
                ..state()
            };
            assert!(all.week.take(at, &counted(second, [0; 3]), &state));
        };
        let checks = || {
            let week = catalogue.figures().last_week().unwrap().samples;
            week.iter().map(|of| of.checks["protected"]).sum::<u64>()
        };
        take(1);
        take(3);
        assert_eq!(checks(), 0);
        recorder.write(&catalogue).unwrap();
        assert_eq!(checks(), 3);
        take(7);
        recorder.write(&catalogue).unwrap();
        recorder.write(&catalogue).unwrap();
        assert_eq!(checks(), 7);
        assert!(recorder.recorded.lock().week.samples.is_empty());
    }
}
