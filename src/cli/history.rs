//! `lapidary duplicates --history`: which passages of a text came from which earlier one.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lapidary::catalogue::{Catalogue, DuplicateOptions, Duplicates};
use lapidary::duplicates::Segment;
use lapidary::index::Record;
use lapidary::report::{Descendant, Lineage};

use super::failure::Failure;

/// The most texts of a group whose passages are traced, the earliest.
const MOST_TRACED: usize = 100;

/// When texts appeared, by their names.
#[derive(Default)]
pub(super) struct Dates(HashMap<String, (Timestamp, String)>);

impl Dates {
    /// Reads a list with a name and a date in each line, separated by a tab.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::Input(format!("--dates {}: {why}", path.display()));
        let list = fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let mut dates = HashMap::new();
        let lines = list.trim_start_matches('\u{feff}').lines().zip(1..);
        for (line, number) in lines.filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#')) {
            let parsed = line.split_once('\t').and_then(|(name, date)| Some((name, date.trim(), start(date.trim())?)));
            let (name, written, at) = parsed.ok_or_else(|| {
                let what = "it takes a name, a tab, and a date such as 1886, 1886-05 or 1886-05-31";
                wrong(format!("line {number}: {what}"))
            })?;
            dates.insert(name.to_owned(), (at, written.to_owned()));
        }
        Ok(Self(dates))
    }

    /// When a text appeared, and how that is written: its date in the list, or else when it was added or last changed.
    pub(super) fn of(&self, name: &str, changed: Timestamp) -> (Timestamp, String) {
        let written = || (changed, changed.to_zoned(TimeZone::UTC).date().to_string());
        self.0.get(name).cloned().unwrap_or_else(written)
    }
}

/// The start of a year, a month or a day.
fn start(written: &str) -> Option<Timestamp> {
    let mut parts = written.splitn(3, '-');
    let year = parts.next().filter(|year| (1..=4).contains(&year.len()))?.parse().ok()?;
    let mut part = || parts.next().map_or(Some(1), |part| part.parse().ok());
    let date = Date::new(year, part()?, part()?).ok()?;
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
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
        (*at, name)
    });
    let left_out = order.len().saturating_sub(MOST_TRACED) as u64;
    order.truncate(MOST_TRACED);
    let passages = catalogue.history(found, &order, options)?;
    let places: HashMap<u32, u32> = order.iter().copied().zip(0..).collect();
    let texts = order.iter().map(|book| {
        let (record, (name, _, date)) = (&found.books[*book as usize], &about[*book as usize]);
        let segments = passages.get(*book as usize).into_iter().flatten();
        let segments = segments.map(|segment| Segment { from: places[&segment.from], ..*segment }).collect();
        let text = if record.text_kept { catalogue.kept_text(&record.key)? } else { None };
        let (name, date) = (name.clone(), date.clone());
        Ok(Descendant { name, date, bytes: record.bytes, segments, text })
    });
    Ok(Lineage { texts: texts.collect::<Result<_, Failure>>()?, left_out })
}

#[cfg(test)]
mod tests {
    use super::start;

    #[test]
    fn dates_are_years_months_or_days() {
        let table = [
            ("1886", Some("1886-01-01T00:00:00Z")),
            ("862", Some("0862-01-01T00:00:00Z")),
            ("1886-05", Some("1886-05-01T00:00:00Z")),
            ("1886-5-31", Some("1886-05-31T00:00:00Z")),
            ("1886-13", None),
            ("1886-02-30", None),
            ("1886-05-31-1", None),
            ("May 1886", None),
            ("", None),
        ];
        for (written, expected) in table {
            assert_eq!(start(written).map(|at| at.to_string()).as_deref(), expected, "{written}");
        }
    }
}
