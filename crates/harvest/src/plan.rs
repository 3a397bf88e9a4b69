//! When sources run, in rows of the store whose keys no name of a source begins with:
//!
//! ```text
//! \0 'w' source → a run that is asked for
//! \0 'r' source → a run that was begun, and is not at its end
//! \0 'b' source → the beat of the current or last run
//! \0 'g' source → it was removed, and what is known of it is not all cleared yet
//! ```
//!
//! Whoever asks for a run writes the first. Whoever runs the source puts the second in its place and writes the third all the
//! while. At the end, it first writes in the state of the source that the run has ended, and then deletes the second: whatever is
//! asked for in between is another run.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{HarvestError, Source};
use lapidary_catalogue::{Catalogue, Editor, put};
use lapidary_common::random::Random;
use lapidary_store::{BookId, RowChange, Table};

/// How many rows are read at a time.
const ROWS: usize = 1_000;
/// How long a run counts as running after its last beat.
const BEAT: Duration = Duration::from_secs(10);
/// The first and the last pause after a run that could not go on.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const LAST_PAUSE: Duration = Duration::from_hours(6);

/// A run that is to begin, or to go on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PlannedRun {
    /// Not before this time.
    pub(super) at: Timestamp,
    /// How often it could not go on.
    #[serde(default)]
    pub(super) failures: u32,
    /// Why, the last time.
    pub(super) error: Option<String>,
}

impl PlannedRun {
    pub(super) fn now() -> Self {
        Self {
            at: Timestamp::now(),
            failures: 0,
            error: None,
        }
    }

    /// On the next day, for this reason.
    pub(super) fn tomorrow(error: String) -> Self {
        let tomorrow = Timestamp::now()
            .to_zoned(TimeZone::UTC)
            .tomorrow()
            .and_then(|day| day.start_of_day());
        Self {
            at: tomorrow.map_or(Timestamp::MAX, |day| day.timestamp()),
            failures: 0,
            error: Some(error),
        }
    }

