//! How much of its rate and its daily quota a key has used.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::HeaderMap;
use actix_web::{HttpMessage, HttpRequest, rt, web};
use governor::RateLimiter;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use parking_lot::{Mutex, MutexGuard};

use super::super::problem::Problem;
use super::{header, quota, too_many, whole_seconds};
use lapidary_catalogue::api::Key;
use lapidary_catalogue::permission::Rate;
use lapidary_catalogue::{Catalogue, CatalogueError, Usage};
use lapidary_common::error::ErrorCode;
use lapidary_store::{Spending, Spent};

type Limiter = RateLimiter<NotKeyed, InMemoryState, DefaultClock, StateInformationMiddleware>;

/// A key's limits and usage.
pub(in crate::server) struct Meter {
    rate: Option<(Rate, Limiter)>,
    quota: Option<Rate>,
    used: Mutex<Used>,
    /// The name of the key, and where all servers count together what it uses.
    shared: Option<(String, Arc<Catalogue>)>,
}

struct Used {
    usage: Usage,
    /// How many of the requests used are saved on disk.
    noted: u64,
    /// Whether it was told that the quota is used up.
    is_told: bool,
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
    pub(super) fn new(key: &Key, noted: Option<Usage>, catalogue: &Arc<Catalogue>) -> Self {
        let usage = noted.unwrap_or(Usage {
            day: day_of(Timestamp::now()).0,
            count: 0,
        });
        let used = Mutex::new(Used {
            usage,
            noted: usage.count,
            is_told: key
                .quota
                .is_some_and(|quota| usage.count >= quota.count.into()),
        });
        let has_limits = key.rate.is_some() || key.quota.is_some();
        let shared = (has_limits && catalogue.is_shared())
            .then(|| (key.name.clone(), Arc::clone(catalogue)));
        Self {
            rate: key.rate.map(|rate| {
                (
                    rate,
                    RateLimiter::direct(quota(rate))
                        .with_middleware::<StateInformationMiddleware>(),
                )
            }),
            quota: key.quota,
            used,
            shared,
        }
    }

    /// The rate and the quota.
    pub(super) fn limits(&self) -> (Option<Rate>, Option<Rate>) {
        (self.rate.as_ref().map(|(rate, _)| *rate), self.quota)
    }

    /// Counts a request, if it is within the limits.
    pub(super) async fn count(&self) -> Result<Allowance, Problem> {
        let Some(spent) = self.spend(1, 1).await? else {
            return Ok(self.count_at(Timestamp::now()));
        };
        let Spent {
            used,
            counted,
            wait,
            busy,
        } = spent;
        self.used_on(Timestamp::now()).0.usage.count = used;
        let left_of_day = day_of(Timestamp::now()).1;
        let is_waiting = wait > Duration::ZERO;
        Ok(
            match self.limits().0.filter(|_| is_waiting || counted > 0) {
                None => self.of_quota(used, counted == 0, left_of_day),
                Some(rate) => {
                    let each = Duration::from_secs(rate.per.seconds().into()) / rate.count.max(1);
                    let spent = busy.as_nanos().div_ceil(each.as_nanos().max(1));
                    let remaining = u64::from(rate.count)
                        .saturating_sub(u64::try_from(spent).unwrap_or(u64::MAX));
                    self.of_rate(rate, remaining, busy, is_waiting.then_some(wait))
                }
            },
        )
    }

    /// Counts for all servers that share the catalogue; `None` if there is only this one.
    async fn spend(&self, of_quota: i64, of_rate: u32) -> Result<Option<Spent>, Problem> {
        let Some((name, catalogue)) = self.shared.clone() else {
            return Ok(None);
        };
        let spending = self.spending(of_quota, of_rate);
        // Not on a thread that serves connections.
        let spent = web::block(move || catalogue.spend(&name, &spending)).await;
        Ok(spent.map_err(|_| {
            Problem::new(
                ErrorCode::Internal,
                "the limits of the key could not be counted",
            )
        })??)
    }

    fn spending(&self, of_quota: i64, of_rate: u32) -> Spending {
        let (rate, quota) = self.limits();
        let rate = rate.map(|rate| (rate.count, Duration::from_secs(rate.per.seconds().into())));
        let day = day_of(Timestamp::now()).0.to_string();
        Spending {
            quota: (quota.map(|quota| quota.count), of_quota),
            day,
            rate: (rate, of_rate),
        }
    }

