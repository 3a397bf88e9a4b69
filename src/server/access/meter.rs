//! How much of its rate and its daily quota a key has used.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::http::header::HeaderMap;
use actix_web::{HttpMessage, HttpRequest, rt};
use governor::RateLimiter;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::super::problem::Problem;
use super::{header, quota, too_many, whole_seconds};
use crate::catalogue::{Key, Usage};
use crate::permission::Rate;

type Limiter = RateLimiter<NotKeyed, InMemoryState, DefaultClock, StateInformationMiddleware>;

/// A key's limits and usage.
pub(in crate::server) struct Meter {
    rate: Option<(Rate, Limiter)>,
    quota: Option<Rate>,
    used: Mutex<Used>,
}

struct Used {
    usage: Usage,
    /// How many of the requests used are saved on disk.
    noted: u64,
}

/// What a key has left after a request, or why it was refused.
pub(super) struct Allowance {
    /// The limit that the remainder refers to: the rate, or for a key without one, the quota.
    pub(super) limit: Rate,
    /// Whether that is the quota.
    pub(super) of_day: bool,
    remaining: u64,
    reset: Duration,
    /// How long to wait, if it was refused.
    pub(super) refused_for: Option<Duration>,
    policy: String,
}

impl Allowance {
    /// Sets the rate limit headers (draft-ietf-httpapi-ratelimit-headers), if there is a limit.
    pub(super) fn tell(&self, headers: &mut HeaderMap) {
        if self.policy.is_empty() {
            return;
        }
        let told = [
            header("ratelimit-limit", self.limit.count),
            header("ratelimit-remaining", self.remaining),
            header("ratelimit-reset", whole_seconds(self.reset)),
            header("ratelimit-policy", &self.policy),
        ];
        for (name, value) in told.into_iter().flatten() {
            headers.insert(name, value);
        }
    }
}

impl Meter {
    pub(super) fn new(key: &Key, noted: Option<Usage>) -> Self {
        let limiter = |rate| (rate, RateLimiter::direct(quota(rate)).with_middleware::<StateInformationMiddleware>());
        let usage = noted.unwrap_or(Usage { day: day_of(Timestamp::now()).0, count: 0 });
        let used = Mutex::new(Used { usage, noted: usage.count });
        Self { rate: key.rate.map(limiter), quota: key.quota, used }
    }

    /// The rate and the quota.
    pub(super) fn limits(&self) -> (Option<Rate>, Option<Rate>) {
        (self.rate.as_ref().map(|(rate, _)| *rate), self.quota)
    }

    /// Counts a request, if it is within the limits.
    pub(super) fn count(&self) -> Allowance {
        self.count_at(Timestamp::now())
    }

    fn count_at(&self, now: Timestamp) -> Allowance {
        let (mut used, left_of_day) = self.used_on(now);
        let policies = self.rate.iter().map(|(rate, _)| rate).chain(&self.quota);
        let policies: Vec<String> = policies.map(|rate| format!("{};w={}", rate.count, rate.per.seconds())).collect();
        let policy = policies.join(", ");
        let unlimited = Rate { count: u32::MAX, per: crate::permission::Unit::Second };
        let of_quota = |count: u64, refused: bool| {
            let limit = self.quota.unwrap_or(unlimited);
            let remaining = u64::from(limit.count).saturating_sub(count);
            let refused_for = refused.then_some(left_of_day);
            Allowance { limit, of_day: true, remaining, reset: left_of_day, refused_for, policy: policy.clone() }
        };
        if self.quota.is_some_and(|quota| used.usage.count >= quota.count.into()) {
            return of_quota(used.usage.count, true);
        }
        let Some((rate, limiter)) = &self.rate else {
            used.usage.count += 1;
            return of_quota(used.usage.count, false);
        };
        let allowance = |remaining, reset, refused_for| Allowance {
            limit: *rate,
            of_day: false,
            remaining,
            reset,
            refused_for,
            policy: policy.clone(),
        };
        match limiter.check() {
            Ok(state) => {
                used.usage.count += 1;
                let remaining = state.remaining_burst_capacity();
                let spent = rate.count.saturating_sub(remaining);
                let each = Duration::from_secs(rate.per.seconds().into()) / rate.count;
                allowance(remaining.into(), each * spent, None)
            }
            Err(until) => {
                let wait = until.wait_time_from(DefaultClock::default().now());
                allowance(0, wait, Some(wait))
            }
        }
    }

