//! How many checks a day had which verdict, for whom, because of which library, and how long the texts were.
//!
//! Each process counts in memory, and writes what it counted every few seconds to [`Table::CheckCounts`]. A crash forgets
//! these seconds. The key of a row is a day and the id of the process, so that no two processes write the same row.

use std::collections::BTreeMap;
use std::ops::{AddAssign, Deref};

use jiff::ToSpan as _;
use jiff::civil::Date;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::check::today;
use super::settings::put;
use super::{Catalogue, CatalogueError};
use crate::api::{ActorChecks, CheckStatistics, DayChecks, LibraryChecks, Report};
use lapidary_store::{Actor, Row, RowChange, Table};

/// How many days are kept.
const DAYS: i64 = 400;
/// How many days are told unless more are asked for.
const TOLD: i64 = 30;
/// The most different counts of a day that a process remembers: a few MB. All others are counted together.
const MOST: usize = 20_000;
/// Who checks are counted for that are counted together.
const OTHERS: &str = "others";
/// How many rows are read at once.
const PAGE: usize = 500;

/// What is counted alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct CountedAs {
    actor: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    library: Option<String>,
    verdict: String,
}

/// So many checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenAmount")]
struct Amount {
    checks: u64,
    /// The length of their texts.
    characters: u64,
}

/// An amount in a row. At first, only checks were counted.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenAmount {
    Checks(u64),
    Amount { checks: u64, characters: u64 },
}

impl From<WrittenAmount> for Amount {
    fn from(written: WrittenAmount) -> Self {
        match written {
            WrittenAmount::Checks(checks) => Self {
                checks,
                characters: 0,
            },
            WrittenAmount::Amount { checks, characters } => Self { checks, characters },
        }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        self.checks += more.checks;
        self.characters += more.characters;
    }
}

type Counts = BTreeMap<CountedAs, Amount>;
/// A row: what one process counted on one day.
type CountedRow = Vec<(CountedAs, Amount)>;

#[derive(Debug, Default)]
struct CountedDay {
    counts: Counts,
    /// Whether something was counted since it was written.
    has_more: bool,
}

/// What this process counted.
#[derive(Debug)]
pub(super) struct CheckCounts {
    process: Uuid,
    days: Mutex<BTreeMap<Date, CountedDay>>,
    /// Held while rows are written; the day on which old ones were deleted last.
    writing: Mutex<Option<Date>>,
}

impl Default for CheckCounts {
    fn default() -> Self {
        Self {
            process: Uuid::new_v4(),
            days: Mutex::default(),
            writing: Mutex::default(),
        }
    }
}

impl CheckCounts {
    /// Counts a check, or a book that the gate refused. `verdict`: that of the report, or `not_checked`; `characters`: the length of
    /// the text.
    pub(super) fn note(&self, actor: &Actor, verdict: &str, report: &Report, characters: usize) {
        let library = report
            .decided_by
            .as_ref()
            .filter(|_| report.verdict.forbids());
        let mut kind = CountedAs {
            actor: actor.to_string(),
            library: library.map(ToString::to_string),
            verdict: verdict.to_owned(),
        };
        let mut days = self.days();
        let day = days.entry(today()).or_default();
        if day.counts.len() >= MOST && !day.counts.contains_key(&kind) {
            OTHERS.clone_into(&mut kind.actor);
            kind.library = None;
        }
        *day.counts.entry(kind).or_default() += Amount {
            checks: 1,
            characters: characters as u64,
        };
        day.has_more = true;
    }