    /// The same, after it could not go on once more.
    pub(super) fn after_failure(self, error: String) -> Self {
        let failures = self.failures.saturating_add(1);
        let pause = FIRST_PAUSE
            .saturating_mul(1 << (failures - 1).min(20))
            .min(LAST_PAUSE);
        // Half of the pause is left to chance, so that sources that failed together are not tried together.
        let chance = Random::new(Timestamp::now().as_nanosecond() as u64)
            .below(pause.as_millis() as usize / 2);
        let pause = pause / 2 + Duration::from_millis(chance as u64);
        let at = Timestamp::now()
            .saturating_add(pause)
            .unwrap_or(Timestamp::MAX);
        Self {
            at,
            failures,
            error: Some(error),
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Beat {
    /// When the last run began.
    pub(super) begun: Timestamp,
    /// When it was seen running, or ended.
    seen: Timestamp,
    runs: bool,
}

/// When a source runs.
#[derive(Debug, Clone, Default)]
pub(super) struct RunPlan {
    /// The run that was begun, or else the one that is asked for.
    pub(super) planned: Option<PlannedRun>,
    /// Whether it was begun.
    pub(super) is_begun: bool,
    pub(super) beat: Option<Beat>,
}

impl RunPlan {
    /// Whether it runs somewhere.
    pub(super) fn is_running(&self) -> bool {
        self.beat.as_ref().is_some_and(|beat| {
            beat.runs && Timestamp::now().duration_since(beat.seen).unsigned_abs() < BEAT
        })
    }

    /// What notes that a run is asked for. `None` if one goes on already: what the state of the source says of the last run tells
    /// one that goes on from one at its end.
    pub(super) fn ask(
        &self,
        name: &BookId,
        has_ended: impl FnOnce() -> Result<bool, HarvestError>,
    ) -> Result<Option<RowChange>, HarvestError> {
        if self.is_begun && !self.is_running() {
            // It was killed, or could not go on: it does so now.
            return Ok(Some(put_begun(name, &PlannedRun::now())));
        }
        let goes_on = self.is_begun && !has_ended()?;
        Ok((!goes_on).then(|| put_asked(name)))
    }

    /// When it is to run, if ever.
    pub(super) fn due(&self, source: &Source) -> Option<Timestamp> {
        self.planned
            .as_ref()
            .map(|planned| planned.at)
            .or_else(|| {
                Some(
                    source
                        .every?
                        .after(self.beat.as_ref().map_or(Timestamp::MIN, |beat| beat.begun)),
                )
            })
            .filter(|_| !source.paused)
    }
}

/// The plans of all sources that have one, by name.
pub(super) fn plans(catalogue: &Catalogue) -> Result<BTreeMap<String, RunPlan>, HarvestError> {
    let mut plans = BTreeMap::<String, RunPlan>::new();
    each(catalogue, b'w', |name, planned| {
        plans.entry(name).or_default().planned = Some(planned);
    })?;
    each(catalogue, b'r', |name, begun| {
        let plan = plans.entry(name).or_default();
        (plan.planned, plan.is_begun) = (Some(begun), true);
    })?;
    each(catalogue, b'b', |name, beat| {
        plans.entry(name).or_default().beat = Some(beat);
    })?;
    Ok(plans)
}

/// Notes that nothing is running any more, in a catalogue that no other process has.
pub(super) fn end_all(by: &Editor<'_>) -> Result<(), HarvestError> {
    let mut ended = Vec::new();
    each(by, b'b', |name, beat: Beat| {
        if beat.runs {
            ended.push(put(
                Table::Harvests,
                key(b'b', &name),
                &Beat {
                    runs: false,
                    ..beat
                },
            ));
        }
    })?;
    Ok(by.apply_rows(&ended)?)
}

/// The plan of a source.
pub(super) fn plan(catalogue: &Catalogue, name: &BookId) -> Result<RunPlan, HarvestError> {
    // In one read: when a run begins, it moves from the first row to the second.
    let keys = [b'w', b'r', b'b'].map(|kind| key(kind, name.as_str()));
    let mut rows = catalogue.rows_of(Table::Harvests, &keys)?.into_iter();
    let mut next = || rows.next().flatten();
    let (asked, begun, beat) = (parsed(next()), parsed(next()), parsed(next()));
    Ok(RunPlan {
        is_begun: begun.is_some(),
        planned: begun.or(asked),
        beat,
    })
}

fn key(kind: u8, name: &str) -> Vec<u8> {
    [b"\0", &[kind], name.as_bytes()].concat()
}

fn each<V: DeserializeOwned>(
    catalogue: &Catalogue,
    kind: u8,
    mut each: impl FnMut(String, V),
) -> Result<(), HarvestError> {
    let prefix = [0, kind];
    let mut after: Option<Vec<u8>> = None;
    loop {
        let rows = catalogue.page_of(Table::Harvests, &prefix, after.as_deref(), ROWS)?;
        let Some((last, _)) = rows.last() else {
            return Ok(());
        };
        after = Some(last.clone());
        for (key, value) in rows {
            // One that cannot be read is as good as none.
            if let Ok(value) = serde_json::from_slice(&value) {
                each(
                    String::from_utf8_lossy(&key[prefix.len()..]).into_owned(),
                    value,
                );
            }
        }
    }
}

fn get<V: DeserializeOwned>(catalogue: &Catalogue, key: &[u8]) -> Result<Option<V>, HarvestError> {
    Ok(parsed(catalogue.row(Table::Harvests, key)?))
}

/// The value of a row. One that cannot be read is as good as none.
fn parsed<V: DeserializeOwned>(row: Option<Vec<u8>>) -> Option<V> {
    row.and_then(|row| serde_json::from_slice(&row).ok())
}

fn put_asked(name: &BookId) -> RowChange {
    let now = PlannedRun::now();
    put(Table::Harvests, key(b'w', name.as_str()), &now)
}

pub(super) fn drop_asked(name: &BookId) -> RowChange {
    RowChange::delete(Table::Harvests, key(b'w', name.as_str()))
}

pub(super) fn put_begun(name: &BookId, begun: &PlannedRun) -> RowChange {
    put(Table::Harvests, key(b'r', name.as_str()), begun)
}

pub(super) fn drop_begun(name: &BookId) -> RowChange {
    RowChange::delete(Table::Harvests, key(b'r', name.as_str()))
}

pub(super) fn put_beat(name: &BookId, begun: Timestamp, runs: bool) -> RowChange {
    put(
        Table::Harvests,
        key(b'b', name.as_str()),
        &Beat {
            begun,
            seen: Timestamp::now(),
            runs,
        },
    )
}

/// Notes that what is known of a source is to be cleared.
pub(super) fn put_removed(name: &BookId) -> RowChange {
    RowChange::put(Table::Harvests, key(b'g', name.as_str()), "true")
}

pub(super) fn drop_removed(name: &BookId) -> RowChange {
    RowChange::delete(Table::Harvests, key(b'g', name.as_str()))
}

pub(super) fn is_removed(catalogue: &Catalogue, name: &BookId) -> Result<bool, HarvestError> {
    Ok(get::<bool>(catalogue, &key(b'g', name.as_str()))?.is_some())
}

/// The sources that were removed, and of which something is left.
pub(super) fn removed(catalogue: &Catalogue) -> Result<Vec<BookId>, HarvestError> {
    let mut names = Vec::new();
    each(catalogue, b'g', |name, _: bool| {
        names.extend(name.parse::<BookId>().ok());
    })?;
    Ok(names)
}

/// All rows of a source's plan, to delete them.
pub(super) fn drop_plan(name: &BookId) -> [RowChange; 3] {
    [b'w', b'r', b'b'].map(|kind| RowChange::delete(Table::Harvests, key(kind, name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_at_its_end_is_not_the_one_that_is_asked_for() {
        let name = "it".parse().expect("a name");
        let now = Timestamp::now();
        let asked = |is_begun: bool, runs, has_ended| {
            let plan = RunPlan {
                planned: is_begun.then(PlannedRun::now),
                is_begun,
                beat: Some(Beat {
                    begun: now,
                    seen: now,
                    runs,
                }),
            };
            let row = plan.ask(&name, || Ok(has_ended)).expect("an answer");
            row.map(|row| row.key)
        };
        let [another, the_same] = [b'w', b'r'].map(|kind| Some(key(kind, "it")));
        assert_eq!(Some(drop_begun(&name).key), the_same, "the end deletes it");
        assert_eq!(asked(false, false, true), another, "nothing runs");
        assert_eq!(asked(false, true, true), another, "it has just ended");
        assert_eq!(asked(true, true, true), another, "it is at its end");
        assert_eq!(asked(true, true, false), None, "it runs");
        assert_eq!(asked(true, false, false), the_same, "it waits");
        assert_eq!(asked(true, false, true), the_same, "it is about to begin");
    }
}