    /// The usage of the current day, and how much of that day remains. If the clock is set back, that is a different
    /// day too: a key whose quota was used up under a wrong clock is not locked out until that day.
    fn used_on(&self, now: Timestamp) -> (MutexGuard<'_, Used>, Duration) {
        let (day, left_of_day) = day_of(now);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.usage.day != day {
            *used = Used { usage: Usage { day, count: 0 }, noted: 0 };
        }
        (used, left_of_day)
    }

    /// The meter of the key that a request came with.
    pub(in crate::server) fn of(request: &HttpRequest) -> Option<Arc<Self>> {
        request.extensions().get::<Arc<Self>>().cloned()
    }

    /// Counts the lines of a stream towards the rate, and waits until the rate allows them.
    pub(in crate::server) async fn pace(&self, lines: usize) {
        let Some((_, limiter)) = &self.rate else { return };
        for _ in 0..lines {
            while let Err(until) = limiter.check() {
                rt::time::sleep(until.wait_time_from(DefaultClock::default().now())).await;
            }
        }
    }

    /// Stops counting the request itself towards the daily quota, because its lines are counted individually.
    pub(in crate::server) fn count_by_lines(&self) {
        let (mut used, _) = self.used_on(Timestamp::now());
        used.usage.count = used.usage.count.saturating_sub(1);
    }

    /// Counts lines of a stream towards the daily quota, as far as it allows. Returns how many were counted, and the
    /// problem to answer the others with.
    pub(in crate::server) fn count_lines(&self, lines: usize) -> (usize, Option<Problem>) {
        let Some(quota) = self.quota else { return (lines, None) };
        let (mut used, left_of_day) = self.used_on(Timestamp::now());
        let room = u64::from(quota.count).saturating_sub(used.usage.count);
        let counted = lines.min(usize::try_from(room).unwrap_or(usize::MAX));
        used.usage.count += counted as u64;
        let refused = || {
            too_many(
                &format!(
                    "the daily quota ({quota}) is used up; wait, or ask the administrator for \
                                            more"
                ),
                left_of_day,
            )
        };
        (counted, (counted < lines).then(refused))
    }

    /// The usage, if not all of it is on disk; it is considered saved from now on.
    pub(super) fn unnoted(&self) -> Option<Usage> {
        self.quota?;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = used.noted != used.usage.count;
        used.noted = used.usage.count;
        changed.then_some(used.usage)
    }
}

/// The UTC day, and how much of it remains.
fn day_of(now: Timestamp) -> (Date, Duration) {
    let now = now.to_zoned(TimeZone::UTC);
    let left = now.tomorrow().and_then(|tomorrow| tomorrow.start_of_day()).map(|next| next.duration_since(&now));
    let left = left.ok().and_then(|left| Duration::try_from(left).ok()).unwrap_or(Duration::from_secs(60));
    (now.date(), left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permission::Role;

    #[test]
    fn a_clock_that_jumps_locks_nobody_out() {
        let key = Key {
            id: "1".to_owned(),
            name: "shop".to_owned(),
            role: Role::Check,
            libraries: [].into(),
            rate: None,
            quota: "2/day".parse().ok(),
            expires: None,
            created: Timestamp::now(),
        };
        let meter = Meter::new(&key, None);
        // Two requests are admitted each day: at midnight, years ahead, back again, and before 1970.
        for now in [
            "2026-03-01T23:59:58Z",
            "2026-03-02T00:00:00Z",
            "2040-01-01T12:00:00Z",
            "2026-03-02T00:00:01Z",
            "1969-12-31T23:59:59Z",
        ] {
            let now: Timestamp = now.parse().expect("a time");
            assert_eq!([(); 2].map(|()| meter.count_at(now).refused_for), [None; 2], "{now}");
            let wait = meter.count_at(now).refused_for.expect("the third is too many");
            let next = now.checked_add(jiff::SignedDuration::try_from(wait).expect("short")).expect("a time");
            assert_eq!(next.to_zoned(TimeZone::UTC).time(), jiff::civil::Time::midnight(), "{now}");
        }
    }
}