    /// Counts books towards the daily quota, as far as it allows. Returns whether there is room for more.
    pub(super) fn count_books(&self, books: usize) -> Result<bool, CatalogueError> {
        let Some(quota) = self.quota.map(|quota| u64::from(quota.count)) else {
            return Ok(true);
        };
        let spent = self
            .shared
            .as_ref()
            .map(|(name, catalogue)| {
                let of_quota = i64::try_from(books).unwrap_or(i64::MAX);
                catalogue.spend(name, &self.spending(of_quota, 0))
            })
            .transpose()?;
        let used = spent.flatten().map_or_else(
            || {
                let (mut used, _) = self.used_on(Timestamp::now());
                let more = (books as u64).min(quota.saturating_sub(used.usage.count));
                used.usage.count += more;
                used.usage.count
            },
            |spent| {
                self.used_on(Timestamp::now()).0.usage.count = spent.used;
                spent.used
            },
        );
        Ok(used < quota)
    }

    fn policy(&self) -> String {
        let policies = self.rate.iter().map(|(rate, _)| rate).chain(&self.quota);
        let policies: Vec<String> = policies
            .map(|rate| format!("{};w={}", rate.count, rate.per.seconds()))
            .collect();
        policies.join(", ")
    }

    fn of_quota(&self, count: u64, refused: bool, left_of_day: Duration) -> Allowance {
        let limit = self.quota.unwrap_or(Rate {
            count: u32::MAX,
            per: lapidary_catalogue::permission::Unit::Second,
        });
        let remaining = u64::from(limit.count).saturating_sub(count);
        let refused_for = refused.then_some(left_of_day);
        Allowance {
            limit,
            of_day: true,
            remaining,
            reset: left_of_day,
            refused_for,
            policy: self.policy(),
        }
    }

    fn of_rate(
        &self,
        limit: Rate,
        remaining: u64,
        reset: Duration,
        refused_for: Option<Duration>,
    ) -> Allowance {
        Allowance {
            limit,
            of_day: false,
            remaining,
            reset,
            refused_for,
            policy: self.policy(),
        }
    }

    fn count_at(&self, now: Timestamp) -> Allowance {
        let (mut used, left_of_day) = self.used_on(now);
        if self
            .quota
            .is_some_and(|quota| used.usage.count >= quota.count.into())
        {
            return self.of_quota(used.usage.count, true, left_of_day);
        }
        let Some((rate, limiter)) = &self.rate else {
            used.usage.count += 1;
            return self.of_quota(used.usage.count, false, left_of_day);
        };
        match limiter.check() {
            Ok(state) => {
                used.usage.count += 1;
                let remaining = state.remaining_burst_capacity();
                let spent = rate.count.saturating_sub(remaining);
                let each = Duration::from_secs(rate.per.seconds().into()) / rate.count;
                self.of_rate(*rate, remaining.into(), each * spent, None)
            }
            Err(until) => {
                let wait = until.wait_time_from(DefaultClock::default().now());
                self.of_rate(*rate, 0, wait, Some(wait))
            }
        }
    }

    /// The usage of the current day, and how much of that day remains. If the clock is set back, that is a different
    /// day too: a key whose quota was used up under a wrong clock is not locked out until that day.
    fn used_on(&self, now: Timestamp) -> (MutexGuard<'_, Used>, Duration) {
        let (day, left_of_day) = day_of(now);
        let mut used = self.used.lock();
        if used.usage.day != day {
            *used = Used {
                usage: Usage { day, count: 0 },
                noted: 0,
                is_told: false,
            };
        }
        (used, left_of_day)
    }

    /// The meter of the key that a request came with.
    pub(in crate::server) fn of(request: &HttpRequest) -> Option<Arc<Self>> {
        request.extensions().get::<Arc<Self>>().cloned()
    }

    /// Counts the lines of a stream towards the rate, and waits until the rate allows them.
    pub(in crate::server) async fn pace(&self, lines: usize) {
        let Some((_, limiter)) = &self.rate else {
            return;
        };
        for _ in 0..lines {
            loop {
                let wait = match self.spend(0, 1).await {
                    Ok(Some(spent)) => spent.wait,
                    Ok(None) => {
                        let until = limiter.check().err();
                        until.map_or(Duration::ZERO, |until| {
                            until.wait_time_from(DefaultClock::default().now())
                        })
                    }
                    // The lines will fail for the same reason.
                    Err(_) => Duration::ZERO,
                };
                if wait.is_zero() {
                    break;
                }
                rt::time::sleep(wait).await;
            }
        }
    }

