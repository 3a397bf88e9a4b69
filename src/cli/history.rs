//! `lapidary duplicates --history`: which passages of a text came from which earlier one.

use std::collections::HashMap;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lapidary_catalogue::duplicate_groups::Segment;
use lapidary_catalogue::{Catalogue, DuplicateOptions, Duplicates};
use lapidary_common::description::PartialDate;
use lapidary_report::{Descendant, Lineage};
use lapidary_store::Record;

use super::arguments::read_argument;
use super::failure::Failure;

/// The most texts of a group whose passages are traced, the earliest.
const MOST_TRACED: usize = 100;

/// When texts appeared, by their names.
#[derive(Default)]
pub(super) struct Dates(HashMap<String, PartialDate>);

impl Dates {
    /// Reads a list with a name and a date in each line, separated by a tab.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        read_argument("--dates", path, parse_dates).map(Self)
    }

    /// When a text appeared, and how that is written: its date in the list, or else when it was published as far as is known, or
    /// else when it was added or last changed.
    pub(super) fn of(
        &self,
        name: &str,
        published: Option<PartialDate>,
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

fn parse_dates(list: &str) -> Result<HashMap<String, PartialDate>, String> {
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
            format!("line {number}: {what}")
        })?;
        dates.insert(name.to_owned(), date);
    }
    Ok(dates)
}

/// The numbers of books in the order of when they appeared.
fn by_date(books: &[Record], about: &[(String, Timestamp, String)]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..about.len() as u32).collect();
    order.sort_by_key(|book| {
        let (name, at, _) = &about[*book as usize];
        (*at, books[*book as usize].changed_at, name)
    });
    order
}

/// A group in the order of the dates. `dated` says of a book its name, when it appeared, and how that is written.
pub(super) fn lineage(
    catalogue: &Catalogue,
    options: &DuplicateOptions,
    found: &Duplicates,
    dated: impl Fn(&Record) -> (String, Timestamp, String),
) -> Result<Lineage, Failure> {
    let about: Vec<(String, Timestamp, String)> = found.books.iter().map(&dated).collect();
    let mut order = by_date(&found.books, &about);
    let left_out = order.len().saturating_sub(MOST_TRACED) as u64;
    order.truncate(MOST_TRACED);
    let passages = catalogue.checks().history(found, &order, options)?;
    let places: HashMap<u32, u32> = order.iter().copied().zip(0..).collect();
    let mut texts = Vec::new();
    for &book in &order {
        let (record, (name, _, date)) = (&found.books[book as usize], &about[book as usize]);
        let segments = passages.get(book as usize).into_iter().flatten();
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
        texts.push(Descendant {
            name: name.clone(),
            date: date.clone(),
            bytes: record.bytes,
            segments,
            text,
        });
    }
    Ok(Lineage { texts, left_out })
}