    fn days(&self) -> MutexGuard<'_, BTreeMap<Date, CountedDay>> {
        self.days.lock()
    }

    fn key(&self, day: Date) -> Vec<u8> {
        [day.to_string().as_bytes(), self.process.as_bytes()].concat()
    }

    /// The rows with what was counted since they were written.
    fn unwritten(&self) -> Vec<(Date, CountedRow)> {
        let days = self.days();
        let unwritten = days.iter().filter(|(_, day)| day.has_more);
        unwritten
            .map(|(day, of)| (*day, of.counts.clone().into_iter().collect()))
            .collect()
    }

    /// Remembers what was written, and forgets the days that are over.
    fn wrote(&self, rows: &[(Date, CountedRow)]) {
        let mut days = self.days();
        for (day, written) in rows {
            if let Some(of) = days.get_mut(day) {
                of.has_more = of
                    .counts
                    .iter()
                    .ne(written.iter().map(|(kind, of)| (kind, of)));
            }
        }
        days.retain(|day, of| of.has_more || *day == today());
    }
}

/// How many checks there were ([`Catalogue::check_history`]).
#[derive(Debug, Clone)]
pub struct CheckHistory<C>(pub(super) C);

impl<C: Deref<Target = Catalogue>> CheckHistory<C> {
    /// Writes what this process counted, and deletes what is too old.
    ///
    /// # Errors
    /// Those of the store. Nothing is lost: it is written the next time.
    pub fn write(&self) -> Result<(), CatalogueError> {
        let counted = &self.0.check_counts;
        let mut cleared = counted.writing.lock();
        let days = counted.unwritten();
        if days.is_empty() {
            return Ok(());
        }
        let mut changes = Vec::new();
        if *cleared != Some(today()) {
            changes = self.outdated()?;
        }
        let rows = days.iter();
        changes.extend(rows.map(|(day, row)| put(Table::CheckCounts, counted.key(*day), row)));
        self.0.store.apply(&Actor::Local, &changes, &[])?;
        counted.wrote(&days);
        *cleared = Some(today());
        Ok(())
    }

    /// Deletes some of the oldest rows.
    fn outdated(&self) -> Result<Vec<RowChange>, CatalogueError> {
        let first = today().saturating_sub(DAYS.days()).to_string();
        let oldest = self.0.page_of(Table::CheckCounts, b"", None, PAGE)?;
        let outdated = oldest
            .into_iter()
            .filter(|(key, _)| **key < *first.as_bytes());
        Ok(outdated
            .map(|(key, _)| RowChange::delete(Table::CheckCounts, key))
            .collect())
    }

    /// The checks from one day to another, by default of the last 30 days; at most of the 400 before the last one.
    ///
    /// # Errors
    /// Those of the store.
    pub fn between(
        &self,
        since: Option<Date>,
        until: Option<Date>,
    ) -> Result<CheckStatistics, CatalogueError> {
        let until = until.unwrap_or_else(today);
        let since = since.unwrap_or_else(|| until.saturating_sub((TOLD - 1).days()));
        let since = since.max(until.saturating_sub(DAYS.days()));
        let mut sums = CheckTotals::default();
        let counted = &self.0.check_counts;
        let own: Vec<(Date, Counts)> = counted
            .days()
            .iter()
            .map(|(day, of)| (*day, of.counts.clone()))
            .collect();
        let mut after = Some(since.to_string().into_bytes());
        while let Some(last) = after {
            let rows = self.0.page_of(Table::CheckCounts, b"", Some(&last), PAGE)?;
            after = rows.last().map(|(key, _)| key.clone());
            for row in rows {
                let Some((day, counts)) = read(&row, until) else {
                    after = None;
                    break;
                };
                let is_in_memory = own.iter().any(|(known, _)| *known == day);
                if !is_in_memory || row.0 != counted.key(day) {
                    sums.add(day, counts);
                }
            }
        }
        for (day, counts) in own {
            if (since..=until).contains(&day) {
                sums.add(day, counts);
            }
        }
        Ok(sums.told(since, until))
    }
}

/// The day of a row and what it counts, unless it is after the last day.
fn read((key, value): &Row, until: Date) -> Option<(Date, CountedRow)> {
    let day = std::str::from_utf8(key.get(..10)?).ok()?.parse().ok()?;
    (day <= until).then(|| (day, serde_json::from_slice(value).unwrap_or_default()))
}

type ByVerdict = BTreeMap<String, Amount>;