    /// Stops counting the request itself towards the daily quota, because its lines are counted individually.
    pub(in crate::server) async fn count_by_lines(&self) {
        if self.quota.is_some() && !matches!(self.spend(-1, 0).await, Ok(None)) {
            return;
        }
        let (mut used, _) = self.used_on(Timestamp::now());
        used.usage.count = used.usage.count.saturating_sub(1);
    }

    /// Counts lines of a stream towards the daily quota, as far as it allows. Returns how many were counted, and the
    /// problem to answer the others with.
    pub(in crate::server) async fn count_lines(&self, lines: usize) -> (usize, Option<Problem>) {
        let Some(quota) = self.quota else {
            return (lines, None);
        };
        let counted = match self
            .spend(i64::try_from(lines).unwrap_or(i64::MAX), 0)
            .await
        {
            Err(problem) => return (0, Some(problem)),
            Ok(Some(spent)) => {
                self.used_on(Timestamp::now()).0.usage.count = spent.used;
                usize::try_from(spent.counted).unwrap_or(0)
            }
            Ok(None) => {
                let (mut used, _) = self.used_on(Timestamp::now());
                let room = u64::from(quota.count).saturating_sub(used.usage.count);
                let counted = lines.min(usize::try_from(room).unwrap_or(usize::MAX));
                used.usage.count += counted as u64;
                counted
            }
        };
        (
            counted,
            (counted < lines).then(|| {
                let detail = format!(
                    "the daily quota ({quota}) is used up; wait, or ask the administrator for more"
                );
                too_many(&detail, day_of(Timestamp::now()).1)
            }),
        )
    }

    /// Calls `tell` if the quota of the day is used up, once a day.
    pub(super) fn tell_used_up(
        &self,
        tell: impl FnOnce() -> Result<(), CatalogueError>,
    ) -> Result<(), CatalogueError> {
        let (used, _) = self.used_on(Timestamp::now());
        let is_used_up = self
            .quota
            .is_some_and(|quota| used.usage.count >= quota.count.into());
        let is_to_tell = is_used_up && !used.is_told;
        drop(used);
        if is_to_tell {
            tell()?;
            self.used.lock().is_told = true;
        }
        Ok(())
    }

    /// The usage, if not all of it is on disk; it is considered saved from now on.
    pub(super) fn unnoted(&self) -> Option<Usage> {
        self.quota?;
        let mut used = self.used.lock();
        let changed = used.noted != used.usage.count;
        used.noted = used.usage.count;
        changed.then_some(used.usage)
    }
}

/// The UTC day, and how much of it remains.
fn day_of(now: Timestamp) -> (Date, Duration) {
    let now = now.to_zoned(TimeZone::UTC);
    let left = now
        .tomorrow()
        .and_then(|tomorrow| tomorrow.start_of_day())
        .map(|next| next.duration_since(&now));
    let left = left
        .ok()
        .and_then(|left| Duration::try_from(left).ok())
        .unwrap_or(Duration::from_mins(1));
    (now.date(), left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapidary_catalogue::permission::Role;

    #[test]
    fn a_clock_that_jumps_locks_nobody_out() {
        let key = Key {
            id: "1".to_owned(),
            name: "shop".to_owned(),
            role: Some(Role::Check),
            permissions: [].into(),
            libraries: [].into(),
            must_gate: None,
            rate: None,
            quota: "2/day".parse().ok(),
            expires_at: None,
            created_at: Timestamp::now(),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Arc::new(Catalogue::open_or_create(folder.path()).expect("a catalogue"));
        let meter = Meter::new(&key, None, &catalogue);
        // Two requests are admitted each day: at midnight, years ahead, back again, and before 1970.
        for now in [
            "2026-03-01T23:59:58Z",
            "2026-03-02T00:00:00Z",
            "2040-01-01T12:00:00Z",
            "2026-03-02T00:00:01Z",
            "1969-12-31T23:59:59Z",
        ] {
            let now: Timestamp = now.parse().expect("a time");
            assert_eq!(
                [(); 2].map(|()| meter.count_at(now).refused_for),
                [None; 2],
                "{now}"
            );
            let wait = meter
                .count_at(now)
                .refused_for
                .expect("the third is too many");
            let next = now
                .checked_add(jiff::SignedDuration::try_from(wait).expect("short"))
                .expect("a time");
            assert_eq!(
                next.to_zoned(TimeZone::UTC).time(),
                jiff::civil::Time::midnight(),
                "{now}"
            );
        }
    }
}
