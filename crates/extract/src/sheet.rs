//! The first sheet of a workbook (XLSX, ECMA-376 part 1, §18.3), as a table of texts.

use quick_xml::events::BytesStart;

use super::ExtractError;
use super::archive::Archive;
use super::limits::{Budget, Limit, Limits};
use super::xml::{self, Visitor};

/// What all ZIP archives begin with.
const ZIP: &[u8] = b"PK\x03\x04";
/// The most columns; what is further to the right is left out.
const COLUMNS: usize = 64;
/// The most that the parts of a workbook unpack to, and the most text in the cells, in bytes.
const LARGEST: u64 = 16 << 20;

/// A row that has something in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetRow {
    /// Its number, starting at 1.
    pub number: u64,
    /// Its cells from the first column on. Numbers are as they are stored: a date is a number of days.
    pub cells: Vec<String>,
}

/// Whether a file may be a workbook: no text begins like this.
#[must_use]
pub fn is_workbook(bytes: &[u8]) -> bool {
    bytes.starts_with(ZIP)
}

/// Reads up to `most` rows of the first sheet of a workbook.
///
/// # Errors
/// For what is no workbook, and one that unpacks to, or shows, more than 16 MiB.
pub fn sheet(bytes: &[u8], most: usize) -> Result<Vec<SheetRow>, ExtractError> {
    let limits = Limits {
        unpacked: LARGEST,
        entries: 1_000,
        depth: 100,
        ..Limits::default()
    };
    let mut budget = Budget::new(limits, bytes.len() as u64)?;
    let mut archive = Archive::open(bytes, &budget)?;
    let mut strings = SharedStrings::default();
    if let Some(part) = archive.read("xl/sharedStrings.xml", &mut budget)? {
        xml::walk_bytes(&part, &budget, &mut strings)?;
    }
    let part = archive.need("xl/worksheets/sheet1.xml", &mut budget)?;
    let mut reader = SheetReader::new(&strings.texts, most);
    xml::walk_bytes(&part, &budget, &mut reader)?;
    if reader.bytes > LARGEST {
        return Err(limits.met(Limit::Unpacked).into());
    }
    Ok(reader.rows)
}

/// The texts that cells refer to.
#[derive(Default)]
struct SharedStrings {
    texts: Vec<String>,
    is_text: bool,
    /// Whether it is how the text is pronounced.
    is_phonetic: bool,
}

impl Visitor for SharedStrings {
    fn start(&mut self, name: &str, _: &BytesStart<'_>) {
        match name {
            "si" => self.texts.push(String::new()),
            "t" => self.is_text = !self.is_phonetic,
            "rPh" => self.is_phonetic = true,
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "t" => self.is_text = false,
            "rPh" => self.is_phonetic = false,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(last) = self.texts.last_mut().filter(|_| self.is_text) {
            last.push_str(text);
        }
    }
}

/// Reads the rows of a sheet.
struct SheetReader<'a> {
    strings: &'a [String],
    most: usize,
    rows: Vec<SheetRow>,
    /// The number of the row that is read, and its cells.
    row: u64,
    cells: Vec<String>,
    /// The column of the cell that is read, what it holds, and whether that is the number of a shared string.
    column: usize,
    value: String,
    is_shared: bool,
    is_value: bool,
    /// The length of all cells.
    bytes: u64,
}

impl<'a> SheetReader<'a> {
    fn new(strings: &'a [String], most: usize) -> Self {
        Self {
            strings,
            most,
            rows: Vec::new(),
            row: 0,
            cells: Vec::new(),
            column: 0,
            value: String::new(),
            is_shared: false,
            is_value: false,
            bytes: 0,
        }
    }

