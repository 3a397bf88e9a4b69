//! `lapidary duplicates --history`: which passages of a text came from which earlier one.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lapidary_catalogue::duplicate_groups::Segment;
use lapidary_catalogue::{Catalogue, DuplicateOptions, Duplicates};
use lapidary_common::description::Published;
use lapidary_report::{Descendant, Lineage};
use lapidary_store::Record;

use super::failure::Failure;

/// The most texts of a group whose passages are traced, the earliest.
const MOST_TRACED: usize = 100;

/// When texts appeared, by their names.
#[derive(Default)]
pub(super) struct Dates(HashMap<String, Published>);

impl Dates {
    /// Reads a list with a name and a date in each line, separated by a tab.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::Input(format!("--dates {}: {why}", path.display()));
        let list = fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let mut dates = HashMap::new();
        let lines = list.trim_start_matches('\u{feff}').lines().zip(1..);
        for (line, number) in
            lines.filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'))
        {
            let parsed = line
                .split_once('\t')
                .and_then(|(name, date)| Some((name, date.trim().parse().ok()?)));
            let (name, date) = parsed.ok_or_else(|| {
                let what = "it takes a name, a tab, and a date such as 1886, 1886-05 or 1886-05-31";
                wrong(format!("line {number}: {what}"))
            })?;
            dates.insert(name.to_owned(), date);
        }
        Ok(Self(dates))
    }

    /// When a text appeared, and how that is written: its date in the list, or else when it was published as far as is known, or
    /// else when it was added or last changed.
    pub(super) fn of(
        &self,
        name: &str,
        published: Option<Published>,
        changed: Timestamp,
    ) -> (Timestamp, String) {
        let Some(date) = self.0.get(name).copied().or(published) else {
            return (changed, changed.to_zoned(TimeZone::UTC).date().to_string());
        };
        let at = date
            .first_day()
            .to_zoned(TimeZone::UTC)
            .map_or(Timestamp::MIN, |day| day.timestamp());
        (at, date.to_string())
    }
}

/// A group in the order of the dates. `dated` says of a book its name, when it appeared, and how that is written.
pub(super) fn lineage(
    catalogue: &Catalogue,
    options: &DuplicateOptions,
    found: &Duplicates,
    dated: impl Fn(&Record) -> (String, Timestamp, String),
) -> Result<Lineage, Failure> {
    let about: Vec<(String, Timestamp, String)> = found.books.iter().map(&dated).collect();
    let mut order: Vec<u32> = (0..about.len() as u32).collect();
    order.sort_by_key(|book| {
        let (name, at, _) = &about[*book as usize];
        (*at, found.books[*book as usize].changed, name)
    });
    let left_out = order.len().saturating_sub(MOST_TRACED) as u64;
    order.truncate(MOST_TRACED);
    let passages = catalogue.checks().history(found, &order, options)?;
    let places: HashMap<u32, u32> = order.iter().copied().zip(0..).collect();
    let texts = order.iter().map(|book| {
        let (record, (name, _, date)) = (&found.books[*book as usize], &about[*book as usize]);
        let segments = passages.get(*book as usize).into_iter().flatten();
        let segments = segments
            .map(|segment| Segment {
                from: places[&segment.from],
                ..*segment
            })
            .collect();
        let text = if record.text_kept {
            catalogue.books().text(&record.key)?
        } else {
            None
        };
        let (name, date) = (name.clone(), date.clone());
        Ok(Descendant {
            name,
            date,
            bytes: record.bytes,
            segments,
            text,
        })
    });
    Ok(Lineage {
        texts: texts.collect::<Result<_, Failure>>()?,
        left_out,
    })
}
