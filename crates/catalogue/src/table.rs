//! Tables of metadata of books: CSV, workbooks (XLSX), JSON Lines, and ONIX feeds.

use std::ops::RangeInclusive;

use csv::ReaderBuilder;
use jiff::ToSpan as _;
use jiff::civil::{Date, date};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::api::{Amendment, FieldChange};
use crate::onix::{Product, Products, Territory};
use crate::{object, parse};
use lapidary_common::described;
use lapidary_extract::{is_workbook, sheet};
use lapidary_store::{BookId, Library, Record, Rights, Validity};

/// The columns that a table may have, the first name of each being that of its field.
const COLUMNS: [&[&str]; 13] = [
    &["id"],
    &["file"],
    &["library"],
    &["rights"],
    &["title"],
    &["authors", "author"],
    &["language"],
    &["identifiers", "identifier", "isbn"],
    &["published", "year"],
    &["from"],
    &["until"],
    &["otherwise"],
    &["deleted"],
];
/// The day before the first one of spreadsheets, as far as the leap day goes that they have in 1900.
const EPOCH: Date = date(1899, 12, 30);
/// The numbers that are days in a cell, and not years: until 9999-12-31.
const DAYS: RangeInclusive<i64> = 10_000..=2_958_465;

described! {
    /// What a row of a table says of a book.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct TableRow {
        /// The name of the book's file.
        pub file: Option<String>,
        /// The library's own id; without one, it is the name of the file without its extension.
        pub id: Option<BookId>,
        /// The library.
        pub library: Option<Library>,
        /// The rights in the book.
        pub rights: Option<Rights>,
        /// The days on which its rights are in effect.
        #[serde(default, deserialize_with = "object::optional")]
        pub validity: Option<Validity>,
        /// Whether the book is disabled, until a later row says it again without this.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub deleted: bool,
    }
}

/// A row as it was read, or why it cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedRow {
    /// Its line, or in a feed the number of its record, starting at 1.
    pub line: u64,
    /// What it says.
    pub row: Result<TableRow, String>,
}

impl TableRow {
    /// What a product of a feed says, with the rights in a territory.
    ///
    /// # Errors
    /// If the product has no id that a book can have.
    pub fn of_product(product: &Product, territory: Option<&Territory>) -> Result<Self, String> {
        let id = product.id().parse();
        let description = product.description.clone();
        Ok(Self {
            file: None,
            id: Some(id.map_err(|error| format!("record {}: {error}", product.reference))?),
            library: None,
            rights: product.rights(territory),
            validity: product.validity(territory),
            deleted: product.deleted,
            title: description.title,
            authors: description.authors,
            language: description.language,
            identifiers: description.identifiers,
            published: description.published,
        })
    }

    /// What it changes of a book that is there. What it does not say stays.
    #[must_use]
    pub fn amendment(&self) -> Amendment {
        Amendment {
            rights: self.rights,
            validity: self.validity.clone(),
            title: self.title.clone(),
            authors: Some(self.authors.clone()).filter(|authors| !authors.is_empty()),
            language: self.language.clone(),
            identifiers: Some(self.identifiers.clone()).filter(|ids| !ids.is_empty()),
            published: self.published.map(Some),
            ..Amendment::default()
        }
    }
}

/// Reads a table of up to `most` rows: its content says of what kind it is.
///
/// # Errors
/// Why the table as a whole cannot be read.
pub fn read(
    bytes: &[u8],
    most: usize,
    territory: Option<&Territory>,
) -> Result<Vec<NumberedRow>, String> {
    let rows = if is_workbook(bytes) {
        // The first row has the names of the columns, and one more tells that there are too many.
        let rows = sheet(bytes, most.saturating_add(2)).map_err(|error| error.to_string())?;
        of_cells(
            rows.into_iter().map(|row| Ok((row.number, row.cells))),
            most,
        )?
    } else {
        let plain = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match plain.trim_ascii_start().first() {
            Some(b'<') => of_feed(bytes, most, territory)?,
            Some(b'{') => of_lines(plain, most)?,
            _ => of_csv(bytes, most)?,
        }
    };
    if rows.len() > most {
        return Err(format!("it has more than {most} rows; send it in parts"));
    }
    Ok(rows)
}

