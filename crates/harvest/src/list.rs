//! A list of addresses with metadata: JSON Lines, or CSV with a header line. Both have the fields `address`, and if known
//! `id`, `title`, `authors`, `language` and `identifiers`; in CSV, authors and identifiers are separated by `;`.

use serde::Deserialize;

use super::Entry;
use super::kind::{Entries, Page};
use lapidary_catalogue::parse;
use lapidary_common::described;
use lapidary_common::description::Published;

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
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let column = |name: &str| {
        header
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))
    };
    let Some(address) = column("address").or_else(|| column("url")) else {
        return Err("the first line must name the columns, one of them `address`".to_owned());
    };
    let [id, title, authors, language, identifiers, published] = [
        "id",
        "title",
        "authors",
        "language",
        "identifiers",
        "published",
    ]
    .map(column);
    Ok(Box::new(reader.into_records().map(
        move |record| match record {
            Err(error) => (
                error.position().map_or(0, ::csv::Position::line),
                Err("it is not CSV".to_owned()),
            ),
            Ok(record) => {
                let field = |column: Option<usize>| {
                    record
                        .get(column?)
                        .filter(|value| !value.is_empty())
                        .map(str::to_owned)
                };
                let several = |column| {
                    let all = field(column).unwrap_or_default();
                    all.split(';')
                        .map(str::trim)
                        .filter(|one| !one.is_empty())
                        .map(str::to_owned)
                        .collect()
                };
                let (authors, identifiers) = (several(authors), several(identifiers));
                let line = field(Some(address))
                    .ok_or_else(|| "it has no address".to_owned())
                    .map(|address| Line {
                        address,
                        id: field(id),
                        title: field(title),
                        authors,
                        language: field(language),
                        identifiers,
                        published: field(published)
                            .and_then(|published| Published::of_file(&published)),
                    });
                (record.position().map_or(0, ::csv::Position::line), line)
            }
        },
    )))
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
