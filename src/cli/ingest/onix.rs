//! Metadata for the books of an ingest from an ONIX feed, matched to files by the ISBN in their names.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use hashbrown::HashMap;
use lapidary_catalogue::onix::{Product, Products, Territory};
use lapidary_catalogue::table::TableRow;
use lapidary_common::isbn::{Isbn, bad_isbns_in, isbns_in};

use super::super::failure::Failure;
use super::super::files::InputFile;
use super::super::terminal::tell;

/// Why an apparent ISBN is refused.
const WRONG_DIGIT: &str = "its check digit is wrong, or digits are missing; correct it";

/// A record or a file, and why it is refused.
pub(super) type Refused = (String, String);

/// The files that have a record, with their metadata; and what is refused.
pub(super) type Matched = (Vec<(InputFile, TableRow)>, Vec<Refused>);

/// Streams a feed and finds the file of each product. Only products with a file are kept in memory.
pub(super) fn matched(
    feed: &Path,
    territory: Option<&Territory>,
    files: Vec<InputFile>,
) -> Result<Matched, Failure> {
    let opened = open(feed)?;
    let (of_isbn, twice) = by_isbn(&files);
    let mut refused = Vec::new();
    let mut known: Vec<Option<TableRow>> = vec![None; files.len()];
    for product in Products::new(opened) {
        let product = product.map_err(|error| wrong(feed, &error))?;
        warn_of(feed, &product);
        let file = product.isbns.iter().find_map(|isbn| of_isbn.get(isbn));
        match file {
            Some(i) if !product.deleted && known[*i].is_none() => {
                let row = TableRow::of_product(&product, territory);
                known[*i] = Some(row.map_err(|why| wrong(feed, &why))?);
            }
            _ => {
                let file = file.map(|i| &files[*i]);
                refused.push((record(&product), why_unused(&product, file)));
            }
        }
    }
    let mut found = Vec::new();
    for ((file, known), twice) in files.into_iter().zip(known).zip(twice) {
        match known {
            Some(known) => found.push((file, known)),
            None => refused.push((
                file.path.display().to_string(),
                without_record(&file, twice),
            )),
        }
    }
    Ok((found, refused))
}

fn open(feed: &Path) -> Result<BufReader<File>, Failure> {
    File::open(feed)
        .map(BufReader::new)
        .map_err(|e| Failure::Input(format!("{}: {e}", feed.display())))
}

fn wrong(feed: &Path, why: &dyn fmt::Display) -> Failure {
    Failure::Input(format!("{}, {why}", feed.display()))
}

fn record(product: &Product) -> String {
    format!("record {}", product.reference)
}

/// The files by the ISBNs in their names, and which of them have one of another file.
fn by_isbn(files: &[InputFile]) -> (HashMap<Isbn, usize>, Vec<bool>) {
    let mut of_isbn: HashMap<Isbn, usize> = HashMap::new();
    let mut twice = vec![false; files.len()];
    for (i, file) in files.iter().enumerate() {
        let name = file.path.file_stem().unwrap_or_default().to_string_lossy();
        for isbn in isbns_in(&name) {
            twice[i] |= of_isbn
                .try_insert(isbn, i)
                .is_err_and(|taken| *taken.entry.get() != i);
        }
    }
    (of_isbn, twice)
}

/// Says what in a product is ignored.
fn warn_of(feed: &Path, product: &Product) {
    let place = format!("lapidary: {}, {}", feed.display(), record(product));
    for unknown in product.unknown_territories() {
        tell(format_args!(
            "{place}: {unknown:?} is not an ONIX territory: its sales rights are taken to apply anywhere"
        ));
    }
    if !product.isbns.is_empty() {
        for isbn in &product.bad_isbns {
            tell(format_args!(
                "{place}: {isbn:?} is not an ISBN: {WRONG_DIGIT}"
            ));
        }
    }
}

/// Why a product is not used, which has this file.
fn why_unused(product: &Product, file: Option<&InputFile>) -> String {
    if product.deleted {
        return "the record is a deletion: see `lapidary books disable` and `remove`".to_owned();
    }
    if let Some(file) = file {
        let file = file.path.display();
        return format!("{file} already belongs to another record");
    }
    if !product.isbns.is_empty() {
        let isbns: Vec<String> = product.isbns.iter().map(ToString::to_string).collect();
        return format!("no file's name has its ISBN {}", isbns.join(" or "));
    }
    match product.bad_isbns.as_slice() {
        [] => "it has no ISBN, so no file can be found for it".to_owned(),
        bad => format!("{} is not an ISBN: {WRONG_DIGIT}", bad.join(", ")),
    }
}

/// Why no record is of this file; `twice` says that another file has its ISBN.
fn without_record(file: &InputFile, twice: bool) -> String {
    if twice {
        return "another file has its ISBN".to_owned();
    }
    let name = file.path.file_stem().unwrap_or_default().to_string_lossy();
    match bad_isbns_in(&name).as_slice() {
        [] => "no record of the feed has its ISBN".to_owned(),
        bad => format!(
            "{} in its name is not an ISBN: {WRONG_DIGIT}",
            bad.join(", ")
        ),
    }
}