    fn end_cell(&mut self) {
        let value = std::mem::take(&mut self.value);
        if self.bytes > LARGEST {
            return;
        }
        let value = if self.is_shared {
            let place = value.trim().parse::<usize>().ok();
            place.and_then(|place| self.strings.get(place)).cloned()
        } else {
            Some(value)
        };
        let value = value.unwrap_or_default();
        self.bytes += value.len() as u64;
        if !value.is_empty() && self.column < COLUMNS && self.bytes <= LARGEST {
            if self.cells.len() <= self.column {
                self.cells.resize(self.column + 1, String::new());
            }
            self.cells[self.column] = value;
        }
        self.column += 1;
    }

    fn end_row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        if !cells.is_empty() && self.rows.len() < self.most {
            self.rows.push(SheetRow {
                number: self.row,
                cells,
            });
        }
    }
}

impl Visitor for SheetReader<'_> {
    fn start(&mut self, name: &str, tag: &BytesStart<'_>) {
        match name {
            "row" => {
                let number = xml::attribute(tag, "r").and_then(|written| written.parse().ok());
                self.row = number.unwrap_or(self.row.saturating_add(1));
                self.column = 0;
            }
            "c" => {
                let place = xml::attribute(tag, "r");
                self.column = place
                    .and_then(|place| column(&place))
                    .unwrap_or(self.column);
                self.is_shared = xml::attribute(tag, "t").as_deref() == Some("s");
            }
            "v" | "t" => self.is_value = true,
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "row" => self.end_row(),
            "c" => self.end_cell(),
            "v" | "t" => self.is_value = false,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_value {
            self.value.push_str(text);
        }
    }
}

/// The column of a cell such as `AB7`, starting at 0. There are 16,384.
fn column(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase).take(3);
    let number = letters.fold(0, |number, letter| {
        number * 26 + usize::from(letter - b'A') + 1
    });
    number.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn workbook(parts: &[(&str, &str)]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in parts {
            zip.start_file(*name, SimpleFileOptions::default())
                .expect("a part");
            zip.write_all(content.as_bytes()).expect("its content");
        }
        zip.finish().expect("an archive").into_inner()
    }

    #[test]
    fn cells_are_where_they_say() {
        let strings = "<sst><si><t>id</t></si><si><r><t>Ши</t></r><r><t>нель</t></r><rPh><t>x</t></rPh></si></sst>";
        let sheet_1 = r#"<worksheet><sheetData>
            <row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>A &amp; B</t></is></c></row>
            <row r="2"><c r="A2"/></row>
            <row r="4"><c r="B4" t="s"><v>1</v></c><c><v>1886</v></c><c r="ZZ4"><v>9</v></c><c t="s"><v>7</v></c></row>
            <row><c><v>5</v></c></row></sheetData></worksheet>"#;
        let file = workbook(&[
            ("xl/sharedStrings.xml", strings),
            ("xl/worksheets/sheet1.xml", sheet_1),
        ]);
        assert!(is_workbook(&file));
        let shown = |rows: Vec<SheetRow>| -> Vec<String> {
            rows.into_iter()
                .map(|row| format!("{} {}", row.number, row.cells.join("|")))
                .collect()
        };
        let rows = sheet(&file, 9).expect("a sheet");
        assert_eq!(shown(rows), ["1 id||A & B", "4 |Шинель|1886", "5 5"]);
        assert_eq!(sheet(&file, 1).expect("a sheet").len(), 1);
    }

    #[test]
    fn a_small_file_that_shows_much_is_refused() {
        let strings = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(100_000));
        let cells = r#"<row><c t="s"><v>0</v></c></row>"#.repeat(1_000);
        let sheet_1 = format!("<worksheet><sheetData>{cells}</sheetData></worksheet>");
        let file = workbook(&[
            ("xl/sharedStrings.xml", &strings),
            ("xl/worksheets/sheet1.xml", &sheet_1),
        ]);
        let error = sheet(&file, 2_000).expect_err("too much");
        assert!(
            error.to_string().contains("unpacks to more than"),
            "{error}"
        );
        assert!(sheet(&workbook(&[("a.txt", "b")]), 9).is_err());
        assert!(sheet(b"PK\x03\x04 and nothing more", 9).is_err());
    }
}
