//! Durations. All are kept, so that percentiles are exact.

use std::fmt;
use std::time::{Duration, Instant};

use crate::Outcome;

/// The durations measured within a period.
#[derive(Clone)]
pub struct Latencies {
    /// In ascending order, never empty.
    sorted: Vec<Duration>,
    within: Duration,
}

impl Latencies {
    /// # Errors
    /// If there are no measurements.
    pub fn new(mut times: Vec<Duration>, within: Duration) -> Outcome<Self> {
        if times.is_empty() {
            return Err("not one answer came in time; give more --seconds".into());
        }
        times.sort_unstable();
        Ok(Self {
            sorted: times,
            within,
        })
    }

    /// Performs the work on one item after another, cyclically, for this long.
    pub fn of<T>(
        items: &[T],
        duration: Duration,
        mut work: impl FnMut(&T) -> Outcome<Duration>,
    ) -> Outcome<Self> {
        let begun = Instant::now();
        let mut times = Vec::new();
        for item in items.iter().cycle() {
            times.push(work(item)?);
            if begun.elapsed() >= duration {
                break;
            }
        }
        Self::new(times, begun.elapsed())
    }

    /// The smallest duration that this share of all did not exceed.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = (share * self.sorted.len() as f64).ceil() as usize;
        self.sorted[rank.clamp(1, self.sorted.len()) - 1]
    }

    pub fn p50(&self) -> Duration {
        self.quantile(0.5)
    }

    pub fn p99(&self) -> Duration {
        self.quantile(0.99)
    }

    pub fn per_second(&self) -> f64 {
        self.sorted.len() as f64 / self.within.as_secs_f64()
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p99) = (milliseconds(self.p50()), milliseconds(self.p99()));
        write!(
            f,
            "{p50} / {p99} ms, {:.0}/s ({} timed)",
            self.per_second(),
            self.sorted.len()
        )
    }
}

/// Milliseconds with three significant digits.
fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    let digits = (2.0 - milliseconds.log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{milliseconds:.digits$}")
}