#[derive(Default)]
struct CheckTotals {
    days: BTreeMap<Date, ByVerdict>,
    actors: BTreeMap<String, ByVerdict>,
    libraries: BTreeMap<String, ByVerdict>,
}

impl CheckTotals {
    fn add(&mut self, day: Date, counts: impl IntoIterator<Item = (CountedAs, Amount)>) {
        for (kind, amount) in counts {
            let CountedAs {
                actor,
                library,
                verdict,
            } = kind;
            let of_day = self.days.entry(day).or_default();
            let of_actor = self.actors.entry(actor).or_default();
            let of_library = library.map(|library| self.libraries.entry(library).or_default());
            for sums in [of_day, of_actor].into_iter().chain(of_library) {
                *sums.entry(verdict.clone()).or_default() += amount;
            }
        }
    }

    fn told(self, since: Date, until: Date) -> CheckStatistics {
        let days = self.days.into_iter();
        let actors = self.actors.into_iter();
        let libraries = self.libraries.into_iter();
        CheckStatistics {
            since,
            until,
            days: days
                .map(|(day, amounts)| DayChecks {
                    day,
                    characters: characters(&amounts),
                    checks: checks(amounts),
                })
                .collect(),
            actors: actors
                .map(|(actor, amounts)| ActorChecks {
                    actor,
                    characters: characters(&amounts),
                    checks: checks(amounts),
                })
                .collect(),
            libraries: libraries
                .map(|(library, amounts)| LibraryChecks {
                    library,
                    characters: characters(&amounts),
                    checks: checks(amounts),
                })
                .collect(),
        }
    }
}

fn characters(amounts: &ByVerdict) -> u64 {
    amounts.values().map(|of| of.characters).sum()
}

fn checks(amounts: ByVerdict) -> BTreeMap<String, u64> {
    let amounts = amounts.into_iter();
    amounts.map(|(verdict, of)| (verdict, of.checks)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckOptions, Query};

    #[test]
    fn too_many_different_counts_are_counted_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        let report = catalogue
            .checks()
            .report(&Query::text("short".to_owned()), &CheckOptions::default())
            .expect("a report");
        let counted = CheckCounts::default();
        for number in 0..MOST + 3 {
            counted.note(&Actor::Key(number.to_string()), "unknown", &report, 1);
        }
        let days = counted.days();
        let counts = days.values().flat_map(|day| &day.counts);
        let (mut all, mut others) = (0, 0);
        for (kind, amount) in counts {
            all += amount.checks;
            others += amount.checks * u64::from(kind.actor == OTHERS);
        }
        assert_eq!(all, MOST as u64 + 3);
        // Unless midnight was among them.
        assert!(others == 3 || days.len() == 2);
    }

    #[test]
    fn what_is_too_old_is_deleted_and_rows_without_characters_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let catalogue = Catalogue::open_or_create(folder.path()).expect("a catalogue");
        let of_days = [-DAYS - 1, -DAYS + 1].map(|days| today().saturating_add(days.days()));
        let rows = of_days.map(|day| {
            let kind = CountedAs {
                actor: "local".to_owned(),
                library: None,
                verdict: "free".to_owned(),
            };
            let row = [(kind, 7)];
            put(Table::CheckCounts, format!("{day}0123456789abcdef"), &row)
        });
        let editor = catalogue.by(Actor::Local);
        editor.apply_rows(&rows).expect("a store");
        catalogue
            .checks()
            .report(&Query::text("short".to_owned()), &CheckOptions::default())
            .expect("a report");
        let history = catalogue.check_history();
        history.write().expect("a store");
        let told = history.between(Some(of_days[0]), None).expect("a store");
        assert_eq!(told.days.len(), 2, "{told:?}");
        assert_eq!(told.days[1].characters, 5);
        assert_eq!(
            (
                told.days[0].day,
                told.days[0].checks["free"],
                told.days[0].characters
            ),
            (of_days[1], 7, 0)
        );
        let kept = catalogue.page_of(Table::CheckCounts, b"", None, 9);
        assert_eq!(kept.expect("a store").len(), 2);
    }
}
