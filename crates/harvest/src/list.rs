//! A list of addresses with metadata: JSON Lines, or CSV with a header line. Both have the fields `address`, and if known
//! `id`, `title`, `authors`, `language` and `identifiers`; in CSV, authors and identifiers are separated by `;`.

use serde::Deserialize;

use super::Entry;
use super::kind::{Entries, Page};
use lapidary_catalogue::parse;
use lapidary_common::described;
use lapidary_common::description::PartialDate;

described! {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Line {
        #[serde(alias = "url")]
        address: String,
        id: Option<String>,
    }
}

pub(super) fn entries<'p>(page: &'p Page<'p>) -> Result<Entries<'p>, String> {
    let text = str::from_utf8(page.bytes).map_err(|_| "the list is not UTF-8".to_owned())?;
    let text = text.trim_start_matches('\u{feff}');
    let lines = if text.trim_start().starts_with('{') {
        json(text)
    } else {
        csv(text)?
    };
    Ok(Box::new(lines.filter_map(|(number, line)| match line {
        Err(why) => Some(Err(format!("line {number}: {why}"))),
        Ok(line) => entry(page, line).map(Ok),
    })))
}

type Lines<'p> = Box<dyn Iterator<Item = (u64, Result<Line, String>)> + 'p>;

fn json(text: &str) -> Lines<'_> {
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    Box::new(lines.map(|(number, line)| (number, parse::json(line.as_bytes()))))
}

fn csv(text: &str) -> Result<Lines<'_>, String> {
    let mut reader = ::csv::ReaderBuilder::new()
        .flexible(true)
        .trim(::csv::Trim::All)
        .from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| error.to_string())?;
    let columns = Columns::of(header)
        .ok_or_else(|| "the first line must name the columns, one of them `address`".to_owned())?;
    let records = reader.into_records().map(move |record| match record {
        Err(error) => (
            error.position().map_or(0, ::csv::Position::line),
            Err("it is not CSV".to_owned()),
        ),
        Ok(record) => (
            record.position().map_or(0, ::csv::Position::line),
            columns.line(&record),
        ),
    });
    Ok(Box::new(records))
}

/// Which columns of a table have what.
struct Columns {
    address: usize,
    id: Option<usize>,
    title: Option<usize>,
    authors: Option<usize>,
    language: Option<usize>,
    identifiers: Option<usize>,
    published: Option<usize>,
}

impl Columns {
    fn of(header: &::csv::StringRecord) -> Option<Self> {
        let column = |name: &str| {
            let mut names = header.iter();
            names.position(|known| known.eq_ignore_ascii_case(name))
        };
        Some(Self {
            address: column("address").or_else(|| column("url"))?,
            id: column("id"),
            title: column("title"),
            authors: column("authors"),
            language: column("language"),
            identifiers: column("identifiers"),
            published: column("published"),
        })
    }

    fn line(&self, record: &::csv::StringRecord) -> Result<Line, String> {
        let address = field(record, Some(self.address));
        Ok(Line {
            address: address.ok_or_else(|| "it has no address".to_owned())?,
            id: field(record, self.id),
            title: field(record, self.title),
            authors: several(record, self.authors),
            language: field(record, self.language),
            identifiers: several(record, self.identifiers),
            published: field(record, self.published)
                .and_then(|published| PartialDate::of_file(&published)),
        })
    }
}

fn field(record: &::csv::StringRecord, column: Option<usize>) -> Option<String> {
    let value = record.get(column?).filter(|value| !value.is_empty());
    value.map(str::to_owned)
}

/// The parts of a field, which semicolons separate.
fn several(record: &::csv::StringRecord, column: Option<usize>) -> Vec<String> {
    let all = field(record, column).unwrap_or_default();
    let parts = all.split(';').map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn entry(page: &Page<'_>, mut line: Line) -> Option<Entry> {
    let description = line.take_description();
    let Line { address, id, .. } = line;
    page.source.takes(&address).then(|| Entry {
        id,
        description,
        ..Entry::book(address)
    })
}