fn of_feed(
    bytes: &[u8],
    most: usize,
    territory: Option<&Territory>,
) -> Result<Vec<NumberedRow>, String> {
    let mut rows = Vec::new();
    for (line, product) in (1..).zip(Products::new(bytes)).take(most.saturating_add(1)) {
        let product = product.map_err(|error| error.to_string())?;
        let row = TableRow::of_product(&product, territory);
        rows.push(NumberedRow { line, row });
    }
    Ok(rows)
}

fn of_lines(bytes: &[u8], most: usize) -> Result<Vec<NumberedRow>, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is not in UTF-8".to_owned())?;
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let rows = lines.map(|(line, json)| NumberedRow {
        line,
        row: parse::json(json.as_bytes()),
    });
    Ok(rows.take(most.saturating_add(1)).collect())
}

fn of_csv(bytes: &[u8], most: usize) -> Result<Vec<NumberedRow>, String> {
    let text = lapidary_extract::text(bytes.to_vec(), None).map_err(|error| error.to_string())?;
    // The reader would count lines that end in CR LF one too late.
    let text = text.text.replace("\r\n", "\n");
    let head = text.lines().next().unwrap_or_default();
    let delimiter = [b',', b';', b'\t']
        .into_iter()
        .max_by_key(|delimiter| head.bytes().filter(|byte| byte == delimiter).count());
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter.unwrap_or(b','))
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let cells = reader.records().map(|record| {
        let record = record.map_err(|error| error.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        Ok((line, record.iter().map(ToOwned::to_owned).collect()))
    });
    of_cells(cells, most)
}

/// The rows of cells, of which the first has the names of the columns. Blank rows are left out.
fn of_cells(
    mut cells: impl Iterator<Item = Result<(u64, Vec<String>), String>>,
    most: usize,
) -> Result<Vec<NumberedRow>, String> {
    let Some(head) = cells.next() else {
        return Ok(Vec::new());
    };
    let names = head?.1;
    let columns = names.iter().map(|name| column(name));
    let columns: Vec<Option<&str>> = columns.collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    for row in cells {
        let (line, cells) = row?;
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        let row = of_row(&columns, &cells);
        rows.push(NumberedRow { line, row });
        if rows.len() > most {
            break;
        }
    }
    Ok(rows)
}

/// The field of a column with this name; none if it is blank.
fn column(name: &str) -> Result<Option<&'static str>, String> {
    let name = name.trim().to_lowercase();
    if name.is_empty() {
        return Ok(None);
    }
    let found = COLUMNS.iter().find(|names| names.contains(&name.as_str()));
    if let Some(names) = found {
        return Ok(Some(names[0]));
    }
    let known = COLUMNS.map(|names| names[0]).join(", ");
    Err(format!("there is no column '{name}'; known: {known}"))
}

fn of_row(columns: &[Option<&str>], cells: &[String]) -> Result<TableRow, String> {
    let (mut row, mut days) = (Map::new(), Map::new());
    for (column, cell) in columns.iter().zip(cells) {
        let (Some(name), cell) = (*column, cell.trim()) else {
            continue;
        };
        match name {
            _ if cell.is_empty() => {}
            "authors" | "identifiers" => {
                let list = row.entry(name).or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(list) = list {
                    list.extend(listed(cell));
                }
            }
            "rights" => set(&mut row, name, word(cell)),
            "otherwise" => set(&mut days, name, word(cell)),
            "from" | "until" => set(&mut days, name, day(cell)),
            "published" => set(&mut row, name, day(cell)),
            "deleted" => {
                row.insert(name.to_owned(), Value::Bool(truth(cell)?));
            }
            _ => set(&mut row, name, cell.to_owned()),
        }
    }
    if !days.is_empty() {
        row.insert("validity".to_owned(), Value::Object(days));
    }
    parse::json(Value::Object(row).to_string().as_bytes())
}

fn set(fields: &mut Map<String, Value>, name: &str, value: String) {
    fields.insert(name.to_owned(), Value::String(value));
}

/// The entries of a cell, which are separated by semicolons.
fn listed(cell: &str) -> impl Iterator<Item = Value> {
    let entries = cell.split(';').map(str::trim);
    entries
        .filter(|entry| !entry.is_empty())
        .map(|entry| Value::String(entry.to_owned()))
}

fn truth(cell: &str) -> Result<bool, String> {
    match cell.to_lowercase().as_str() {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => Err(format!("deleted is yes or no, not '{cell}'")),
    }
}

/// Rights as people write them.
fn word(cell: &str) -> String {
    cell.to_lowercase().replace(' ', "_")
}

/// A day as spreadsheets write it: as the number of a day, or as `31.12.2027`. Anything else stays.
fn day(cell: &str) -> String {
    let number = cell.split('.').next().and_then(|whole| whole.parse().ok());
    let day = match number.filter(|number| DAYS.contains(number)) {
        Some(days) => EPOCH.checked_add(days.days()),
        None => Date::strptime("%d.%m.%Y", cell),
    };
    day.map_or_else(|_| cell.to_owned(), |day| day.to_string())
}

/// What differs between two versions of a book, as far as tables can tell.
pub(crate) fn differences(before: &Record, after: &Record) -> Vec<FieldChange> {
    let pairs = fields(before).into_iter().zip(fields(after));
    let changes = pairs.filter(|((_, before), (_, after))| before != after);
    changes
        .map(|((field, before), (_, after))| FieldChange {
            field: field.to_owned(),
            before,
            after,
        })
        .collect()
}

fn fields(record: &Record) -> [(&'static str, String); 10] {
    let (about, days) = (&record.description, record.standing.validity.as_ref());
    let text = |text: Option<String>| text.unwrap_or_default();
    [
        ("title", text(about.title.clone())),
        ("authors", about.authors.join("; ")),
        ("language", text(about.language.clone())),
        ("identifiers", about.identifiers.join("; ")),
        (
            "published",
            text(about.published.map(|date| date.to_string())),
        ),
        ("rights", record.rights.to_string()),
        (
            "from",
            text(days.and_then(|days| Some(days.from?.to_string()))),
        ),
        (
            "until",
            text(days.and_then(|days| Some(days.until?.to_string()))),
        ),
        (
            "otherwise",
            text(days.map(|days| days.otherwise.to_string())),
        ),
        (
            "disabled",
            text(record.is_disabled().then(|| "true".to_owned())),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(table: &str) -> Vec<(u64, Result<Value, String>)> {
        let rows = read(table.as_bytes(), 5, None).expect("a table");
        rows.into_iter()
            .map(|NumberedRow { line, row }| {
                (
                    line,
                    row.map(|row| serde_json::to_value(row).expect("JSON")),
                )
            })
            .collect()
    }

    #[test]
    fn tables_of_any_kind_say_the_same() {
        let expected = serde_json::json!({
            "id": "1", "rights": "public_domain", "title": "Шинель", "authors": ["Гоголь, Н.", "В. Г."],
            "identifiers": ["978-5-17-118362-2"], "published": "1842",
            "validity": { "until": "2027-12-31", "otherwise": "free" }
        });
        let row = Ok(expected.clone());
        for (line, table) in [
            (
                2,
                "\u{feff}id;Rights;title;author;isbn;year;until;otherwise;\r\n\
                 1;Public domain;Шинель;\"Гоголь, Н.; В. Г.\";978-5-17-118362-2;1842;31.12.2027;free;"
                    .to_owned(),
            ),
            (
                2,
                "id\ttitle\trights\tauthors\tisbn\tyear\tuntil\totherwise\n1\tШинель\tpublic_domain\tГоголь, Н.; В. Г.\t978-5-17-118362-2\t1842\t46752\tfree"
                    .to_owned(),
            ),
            (1, expected.to_string()),
        ] {
            assert_eq!(shown(&table), [(line, row.clone())], "{table}");
        }
        assert_eq!(shown(""), []);
    }

    #[test]
    fn faults_are_of_a_row_or_of_the_table() {
        let rows = shown("id,rights,until\n1,mine,\n2,,soon\n3,free,2027-01-01");
        let why = |at: usize| rows[at].1.as_ref().expect_err("a fault");
        assert!(why(0).contains("'mine' is not one of"), "{}", why(0));
        assert!(why(1).contains("expected a date"), "{}", why(1));
        assert!(rows[2].1.is_ok());
        for (table, says) in [
            (
                "id,colour\n1,red",
                "there is no column 'colour'; known: id, file",
            ),
            ("id\n1\n2\n3\n4\n5\n6", "more than 5 rows"),
            ("<html/>", "not an ONIX feed"),
            ("%PDF-1.7\n", "not a text"),
        ] {
            let why = read(table.as_bytes(), 5, None).expect_err("a fault");
            assert!(why.contains(says), "{table}: {why}");
        }
    }
}
